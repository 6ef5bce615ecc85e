"""NumPy kernels, equal to the compiled ones but for rounding, for work on shapes that come once and are not worth compiling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.framework import checks, errors
from tfcompat._src.framework.operation import Operation
from tfcompat._src.framework.tensor import shape_text


def kernel(op: Operation) -> Callable | None:
    """The NumPy kernel of an operation on floating numbers: arrays by position, attributes by name; None where there is none."""
    return _KERNELS.get(op.type) if op._outputs and op._outputs[0]._dtype.is_floating else None


def _softmax(x: Any) -> Any:
    found = np.exp(x - x.max(axis=-1, keepdims=True))
    return found / found.sum(axis=-1, keepdims=True)


def _log_softmax(x: Any) -> Any:
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def _sigmoid(x: Any) -> Any:
    return x.dtype.type(1) / (x.dtype.type(1) + np.exp(-x))


def _mean(x: Any, axes: Any, *, keep_dims: bool) -> Any:
    return np.mean(x, axis=tuple(np.ravel(axes).tolist()), keepdims=keep_dims, dtype=x.dtype)


def _matmul(a: Any, b: Any, *, transpose_a: bool, transpose_b: bool) -> Any:
    return np.matmul(a.T if transpose_a else a, b.T if transpose_b else b)


def _batch_matmul(x: Any, y: Any, *, adj_x: bool, adj_y: bool) -> Any:
    return np.matmul(np.swapaxes(x, -1, -2) if adj_x else x, np.swapaxes(y, -1, -2) if adj_y else y)


def _cumsum(x: Any, axis: Any, *, exclusive: bool, reverse: bool) -> Any:
    turned = np.flip(x, int(axis)) if reverse else x
    total = np.cumsum(turned, axis=int(axis), dtype=x.dtype)
    total = total - turned if exclusive else total
    return np.flip(total, int(axis)) if reverse else total


def _top_k(x: Any, k: Any) -> tuple:
    places = np.argsort(-x, axis=-1, kind="stable")[..., : int(k)].astype(np.int32)
    return np.take_along_axis(x, places, axis=-1), places


def _bad(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


def _added_by_row(rows: Any, places: Any, count: int) -> Any:
    """The sums of the rows with the same place, [count, ...]; rows with a negative place are left out."""
    total = np.zeros((count, *rows.shape[1:]), rows.dtype)
    there = np.flatnonzero(places >= 0)
    order = there[np.argsort(places[there], kind="stable")]
    if order.size:
        ordered = places[order]
        starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        total[ordered[starts]] = np.add.reduceat(rows[order], starts, axis=0)
    return total


def _unsorted_segment_sum(data: Any, segment_ids: Any, num_segments: Any) -> Any:
    count, places = int(num_segments), segment_ids.reshape(-1)
    if count < 0:
        raise _bad(f"Input num_segments == {count} must not be negative.")
    if data.shape[: segment_ids.ndim] != segment_ids.shape:
        raise _bad(f"data.shape = {shape_text(data.shape)} does not start with segment_ids.shape = {shape_text(segment_ids.shape)}")
    outside = np.flatnonzero(places >= count)
    if outside.size:
        raise _bad(f"segment_ids{checks.place_text(outside[0], segment_ids.shape)} = {places[outside[0]]} is out of range [0, {count})")
    return _added_by_row(data.reshape(places.size, *data.shape[segment_ids.ndim :]), places, count)


def _sparse_segment_grad(grad: Any, indices: Any, segment_ids: Any, output_dim0: Any, roots: bool) -> Any:
    if indices.ndim != 1 or segment_ids.shape != indices.shape:
        raise _bad("segment_ids and indices should be vectors of the same size.")
    for what, ids, limit in (("Segment id", segment_ids, len(grad)), ("Index", indices, int(output_dim0))):
        outside = np.flatnonzero((ids < 0) | (ids >= limit))
        if outside.size:
            raise _bad(f"{what} {ids[outside[0]]} out of range [0, {limit}).")
    counts = np.maximum(np.bincount(segment_ids, minlength=len(grad)), 1).astype(grad.dtype)
    divisor = (np.sqrt(counts) if roots else counts).reshape(-1, *[1] * (grad.ndim - 1))
    return _added_by_row((grad / divisor)[segment_ids], indices, int(output_dim0))


_KERNELS: dict[str, Callable] = {
    "UnsortedSegmentSum": _unsorted_segment_sum,
    "SparseSegmentMeanGrad": lambda *inputs: _sparse_segment_grad(*inputs, roots=False),
    "SparseSegmentSqrtNGrad": lambda *inputs: _sparse_segment_grad(*inputs, roots=True),
    "Exp": np.exp, "Log": np.log, "Log1p": np.log1p, "Tanh": np.tanh, "Pow": np.power, "Sigmoid": _sigmoid,
    "Rsqrt": lambda x: x.dtype.type(1) / np.sqrt(x), "Sin": np.sin, "Cos": np.cos,
    "Softmax": _softmax, "LogSoftmax": _log_softmax, "Mean": _mean, "Cumsum": _cumsum, "TopKV2": _top_k,
    "MatMul": _matmul, "BatchMatMul": _batch_matmul, "BatchMatMulV2": _batch_matmul,
}  # fmt: skip
