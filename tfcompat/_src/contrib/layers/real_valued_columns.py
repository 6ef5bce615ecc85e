"""tf.contrib.layers' columns of numbers: as they are, of any length, and cut into buckets."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.contrib.layers.feature_column import _FeatureColumn, _IdColumn
from tfcompat._src.contrib.layers.flatten import as_rank
from tfcompat._src.feature_column.base import _DenseColumn
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.gather import one_hot
from tfcompat._src.ops.array.join import stack, tile
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import expand_dims, reshape
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.parsing.features import FixedLenFeature, FixedLenSequenceFeature, VarLenFeature

if TYPE_CHECKING:
    from tfcompat._src.base.dtypes import DType


class _Numbers(_FeatureColumn):
    name = property(lambda self: self.column_name)
    key = property(lambda self: self._key_without_properties(["normalizer"]))
    normalizer_fn = property(lambda self: self.normalizer)

    def _transform_feature(self, inputs: Any) -> Any:
        return cast(self._normalized_input_tensor(inputs.get(self.name)), dtypes.float32)

    def _normalized_input_tensor(self, values: Any) -> Any:
        return values if self.normalizer is None else self.normalizer(values)

    def _to_dnn_input_layer(
        self, input_tensor: object, weight_collections: object = None, trainable: bool = True, output_rank: int = 2
    ) -> Tensor:
        dense = self._to_dense_tensor(input_tensor)
        return as_rank(cast(dense, dtypes.float32), output_rank, self.name)


class _RealValuedColumn(
    _Numbers, _DenseColumn,
    collections.namedtuple("_RealValuedColumn", ["column_name", "dimension", "default_value", "dtype", "normalizer"]),
):  # fmt: skip
    """See real_valued_column."""

    def __new__(
        cls, column_name: str, dimension: int, default_value: Any, dtype: object, normalizer: object
    ) -> _RealValuedColumn:
        default_value = None if default_value is None else tuple(default_value)
        return super().__new__(cls, column_name, dimension, default_value, dtype, normalizer)

    _variable_shape = property(lambda self: TensorShape([self.dimension]))

    @property
    def config(self) -> dict[str, Any]:
        default = None if self.default_value is None else list(self.default_value)
        return {self.column_name: FixedLenFeature([self.dimension], self.dtype, default)}

    def _to_dense_tensor(self, input_tensor: Tensor) -> Tensor:
        return input_tensor

    def _get_dense_tensor(self, inputs: Any, weight_collections: object = None, trainable: object = None) -> Tensor:
        return inputs.get(self)


class _RealValuedVarLenColumn(
    _Numbers,
    collections.namedtuple(
        "_RealValuedVarLenColumn", ["column_name", "default_value", "dtype", "normalizer", "is_sparse"]
    ),
):
    """See _real_valued_var_len_column."""

    @property
    def config(self) -> dict[str, Any]:
        if self.is_sparse:
            return {self.column_name: VarLenFeature(self.dtype)}
        feature = FixedLenSequenceFeature([], self.dtype, allow_missing=True, default_value=self.default_value)
        return {self.column_name: feature}

    def _normalized_input_tensor(self, values: Any) -> Any:
        if self.normalizer is None or not self.is_sparse:
            return super()._normalized_input_tensor(values)
        return SparseTensor(values.indices, self.normalizer(values.values), values.dense_shape)

    def _to_dense_tensor(self, input_tensor: Any) -> Tensor:
        if self.is_sparse:
            raise ValueError(f"Set is_sparse to False if you want a dense Tensor for column_name: {self.name}")
        return input_tensor


class _BucketizedColumn(
    _IdColumn, _DenseColumn, collections.namedtuple("_BucketizedColumn", ["source_column", "boundaries"])
):
    """See bucketized_column."""

    def __new__(cls, source_column: object, boundaries: object) -> _BucketizedColumn:
        if not isinstance(source_column, _RealValuedColumn):
            raise TypeError(f"source_column must be an instance of _RealValuedColumn. source_column: {source_column}")
        if source_column.dimension is None:
            raise ValueError(f"source_column must have a defined dimension. source_column: {source_column}")
        if not isinstance(boundaries, (list, tuple)) or not boundaries:
            raise ValueError(f"boundaries must be a non-empty list or tuple. boundaries: {boundaries}")
        if any(a > b for a, b in zip(boundaries, boundaries[1:])):
            raise ValueError(f"boundaries must be a sorted list. boundaries: {boundaries}")
        return super().__new__(cls, source_column, tuple(dict.fromkeys(boundaries)))

    combiner = "sum"
    name = property(lambda self: f"{self.source_column.name}_bucketized")
    config = property(lambda self: self.source_column.config)
    length = property(lambda self: len(self.boundaries) + 1)
    _num_buckets = property(lambda self: self.length * self.source_column.dimension)
    _variable_shape = property(lambda self: TensorShape([self._num_buckets]))

    def _transform_feature(self, inputs: Any) -> Tensor:
        values = inputs.get(self.source_column)
        return raw.Bucketize(values, boundaries=list(self.boundaries), name="bucketize")

    def _to_dnn_input_layer(
        self, input_tensor: object, weight_collections: object = None, trainable: bool = True, output_rank: int = 2
    ) -> Tensor:
        if output_rank != 2:
            raise ValueError("BucketizedColumn currently only supports output_rank=2")
        buckets = one_hot(cast(input_tensor, dtypes.int64), self.length, 1.0, 0.0, name="one_hot")
        return reshape(buckets, [-1, self._num_buckets], name="reshape")

    def _get_dense_tensor(self, inputs: Any, weight_collections: Any = None, trainable: Any = None) -> Tensor:
        return self._to_dnn_input_layer(inputs.get(self), weight_collections, trainable)

    def id_tensor(self, input_tensor: Tensor) -> SparseTensor:
        return self.to_sparse_tensor(input_tensor)

    def to_sparse_tensor(self, input_tensor: Tensor) -> SparseTensor:
        """The buckets [batch, dimension] as ids; each dimension has its own."""
        width, batch = self.source_column.dimension, shape_of(input_tensor, name="shape")[0]
        if width > 1:
            rows = tile(expand_dims(arange(0, batch), 1, name="expand_dims"), [1, width], name="tile")
            rows = reshape(rows, [-1], name="reshape")
            columns = tile(arange(0, width), [batch], name="tile")
            ids = reshape(input_tensor, [-1], name="reshape") + self.length * columns
        else:
            rows = arange(0, batch)
            columns = zeros([batch], dtype=dtypes.int32, name="zeros")
            ids = reshape(input_tensor, [-1], name="reshape")
        indices = cast(transpose(stack((rows, columns))), dtypes.int64)
        return SparseTensor(indices, ids, cast(stack([batch, width]), dtypes.int64))


def _real_valued_var_len_column(
    column_name: str, default_value: Any = None, dtype: Any = dtypes.float32, normalizer: object = None,
    is_sparse: bool = False,
) -> _RealValuedVarLenColumn:  # fmt: skip
    """A column of any number of numbers in each example.

    Args:
      column_name: key of the feature.
      default_value: number that fills up to the longest example.
      dtype: floating or an integer one.
      normalizer: function of the numbers.
      is_sparse: whether the column is a SparseTensor, which needs no `default_value`.

    Raises:
      TypeError: another dtype. ValueError: the default is missing or a list.
    """
    if not (dtype.is_integer or dtype.is_floating):
        raise TypeError(f"dtype must be convertible to float. dtype: {dtype}, column_name: {column_name}")
    if default_value is None and not is_sparse:
        raise ValueError(
            f"default_value must be provided when is_sparse=False to parse a padded Tensor. column_name: {column_name}"
        )
    if isinstance(default_value, list):
        raise ValueError(f"Only scalar default value. default_value: {default_value}, column_name: {column_name}")
    if default_value is not None:
        default_value = int(default_value) if dtype.is_integer else float(default_value)
    return _RealValuedVarLenColumn(column_name, default_value, dtype, normalizer, is_sparse)


@export("contrib.layers.real_valued_column", "contrib.slim.real_valued_column")
def real_valued_column(
    column_name: str, dimension: int = 1, default_value: object = None, dtype: DType = dtypes.float32, normalizer: object = None
) -> _RealValuedColumn:
    """A column of numbers.

    Args:
      column_name: key of the feature.
      dimension: how many it has in each example.
      default_value: for examples that lack it, a number or a list of `dimension`; by default each must have it.
      dtype: floating or an integer one.
      normalizer: function of the tensor, applied to it first.

    Raises:
      TypeError: the dimension is no int, or the default does not fit `dtype`. ValueError: the dimension is below 1 or
        not that of the default, or another dtype.
    """
    where = f"dimension: {dimension}, column_name: {column_name}"
    if dimension is None:
        raise TypeError(
            f"dimension must be an integer. Use the _real_valued_var_len_column for variable length features.{where}"
        )
    if not isinstance(dimension, int):
        raise TypeError(f"dimension must be an integer. {where}")
    if dimension < 1:
        raise ValueError(f"dimension must be greater than 0. {where}")
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {dtype}, column_name: {column_name}")
    defaults = _default_values(default_value, dimension, dtype, column_name)
    return _RealValuedColumn(column_name, dimension, defaults, dtype, normalizer)


def _default_values(default_value: object, dimension: int, dtype: DType, column_name: str) -> list | None:
    if default_value is None:
        return None
    where = f"column_name: {column_name}"
    values = default_value if isinstance(default_value, list) else [default_value] * dimension
    if len(values) != dimension:
        raise ValueError(
            "The length of default_value must be equal to dimension. "
            f"default_value: {default_value}, dimension: {dimension}, {where}"
        )
    if dtype.is_integer and all(isinstance(v, int) for v in values):
        return values
    if dtype.is_floating and all(isinstance(v, (int, float)) for v in values):
        return [float(v) for v in values]
    raise TypeError(
        f"default_value must be compatible with dtype. default_value: {default_value}, dtype: {dtype}, {where}"
    )


@export("contrib.layers.bucketized_column", "contrib.slim.bucketized_column")
def bucketized_column(source_column: object, boundaries: object) -> _BucketizedColumn:
    """A column of the buckets in which numbers lie: [boundaries[i - 1], boundaries[i]) is bucket i.

    Args:
      source_column: a real_valued_column.
      boundaries: sorted numbers; repeated ones count once.

    Raises:
      TypeError: another column. ValueError: the boundaries are none, unsorted or no list.
    """
    return _BucketizedColumn(source_column, boundaries)
