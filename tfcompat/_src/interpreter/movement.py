"""Primitives that move elements without computing: shapes, slices, padding. Where NumPy can, they return views."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.interpreter.memory import writable
from tfcompat._src.interpreter.table import Equation, Scalar, Shape, ToArray, ToArrays, primitive

SMALL = 2**10
"""Broadcasting to at most this many elements fills an array, which is quicker than making a view."""


@primitive("reshape")
def reshape(e: Equation) -> ToArray:
    order = e.params["dimensions"]
    if order is None:
        return _in_shape(e)
    shape = e.shape
    return lambda x: x.transpose(order).reshape(shape)


@primitive("squeeze", "expand_dims")
def _in_shape(e: Equation) -> ToArray:
    shape = e.shape
    return _same if shape == e.inputs[0].shape else lambda x: x.reshape(shape)


def _same(x: NDArray) -> NDArray:
    """Returns the argument."""
    return x


@primitive("broadcast_in_dim")
def broadcast_in_dim(e: Equation) -> ToArray:
    shape, given = e.shape, e.inputs[0]
    # Only dimensions of size 1 are added: a reshape, which is a view.
    if math.prod(shape) == math.prod(given.shape):
        return _in_shape(e)
    sizes = [1] * len(shape)
    for axis, size in zip(e.params["broadcast_dimensions"], given.shape, strict=True):
        sizes[axis] = size
    form, dtype = tuple(sizes), given.dtype
    if math.prod(shape) > SMALL:
        return lambda x: np.broadcast_to(x.reshape(form), shape)

    def filled(x: NDArray) -> NDArray:
        result = np.empty(shape, dtype)
        result[...] = x.reshape(form)
        return result

    return filled


@primitive("transpose")
def transpose(e: Equation) -> ToArray:
    permutation = tuple(e.params["permutation"])
    return (lambda x: x.transpose(permutation)) if permutation else _same


@primitive("concatenate")
def concatenate(e: Equation) -> ToArray:
    axis = e.params["dimension"]
    return lambda *args: np.concatenate(args, axis)


@primitive("stack")
def stack(e: Equation) -> ToArray:
    shape, dtype, axis = e.shape, e.dtype, e.params["axis"]
    places = [(slice(None),) * axis + (i,) for i in range(len(e.inputs))]

    def stacked(*args: NDArray) -> NDArray:
        result = np.empty(shape, dtype)
        for place, x in zip(places, args):
            result[place] = x
        return result

    return stacked


@primitive("unstack")
def unstack(e: Equation) -> ToArrays:
    axis = e.params["axis"]
    return lambda x: list(np.moveaxis(x, axis, 0))


@primitive("tile")
def tile(e: Equation) -> ToArray:
    reps = e.params["reps"]
    return lambda x: np.tile(x, reps)


@primitive("split")
def split(e: Equation) -> ToArrays:
    before, ends = (slice(None),) * e.params["axis"], np.cumsum([0, *e.params["sizes"]]).tolist()
    parts = [(*before, slice(i, j)) for i, j in zip(ends, ends[1:])]
    return lambda x: [x[part] for part in parts]


@primitive("rev")
def rev(e: Equation) -> ToArray:
    where = tuple(slice(None, None, -1 if axis in e.params["dimensions"] else 1) for axis in range(len(e.shape)))
    return lambda x: x[where]


@primitive("iota")
def iota(e: Equation) -> ToArray:
    shape, dtype, axis = e.shape, e.dtype, e.params["dimension"]
    form = tuple(n if i == axis else 1 for i, n in enumerate(shape))
    return lambda *sizes: np.broadcast_to(np.arange(shape[axis]).astype(dtype).reshape(form), shape)


@primitive("empty2")
def empty(e: Equation) -> ToArray:
    shape, dtype = e.shape, e.dtype
    return lambda: np.zeros(shape, dtype)


@primitive("slice")
def slice_(e: Equation) -> ToArray:
    starts, limits = e.params["start_indices"], e.params["limit_indices"]
    where = tuple(map(slice, starts, limits, e.params["strides"] or [1] * len(starts)))
    return lambda x: x[where]


def _window(shape: Shape, sizes: Shape) -> Callable[[Sequence[NDArray]], tuple[slice, ...]]:
    """Returns a function of starts to slices of an array of this shape, with starts clamped so that the window fits, as in XLA."""
    ends = [(n - m, m) for n, m in zip(shape, sizes, strict=True)]

    def window(starts: Sequence[NDArray]) -> tuple[slice, ...]:
        slices = []
        for start, (end, size) in zip(starts, ends):
            first = min(max(int(start), 0), end)
            slices.append(slice(first, first + size))
        return tuple(slices)

    return window


@primitive("dynamic_slice")
def dynamic_slice(e: Equation) -> ToArray:
    window = _window(e.inputs[0].shape, e.params["slice_sizes"])
    return lambda x, *starts: x[window(starts)]


@primitive("dynamic_update_slice")
def dynamic_update_slice(e: Equation) -> ToArray:
    window = _window(e.inputs[0].shape, e.inputs[1].shape)

    def update(x: NDArray, new: NDArray, *starts: NDArray) -> NDArray:
        result = writable(x)
        result[window(starts)] = new
        return result

    return update


@primitive("pad")
def pad(e: Equation) -> ToArray:
    return padding(e.outputs[0].shape, e.inputs[0].shape, e.params["padding_config"])


def padding(shape: Shape, old: Shape, config: Iterable[tuple[int, int, int]]) -> ToArray:
    """Returns a function of an array and a fill value that pads the array.

    Args:
      shape: of the result.
      old: of the argument.
      config: for each axis the elements before, after, and between any two; negative counts before and after remove elements.
    """
    # For each axis, the slice of the argument that is kept and the slice of the result where it goes.
    takes, puts = [], []
    for size, length, (low, _, between) in zip(shape, old, config, strict=True):
        # Elements `first` to `stop` of the axis survive cropping; element i goes to position low + i * step.
        step = between + 1
        first = max(0, -(low // step)) if low < 0 else 0
        stop = min(length, max(first, math.ceil((size - low) / step)))
        takes.append(slice(first, stop))
        puts.append(slice(low + first * step, low + first * step + max(0, (stop - first - 1) * step + 1) if stop > first else low + first * step, step))

    inside, source = tuple(puts), tuple(takes)
    is_filled = math.prod(shape) > 0 and all(t.stop > t.start for t in takes)

    def padded(x: NDArray, fill: NDArray | Scalar) -> NDArray:
        result = np.empty(shape, x.dtype)
        result[...] = fill
        if is_filled:
            # Steps between elements place them with gaps, which keep the fill value.
            result[inside] = x[source]
        return result

    return padded
