"""tf.contrib.layers' columns of embeddings, with one table or scattered over one vector, and DataFrameColumn."""

from __future__ import annotations

import collections
import math
from collections.abc import Sequence
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.contrib.framework.variables import model_variable
from tfcompat._src.contrib.layers.feature_column import (
    _FeatureColumn,
    _get_feature_config,
    _SparseColumn,
    _WeightedSparseColumn,
)
from tfcompat._src.contrib.layers.flatten import as_rank, inner_flatten
from tfcompat._src.contrib.layers.scattered_embedding import scattered_embedding_lookup_sparse
from tfcompat._src.feature_column.base import _DenseColumn
from tfcompat._src.graph.scopes import add_to_collection, get_collection
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.parsing.features import VarLenFeature
from tfcompat._src.ops.sparse.embedding import contrib_safe_embedding_lookup_sparse
from tfcompat._src.platform import logging
from tfcompat._src.train.checkpoint_utils import init_from_checkpoint
from tfcompat._src.variables.initializers import TruncatedNormal
from tfcompat._src.variables.partitioned import PartitionedVariable

_DeepEmbeddingLookupArguments = collections.namedtuple(
    "_DeepEmbeddingLookupArguments",
    ["input_tensor", "weight_tensor", "vocab_size", "initializer", "combiner", "dimension", "shared_embedding_name",
     "hash_key", "max_norm", "trainable"],
)  # fmt: skip
_EMBEDDING = (
    "sparse_id_column", "dimension", "combiner", "initializer", "ckpt_to_load_from", "tensor_name_in_ckpt",
    "shared_embedding_name", "shared_vocab_size", "max_norm", "trainable",
)  # fmt: skip


class _Embedded(_FeatureColumn, _DenseColumn):
    key = property(lambda self: self._key_without_properties(["initializer"]))
    _variable_shape = property(lambda self: TensorShape([self.dimension]))

    def _get_dense_tensor(self, inputs: Any, weight_collections: object = None, trainable: object = None) -> Tensor:
        arguments = self._deep_embedding_lookup_arguments(inputs.get(self))
        return _embeddings_from_arguments(self, arguments, weight_collections, trainable)


class _EmbeddingColumn(_Embedded, collections.namedtuple("_EmbeddingColumn", _EMBEDDING)):
    """See embedding_column and shared_embedding_columns."""

    def __new__(
        cls, sparse_id_column: Any, dimension: int, combiner: str = "mean", initializer: Any = None,
        ckpt_to_load_from: object = None, tensor_name_in_ckpt: object = None, shared_embedding_name: str | None = None,
        shared_vocab_size: int | None = None, max_norm: float | None = None, trainable: bool = True,
    ) -> _EmbeddingColumn:  # fmt: skip
        if initializer is not None and not callable(initializer):
            raise ValueError(
                f"initializer must be callable if specified. Embedding of column_name: {sparse_id_column.name}"
            )
        if (ckpt_to_load_from is None) != (tensor_name_in_ckpt is None):
            raise ValueError("Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them.")
        if initializer is None:
            logging.warning(
                'The default stddev value of initializer was changed from "1/sqrt(vocab_size)" to "1/sqrt(dimension)" in '
                "core implementation (tf.feature_column.embedding_column)."
            )
            initializer = TruncatedNormal(mean=0.0, stddev=1 / math.sqrt(sparse_id_column.length))
        return super().__new__(
            cls, sparse_id_column, dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt,
            shared_embedding_name, shared_vocab_size, max_norm, trainable,
        )  # fmt: skip

    config = property(lambda self: _get_feature_config(self.sparse_id_column))

    @property
    def name(self) -> str:
        shared = "" if self.shared_embedding_name is None else "shared_"
        return f"{self.sparse_id_column.name}_{shared}embedding"

    @property
    def length(self) -> int:
        """The number of ids."""
        return self.sparse_id_column.length if self.shared_vocab_size is None else self.shared_vocab_size

    def _transform_feature(self, inputs: Any) -> Any:
        return inputs.get(self.sparse_id_column)

    def _deep_embedding_lookup_arguments(self, input_tensor: object) -> _DeepEmbeddingLookupArguments:
        ids, weights = self.sparse_id_column.id_tensor(input_tensor), self.sparse_id_column.weight_tensor(input_tensor)
        return _DeepEmbeddingLookupArguments(
            ids, weights, self.length, self.initializer, self.combiner, self.dimension, self.shared_embedding_name, None,
            self.max_norm, self.trainable,
        )  # fmt: skip

    def _wide_embedding_lookup_arguments(self, input_tensor: Any) -> Any:
        raise ValueError(f"Column {self} is not supported in linear models. Please use sparse_column.")

    def _checkpoint_path(self) -> tuple[Any, Any] | None:
        return None if self.ckpt_to_load_from is None else (self.ckpt_to_load_from, self.tensor_name_in_ckpt)


