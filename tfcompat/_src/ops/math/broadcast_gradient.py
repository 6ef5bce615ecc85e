"""The gradient of NumPy broadcasting: sums over the dimensions along which an input was repeated."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.graph.constant_value import known_value
from tfcompat._src.graph.scopes import executing_eagerly, get_default_graph
from tfcompat._src.graph.shape_inference import Sizes
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.shape import shape_internal


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


_KNOWN_AXES: weakref.WeakKeyDictionary[Any, dict] = weakref.WeakKeyDictionary()


def reducers(x: Any, y: Any, g: Any = None) -> tuple[Callable, Callable]:
    """Functions that give sums of tensors of the shape to which `x` and `y` were broadcast: of the shape of `x`, and of `y`.

    The nodes that say over which dimensions are made here. Where `g`, a gradient of the result, is given, sizes that are known are
    used as such: nothing is summed where an input has the sizes of `g`, and a graph computes the dimensions of two shapes once.
    """
    if executing_eagerly():
        return lambda t: sum_to_shape(x, y, t), lambda t: sum_to_shape(y, x, t)
    known = [None if t._sizes is None or None in t._sizes else t._sizes for t in (x, y)]
    if not isinstance(g, Tensor) or None in known:
        return summed(*[shape_internal(t, optimize=g is None) for t in (x, y)])
    cache = _KNOWN_AXES.setdefault(get_default_graph(), {})
    if tuple(known) not in cache:
        cache[tuple(known)] = [tuple(known_value(axes).tolist()) for axes in raw.BroadcastGradientArgs(*known)]
    return tuple(
        _unchanged if sizes == g._sizes else _reducer(sizes, axes) for sizes, axes in zip(known, cache[tuple(known)])
    )


def summed(*sizes: Any) -> tuple[Callable, Callable]:
    """`reducers` for inputs of which the shapes, as vectors, are given."""
    return tuple(map(_reducer, sizes, raw.BroadcastGradientArgs(*sizes)))


def _unchanged(tensor: Any) -> Any:
    return tensor


def _reducer(sizes: Any, axes: Any) -> Callable:
    return lambda tensor: raw.Reshape(raw.Sum(tensor, axes), sizes)


def all_sizes_equal(x: Any, y: Any, g: Any) -> bool:
    """Whether two inputs and a gradient have the same sizes, all of them known."""
    return isinstance(g, Tensor) and x._sizes is not None and None not in x._sizes and x._sizes == y._sizes == g._sizes


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
