"""tf.nn.embedding_lookup and its sparse forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import dimension_value
from tfcompat._src.graph.scopes import colocate_with, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_n_to_tensor_or_indexed_slices, to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.fill import fill
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat, stack
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import expand_dims, rank, reshape, shape, size
from tfcompat._src.ops.math.binary import div, maximum, power
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.clip import clip_by_norm
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.platform import logging

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def parts_of(params: Any) -> list:
    """`params` as the list of its parts: a partitioned variable, a list, or one tensor."""
    if hasattr(params, "_get_variable_list"):
        return list(params)
    return params if isinstance(params, list) else [params]


def _known_rank(x: TensorLike) -> Tensor | int:
    ndims = to_tensor(x).shape.ndims
    return ndims or rank(x)


def _clipped(found: Tensor, ids: TensorLike, max_norm: float | None) -> Tensor:
    """`found` with every embedding scaled to at most the norm `max_norm`."""
    if max_norm is None:
        return found
    first, end = _known_rank(ids), _known_rank(found)
    known = isinstance(first, int) and isinstance(end, int)
    return clip_by_norm(found, max_norm, axes=list(range(first, end)) if known else arange(first, end))


def _total_rows(params: list, dtype: dtypes.DType) -> Tensor:
    """The number of rows of all parts."""
    known = [None if p.shape.ndims is None else dimension_value(p.shape[0]) for p in params]
    if None not in known:
        return constant(sum(known), dtype)
    sizes = []
    for part, count in zip(params, known):
        if count is None:
            with colocate_with(part):
                count = shape(part)[0]
        sizes.append(count)
    return reduce_sum(cast(stack(sizes), dtype))


def _assign_parts(params: list, ids: Tensor, strategy: str) -> tuple[Tensor, Tensor]:
    """For each id the number of its part, and its row there."""
    count = len(params)
    if strategy == "mod":
        return ids % count, ids // count
    if strategy != "div":
        raise ValueError(f"Unrecognized partition strategy: {strategy}")
    total = _total_rows(params, ids.dtype)
    each, extras = total // count, total % count
    parts = maximum(ids // (each + 1), (ids - extras) // each)
    return parts, where(parts < extras, ids % (each + 1), (ids - extras) % each)


def _lookup_in_parts(
    params: list, ids: Tensor, strategy: str, max_norm: float | None, name: str, transform_fn: Callable | None
) -> Tensor:
    flat = reshape(ids, [-1])
    order = arange(size(flat))
    parts, rows = _assign_parts(params, flat, strategy)
    parts = cast(parts, dtypes.int32)
    rows_of = raw.DynamicPartition(rows, parts, num_partitions=len(params))
    places_of = raw.DynamicPartition(order, parts, num_partitions=len(params))
    found = []
    for part, part_rows in zip(params, rows_of):
        with colocate_with(part):
            rows = gather(part, part_rows)
            found.append(transform_fn(_clipped(rows, part_rows, max_norm)) if transform_fn else rows)
    joined = raw.ParallelDynamicStitch(places_of, found, name=name)
    source = joined if transform_fn else params[0]
    element = source.shape[1:]
    for part in [] if transform_fn else params[1:]:
        element = element.merge_with(part.shape[1:])
    inner = element
    if not element.is_fully_defined():
        with colocate_with(source):
            inner = shape(source)
        inner = inner[1:]
    joined = reshape(joined, concat([shape(ids), inner], 0))
    joined.set_shape(ids.shape.concatenate(element))
    return joined if transform_fn else _clipped(joined, ids, max_norm)


@export("nn.embedding_lookup")
def embedding_lookup(
    params: object, ids: TensorLike, partition_strategy: str = "mod", name: str | None = None, validate_indices: bool = True,
    max_norm: float | None = None,
) -> Tensor:  # fmt: skip
    """The rows `ids` of a table that may lie in several parts.

    Args:
      params: Tensor, variable, partitioned variable, or a list of parts.
      ids: int32 or int64 Tensor.
      partition_strategy: "mod" (part = id % parts) or "div" (contiguous ranges).
      name: node name.
      validate_indices: has no effect, ids are always checked.
      max_norm: largest L2 norm of an embedding; None for no limit.

    Returns:
      a Tensor [*ids, *row].

    Raises:
      ValueError: no params, or an unknown strategy. InvalidArgumentError: when it runs, an id outside the table.
    """
    return embedding_lookup_and_transform(params, ids, partition_strategy, name, max_norm)


def embedding_lookup_and_transform(
    params: object, ids: TensorLike, partition_strategy: str = "mod", name: str | None = None, max_norm: float | None = None,
    transform_fn: Callable | None = None,
) -> Tensor:  # fmt: skip
    """`embedding_lookup` whose rows go through `transform_fn` where their part lies."""
    if params is None:
        raise ValueError("params must be specified")
    if isinstance(params, (list, tuple)) and not params:
        raise ValueError("Need at least one param")
    params = parts_of(params)
    with name_scope(name, "embedding_lookup", [*params, ids]) as name:
        if not any(hasattr(p, "sparse_read") for p in params):
            params = convert_n_to_tensor_or_indexed_slices(params, name="params")
        ids = to_tensor(ids, name="ids")
        if len(params) > 1 or transform_fn and ids.shape.ndims != 1:
            return _lookup_in_parts(params, ids, partition_strategy, max_norm, name, transform_fn)
        with colocate_with(params[0]):
            found = _clipped(gather(params[0], ids, name=name), ids, max_norm)
            if transform_fn:
                found = transform_fn(found)
        return raw.Identity(found)


def _check_sparse(sp_ids: object, sp_weights: object) -> None:
    if not isinstance(sp_ids, SparseTensor):
        raise TypeError("sp_ids must be SparseTensor")
    if sp_weights is None:
        return
    if not isinstance(sp_weights, SparseTensor):
        raise TypeError("sp_weights must be either None or SparseTensor")
    for part in ("values", "indices", "dense_shape"):
        getattr(sp_ids, part).shape.assert_is_compatible_with(getattr(sp_weights, part).shape)


def _combine_weighted(embeddings: Tensor, weights: Tensor, segments: Tensor, combiner: str, name: str) -> Tensor:
    ones = fill(expand_dims(rank(embeddings) - 1, 0), 1)
    static = weights.shape
    weights = reshape(weights, concat([shape(weights), ones], 0))
    if embeddings.shape.ndims is not None:
        weights.set_shape(static.concatenate([1] * (embeddings.shape.ndims - 1)))
    embeddings *= weights
    if combiner == "sum":
        return raw.SegmentSum(embeddings, segments, name=name)
    total = raw.SegmentSum(embeddings, segments)
    if combiner == "mean":
        return div(total, raw.SegmentSum(weights, segments), name=name)
    return div(total, raw.Sqrt(raw.SegmentSum(power(weights, 2), segments)), name=name)


_SEGMENT_OPS = {"sum": "SparseSegmentSum", "mean": "SparseSegmentMean", "sqrtn": "SparseSegmentSqrtN"}


@export("nn.embedding_lookup_sparse")
def embedding_lookup_sparse(
    params: object, sp_ids: Any, sp_weights: Any, partition_strategy: str = "mod", name: str | None = None,
    combiner: str | None = None, max_norm: float | None = None,
) -> Tensor:  # fmt: skip
    """The combined embeddings of each row of ids.

    Args:
      params: as in `tf.nn.embedding_lookup`.
      sp_ids: SparseTensor [rows, any] of ids, rows in rising order, no row empty.
      sp_weights: SparseTensor of the same indices, or None for weights 1.
      partition_strategy: as in `tf.nn.embedding_lookup`.
      name: node name.
      combiner: "mean" (the default), "sum", or "sqrtn" (sum / sqrt(sum of squared weights)).
      max_norm: largest L2 norm of an embedding before combining.

    Returns:
      a Tensor [rows, *row of params].

    Raises:
      TypeError: ids or weights are not sparse. ValueError: another combiner.
    """
    if combiner is None:
        logging.warning('The default value of combiner will change from "mean" to "sqrtn" after 2016/11/01.')
        combiner = "mean"
    if combiner not in _SEGMENT_OPS:
        raise ValueError("combiner must be one of 'mean', 'sqrtn' or 'sum'")
    params = parts_of(params)
    _check_sparse(sp_ids, sp_weights)
    with name_scope(name, "embedding_lookup_sparse", [*params, sp_ids]) as name:
        segments = sp_ids.indices[:, 0]
        if segments.dtype != dtypes.int32:
            segments = cast(segments, dtypes.int32)
        ids, places = raw.Unique(sp_ids.values)
        found = embedding_lookup(params, ids, partition_strategy=partition_strategy, max_norm=max_norm)
        if found.dtype in (dtypes.float16, dtypes.bfloat16):
            found = cast(found, dtypes.float32)
        if sp_weights is None:
            return raw.function(_SEGMENT_OPS[combiner])(found, places, segments, name=name)
        weights = sp_weights.values
        if weights.dtype != found.dtype:
            weights = cast(weights, found.dtype)
        return _combine_weighted(gather(found, places), weights, segments, combiner, name)
