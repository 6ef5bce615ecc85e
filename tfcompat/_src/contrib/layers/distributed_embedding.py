"""Embeddings of rows of ids that are summed up where the parts of the table lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import colocate_with, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_n_to_tensor_or_indexed_slices, convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.fill import fill
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.partition import dynamic_partition
from tfcompat._src.ops.array.search import setdiff1d, unique
from tfcompat._src.ops.array.shape import expand_dims, rank, reshape, size
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.math.binary import div, power
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.clip import clip_by_norm
from tfcompat._src.ops.math.reduce import reduce_max
from tfcompat._src.ops.math.segment import segment_sum, unsorted_segment_sum
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.math.sparse_segment import sparse_segment_sum
from tfcompat._src.ops.math.unary import sqrt
from tfcompat._src.ops.nn.embedding import _assign_parts, _check_sparse, parts_of

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("contrib.slim.embedding_lookup_sparse_with_distributed_aggregation")
def embedding_lookup_sparse_with_distributed_aggregation(
    params: object,
    sp_ids: SparseTensor,
    sp_weights: SparseTensor | None,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: float | None = None,
) -> Tensor:
    """`tf.nn.embedding_lookup_sparse` that sums the rows of each part of the table where that part lies.

    Args:
      params, sp_ids, sp_weights, partition_strategy, name, combiner, max_norm: as there.

    Raises:
      TypeError: ids or weights are not sparse. ValueError: another combiner.
    """
    combiner = combiner or "mean"
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError("combiner must be one of 'mean', 'sqrtn' or 'sum'")
    params = parts_of(params)
    _check_sparse(sp_ids, sp_weights)
    with name_scope(name, "embedding_lookup_sparse", [*params, sp_ids]):
        segments = cast(sp_ids.indices[:, 0], dtypes.int32)
        ids, places, weights = sp_ids.values, None, None
        if sp_weights is None:
            ids, places = unique(ids)
        else:
            weights = sp_weights.values
        embeddings = _summed(params, ids, partition_strategy, max_norm, weights, places, segments)
        if weights is None:
            weights = fill([shape_of(segments)[0]], 1)
        weights = _as_factors(cast(weights, embeddings.dtype), embeddings)
        if combiner == "mean":
            return div(embeddings, segment_sum(weights, segments))
        if combiner == "sqrtn":
            return div(embeddings, sqrt(segment_sum(power(weights, 2), segments)))
        return embeddings


def _as_factors(weights: Tensor, rows: Tensor) -> Tensor:
    """Weights of rows with as many dimensions as the rows."""
    ones = fill(expand_dims(rank(rows) - 1, 0), 1)
    factors = reshape(weights, concat([shape_of(weights), ones], 0))
    if rows.shape.ndims is not None:
        factors.set_shape(weights.shape.concatenate([1] * (rows.shape.ndims - 1)))
    return factors


def _rows(part: Any, ids: Tensor, max_norm: float | None) -> Tensor:
    rows = part.sparse_read(ids) if hasattr(part, "sparse_read") else gather(part, ids)
    if max_norm is None:
        return rows
    return clip_by_norm(rows, max_norm, axes=list(range(1, rows.shape.ndims)))


def _weighted(rows: Tensor, weights: Tensor) -> Tensor:
    return rows * _as_factors(cast(weights, rows.dtype), rows)


def _summed(
    params: list, ids: Tensor, strategy: str, max_norm: float | None, weights: Any, places: TensorLike, segments: Tensor
) -> Tensor:
    """The sums of the (weighted) embeddings of each segment; `places` says which of the ids each element has."""
    with name_scope(None, "embedding_lookup_with_distributed_aggregation", [*params, ids]) as scope:
        if not any(hasattr(part, "sparse_read") for part in params):
            params = convert_n_to_tensor_or_indexed_slices(params, name="params")
        if len(params) > 1:
            return _summed_in_parts(params, ids, strategy, max_norm, weights, places, segments, scope)
        with colocate_with(params[0]):
            rows = _rows(params[0], ids, max_norm)
            if weights is None:
                return sparse_segment_sum(rows, places, segments, name=scope)
            return segment_sum(_weighted(rows, weights), segments, name=scope)


def _summed_in_parts(
    params: list,
    ids: Tensor,
    strategy: str,
    max_norm: float | None,
    weights: TensorLike,
    places: Any,
    segments: Tensor,
    scope: str,
) -> Tensor:
    flat = reshape(convert_to_tensor(ids, name="ids"), [-1])
    order = arange(size(flat))
    parts, rows = _assign_parts(params, flat, strategy)
    parts = cast(parts, dtypes.int32)
    rows_of = dynamic_partition(rows, parts, len(params))
    ids_of = dynamic_partition(order, parts, len(params))
    sums, owners = [], []
    for part, part_rows, part_ids in zip(params, rows_of, ids_of):
        with colocate_with(part):
            found = _rows(part, part_rows, max_norm)
            if weights is None:
                chosen = _elements_of(places, part_ids)
                owner, segment = unique(gather(segments, chosen))
                _, local = unique(gather(places, chosen))
                sums.append(sparse_segment_sum(found, local, segment))
            else:
                owner, segment = unique(gather(segments, part_ids))
                sums.append(segment_sum(_weighted(found, gather(weights, part_ids)), segment))
            owners.append(owner)
    owner = concat(owners, 0)
    return unsorted_segment_sum(concat(sums, 0), owner, reduce_max(owner) + 1, name=scope)


def _elements_of(places: Tensor, part_ids: Tensor) -> Tensor:
    """The elements whose id is one of `part_ids`."""
    _, others = setdiff1d(places, part_ids)
    _, chosen = setdiff1d(arange(size(places)), others)
    return chosen
