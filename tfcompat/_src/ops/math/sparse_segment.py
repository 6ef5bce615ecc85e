"""Reductions over segments of gathered rows: row `indices[i]` of the data belongs to segment `segment_ids[i]`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from jax import lax

from tfcompat._src.base import checks
from tfcompat._src.base.export import export
from tfcompat._src.graph.op_spec import HOST, Facts, NotDifferentiable, op
from tfcompat._src.graph.shape_inference import merge, with_rank, with_rank_at_least
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.math.segment import (
    count_segments,
    gather_rows,
    invalid,
    reduce_runs,
    require_inside,
    row_counts,
    rows_added_in_numpy,
    scatter_rows,
    segment_starts,
)

if TYPE_CHECKING:
    from tfcompat._src.graph.operation import Operation
    from tfcompat._src.graph.shape_inference import InferenceContext
    from tfcompat._src.graph.tensor import Tensor

_UNDEFINED = NotDifferentiable("no gradient is defined", raises=True)
_FLOAT = "{float32, float64}"


def _rows(data: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """The gathered rows; InvalidArgumentError where an index is outside."""
    if not checks.all_inside(indices, len(data)):
        at = int(np.flatnonzero((indices < 0) | (indices >= len(data)))[0])
        raise invalid(f"Bad: indices[{at}] == {indices[at]} out of range [0, {len(data)})")
    return data[indices]


def _divisor(kind: str, ids: np.ndarray, length: int, dtype: np.dtype, rank: int) -> np.ndarray:
    counts = row_counts(ids, length, dtype, rank)
    return np.sqrt(counts) if kind == "SqrtN" else counts


def _reduced(kind: str, data: Any, indices: Any, segment_ids: Any, length: int | None) -> np.ndarray:
    if indices.shape != segment_ids.shape:
        raise invalid("segment_ids and indices should have same size.")
    length = count_segments(segment_ids, len(indices), length)
    starts = segment_starts(segment_ids, length)
    total = reduce_runs(np.add, _rows(data, indices), segment_ids, starts, 0, length)
    if kind == "Sum":
        return total
    return total / _divisor(kind, segment_ids, len(total), data.dtype, data.ndim)


def _shape(c: InferenceContext) -> list:
    data = with_rank_at_least(c.inputs[0], 1)
    merge(with_rank(c.inputs[1], 1), with_rank(c.inputs[2], 1))
    return [None if data is None else (None,) + data[1:]]


def _shape_with_number(c: InferenceContext) -> list:
    (sizes,) = _shape(c)
    with_rank(c.inputs[3], 0)
    num = c.value(3)
    if num is not None and num < 0:
        raise ValueError("Cannot specify a negative value for num_segments")
    return [None if sizes is None else (None if num is None else int(num),) + sizes[1:]]


def _gradient(kind: str) -> Callable:
    def gradient(op: Operation, g: Tensor) -> list:
        data, indices, ids = op.inputs[:3]
        rows = shape(data)[0]
        if kind == "Sum":
            found = raw.UnsortedSegmentSum(gather_rows(g, ids), indices, rows)
        else:
            found = raw.function(f"SparseSegment{kind}Grad")(g, indices, ids, rows)
        return [found] + [None] * (len(op.inputs) - 1)

    return gradient


def _sparse_segment(kind: str, types: str) -> None:
    inputs = "data: T, indices: Tidx, segment_ids: int32"
    attrs = f"T: {types}, Tidx: INDEX = int32"

    def kernel(data, indices, segment_ids):
        return _reduced(kind, data, indices, segment_ids, None)

    def kernel_with_number(data, indices, segment_ids, num_segments):
        checks.scalar("num_segments", num_segments)
        return _reduced(kind, data, indices, segment_ids, int(num_segments))

    op(f"SparseSegment{kind}", f"({inputs}, *, {attrs}) -> (output: T)",
       shape=_shape, kernel=kernel, gradient=_gradient(kind), side=HOST, depth=2)  # fmt: skip
    op(f"SparseSegment{kind}WithNumSegments",
       f"({inputs}, num_segments: Tnumsegments, *, {attrs}, Tnumsegments: INDEX = int32) -> (output: T)",
       shape=_shape_with_number, kernel=kernel_with_number, gradient=_gradient(kind), side=HOST, depth=2)  # fmt: skip


_sparse_segment("Sum", "REAL")
_sparse_segment("Mean", _FLOAT)
_sparse_segment("SqrtN", _FLOAT)


# ---- op types of gradients ----


def _grad_shape(c: InferenceContext) -> list:
    g = with_rank_at_least(c.inputs[0], 1)
    merge(c.inputs[2], with_rank(c.inputs[1], 1))
    with_rank(c.inputs[3], 0)
    num = c.value(3)
    if num is not None and num < 0:
        raise ValueError("Cannot specify a negative value for output_dim0")
    return [None if g is None else (None if num is None else int(num),) + g[1:]]


def _require_in_range(what: str, ids: Any, limit: int) -> None:
    kind = ids.dtype.type
    outside = lax.bitwise_or(lax.lt(ids, kind(0)), lax.ge(ids, kind(limit)))
    require_inside(outside, ids, lambda at, bad: f"{what} {bad} out of range [0, {limit}).")


def _near_segment_grad(grad: Any, indices: Any, segment_ids: Any, output_dim0: Any, roots: bool) -> Any:
    if indices.ndim != 1 or segment_ids.shape != indices.shape:
        raise invalid("segment_ids and indices should be vectors of the same size.")
    if not output_dim0:
        return np.zeros((0, *grad.shape[1:]), grad.dtype)
    for what, ids, limit in (("Segment id", segment_ids, len(grad)), ("Index", indices, int(output_dim0))):
        outside = np.flatnonzero((ids < 0) | (ids >= limit))
        if outside.size:
            raise invalid(f"{what} {ids[outside[0]]} out of range [0, {limit}).")
    counts = np.maximum(np.bincount(segment_ids, minlength=len(grad)), 1).astype(grad.dtype)
    divisor = (np.sqrt(counts) if roots else counts).reshape(-1, *[1] * (grad.ndim - 1))
    return rows_added_in_numpy((grad / divisor)[segment_ids], indices, int(output_dim0))


def _sparse_segment_grad(kind: str) -> None:
    def kernel(grad, indices, segment_ids, output_dim0):
        checks.scalar("output_dim0", output_dim0)
        for name, vector in (("indices", indices), ("segment_ids", segment_ids)):
            if vector.ndim != 1:
                raise invalid(f"{name} should be a vector.")
        if indices.shape != segment_ids.shape:
            raise invalid("segment_ids and indices should have same size.")
        rows = int(output_dim0)
        if not rows or not segment_ids.size:
            return lax.full((rows, *grad.shape[1:]), 0, grad.dtype)
        segments = grad.shape[0]
        checks.require(lax.lt(segment_ids[-1], np.int32(segments)), "Invalid number of segments")
        _require_in_range("Segment id", segment_ids, segments)
        _require_in_range("Index", indices, rows)
        ones = lax.full(segment_ids.shape, 1, grad.dtype)
        counts = lax.max(scatter_rows(lax.scatter_add, segment_ids, ones, segments, 0), grad.dtype.type(1))
        weight = lax.rsqrt(counts) if kind == "SqrtN" else lax.div(grad.dtype.type(1), counts)
        scaled = lax.mul(grad, lax.broadcast_in_dim(weight, grad.shape, (0,)))
        chosen = scaled[segment_ids] if segments else lax.full(segment_ids.shape + grad.shape[1:], 0, grad.dtype)
        return scatter_rows(lax.scatter_add, indices, chosen, rows, 0)

    text = f"(grad: T, indices: Tidx, segment_ids: int32, output_dim0: int32, *, T: {_FLOAT}, Tidx: INDEX = int32) -> (output: T)"
    op(f"SparseSegment{kind}Grad", text, shape=_grad_shape, kernel=kernel, gradient=_UNDEFINED,
       constants=("output_dim0",), depth=2,
       near=functools.partial(_near_segment_grad, roots=kind == "SqrtN"), facts=Facts(rows_by="indices"))  # fmt: skip


_sparse_segment_grad("Mean")
_sparse_segment_grad("SqrtN")


# ---- public functions ----


def _function(name: str, op_type: str, doc: str) -> Callable:
    def function(data, indices, segment_ids, name=None, num_segments=None):
        if num_segments is None:
            return raw.function(op_type)(data, indices, segment_ids, name=name)
        return raw.function(op_type + "WithNumSegments")(data, indices, segment_ids, num_segments, name=name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{doc} of each segment of chosen rows.

    Args:
      data: a Tensor [n, ...].
      indices: the chosen rows, int32 or int64 [k].
      segment_ids: the segment of each chosen row, int32 [k], sorted.
      name: node name.
      num_segments: number of segments; by default the last id + 1.

    Returns:
      a Tensor [number of segments, ...].
    """
    return function


sparse_segment_sum = export("sparse_segment_sum", "sparse.segment_sum")(
    _function("sparse_segment_sum", "SparseSegmentSum", "The sum")
)
sparse_segment_mean = export("sparse_segment_mean", "sparse.segment_mean")(
    _function("sparse_segment_mean", "SparseSegmentMean", "The mean")
)
sparse_segment_sqrt_n = export("sparse_segment_sqrt_n", "sparse.segment_sqrt_n")(
    _function("sparse_segment_sqrt_n", "SparseSegmentSqrtN", "The sum over the square root of the size")
)
