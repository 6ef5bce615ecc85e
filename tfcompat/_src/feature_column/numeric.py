"""Columns of numbers, as they are and cut into buckets."""

from __future__ import annotations

import collections
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.feature_column import utils
from tfcompat._src.feature_column.base import (
    CategoricalColumn,
    DenseColumn,
    EarlierInterface,
    _CategoricalColumn,
    _DenseColumn,
    parse_spec_of,
)  # fmt: skip
from tfcompat._src.feature_column.serialization import Configured, serializable
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.gather import one_hot
from tfcompat._src.ops.array.join import stack, tile
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import expand_dims, reshape
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.parsing.features import FixedLenFeature

_NUMERIC = ("key", "shape", "default_value", "dtype", "normalizer_fn")
_BUCKETIZED = ("source_column", "boundaries")


class Numeric(EarlierInterface):
    """What columns of numbers do."""

    name = property(lambda self: self.key)
    parents = property(lambda self: [self.key])
    variable_shape = property(lambda self: TensorShape(self.shape))

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return {self.key: FixedLenFeature(self.shape, self.dtype, self.default_value)}

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Tensor:
        values = transformation_cache.get(self.key, state_manager)
        if isinstance(values, SparseTensor):
            raise ValueError(
                "The corresponding Tensor of numerical column must be a Tensor. SparseTensor is not supported. "
                f"key: {self.key}"
            )
        if self.normalizer_fn is not None:
            values = self.normalizer_fn(values)
        return cast(values, dtypes.float32)

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Tensor:
        return transformation_cache.get(self, state_manager)


@serializable
class NumericColumn(Numeric, Configured, DenseColumn, _DenseColumn, collections.namedtuple("NumericColumn", _NUMERIC)):
    """See numeric_column."""


class _NumericColumn(Numeric, _DenseColumn, collections.namedtuple("_NumericColumn", _NUMERIC)):
    """NumericColumn with the earlier interface alone."""


class Bucketized(EarlierInterface):
    """What columns of buckets of numbers do."""

    name = property(lambda self: f"{self.source_column.name}_bucketized")
    parents = property(lambda self: [self.source_column])
    parse_example_spec = property(lambda self: parse_spec_of(self.source_column))
    variable_shape = property(lambda self: TensorShape((*self.source_column.shape, len(self.boundaries) + 1)))
    num_buckets = property(lambda self: (len(self.boundaries) + 1) * self.source_column.shape[0])

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Tensor:
        return raw.Bucketize(transformation_cache.get(self.source_column, state_manager), boundaries=self.boundaries)

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Tensor:
        buckets = transformation_cache.get(self, state_manager)
        return one_hot(cast(buckets, dtypes.int64), depth=len(self.boundaries) + 1, on_value=1.0, off_value=0.0)

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> Any:
        buckets = transformation_cache.get(self, state_manager)
        batch, width = shape_of(buckets)[0], self.source_column.shape[0]
        rows = reshape(tile(expand_dims(arange(0, batch), 1), [1, width]), (-1,))
        columns = tile(arange(0, width), [batch])
        ids = reshape(buckets, (-1,)) + (len(self.boundaries) + 1) * columns
        indices = cast(transpose(stack((rows, columns))), dtypes.int64)
        sizes = cast(stack([batch, width]), dtypes.int64)
        return CategoricalColumn.IdWeightPair(SparseTensor(indices=indices, values=ids, dense_shape=sizes), None)


@serializable
class BucketizedColumn(
    Bucketized, Configured, DenseColumn, CategoricalColumn, _DenseColumn, _CategoricalColumn,
    collections.namedtuple("BucketizedColumn", _BUCKETIZED),
):  # fmt: skip
    """See bucketized_column."""


class _BucketizedColumn(
    Bucketized, _DenseColumn, _CategoricalColumn, collections.namedtuple("_BucketizedColumn", _BUCKETIZED)
):
    """BucketizedColumn with the earlier interface alone."""


def _checked_numeric(
    key: str, shape: object = (1,), default_value: Any = None, dtype: Any = dtypes.float32, normalizer_fn: object = None
) -> tuple:
    sizes = utils.checked_shape(shape, key)
    utils.assert_number(dtype, key)
    default_value = utils.check_default_value(sizes, default_value, dtype, key)
    utils.assert_callable(normalizer_fn)
    utils.assert_key_is_string(key)
    return key, sizes, default_value, dtype, normalizer_fn


@export("feature_column.numeric_column")
def numeric_column(
    key: str, shape: object = (1,), default_value: object = None, dtype: object = dtypes.float32, normalizer_fn: object = None
) -> NumericColumn:
    """A column of numbers.

    Args:
      key: of the feature.
      shape: of its value in one example, an int or several.
      default_value: for examples that lack it, a number or an array of `shape`; by default each must have it.
      dtype: of the feature in examples; the column's tensor is float32.
      normalizer_fn: function of the tensor [batch, *shape], applied to it first.

    Raises:
      TypeError: dimensions, default value or normalizer of a wrong kind. ValueError: a dimension below 1, another dtype.
    """
    return NumericColumn(*_checked_numeric(key, shape, default_value, dtype, normalizer_fn))


def _numeric_column(
    key: str, shape: object = (1,), default_value: object = None, dtype: object = dtypes.float32, normalizer_fn: object = None
) -> _NumericColumn:
    return _NumericColumn(*_checked_numeric(key, shape, default_value, dtype, normalizer_fn))


def _checked_bucketized(source_column: object, boundaries: object, kinds: tuple[type, ...]) -> tuple:
    if not isinstance(source_column, kinds):
        raise ValueError(f"source_column must be a column generated with numeric_column(). Given: {source_column}")
    if len(source_column.shape) > 1:
        raise ValueError(f"source_column must be one-dimensional column. Given: {source_column}")
    if not boundaries and NumericColumn in kinds:
        raise ValueError("boundaries must not be empty.")
    rising = isinstance(boundaries, (list, tuple)) and all(a < b for a, b in zip(boundaries, boundaries[1:]))
    if not boundaries or not rising:
        raise ValueError("boundaries must be a sorted list.")
    return source_column, tuple(boundaries)


@export("feature_column.bucketized_column")
def bucketized_column(source_column: object, boundaries: object) -> BucketizedColumn:
    """A column of the buckets in which numbers lie: [boundaries[i - 1], boundaries[i]) is bucket i.

    Args:
      source_column: a numeric_column of at most one dimension.
      boundaries: rising numbers.

    Raises:
      ValueError: another column, or the boundaries are none, unsorted or no list.
    """
    return BucketizedColumn(*_checked_bucketized(source_column, boundaries, (NumericColumn, _NumericColumn)))


def _bucketized_column(source_column: object, boundaries: object) -> _BucketizedColumn:
    return _BucketizedColumn(*_checked_bucketized(source_column, boundaries, (_NumericColumn,)))
