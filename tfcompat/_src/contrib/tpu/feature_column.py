"""Columns of embeddings for TPUEstimator: on other devices ordinary ones, that say how a TPU would hold their tables."""

from __future__ import annotations

from typing import Any

from tfcompat._src.contrib.tpu.replication import get_tpu_context
from tfcompat._src.feature_column import categorical
from tfcompat._src.feature_column.base import SequenceDenseColumn, num_buckets_of
from tfcompat._src.feature_column.embedding import (
    _embedding_column,
    _EmbeddingColumn,
    check_embedding,
    embedding_initializer,
)
from tfcompat._src.feature_column.sequence_feature_column import SequenceCategoricalColumn, _SequenceCategoricalColumn
from tfcompat._src.feature_column.shared_embedding import _SharedEmbeddingColumn
from tfcompat._src.feature_column.state import ScopeState
from tfcompat._src.graph.scopes import get_collection_ref
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.shape import squeeze
from tfcompat._src.variables.scope import get_variable_scope

_TPU_FC_TO_SCOPE = "_tpu_feature_column_scope"
_SEQUENCE_FEATURE_LENGTH_POSTFIX = "_seq_length_"
_SUPPORTED_CATEGORICAL_COLUMNS_V2 = (
    categorical.IdentityCategoricalColumn,
    categorical.VocabularyFileCategoricalColumn,
    categorical.VocabularyListCategoricalColumn,
    categorical.WeightedCategoricalColumn,
    SequenceCategoricalColumn,
)
_SUPPORTED_CATEGORICAL_COLUMNS = (
    categorical._IdentityCategoricalColumn,
    categorical._VocabularyFileCategoricalColumn,
    categorical._VocabularyListCategoricalColumn,
    categorical._WeightedCategoricalColumn,
    _SequenceCategoricalColumn,
    *_SUPPORTED_CATEGORICAL_COLUMNS_V2,
)


def _is_running_on_cpu() -> bool:
    return get_tpu_context().number_of_shards is None


def get_sequence_length_feature_key_name_from_feature_key_name(feature_name: str) -> str:
    """The key of the lengths of a feature of sequences."""
    return feature_name + _SEQUENCE_FEATURE_LENGTH_POSTFIX


def _record_variable_scope_and_name(
    embedding_var_name: str, embedding_var_name_in_fc: str, is_shared_embedding: bool = False
) -> None:
    """Notes in the graph in which scope a table belongs; ValueError where it was noted elsewhere before."""
    collection = get_collection_ref(_TPU_FC_TO_SCOPE)
    if not collection:
        collection.append({})
    scope = get_variable_scope().name
    known_scope, known_name = collection[0].setdefault(embedding_var_name, (scope, embedding_var_name_in_fc))
    where = f"For embedding var name {embedding_var_name}, the "
    if known_scope != scope and not is_shared_embedding:
        raise ValueError(f"{where}variable scope name is different, got {scope}; expected {known_scope}")
    if known_name != embedding_var_name_in_fc:
        raise ValueError(
            f"{where}embedding name is different, got {embedding_var_name_in_fc}; expected {known_name}"
        )


class _TPUBaseEmbeddingColumn:
    """What columns of embeddings say of their tables; inside a TPU's context they take tensors that the host looked up."""

    _name_in_column = "embedding_weights"
    _is_shared = False
    _lengths_are_columns = True

    def _limit(self, max_sequence_length: int, learning_rate_fn: object) -> None:
        """Keeps the settings that ordinary columns lack; ValueError where the length does not fit the kind of column."""
        self._max_sequence_length, self._learning_rate_fn = max_sequence_length, learning_rate_fn
        column = self.categorical_column.name
        if self.is_sequence_column() and max_sequence_length < 1:
            raise ValueError(
                "max_sequence_length must be greater than 0 for sequence columns. "
                f"Got max_sequence_length={max_sequence_length} for sequence column {column}."
            )
        if not self.is_sequence_column() and max_sequence_length != 0:
            raise ValueError(f"Non zero max_seq_length={max_sequence_length} specified for non sequence column {column}.")

    def get_combiner(self) -> str:
        """How embeddings are combined."""
        return self.combiner

    def get_embedding_table_size(self) -> tuple[int, int]:
        """The shape of the table."""
        return num_buckets_of(self.categorical_column), self.dimension

    def get_feature_key_name(self) -> str:
        """The key of the ids."""
        inner = self.categorical_column
        return inner.categorical_column.name if self.is_categorical_column_weighted() else inner.name

    def get_weight_key_name(self) -> str | None:
        """The key of the weights, or None."""
        return self.categorical_column.weight_feature_key if self.is_categorical_column_weighted() else None

    def get_embedding_var_name(self) -> str:
        """The name of the table."""
        return self.categorical_column.name

    def get_initializer(self) -> Any:
        """The initializer of the table."""
        return self.initializer

    def is_categorical_column_weighted(self) -> bool:
        """Whether the ids have weights."""
        return isinstance(self.categorical_column, categorical.Weighted)

    def is_sequence_column(self) -> bool:
        """Whether the ids are those of sequences."""
        return isinstance(self.categorical_column, _SequenceCategoricalColumn)

    def get_max_sequence_length(self) -> int:
        """The number of steps to which sequences are cut, 0 for columns without sequences."""
        return self._max_sequence_length

    def get_learning_rate_fn(self) -> Any:
        """The function of the step that gives the learning rate, or None."""
        return self._learning_rate_fn

    def get_sequence_length_feature_key_name(self) -> str:
        """The key of the lengths of sequences."""
        return get_sequence_length_feature_key_name_from_feature_key_name(self.get_feature_key_name())

    def _record(self) -> None:
        _record_variable_scope_and_name(self.get_embedding_var_name(), self._name_in_column, self._is_shared)

    def _looked_up(self, inputs: Any, state_manager: Any) -> Tensor:
        if self._is_shared or isinstance(state_manager, ScopeState):
            self._record()
        return inputs.get(self.get_feature_key_name(), state_manager)

    def get_dense_tensor(self, transformation_cache: object, state_manager: object) -> Tensor:
        """As the ordinary column's; in a TPU's context the feature itself."""
        if _is_running_on_cpu():
            return super().get_dense_tensor(transformation_cache, state_manager)
        return self._looked_up(transformation_cache, state_manager)

    def get_sequence_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        """As the ordinary column's; in a TPU's context the feature itself and that of its lengths."""
        if _is_running_on_cpu():
            return super().get_sequence_dense_tensor(transformation_cache, state_manager)
        dense = self._looked_up(transformation_cache, state_manager)
        lengths = transformation_cache.get(self.get_sequence_length_feature_key_name(), state_manager)
        lengths = squeeze(lengths, -1) if self._lengths_are_columns else lengths
        return SequenceDenseColumn.TensorSequenceLengthPair(dense, lengths)


