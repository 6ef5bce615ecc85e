"""Columns of sequences: ids and numbers for each step."""

from __future__ import annotations

import collections
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.feature_column import categorical, utils
from tfcompat._src.feature_column.base import (
    CategoricalColumn,
    EarlierInterface,
    SequenceDenseColumn,
    _CategoricalColumn,
    _SequenceDenseColumn,
    num_buckets_of,
    parse_spec_of,
)  # fmt: skip
from tfcompat._src.feature_column.serialization import Configured, serializable
from tfcompat._src.feature_column.state import ScopeState
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.math.reduce import reduce_prod
from tfcompat._src.ops.parsing.features import VarLenFeature
from tfcompat._src.ops.sparse.convert import sparse_tensor_to_dense
from tfcompat._src.ops.sparse.layout import sparse_reshape

_NUMERIC = ("key", "shape", "default_value", "dtype", "normalizer_fn")


class SequenceCategorical(EarlierInterface):
    """What columns of the ids of sequences do."""

    name = property(lambda self: self.categorical_column.name)
    parents = property(lambda self: [self.categorical_column])
    parse_example_spec = property(lambda self: parse_spec_of(self.categorical_column))
    num_buckets = property(lambda self: num_buckets_of(self.categorical_column))

    def transform_feature(self, transformation_cache: object, state_manager: object) -> Any:
        return self.categorical_column.transform_feature(transformation_cache, state_manager)

    def _transform_feature(self, inputs: object) -> Any:
        return self.categorical_column._transform_feature(inputs)

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> Any:
        ids, weights = transformation_cache.sparse_tensors(self.categorical_column, state_manager)
        sizes = shape_of(ids)
        target = [sizes[0], sizes[1], reduce_prod(sizes[2:])]
        ids = sparse_reshape(ids, target)
        return CategoricalColumn.IdWeightPair(ids, None if weights is None else sparse_reshape(weights, target))


class _SequenceCategoricalColumn(
    SequenceCategorical, _CategoricalColumn, collections.namedtuple("_SequenceCategoricalColumn", "categorical_column")
):
    """SequenceCategoricalColumn with the earlier interface alone."""


@serializable
class SequenceCategoricalColumn(Configured, _SequenceCategoricalColumn, CategoricalColumn):
    """See sequence_categorical_column_with_identity and its like."""


def check_sequence(column: Any, state_manager: object, wanted: bool) -> None:
    """ValueError where the ids that a dense column is made of are those of sequences and should not be, or the reverse."""
    inner = column.categorical_column
    if isinstance(inner, _SequenceCategoricalColumn) == wanted:
        return
    kind = (_SequenceCategoricalColumn if isinstance(state_manager, ScopeState) else SequenceCategoricalColumn).__name__
    if wanted:
        fix = f"be of type {kind} to use {column.sequence_layer}. Suggested fix: Use one of sequence_categorical_column_with_*."
    else:
        fix = (
            f"not be of type {kind}. Suggested fix A: If you wish to use {column.layer}, use a non-sequence "
            f"categorical_column_with_*. Suggested fix B: If you wish to create sequence input, use {column.sequence_layer} "
            f"instead of {column.layer}."
        )
    raise ValueError(
        f"In {column.kind}_column: {column.name}. categorical_column must {fix} Given (type {type(inner)}): {inner}"
    )


class SequenceNumeric(EarlierInterface):
    """What columns of the numbers of sequences do."""

    name = property(lambda self: self.key)
    parents = property(lambda self: [self.key])
    parse_example_spec = property(lambda self: {self.key: VarLenFeature(self.dtype)})
    variable_shape = property(lambda self: TensorShape(self.shape))

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        values = transformation_cache.get(self.key, state_manager)
        return values if self.normalizer_fn is None else self.normalizer_fn(values)

    def get_sequence_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        sparse = transformation_cache.get(self, state_manager)
        dense = sparse_tensor_to_dense(sparse, default_value=self.default_value)
        sizes = concat([shape_of(dense)[:1], [-1], self.variable_shape], axis=0)
        dense = reshape(dense, sizes)
        width = self.variable_shape.num_elements() if sparse.shape.ndims == 2 else 1
        lengths = utils.sequence_length_from_sparse_tensor(sparse, num_elements=width)
        return SequenceDenseColumn.TensorSequenceLengthPair(dense, lengths)