class _ScatteredEmbeddingColumn(
    _Embedded,
    collections.namedtuple(
        "_ScatteredEmbeddingColumn", ["column_name", "size", "dimension", "hash_key", "combiner", "initializer"]
    ),
):
    """See scattered_embedding_column."""

    def __new__(
        cls,
        column_name: str,
        size: int,
        dimension: int,
        hash_key: int,
        combiner: str = "sqrtn",
        initializer: object = None,
    ) -> _ScatteredEmbeddingColumn:
        if initializer is not None and not callable(initializer):
            raise ValueError(f"initializer must be callable if specified. column_name: {column_name}")
        initializer = initializer or TruncatedNormal(mean=0.0, stddev=0.1)
        return super().__new__(cls, column_name, size, dimension, hash_key, combiner, initializer)

    name = property(lambda self: f"{self.column_name}_scattered_embedding")
    config = property(lambda self: {self.column_name: VarLenFeature(dtypes.string)})

    def _transform_feature(self, inputs: Any) -> Any:
        return inputs.get(self.column_name)

    def _deep_embedding_lookup_arguments(self, input_tensor: object) -> _DeepEmbeddingLookupArguments:
        return _DeepEmbeddingLookupArguments(
            input_tensor,
            None,
            self.size,
            self.initializer,
            self.combiner,
            self.dimension,
            None,
            self.hash_key,
            None,
            True,
        )


@export("contrib.slim.DataFrameColumn")
class DataFrameColumn(_FeatureColumn, collections.namedtuple("DataFrameColumn", ["column_name", "series"])):
    """A column that a series of contrib.learn's data frames makes.

    Args:
      column_name: of the column.
      series: has `required_base_features()` and `build(columns_to_tensors)`.
    """

    name = property(lambda self: self.column_name)
    key = property(lambda self: self.name)
    config = property(lambda self: self.series.required_base_features())

    def insert_transformed_feature(self, columns_to_tensors: dict[Any, Any]) -> None:
        columns_to_tensors[self] = self.series.build(columns_to_tensors)

    def _transform_feature(self, inputs: Any) -> Any:
        return inputs.get(self)

    def _to_dnn_input_layer(
        self, input_tensor: object, weight_collections: object = None, trainable: bool = True, output_rank: int = 2
    ) -> Tensor:
        return as_rank(cast(input_tensor, dtypes.float32), output_rank, self.name)

    def _to_dense_tensor(self, input_tensor: object) -> Tensor:
        return self._to_dnn_input_layer(input_tensor)


def parts_of_variable(variable: object) -> list[Any]:
    """A variable or the parts of one as a list."""
    return variable._get_variable_list() if isinstance(variable, PartitionedVariable) else [variable]


def _table(args: _DeepEmbeddingLookupArguments, name: str, shape: list[int], settings: dict[str, Any]) -> Any:
    return model_variable(
        name=name, shape=shape, dtype=dtypes.float32, initializer=args.initializer,
        trainable=settings["trainable"] and args.trainable, collections=settings["collections"],
    )  # fmt: skip


def _shared_table(args: _DeepEmbeddingLookupArguments, shape: list[int], settings: dict[str, Any]) -> Any:
    collection = "SHARED_EMBEDDING_COLLECTION_" + args.shared_embedding_name.upper()
    tables = get_collection(collection)
    if len(tables) > 1:
        raise ValueError(f"Collection {collection} can only contain one (partitioned) variable.")
    if tables and tables[0].get_shape() != shape:
        raise ValueError(
            f"The embedding variable with name {args.shared_embedding_name} already exists, but its shape does not match "
            "required embedding shape here. Please make sure to use different shared_embedding_name for different shared "
            "embeddings."
        )
    if tables:
        return tables[0]
    table = _table(args, args.shared_embedding_name, shape, settings)
    add_to_collection(collection, table)
    return table


def _embeddings_from_arguments(
    column: Any, args: _DeepEmbeddingLookupArguments, weight_collections: object, trainable: object, output_rank: int = 2
) -> Tensor:
    """The embeddings of the ids of a column, combined for each example (or each step, for `output_rank` 3)."""
    ids = inner_flatten(args.input_tensor, output_rank)
    weights = None if args.weight_tensor is None else inner_flatten(args.weight_tensor, output_rank)
    settings = {"trainable": trainable, "collections": weight_collections}
    if args.hash_key:
        vector = _table(args, "weights", [args.vocab_size], settings)
        return scattered_embedding_lookup_sparse(
            vector, ids, args.dimension, hash_key=args.hash_key, combiner=args.combiner, name="lookup"
        )
    shape = [args.vocab_size, args.dimension]
    if args.shared_embedding_name is None:
        table = _table(args, "weights", shape, settings)
    else:
        table = _shared_table(args, shape, settings)
    parts = parts_of_variable(table)
    maybe_restore_from_checkpoint(column._checkpoint_path(), parts)
    return contrib_safe_embedding_lookup_sparse(
        parts, ids, sparse_weights=weights, combiner=args.combiner, name=column.name + "weights", max_norm=args.max_norm
    )


def maybe_restore_from_checkpoint(checkpoint_path: tuple[Any, Any] | None, parts: list[Any]) -> None:
    """Makes the initializers of a variable's parts read a tensor of a checkpoint, where (checkpoint, tensor) is given."""
    if checkpoint_path is not None:
        path, name = checkpoint_path
        init_from_checkpoint(path, {name: parts[0] if len(parts) == 1 else parts})


