"""`tensor[...]`: Python slices as StridedSlice nodes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import Dimension
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.join import stack
from tfcompat._src.ops.array.slice import strided_slice
from tfcompat._src.ops.composed.masks import boolean_mask

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

newaxis = export("newaxis")(None)

_SLICE_TYPE_ERROR = (
    "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 "
    "tensors are valid indices"
)


def _check_index(index: Any) -> None:
    if isinstance(index, (int, Dimension)):
        return
    dtype = getattr(index, "dtype", None)
    if dtype is not None and dtypes.as_dtype(dtype).base_dtype in (dtypes.int32, dtypes.int64):
        sizes = index._sizes if isinstance(index, Tensor) else index.shape
        if not sizes or len(sizes) != 1:
            return
    raise TypeError(f"{_SLICE_TYPE_ERROR}, got {index!r}")


def _is_bound(value: object) -> bool:
    """Whether a slice names this bound (`sys.maxsize` stands for the end)."""
    if value is None or not isinstance(value, Tensor) and value == sys.maxsize:
        return False
    _check_index(value)
    return True


def _is_mask(spec: object) -> bool:
    return (
        isinstance(spec, bool)
        or getattr(spec, "dtype", None) in (dtypes.bool, np.bool_)
        and isinstance(spec, (Tensor, np.ndarray))
    )


class _Entries:
    """The entries of an index expression as begin, end, strides and masks."""

    def __init__(self, spec: object) -> None:
        self.begin: list = []
        self.end: list = []
        self.strides: list = []
        self.masks = dict.fromkeys(("begin_mask", "end_mask", "shrink_axis_mask", "new_axis_mask", "ellipsis_mask"), 0)
        for entry in spec if isinstance(spec, (list, tuple)) else [spec]:
            self._add(entry)

    def _add(self, entry: Any) -> None:
        if isinstance(entry, slice):
            starts, stops = _is_bound(entry.start), _is_bound(entry.stop)
            if entry.step is not None:
                _check_index(entry.step)
            marks = ("begin_mask",) * (not starts) + ("end_mask",) * (not stops)
            step = 1 if entry.step is None else entry.step
            self._append(entry.start if starts else 0, entry.stop if stops else 0, step, *marks)
        elif entry is Ellipsis:
            self._append(0, 0, 1, "ellipsis_mask")
        elif entry is None:
            self._append(0, 0, 1, "new_axis_mask")
        else:
            _check_index(entry)
            self._append(entry, entry + 1, 1, "shrink_axis_mask")

    def _append(self, begin: object, end: object, stride: object, *marks: str) -> None:
        for mark in marks:
            self.masks[mark] |= 1 << len(self.begin)
        self.begin.append(begin)
        self.end.append(end)
        self.strides.append(stride)

    def vectors(self) -> list[Tensor]:
        """begin, end and strides as vectors of one dtype."""
        if not self.begin:
            return [constant([], dtype=dtypes.int32)] * 3
        packed = [stack(self.begin), stack(self.end), stack(self.strides)]
        if any(p.dtype == dtypes.int64 for p in packed):
            packed = [p if p.dtype == dtypes.int64 else raw.Cast(p, DstT=dtypes.int64) for p in packed]
        return packed


def slice_helper(tensor: TensorLike, slice_spec: TensorLike, var: object = None) -> Tensor:
    """`tensor[slice_spec]`: integers, scalar tensors, slices, `...`, `tf.newaxis`, or a boolean mask.

    Args:
      tensor: a tensor.
      slice_spec: the index expression.
      var: the variable that `tensor` is the value of, for `.assign` on the result.

    Raises:
      TypeError: an index of another kind. ValueError: an index known to be out of bounds.
    """
    if _is_mask(slice_spec):
        return boolean_mask(tensor=tensor, mask=slice_spec)
    entries = _Entries(slice_spec)
    with name_scope(None, "strided_slice", [tensor, *entries.begin, *entries.end, *entries.strides]) as name:
        return strided_slice(tensor, *entries.vectors(), **entries.masks, var=var, name=name)


def slice_variable(var: Any, slice_spec: object) -> Tensor:
    """`var[slice_spec]` of a variable."""
    return slice_helper(var.value(), slice_spec, var)


Tensor._override_operator("__getitem__", slice_helper)
