"""Embeddings of sparse ids whose rows may be empty and whose ids may be negative."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.fill import ones_like, zeros_like
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat, stack, tile
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import reshape, shape, size
from tfcompat._src.ops.array.slice import slice_
from tfcompat._src.ops.composed.check_ops import assert_same_float_dtype
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import greater, greater_equal, logical_and
from tfcompat._src.ops.math.reduce import reduce_prod
from tfcompat._src.ops.nn.embedding import embedding_lookup_sparse, parts_of
from tfcompat._src.ops.sparse.convert import sparse_retain
from tfcompat._src.ops.sparse.layout import sparse_fill_empty_rows, sparse_reshape


@export("nn.safe_embedding_lookup_sparse")
def safe_embedding_lookup_sparse(
    embedding_weights: object, sparse_ids: SparseTensor, sparse_weights: SparseTensor | None = None, combiner: str = "mean",
    default_id: object = None, name: str | None = None, partition_strategy: str = "div", max_norm: float | None = None,
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
    tables = [] if embedding_weights is None else parts_of(embedding_weights)
    if not tables:
        raise ValueError(f"Missing embedding_weights {embedding_weights}.")
    dtype = None if sparse_weights is None else sparse_weights.dtype
    tables = [t if hasattr(t, "sparse_read") and dtype in (None, t.dtype) else convert_to_tensor(t, dtype) for t in tables]
    with name_scope(name, "embedding_lookup", [*tables, sparse_ids, sparse_weights]) as scope:
        ndims = sparse_ids.dense_shape.shape.with_rank(1).as_list()[0]
        if ndims is None:
            ndims = size(sparse_ids.dense_shape)
        ids, *weights = _counted(_as_matrices(sparse_ids, sparse_weights, ndims), combiner)
        ids, is_empty = sparse_fill_empty_rows(ids, default_id or 0)
        weights = [sparse_fill_empty_rows(w, 1.0)[0] for w in weights]
        combined = embedding_lookup_sparse(
            tables, ids, *(weights or [None]), partition_strategy=partition_strategy,
            name=None if default_id is None else scope, combiner=combiner, max_norm=max_norm,
        )  # fmt: skip
        if default_id is None:
            is_zero = tile(reshape(is_empty, [-1, 1]), stack([1, shape(combined)[1]]))
            combined = where(is_zero, zeros_like(combined), combined, name=scope)
        leading = slice_(cast(sparse_ids.dense_shape, dtypes.int32), [0], [ndims - 1])
        result = reshape(combined, concat([leading, slice_(shape(combined), [1], [-1])], 0))
        if isinstance(ndims, int):
            result.set_shape(TensorShape([None] * (ndims - 1)).concatenate(combined.shape[1:]))
        return result


@export("compat.v2.nn.safe_embedding_lookup_sparse")
def safe_embedding_lookup_sparse_v2(
    embedding_weights: object, sparse_ids: SparseTensor, sparse_weights: SparseTensor | None = None, combiner: str = "mean",
    default_id: object = None, max_norm: float | None = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """`tf.nn.safe_embedding_lookup_sparse` with the arguments of TensorFlow 2, on a table that lies in parts one after another."""
    return safe_embedding_lookup_sparse(
        embedding_weights, sparse_ids, sparse_weights, combiner, default_id, name, partition_strategy="div", max_norm=max_norm
    )


@export("contrib.layers.safe_embedding_lookup_sparse")
def contrib_safe_embedding_lookup_sparse(
    embedding_weights: object, sparse_ids: SparseTensor, sparse_weights: SparseTensor | None = None, combiner: str | None = None,
    default_id: object = None, name: str | None = None, partition_strategy: str = "div", max_norm: float | None = None,
) -> Tensor:  # fmt: skip
    """`tf.nn.safe_embedding_lookup_sparse`, with "mean" as combiner where it is None; reads the whole table first."""
    tables = [] if embedding_weights is None else parts_of(embedding_weights)
    dtype = None if sparse_weights is None else sparse_weights.dtype
    tables = [convert_to_tensor(table, dtype) for table in tables]
    assert_same_float_dtype([*tables, sparse_weights])
    return safe_embedding_lookup_sparse(
        tables, sparse_ids, sparse_weights, combiner or "mean", default_id, name, partition_strategy, max_norm
    )


def _as_matrices(ids: SparseTensor, weights: SparseTensor | None, ndims: Any) -> list[SparseTensor]:
    """The ids, and the weights where there are any, with all dimensions but the last as one."""
    sizes = ids.dense_shape
    rows = reduce_prod(slice_(sizes, [0], [ndims - 1]))
    flat = sparse_reshape(ids, [rows, gather(sizes, ndims - 1)])
    return [flat] if weights is None else [flat, SparseTensor(flat.indices, weights.values, flat.dense_shape)]


def _counted(matrices: list[SparseTensor], combiner: str) -> list[SparseTensor]:
    """Ids and weights without those that do not count: negative ids, and, but for sums, weights of 0 or less."""
    has_weights = len(matrices) > 1
    is_id = greater_equal(matrices[0].values, 0)
    if has_weights:
        is_id = logical_and(is_id, ones_like(matrices[1].values, dtype=dtypes.bool))
    matrices = [sparse_retain(m, is_id) for m in matrices]
    if has_weights and combiner != "sum":
        has_weight = greater(matrices[1].values, 0)
        matrices = [sparse_retain(m, has_weight) for m in matrices]
    return matrices