@export("contrib.layers.embedding_column", "contrib.slim.embedding_column")
def embedding_column(
    sparse_id_column: object, dimension: int, combiner: str = "mean", initializer: object = None,
    ckpt_to_load_from: str | None = None, tensor_name_in_ckpt: str | None = None, max_norm: float | None = None,
    trainable: bool = True,
) -> _EmbeddingColumn:  # fmt: skip
    """A dense column of the combined embeddings of the ids of an example.

    Args:
      sparse_id_column: the column of the ids.
      dimension: size of an embedding.
      combiner: "mean", "sqrtn" or "sum".
      initializer: of the table; by default a truncated normal one of standard deviation 1 / sqrt(number of ids).
      ckpt_to_load_from, tensor_name_in_ckpt: checkpoint, and the tensor in it, from which the table starts.
      max_norm: largest L2 norm of an embedding before combining.
      trainable: whether the table is trained.

    Raises:
      ValueError: one of checkpoint and tensor without the other, or a wrong initializer.
    """
    return _EmbeddingColumn(
        sparse_id_column, dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt, max_norm=max_norm,
        trainable=trainable,
    )  # fmt: skip


def _check_compatible(columns: object) -> None:
    if not isinstance(columns, Sequence) or isinstance(columns, str):
        raise TypeError(
            f"sparse_id_columns must be a non-string sequence (ex: list or tuple) instead of type {type(columns)}."
        )
    if len(columns) < 1:
        raise ValueError("The input sparse_id_columns should have at least one element.")
    for column in columns:
        if not isinstance(column, (_SparseColumn, _WeightedSparseColumn)):
            raise TypeError(
                f"Elements of sparse_id_columns must be _SparseColumn or _WeightedSparseColumn, but {column} is not."
            )
    first = columns[0]
    weighted = isinstance(first, _WeightedSparseColumn)
    if not all(first.is_compatible(c) if weighted else c.is_compatible(first) for c in columns[1:]):
        raise ValueError("The input sparse id columns are not compatible.")


def _shared_name(columns: Any) -> str:
    plain = sorted(c for c in columns if isinstance(c, _SparseColumn))
    weighted = sorted((c for c in columns if not isinstance(c, _SparseColumn)), key=lambda c: c.name)
    names = [column.name for column in plain + weighted]
    others = [f"plus_{len(names) - 3}_others"] if len(names) > 3 else []
    return "_".join([*names[:3], *others, "shared_embedding"])


@export("contrib.layers.shared_embedding_columns", "contrib.slim.shared_embedding_columns")
def shared_embedding_columns(
    sparse_id_columns: Any, dimension: int, combiner: str = "mean", shared_embedding_name: str | None = None,
    initializer: object = None, ckpt_to_load_from: str | None = None, tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None, trainable: bool = True,
) -> Sequence[_EmbeddingColumn]:  # fmt: skip
    """Dense columns of embeddings with one table, one for each column of ids.

    Args:
      sparse_id_columns: sequence of columns of ids with the same ids.
      shared_embedding_name: of the table; by default made of the names of the columns.
      dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable: as
        `embedding_column`'s.

    Raises:
      TypeError: no sequence of such columns. ValueError: there is none, or their ids differ.
    """
    _check_compatible(sparse_id_columns)
    alone = len(sparse_id_columns) == 1
    name = shared_embedding_name if alone else shared_embedding_name or _shared_name(sparse_id_columns)
    size = None if alone else sparse_id_columns[0].length
    columns = [
        _EmbeddingColumn(
            column,
            dimension,
            combiner,
            initializer,
            ckpt_to_load_from,
            tensor_name_in_ckpt,
            name,
            size,
            max_norm,
            trainable,
        )
        for column in sparse_id_columns
    ]
    return columns if alone else tuple(columns)


@export("contrib.layers.scattered_embedding_column", "contrib.slim.scattered_embedding_column")
def scattered_embedding_column(
    column_name: str, size: int, dimension: int, hash_key: int, combiner: str = "mean", initializer: object = None
) -> _ScatteredEmbeddingColumn:
    """A dense column of embeddings whose elements are found by hashes in one vector.

    Args:
      column_name: key of a string feature.
      size: of the vector.
      dimension: of an embedding.
      hash_key: key of the hashes.
      combiner: "mean", "sqrtn" or "sum".
      initializer: of the vector; by default a truncated normal one of standard deviation 0.1.

    Raises:
      ValueError: a size below 1, or another combiner.
    """
    if dimension < 1 or size < 1:
        raise ValueError(
            f"Dimension and size must be greater than 0. dimension: {dimension}, size: {size}, column_name: {column_name}"
        )
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError(
            f"Combiner must be one of 'mean', 'sqrtn' or 'sum'. combiner: {combiner}, column_name: {column_name}"
        )
    return _ScatteredEmbeddingColumn(column_name, size, dimension, hash_key, combiner, initializer)
