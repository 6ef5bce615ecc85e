"""The gradient of NumPy broadcasting: sums over the dimensions along which an input was repeated."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.graph.shape_inference import Sizes
from tfcompat._src.nodes import raw


def _repeated(sizes: Sizes, other: Sizes) -> tuple[int, ...] | None:
    """The dimensions of the result along which `sizes` was repeated to meet `other`; None where that is not known."""
    if sizes is None or other is None:
        return None
    rank = max(len(sizes), len(other))
    lead = rank - len(sizes)
    other = (1,) * (rank - len(other)) + other
    axes = list(range(lead))
    for i, size in enumerate(sizes, lead):
        if size is None and other[i] != 1:
            return None
        if size == 1 and other[i] != 1:
            axes.append(i)
    return tuple(axes)


def _has_rank(grad: Any, rank: int) -> bool:
    """Whether a gradient may have `rank` dimensions; one that a caller gave can have others of size 1."""
    return grad._sizes is None or len(grad._sizes) == rank


def _sum_static(grad: Any, lead: int, axes: tuple[int, ...]) -> Any:
    """Sums over `axes`, of which the first `lead` vanish and the others keep size 1."""
    if lead:
        grad = raw.Sum(grad, np.arange(lead, dtype=np.int32))
    kept = [a - lead for a in axes[lead:]]
    return raw.Sum(grad, np.array(kept, np.int32), keep_dims=True) if kept else grad


def sum_to_inputs(op: Any, gx: Any, gy: Any) -> list:
    """The gradients of the two inputs of a broadcasting op, from what each would be without broadcasting."""
    x, y = op.inputs
    return [None if gx is None else sum_to_shape(x, y, gx), None if gy is None else sum_to_shape(y, x, gy)]


def sum_to_shape(x: Any, other: Any, grad: Any) -> Any:
    """The gradient of `x`, from `grad` of the shape to which `x` and `other` were broadcast."""
    axes = _repeated(x._sizes, other._sizes)
    if axes is None or not _has_rank(grad, max(len(x._sizes), len(other._sizes))):
        sizes = raw.Shape(x)
        return raw.Reshape(raw.Sum(grad, raw.BroadcastGradientArgs(sizes, raw.Shape(other)).r0), sizes)
    if not axes:
        return grad
    return _sum_static(grad, max(len(x._sizes), len(other._sizes)) - len(x._sizes), axes)


def sum_batch_to_shape(x: Any, other: Any, grad: Any) -> Any:
    """As `sum_to_shape`, where the last two dimensions are those of a matrix and are not broadcast."""
    known = x._sizes is not None and other._sizes is not None
    axes = _repeated(x._sizes[:-2], other._sizes[:-2]) if known else None
    if axes is None:
        sizes = raw.Shape(x)
        batch, other_batch = (raw.StridedSlice(s, [0], [-2], [1]) for s in (sizes, raw.Shape(other)))
        return raw.Reshape(raw.Sum(grad, raw.BroadcastGradientArgs(batch, other_batch).r0), sizes)
    if not axes:
        return grad
    return _sum_static(grad, max(len(x._sizes), len(other._sizes)) - len(x._sizes), axes)
