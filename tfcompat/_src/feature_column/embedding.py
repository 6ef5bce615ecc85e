"""Columns of the embeddings of ids, each with a table of its own or several with one."""

from __future__ import annotations

import collections
import math
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.feature_column import utils
from tfcompat._src.feature_column.base import (
    DenseColumn,
    EarlierInterface,
    SequenceDenseColumn,
    _DenseColumn,
    _SequenceDenseColumn,
    num_buckets_of,
    parse_spec_of,
)  # fmt: skip
from tfcompat._src.feature_column.sequence_feature_column import check_sequence
from tfcompat._src.feature_column.serialization import Configured, serializable
from tfcompat._src.feature_column.state import add_to_weight_collections
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.layers.scoped_layer import Layer
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.sparse.embedding import safe_embedding_lookup_sparse
from tfcompat._src.train.checkpoint_utils import init_from_checkpoint
from tfcompat._src.variables.initializers import TruncatedNormal
from tfcompat._src.variables.partitioned import PartitionedVariable
from tfcompat._src.variables.scope import get_variable_scope

_EMBEDDING = (
    "categorical_column", "dimension", "combiner", "initializer", "ckpt_to_load_from", "tensor_name_in_ckpt", "max_norm",
    "trainable",
)  # fmt: skip


def restore(checkpoint: Any, name: Any, weights: Any) -> None:
    """Makes the initializer of a table read a checkpoint, where one is given."""
    if checkpoint is not None:
        parts = weights._get_variable_list() if isinstance(weights, PartitionedVariable) else weights
        init_from_checkpoint(checkpoint, {name: parts})


class Embedded(EarlierInterface):
    """What columns of embeddings do; a class says where the table comes from (`_lookup`)."""

    kind, layer, sequence_layer = "embedding", "DenseFeatures", "SequenceFeatures"
    _ids_again = True
    """Whether the lengths of sequences are read off nodes of their own, as 1.15 has it for most such columns."""

    parents = property(lambda self: [self.categorical_column])
    parse_example_spec = property(lambda self: parse_spec_of(self.categorical_column))
    variable_shape = property(lambda self: TensorShape([self.dimension]))

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        return transformation_cache.get(self.categorical_column, state_manager)

    def get_dense_tensor(self, transformation_cache: object, state_manager: object) -> Tensor:
        check_sequence(self, state_manager, wanted=False)
        return self._embedded(transformation_cache, state_manager)[0]

    def get_sequence_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        check_sequence(self, state_manager, wanted=True)
        dense, ids = self._embedded(transformation_cache, state_manager)
        if self._ids_again:
            ids = transformation_cache.sparse_tensors(self.categorical_column, state_manager).id_tensor
        return SequenceDenseColumn.TensorSequenceLengthPair(dense, utils.sequence_length_from_sparse_tensor(ids))

    def _embedded(self, transformation_cache: Any, state_manager: Any) -> tuple[Tensor, SparseTensor]:
        """The embeddings, and the ids."""
        ids, weights = transformation_cache.sparse_tensors(self.categorical_column, state_manager)
        dense = safe_embedding_lookup_sparse(
            self._table(state_manager), sparse_ids=ids, sparse_weights=weights, combiner=self.combiner,
            name=f"{self.name}_weights", max_norm=self.max_norm,
        )  # fmt: skip
        return dense, ids


class Embedding(Embedded):
    """What columns of embeddings with a table of their own do."""

    name = property(lambda self: f"{self.categorical_column.name}_embedding")

    def create_state(self, state_manager: Any) -> None:
        state_manager.create_variable(
            self, name="embedding_weights", shape=(num_buckets_of(self.categorical_column), self.dimension),
            dtype=dtypes.float32, trainable=self.trainable, use_resource=True, initializer=self.initializer,
        )  # fmt: skip

    def _table(self, state_manager: Any) -> Any:
        weights = state_manager.get_variable(self, name="embedding_weights")
        restore(self.ckpt_to_load_from, self.tensor_name_in_ckpt, weights)
        return weights


@serializable
class EmbeddingColumn(
    Embedding, Configured, DenseColumn, SequenceDenseColumn, _DenseColumn, _SequenceDenseColumn,
    collections.namedtuple("EmbeddingColumn", _EMBEDDING),
):  # fmt: skip
    """See embedding_column."""

    _ids_again = False


