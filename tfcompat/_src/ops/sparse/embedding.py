"""Embeddings of sparse ids whose rows may be empty and whose ids may be negative."""

from __future__ import annotations

from typing import Any

from tfcompat._src.framework import dtypes
from tfcompat._src.framework.convert import convert_to_tensor
from tfcompat._src.framework.export import export
from tfcompat._src.framework.scopes import name_scope
from tfcompat._src.framework.sparse_tensor import SparseTensor
from tfcompat._src.framework.tensor import Tensor
from tfcompat._src.framework.tensor_shape import TensorShape
from tfcompat._src.ops.array.fill import ones_like, zeros_like
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat, stack, tile
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import reshape, shape, size
from tfcompat._src.ops.array.slice import slice_
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import greater, greater_equal, logical_and
from tfcompat._src.ops.math.reduce import reduce_prod
from tfcompat._src.ops.nn.embedding import embedding_lookup_sparse, parts_of
from tfcompat._src.ops.sparse.convert import sparse_retain
from tfcompat._src.ops.sparse.layout import sparse_fill_empty_rows, sparse_reshape


@export("nn.safe_embedding_lookup_sparse")
def safe_embedding_lookup_sparse(
    embedding_weights: Any, sparse_ids: SparseTensor, sparse_weights: SparseTensor | None = None, combiner: str = "mean",
    default_id: Any = None, name: str | None = None, partition_strategy: str = "div", max_norm: float | None = None,
) -> Tensor:  # fmt: skip
    """The combined embeddings of each row of ids; negative ids and weights below or equal to 0 are left out.

    Args:
      embedding_weights: the table, as in `tf.nn.embedding_lookup`.
      sparse_ids: SparseTensor [d0, ..., n] of integer ids.
      sparse_weights: SparseTensor of their weights; ids of weight 0 or less count with `combiner="sum"` only.
      combiner: "mean", "sqrtn" or "sum".
      default_id: the id for rows without ids; None for a row of zeros.
      name: node name.
      partition_strategy: "div" or "mod", how the table lies in its parts.
      max_norm: largest L2 norm of an embedding before combining.

    Returns:
      a Tensor [d0, ..., *row of the table].

    Raises:
      ValueError: no table is given.
    """
    if embedding_weights is None:
        raise ValueError("Missing embedding_weights None.")
    table = parts_of(embedding_weights)
    if not table:
        raise ValueError(f"Missing embedding_weights {table}.")
    dtype = None if sparse_weights is None else sparse_weights.dtype
    table = [w if hasattr(w, "sparse_read") and dtype in (None, w.dtype) else convert_to_tensor(w, dtype) for w in table]
    with name_scope(name, "embedding_lookup", [*table, sparse_ids, sparse_weights]) as scope:
        ids, weights, count = _flattened(sparse_ids, sparse_weights)
        ids, weights = _pruned(ids, weights)
        if combiner != "sum":
            ids, weights = _without_weightless(ids, weights)
        ids, is_empty = sparse_fill_empty_rows(ids, default_id or 0)
        if weights is not None:
            weights, _ = sparse_fill_empty_rows(weights, 1.0)
        found = embedding_lookup_sparse(
            table, ids, weights, partition_strategy=partition_strategy,
            name=None if default_id is None else scope, combiner=combiner, max_norm=max_norm,
        )  # fmt: skip
        if default_id is None:
            mask = tile(reshape(is_empty, [-1, 1]), stack([1, shape(found)[1]]))
            found = where(mask, zeros_like(found), found, name=scope)
        return _with_leading(found, sparse_ids, count)


def safe_embedding_lookup_sparse_v2(
    embedding_weights: Any, sparse_ids: SparseTensor, sparse_weights: SparseTensor | None = None, combiner: str = "mean",
    default_id: Any = None, max_norm: float | None = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """`tf.nn.safe_embedding_lookup_sparse` with the arguments of TensorFlow 2, on a table that lies in parts one after another."""
    return safe_embedding_lookup_sparse(
        embedding_weights, sparse_ids, sparse_weights, combiner, default_id, name, partition_strategy="div", max_norm=max_norm
    )


@export("contrib.layers.safe_embedding_lookup_sparse")
def contrib_safe_embedding_lookup_sparse(
    embedding_weights: Any, sparse_ids: SparseTensor, sparse_weights: SparseTensor | None = None, combiner: str | None = None,
    default_id: Any = None, name: str | None = None, partition_strategy: str = "div", max_norm: float | None = None,
) -> Tensor:  # fmt: skip
    """`tf.nn.safe_embedding_lookup_sparse`, with "mean" as combiner where it is None."""
    return safe_embedding_lookup_sparse(
        embedding_weights, sparse_ids, sparse_weights, combiner or "mean", default_id, name, partition_strategy, max_norm
    )


def _flattened(ids: SparseTensor, weights: SparseTensor | None) -> tuple[SparseTensor, SparseTensor | None, Any]:
    """Ids and weights as matrices, and the number of dimensions of the ids."""
    static = ids.dense_shape.shape.with_rank(1).as_list()[0]
    count = size(ids.dense_shape) if static is None else static
    rows = reduce_prod(slice_(ids.dense_shape, [0], [count - 1]))
    ids = sparse_reshape(ids, [rows, gather(ids.dense_shape, count - 1)])
    if weights is not None:
        weights = SparseTensor(ids.indices, weights.values, ids.dense_shape)
    return ids, weights, count


def _pruned(ids: SparseTensor, weights: SparseTensor | None) -> tuple[SparseTensor, SparseTensor | None]:
    is_valid = greater_equal(ids.values, 0)
    if weights is not None:
        is_valid = logical_and(is_valid, ones_like(weights.values, dtype=dtypes.bool))
    return sparse_retain(ids, is_valid), None if weights is None else sparse_retain(weights, is_valid)


def _without_weightless(ids: SparseTensor, weights: SparseTensor | None) -> tuple[SparseTensor, SparseTensor | None]:
    if weights is None:
        return ids, None
    is_valid = greater(weights.values, 0)
    return sparse_retain(ids, is_valid), sparse_retain(weights, is_valid)


def _with_leading(found: Tensor, ids: SparseTensor, count: Any) -> Tensor:
    """`found` with the dimensions of the ids but the last in place of its first; `count` is the rank of the ids."""
    sizes = cast(ids.dense_shape, dtypes.int32)
    result = reshape(found, concat([slice_(sizes, [0], [count - 1]), slice_(shape(found), [1], [-1])], 0))
    if isinstance(count, int):
        result.set_shape(TensorShape([None] * (count - 1)).concatenate(found.shape[1:]))
    return result