class _TPUEmbeddingColumn(_TPUBaseEmbeddingColumn, _EmbeddingColumn):
    """See embedding_column."""

    def get_initializer(self) -> Any:
        return self._tpu_initializer


class _TPUSharedEmbeddingColumn(_TPUBaseEmbeddingColumn, _SharedEmbeddingColumn):
    """See shared_embedding_columns."""

    _is_shared = True
    _lengths_are_columns = False

    def get_embedding_var_name(self) -> str:
        return self.shared_embedding_collection_name


def check_supported(categorical_column: object, kinds: tuple[type, ...], function: str) -> None:
    """TypeError where a TPU cannot hold the embeddings of the ids of a column."""
    if not isinstance(categorical_column, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"categorical_column for tpu  {function} must be type {names}, got {type(categorical_column)}.")


def embedding_column(
    categorical_column: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: object = None,
    max_sequence_length: int = 0,
    learning_rate_fn: object = None,
) -> _TPUEmbeddingColumn:
    """`tf.tpu.experimental.embedding_column` with the earlier interface alone; the arguments are the same."""
    check_supported(categorical_column, _SUPPORTED_CATEGORICAL_COLUMNS, "embedding_column")
    check_embedding(dimension, None, None)
    where = f" Embedding of column_name: {categorical_column.name}"
    initializer = embedding_initializer(initializer, dimension, where)
    ordinary = _embedding_column(categorical_column, dimension, combiner, initializer)
    column = _TPUEmbeddingColumn(*ordinary)
    column._tpu_initializer = initializer
    column._limit(max_sequence_length, learning_rate_fn)
    return column


def checked_shared(
    categorical_columns: Any, kinds: tuple[type, ...], dimension: int, initializer: Any, name: str | None, lengths: Any
) -> tuple[Any, str, list[int]]:
    """The initializer and the name of a shared table, and the length of sequences of each column."""
    for column in categorical_columns:
        check_supported(column, kinds, "shared_embedding_columns")
    lengths = lengths or [0] * len(categorical_columns)
    if len(lengths) != len(categorical_columns):
        raise ValueError(
            "max_sequence_lengths and categorical_columns must be of the same length. "
            f"len(max_sequence_lengths)={len(lengths)} len(categorical_columns)={len(categorical_columns)}."
        )
    check_embedding(dimension, None, None)
    initializer = embedding_initializer(initializer, dimension, " ")
    ordered = sorted(categorical_columns, key=lambda column: column.name)
    for column in ordered[1:]:
        if column._num_buckets != ordered[0]._num_buckets:
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same number of buckets. Given "
                f"column: {ordered[0]} with buckets: {ordered[0]._num_buckets} does  not match column: {column} with "
                f"buckets: {column._num_buckets}"
            )
    return initializer, name or "_".join(column.name for column in ordered) + "_shared_embedding", lengths


def shared_embedding_columns(
    categorical_columns: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    shared_embedding_collection_name: str | None = None,
    max_sequence_lengths: Any = None,
    learning_rate_fn: object = None,
) -> list[_TPUSharedEmbeddingColumn]:
    """`tf.tpu.experimental.shared_embedding_columns` with the earlier interface alone; the arguments are the same."""
    kinds = _SUPPORTED_CATEGORICAL_COLUMNS
    initializer, name, lengths = checked_shared(
        categorical_columns, kinds, dimension, initializer, shared_embedding_collection_name, max_sequence_lengths
    )
    columns = []
    for inner, length in zip(categorical_columns, lengths):
        column = _TPUSharedEmbeddingColumn(inner, dimension, combiner, initializer, name, None, None, None, True)
        column._limit(length, learning_rate_fn)
        columns.append(column)
    return columns


def split_by_kind(feature_columns: Any, kinds: tuple[type, ...]) -> tuple[list[Any], list[Any]]:
    """The columns of sequences, and the others; TypeError for a column of another class."""
    for column in feature_columns:
        if not isinstance(column, kinds):
            names = " or ".join(kind.__name__ for kind in kinds)
            raise TypeError(f"column must be a {names} but got {type(column)} instead.")
    found = [column for column in feature_columns if column.is_sequence_column()]
    return found, [column for column in feature_columns if not column.is_sequence_column()]


def split_sequence_columns(feature_columns: object) -> tuple[list[Any], list[Any]]:
    """The columns of sequences, and the others; TypeError for a column that this module did not make."""
    return split_by_kind(feature_columns, (_TPUEmbeddingColumn, _TPUSharedEmbeddingColumn))
