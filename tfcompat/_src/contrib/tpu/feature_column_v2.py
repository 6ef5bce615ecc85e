"""tf.tpu.experimental.embedding_column and shared_embedding_columns."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.tpu.feature_column import (
    _SUPPORTED_CATEGORICAL_COLUMNS_V2,
    _is_running_on_cpu,
    _TPUBaseEmbeddingColumn,
    check_supported,
    checked_shared,
    split_by_kind,
)
from tfcompat._src.feature_column.base import num_buckets_of
from tfcompat._src.feature_column.embedding import EmbeddingColumn, check_embedding, embedding_initializer
from tfcompat._src.feature_column.shared_embedding import SharedEmbeddingColumn, SharedEmbeddingColumnCreator


class _TPUEmbeddingColumnV2(_TPUBaseEmbeddingColumn, EmbeddingColumn):
    """See embedding_column_v2."""

    def create_state(self, state_manager: object) -> None:
        if _is_running_on_cpu():
            super().create_state(state_manager)
        else:
            self._record()


class _TPUSharedEmbeddingColumnV2(_TPUBaseEmbeddingColumn, SharedEmbeddingColumn):
    """See shared_embedding_columns_v2."""

    _is_shared = True
    _name_in_column = property(lambda self: self.shared_embedding_column_creator._name)

    def get_embedding_var_name(self) -> str:
        return self.shared_embedding_column_creator._name

    def get_initializer(self) -> Any:
        return self.shared_embedding_column_creator._initializer


@export("tpu.experimental.embedding_column")
def embedding_column_v2(
    categorical_column: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: object = None,
    max_sequence_length: int = 0,
    learning_rate_fn: object = None,
) -> _TPUEmbeddingColumnV2:
    """`tf.feature_column.embedding_column` for TPUEstimator; on other devices it does the same.

    Args:
      categorical_column: column of ids of a vocabulary or of integers, maybe with weights, maybe of sequences.
      dimension, combiner, initializer: as there.
      max_sequence_length: number of steps to which sequences are cut on a TPU; 0 for ids without sequences.
      learning_rate_fn: function of the step that gives the learning rate of the table on a TPU.

    Raises:
      TypeError: another column. ValueError: no dimension above 0, a wrong initializer or length.
    """
    check_supported(categorical_column, _SUPPORTED_CATEGORICAL_COLUMNS_V2, "embedding_column")
    check_embedding(dimension, None, None)
    where = f" Embedding of column_name: {categorical_column.name}"
    initializer = embedding_initializer(initializer, dimension, where)
    column = _TPUEmbeddingColumnV2(categorical_column, dimension, combiner, initializer, None, None, None, True)
    column._limit(max_sequence_length, learning_rate_fn)
    return column


@export("tpu.experimental.shared_embedding_columns")
def shared_embedding_columns_v2(
    categorical_columns: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    shared_embedding_collection_name: str | None = None,
    max_sequence_lengths: Any = None,
    learning_rate_fn: object = None,
) -> list[_TPUSharedEmbeddingColumnV2]:
    """Columns of embeddings with one table for TPUEstimator; on other devices they are ordinary ones.

    Args:
      categorical_columns: columns as of `embedding_column`, with equally many ids.
      dimension, combiner, initializer, learning_rate_fn: as `embedding_column`'s.
      shared_embedding_collection_name: of the table.
      max_sequence_lengths: list of the number of steps to which sequences are cut.

    Raises:
      TypeError: another column. ValueError: they differ, or as `embedding_column`.
    """
    kinds = _SUPPORTED_CATEGORICAL_COLUMNS_V2
    initializer, name, lengths = checked_shared(
        categorical_columns, kinds, dimension, initializer, shared_embedding_collection_name, max_sequence_lengths
    )
    buckets = num_buckets_of(categorical_columns[0])
    creator = SharedEmbeddingColumnCreator(dimension, initializer, None, None, buckets, None, name)
    columns = []
    for inner, length in zip(categorical_columns, lengths):
        column = _TPUSharedEmbeddingColumnV2(inner, creator, combiner, None)
        column._limit(length, learning_rate_fn)
        columns.append(column)
    return columns


def split_sequence_columns_v2(feature_columns: object) -> tuple[list[Any], list[Any]]:
    """The columns of sequences, and the others; TypeError for a column that this module did not make."""
    return split_by_kind(feature_columns, (_TPUEmbeddingColumnV2, _TPUSharedEmbeddingColumnV2))
