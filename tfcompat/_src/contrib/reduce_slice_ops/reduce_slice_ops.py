"""tf.contrib.reduce_slice_ops: sums, products, greatest and least elements of slices along an axis."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.nodes import raw


def _greatest(dtype: np.dtype):
    return np.asarray(np.inf if dtype.kind == "f" else np.iinfo(dtype).max, dtype)


def _least(dtype: np.dtype):
    return np.asarray(-np.inf if dtype.kind == "f" else np.iinfo(dtype).min, dtype)


def _in_turn(extreme: np.ufunc, exceeds: np.ufunc) -> Callable:
    """The extremes along the first axis; one that does not exceed the next, as NaN does not, gives way to it."""

    def reduce(rows: np.ndarray, axis: int, dtype: np.dtype) -> np.ndarray:
        if rows.dtype.kind != "f" or not np.isnan(rows).any():
            return extreme.reduce(rows, axis=axis)
        return functools.reduce(lambda found, row: np.where(exceeds(found, row), found, row), rows)

    return reduce


_REDUCTIONS = {
    "Sum": (np.add.reduce, lambda dtype: dtype.type(0), "NUMBER"),
    "Prod": (np.multiply.reduce, lambda dtype: dtype.type(1), "NUMBER"),
    "Max": (_in_turn(np.maximum, np.greater), _least, "REAL"),
    "Min": (_in_turn(np.minimum, np.less), _greatest, "REAL"),
}
"""What reduces, what is reduced where a slice is empty, and the dtypes."""


def _shape(c):
    data = si.with_rank_at_least(c.inputs[0], 1)
    si.with_rank(c.inputs[2], 0)
    indices, axis = c.inputs[1], c.value(2)
    if indices is not None and len(indices) not in (1, 2):
        raise ValueError(
            f"Shape must be {'at most rank 2' if len(indices) else 'at least rank 1'} but is rank {len(indices)}"
        )
    if data is None or axis is None:
        return [None if data is None else (None,) * len(data)]
    if not 0 <= int(axis) < len(data):
        raise ValueError(f"Out of range dim_index {int(axis)} for shape with {len(data)} dimensions")
    count = None if indices is None or indices[0] is None or indices[-1] is None else _count(indices)
    return [(*data[: int(axis)], count, *data[int(axis) + 1 :])]


def _count(shape: tuple[int, ...]) -> int:
    """The number of slices: pairs of indices, or what lies between one index and the next."""
    return max(shape[0] - 1, 0) if len(shape) == 1 or shape[1] == 1 else shape[0]


def _reduced(name, data, indices, axis):
    reduction, empty, _ = _REDUCTIONS[name]
    if not 0 <= axis < data.ndim:
        raise errors.InvalidArgumentError(None, None, f"axis {axis} is out of range for {data.ndim} dimensions")
    count = _count(indices.shape)
    if indices.ndim == 1 or indices.shape[1] == 1:
        indices = indices.reshape(-1)
        indices = np.stack([indices[:-1], indices[1:]], 1)
    rows = np.moveaxis(data, axis, 0)
    found = np.full((count, *rows.shape[1:]), empty(data.dtype), data.dtype)
    for i, (start, end) in enumerate(indices[:count, :2]):
        if start < 0:
            raise errors.InvalidArgumentError(None, None, f"slice {i} starts at {start}, which is less than 0")
        if start < min(end, len(rows)):
            found[i] = reduction(rows[start : max(end, 0)], axis=0, dtype=data.dtype)
    return np.moveaxis(found, 0, axis)


for _name, (_, _, _dtypes) in _REDUCTIONS.items():
    op(
        "ReduceSlice" + _name,
        f"(data: T, indices: Tindices, axis: int64, *, T: {_dtypes}, Tindices: INDEX) -> (output: T)",
        shape=_shape, kernel=functools.partial(_reduced, _name), gradient=NotDifferentiable("1.15 registers none", raises=True), side=HOST,
    )  # fmt: skip

reduce_slice_sum = export("contrib.reduce_slice_ops.python.ops.reduce_slice_ops.reduce_slice_sum")(raw.ReduceSliceSum)
reduce_slice_prod = export("contrib.reduce_slice_ops.python.ops.reduce_slice_ops.reduce_slice_prod")(
    raw.ReduceSliceProd
)
reduce_slice_max = export("contrib.reduce_slice_ops.python.ops.reduce_slice_ops.reduce_slice_max")(raw.ReduceSliceMax)
reduce_slice_min = export("contrib.reduce_slice_ops.python.ops.reduce_slice_ops.reduce_slice_min")(raw.ReduceSliceMin)
