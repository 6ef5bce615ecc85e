"""tf.contrib.feature_column: columns of sequences with the earlier interface alone, and their input layer."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.feature_column import categorical
from tfcompat._src.feature_column.base import _FeatureColumn, _SequenceDenseColumn, normalize_feature_columns
from tfcompat._src.feature_column.inputs import _LazyBuilder
from tfcompat._src.feature_column.sequence_feature_column import (
    _SequenceCategoricalColumn,
    _SequenceNumericColumn,
    checked_sequence_numeric,
)
from tfcompat._src.feature_column.sequence_features import _assert_all_equal_and_return
from tfcompat._src.feature_column.utils import check_static_batch_sizes
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.variables.scope import variable_scope


@export("contrib.feature_column.sequence_input_layer")
def sequence_input_layer(
    features: dict[Any, Any], feature_columns: object, weight_collections: object = None, trainable: bool = True
) -> tuple[Tensor, Tensor]:
    """The tensors of columns of sequences side by side, in the order of their names.

    Args:
      features: dict from key to Tensor or SparseTensor.
      feature_columns: dense columns of sequences.
      weight_collections: collections of the variables.
      trainable: whether the variables may be trained.

    Returns:
      float32 Tensor [batch, time, elements of all columns] and int64 lengths [batch].

    Raises:
      ValueError: a column is not one of sequences, or batch sizes differ.
    """
    columns = normalize_feature_columns(feature_columns, _FeatureColumn)
    for column in columns:
        if not isinstance(column, _SequenceDenseColumn):
            raise ValueError(
                "All feature_columns must be of type _SequenceDenseColumn. You can wrap a sequence_categorical_column with "
                f"an embedding_column or indicator_column. Given (type {type(column)}): {column}"
            )
    with variable_scope(None, default_name="sequence_input_layer", values=features.values()):
        builder, tensors, lengths = _LazyBuilder(features), [], []
        for column in columns:
            with variable_scope(None, default_name=column._var_scope_name):
                dense, length = column._get_sequence_dense_tensor(
                    builder, weight_collections=weight_collections, trainable=trainable
                )
                sizes = shape_of(dense)
                tensors.append(reshape(dense, [sizes[0], sizes[1], column._variable_shape.num_elements()]))
                lengths.append(length)
        check_static_batch_sizes(tensors, columns)
        check_static_batch_sizes(lengths, columns)
        length = _assert_all_equal_and_return(lengths)
        return concat(tensors, -1), length


@export("contrib.feature_column.sequence_categorical_column_with_identity")
def sequence_categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> _SequenceCategoricalColumn:
    """As tf.feature_column.sequence_categorical_column_with_identity."""
    return _SequenceCategoricalColumn(categorical._categorical_column_with_identity(key, num_buckets, default_value))


@export("contrib.feature_column.sequence_categorical_column_with_hash_bucket")
def sequence_categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: object = dtypes.string
) -> _SequenceCategoricalColumn:
    """As tf.feature_column.sequence_categorical_column_with_hash_bucket."""
    return _SequenceCategoricalColumn(categorical._categorical_column_with_hash_bucket(key, hash_bucket_size, dtype))


@export("contrib.feature_column.sequence_categorical_column_with_vocabulary_file")
def sequence_categorical_column_with_vocabulary_file(
    key: str, vocabulary_file: object, vocabulary_size: int | None = None, num_oov_buckets: int = 0,
    default_value: int | None = None, dtype: object = dtypes.string,
) -> _SequenceCategoricalColumn:  # fmt: skip
    """As tf.feature_column.sequence_categorical_column_with_vocabulary_file."""
    return _SequenceCategoricalColumn(
        categorical._categorical_column_with_vocabulary_file(
            key, vocabulary_file, vocabulary_size, num_oov_buckets, default_value, dtype
        )
    )


@export("contrib.feature_column.sequence_categorical_column_with_vocabulary_list")
def sequence_categorical_column_with_vocabulary_list(
    key: str, vocabulary_list: object, dtype: object = None, default_value: int = -1, num_oov_buckets: int = 0
) -> _SequenceCategoricalColumn:
    """As tf.feature_column.sequence_categorical_column_with_vocabulary_list."""
    return _SequenceCategoricalColumn(
        categorical._categorical_column_with_vocabulary_list(
            key, vocabulary_list, dtype, default_value, num_oov_buckets
        )
    )


@export("contrib.feature_column.sequence_numeric_column")
def sequence_numeric_column(
    key: str, shape: object = (1,), default_value: object = 0.0, dtype: object = dtypes.float32, normalizer_fn: object = None
) -> _SequenceNumericColumn:
    """As tf.feature_column.sequence_numeric_column."""
    return _SequenceNumericColumn(*checked_sequence_numeric(key, shape, default_value, dtype, normalizer_fn))
