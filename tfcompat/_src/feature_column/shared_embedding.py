"""Columns of embeddings that share one table."""

from __future__ import annotations

import collections
import weakref
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.feature_column.base import (
    CategoricalColumn,
    DenseColumn,
    SequenceDenseColumn,
    _CategoricalColumn,
    _DenseColumn,
    _SequenceDenseColumn,
    num_buckets_of,
)  # fmt: skip
from tfcompat._src.feature_column.categorical import Weighted
from tfcompat._src.feature_column.embedding import Embedded, check_embedding, embedding_initializer, restore
from tfcompat._src.feature_column.serialization import Configured, serializable
from tfcompat._src.graph.scopes import (
    add_to_collection,
    executing_eagerly,
    get_collection,
    get_default_graph,
    name_scope,
)
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.train.trackable_data_structures import AutoTrackable
from tfcompat._src.variables.scope import get_variable

_SHARED = (
    "categorical_column", "dimension", "combiner", "initializer", "shared_embedding_collection_name", "ckpt_to_load_from",
    "tensor_name_in_ckpt", "max_norm", "trainable",
)  # fmt: skip
_FIXES = (
    "Suggested fix A: Choose a unique name for this collection. Suggested fix B: Do not add any variables to this "
    "collection. The feature_column library already adds a variable under the hood."
)


class _Shared(Embedded):
    name = property(lambda self: f"{self.categorical_column.name}_shared_embedding")

    def _embedded(self, transformation_cache: object, state_manager: object) -> tuple[Tensor, SparseTensor]:
        with name_scope(None, default_name=self.name):
            return super()._embedded(transformation_cache, state_manager)


class _SharedEmbeddingColumn(
    _Shared, _DenseColumn, _SequenceDenseColumn, collections.namedtuple("_SharedEmbeddingColumn", _SHARED)
):
    """See shared_embedding_columns; the table is the variable in the collection of the columns."""

    layer, sequence_layer = "input_layer", "sequence_input_layer"
    _var_scope_name = property(lambda self: self.shared_embedding_collection_name)

    def _table(self, state_manager: object) -> Any:
        weights = self._found() or self._made(state_manager)
        restore(self.ckpt_to_load_from, self.tensor_name_in_ckpt, weights)
        return weights

    def _shape(self) -> tuple[int, int]:
        return num_buckets_of(self.categorical_column), self.dimension

    def _found(self) -> Any:
        variables = get_collection(self.shared_embedding_collection_name)
        if len(variables) > 1:
            raise ValueError(f"Collection {variables} can only contain one variable. {_FIXES}")
        if variables and variables[0].get_shape() != self._shape():
            raise ValueError(
                f"Shared embedding collection {self.shared_embedding_collection_name} contains variable "
                f"{variables[0].name} of unexpected shape {variables[0].get_shape()}. Expected shape is {self._shape()}. "
                f"{_FIXES}"
            )
        return variables[0] if variables else None

    def _made(self, state: Any) -> Any:
        weights = get_variable(
            name="embedding_weights", shape=self._shape(), dtype=dtypes.float32, initializer=self.initializer,
            trainable=self.trainable and state.trainable, collections=state.weight_collections,
        )  # fmt: skip
        add_to_collection(self.shared_embedding_collection_name, weights)
        return weights


class SharedEmbeddingColumnCreator(AutoTrackable):
    """Makes columns that share a table, and the table.

    Args:
      dimension, num_buckets: size of an embedding, and how many there are.
      initializer: of the table.
      ckpt_to_load_from, tensor_name_in_ckpt: checkpoint, and the tensor in it, from which the table starts, or None.
      trainable: whether the table is trained.
      name: of the variable.
    """

    def __init__(
        self, dimension: int, initializer: Any, ckpt_to_load_from: object, tensor_name_in_ckpt: object, num_buckets: int,
        trainable: bool, name: str = "shared_embedding_column_creator",
    ) -> None:  # fmt: skip
        self._dimension, self._num_buckets, self._initializer = dimension, num_buckets, initializer
        self._ckpt_to_load_from, self._tensor_name_in_ckpt = ckpt_to_load_from, tensor_name_in_ckpt
        self._trainable, self._name = trainable, name
        self._embedding_weights: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    dimension = property(lambda self: self._dimension)

    def __call__(self, categorical_column: object, combiner: str, max_norm: float | None) -> SharedEmbeddingColumn:
        return SharedEmbeddingColumn(categorical_column, self, combiner, max_norm)

    @property
    def embedding_weights(self) -> Any:
        """The table in the default graph."""
        graph = get_default_graph()
        if graph not in self._embedding_weights:
            weights = get_variable(
                name=self._name, shape=(self._num_buckets, self._dimension), dtype=dtypes.float32,
                initializer=self._initializer, trainable=self._trainable,
            )  # fmt: skip
            restore(self._ckpt_to_load_from, self._tensor_name_in_ckpt, weights)
            self._embedding_weights[graph] = weights
        return self._embedding_weights[graph]