@serializable
class SequenceNumericColumn(
    SequenceNumeric, Configured, SequenceDenseColumn, collections.namedtuple("SequenceNumericColumn", _NUMERIC)
):
    """See sequence_numeric_column."""


class _SequenceNumericColumn(
    SequenceNumeric, _SequenceDenseColumn, collections.namedtuple("_SequenceNumericColumn", _NUMERIC)
):
    """SequenceNumericColumn with the earlier interface alone."""


@export("feature_column.sequence_categorical_column_with_identity")
def sequence_categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> SequenceCategoricalColumn:
    """`categorical_column_with_identity` for each step of sequences; the arguments are the same."""
    return SequenceCategoricalColumn(categorical.categorical_column_with_identity(key, num_buckets, default_value))


@export("feature_column.sequence_categorical_column_with_hash_bucket")
def sequence_categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: object = dtypes.string
) -> SequenceCategoricalColumn:
    """`categorical_column_with_hash_bucket` for each step of sequences; the arguments are the same."""
    return SequenceCategoricalColumn(categorical.categorical_column_with_hash_bucket(key, hash_bucket_size, dtype))


@export("feature_column.sequence_categorical_column_with_vocabulary_file")
def sequence_categorical_column_with_vocabulary_file(
    key: str, vocabulary_file: object, vocabulary_size: int | None = None, num_oov_buckets: int = 0,
    default_value: int | None = None, dtype: object = dtypes.string,
) -> SequenceCategoricalColumn:  # fmt: skip
    """`categorical_column_with_vocabulary_file` for each step of sequences; the arguments are the same."""
    return SequenceCategoricalColumn(
        categorical.categorical_column_with_vocabulary_file(
            key, vocabulary_file, vocabulary_size, num_oov_buckets, default_value, dtype
        )
    )


@export("feature_column.sequence_categorical_column_with_vocabulary_list")
def sequence_categorical_column_with_vocabulary_list(
    key: str, vocabulary_list: object, dtype: object = None, default_value: int = -1, num_oov_buckets: int = 0
) -> SequenceCategoricalColumn:
    """`categorical_column_with_vocabulary_list` for each step of sequences; the arguments are the same."""
    return SequenceCategoricalColumn(
        categorical.categorical_column_with_vocabulary_list(key, vocabulary_list, dtype, default_value, num_oov_buckets)
    )


@export("feature_column.sequence_numeric_column")
def sequence_numeric_column(
    key: str, shape: object = (1,), default_value: object = 0.0, dtype: object = dtypes.float32, normalizer_fn: object = None
) -> SequenceNumericColumn:
    """A column of numbers for each step of sequences.

    Args:
      key: of the feature, a SparseTensor.
      shape: of the value of one step, an int or several.
      default_value: what fills shorter sequences up.
      dtype: of the feature.
      normalizer_fn: function of the feature, applied to it first.

    Raises:
      TypeError: dimensions or normalizer of a wrong kind. ValueError: a dimension below 1, another dtype.
    """
    return SequenceNumericColumn(*checked_sequence_numeric(key, shape, default_value, dtype, normalizer_fn))


def checked_sequence_numeric(key: str, shape: object, default_value: object, dtype: Any, normalizer_fn: object) -> tuple:
    """The fields of a column of numbers; see sequence_numeric_column."""
    sizes = utils.checked_shape(shape, key)
    utils.assert_number(dtype, key)
    utils.assert_callable(normalizer_fn)
    return key, sizes, default_value, dtype, normalizer_fn