class _EmbeddingColumn(
    Embedding, _DenseColumn, _SequenceDenseColumn,
    collections.namedtuple("_EmbeddingColumn", [f.replace("initializer", "layer_creator") for f in _EMBEDDING]),
):  # fmt: skip
    """EmbeddingColumn with the earlier interface alone; `layer_creator` makes the table."""

    layer, sequence_layer = "input_layer", "sequence_input_layer"

    def _table(self, state_manager: Any) -> Any:
        weights = self.layer_creator(weight_collections=state_manager.weight_collections, scope=get_variable_scope())
        restore(self.ckpt_to_load_from, self.tensor_name_in_ckpt, weights)
        return weights


class _EmbeddingColumnLayer(Layer):
    """A layer that gives a table of embeddings."""

    def __init__(
        self, embedding_shape: Any, initializer: Any, weight_collections: object = None, trainable: bool = True,
        name: str | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(trainable=trainable, name=name, **kwargs)
        self._embedding_shape, self._initializer = embedding_shape, initializer
        self._weight_collections = weight_collections

    def set_weight_collections(self, weight_collections: object) -> None:
        """Sets the collections that the table joins when it is made."""
        self._weight_collections = weight_collections

    def build(self, input_shape: Any) -> None:
        self._embedding_weight_var = self.add_variable(
            name="embedding_weights", shape=self._embedding_shape, dtype=dtypes.float32, initializer=self._initializer,
            trainable=self.trainable,
        )  # fmt: skip
        if self._weight_collections:
            add_to_weight_collections(self._embedding_weight_var, self._weight_collections)
        self.built = True

    def call(self, inputs: Any) -> Any:
        return self._embedding_weight_var


def check_embedding(dimension: int | None, ckpt_to_load_from: object, tensor_name_in_ckpt: object) -> None:
    if dimension is None or dimension < 1:
        raise ValueError(f"Invalid dimension {dimension}.")
    if (ckpt_to_load_from is None) != (tensor_name_in_ckpt is None):
        raise ValueError("Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them.")


def embedding_initializer(initializer: object, dimension: int, where: str = "") -> Any:
    if initializer is None:
        return TruncatedNormal(mean=0.0, stddev=1 / math.sqrt(dimension))
    if not callable(initializer):
        raise ValueError("initializer must be callable if specified." + where)
    return initializer


@export("feature_column.embedding_column")
def embedding_column(
    categorical_column: Any, dimension: int, combiner: str = "mean", initializer: object = None,
    ckpt_to_load_from: str | None = None, tensor_name_in_ckpt: str | None = None, max_norm: float | None = None,
    trainable: bool = True,
) -> EmbeddingColumn:  # fmt: skip
    """A dense column of the combined embeddings of the ids of an example.

    Args:
      categorical_column: the column of the ids.
      dimension: size of an embedding.
      combiner: "mean", "sqrtn" or "sum".
      initializer: of the table; by default a truncated normal one of standard deviation 1 / sqrt(dimension).
      ckpt_to_load_from, tensor_name_in_ckpt: checkpoint, and the tensor in it, from which the table starts.
      max_norm: largest L2 norm of an embedding before combining.
      trainable: whether the table is trained.

    Raises:
      ValueError: no dimension above 0, one of checkpoint and tensor without the other, or a wrong initializer.
    """
    check_embedding(dimension, ckpt_to_load_from, tensor_name_in_ckpt)
    where = f" Embedding of column_name: {categorical_column.name}"
    return EmbeddingColumn(
        categorical_column, dimension, combiner, embedding_initializer(initializer, dimension, where), ckpt_to_load_from,
        tensor_name_in_ckpt, max_norm, trainable,
    )  # fmt: skip


def _embedding_column(
    categorical_column: Any, dimension: int, combiner: str = "mean", initializer: Any = None,
    ckpt_to_load_from: str | None = None, tensor_name_in_ckpt: str | None = None, max_norm: float | None = None,
    trainable: bool = True,
) -> _EmbeddingColumn:  # fmt: skip
    check_embedding(dimension, ckpt_to_load_from, tensor_name_in_ckpt)
    initializer = embedding_initializer(initializer, dimension, f" Embedding of column_name: {categorical_column.name}")
    embedding_shape = categorical_column._num_buckets, dimension

    def make(weight_collections: object, scope: object) -> Any:
        layer = _EmbeddingColumnLayer(
            embedding_shape, initializer, weight_collections, trainable, name="embedding_column_layer"
        )
        return layer(None, scope=scope)

    return _EmbeddingColumn(
        categorical_column, dimension, combiner, make, ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable
    )