def _no_earlier_interface(*args: Any, **kwargs: Any) -> None:
    raise ValueError(
        "SharedEmbeddingColumns are not supported in `linear_model` or `input_layer`. Please use `DenseFeatures` or "
        "`LinearModel` instead."
    )


@serializable
class SharedEmbeddingColumn(
    _Shared, Configured, DenseColumn, SequenceDenseColumn, _DenseColumn, _SequenceDenseColumn,
    collections.namedtuple(
        "SharedEmbeddingColumn", ("categorical_column", "shared_embedding_column_creator", "combiner", "max_norm")
    ),
):  # fmt: skip
    """See shared_embedding_columns_v2."""

    dimension = property(lambda self: self.shared_embedding_column_creator.dimension)
    _parse_example_spec = _variable_shape = property(_no_earlier_interface)
    _transform_feature = _get_dense_tensor = _get_sequence_dense_tensor = _no_earlier_interface

    def _table(self, state_manager: object) -> Any:
        return self.shared_embedding_column_creator.embedding_weights

    def _get_config(self) -> dict[str, Any]:
        raise NotImplementedError("SharedEmbeddingColumn has no configuration.")

    @classmethod
    def _from_config(cls, config: dict[str, Any], custom_objects: Any = None, columns_by_name: Any = None) -> Any:
        raise NotImplementedError("SharedEmbeddingColumn has no configuration.")


def _check_alike(columns: list[Any], kind: type) -> None:
    """ValueError where columns of ids cannot share a table."""

    def inner(column: object) -> Any:
        return column.categorical_column if isinstance(column, Weighted) else column

    buckets = [column._num_buckets if kind is _CategoricalColumn else column.num_buckets for column in columns]
    if not isinstance(columns[0], kind):
        raise ValueError(
            f"All categorical_columns must be subclasses of {kind.__name__}. Given: {columns[0]}, of type: {type(columns[0])}"
        )
    first = inner(columns[0])
    for column, count in zip(map(inner, columns[1:]), buckets[1:]):
        if not isinstance(column, type(first)):
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same type, or be "
                f"weighted_categorical_column of the same type. Given column: {first} of type: {type(first)} does not "
                f"match given column: {column} of type: {type(column)}"
            )
        if count != buckets[0]:
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same number of buckets. Given "
                f"column: {first} with buckets: {buckets[0]} does  not match column: {column} with buckets: {count}"
            )


def _checked_shared(
    columns: Any, dimension: int, initializer: object, name: str | None, checkpoint: object, tensor: object, kind: type
) -> tuple[Any, str]:
    """The initializer and the name of a shared table."""
    if executing_eagerly():
        raise RuntimeError("shared_embedding_columns are not supported when eager execution is enabled.")
    check_embedding(dimension, checkpoint, tensor)
    initializer = embedding_initializer(initializer, dimension)
    ordered = sorted(columns, key=lambda column: column.name)
    _check_alike(ordered, kind)
    return initializer, name or "_".join(column.name for column in ordered) + "_shared_embedding"


@export("feature_column.shared_embedding_columns")
def shared_embedding_columns(
    categorical_columns: Any, dimension: int, combiner: str = "mean", initializer: object = None,
    shared_embedding_collection_name: str | None = None, ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None, max_norm: float | None = None, trainable: bool = True,
) -> list[_SharedEmbeddingColumn]:  # fmt: skip
    """Dense columns of embeddings with one table, one for each column of ids.

    Args:
      categorical_columns: columns of ids of one type with equally many ids; some may have weights.
      shared_embedding_collection_name: collection that holds the table, and its variable scope.
      dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable: as
        `embedding_column`'s.

    Raises:
      ValueError: the columns differ, or as `embedding_column`. RuntimeError: execution is eager.
    """
    initializer, name = _checked_shared(
        categorical_columns, dimension, initializer, shared_embedding_collection_name, ckpt_to_load_from,
        tensor_name_in_ckpt, _CategoricalColumn,
    )  # fmt: skip
    return [
        _SharedEmbeddingColumn(
            column, dimension, combiner, initializer, name, ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable
        )
        for column in categorical_columns
    ]


@export("compat.v2.feature_column.shared_embeddings")
def shared_embedding_columns_v2(
    categorical_columns: Any, dimension: int, combiner: str = "mean", initializer: Any = None,
    shared_embedding_collection_name: str | None = None, ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None, max_norm: float | None = None, trainable: bool = True,
) -> list[SharedEmbeddingColumn]:  # fmt: skip
    """`shared_embedding_columns` for DenseFeatures and SequenceFeatures; the collection's name is the variable's."""
    initializer, name = _checked_shared(
        categorical_columns, dimension, initializer, shared_embedding_collection_name, ckpt_to_load_from,
        tensor_name_in_ckpt, CategoricalColumn,
    )  # fmt: skip
    creator = SharedEmbeddingColumnCreator(
        dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt, num_buckets_of(categorical_columns[0]), trainable,
        name,
    )  # fmt: skip
    return [creator(column, combiner, max_norm) for column in categorical_columns]
