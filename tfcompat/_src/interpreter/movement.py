"""What moves elements: shapes, slices, padding, sorting."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tfcompat._src.interpreter.table import Equation, is_small_float, primitive


@primitive("reshape")
def reshape(e: Equation) -> Callable:
    shape = e.outputs[0].shape
    return lambda x: np.reshape(x, shape)


@primitive("squeeze", "expand_dims")
def squeeze(e: Equation) -> Callable:
    return reshape(e)


@primitive("broadcast_in_dim")
def broadcast_in_dim(e: Equation) -> Callable:
    shape, source = e.outputs[0].shape, [1] * len(e.outputs[0].shape)
    for axis, size in zip(e.params["broadcast_dimensions"], e.inputs[0].shape, strict=True):
        source[axis] = size
    return lambda x: np.broadcast_to(np.reshape(x, source), shape)


@primitive("transpose")
def transpose(e: Equation) -> Callable:
    permutation = tuple(e.params["permutation"])
    return lambda x: np.transpose(x, permutation)


@primitive("concatenate")
def concatenate(e: Equation) -> Callable:
    axis = e.params["dimension"]
    return lambda *args: np.concatenate(args, axis)


@primitive("split")
def split(e: Equation) -> Callable:
    axis, ends = e.params["axis"], np.cumsum(e.params["sizes"])[:-1]
    return lambda x: np.split(x, ends, axis)


@primitive("rev")
def rev(e: Equation) -> Callable:
    axes = tuple(e.params["dimensions"])
    return lambda x: np.flip(x, axes)


@primitive("iota")
def iota(e: Equation) -> Callable:
    shape, axis = e.outputs[0].shape, e.params["dimension"]
    source = [1] * len(shape)
    source[axis] = shape[axis]
    result = np.broadcast_to(np.arange(shape[axis]).astype(e.dtype).reshape(source), shape)
    return lambda *sizes: result


@primitive("slice")
def slice_(e: Equation) -> Callable:
    starts, limits = e.params["start_indices"], e.params["limit_indices"]
    where = tuple(map(slice, starts, limits, e.params["strides"] or [1] * len(starts)))
    return lambda x: x[where]


def _window(starts: tuple, shape: tuple, sizes: tuple) -> tuple:
    places = [min(max(int(s), 0), n - m) for s, n, m in zip(starts, shape, sizes, strict=True)]
    return tuple(slice(p, p + m) for p, m in zip(places, sizes, strict=True))


@primitive("dynamic_slice")
def dynamic_slice(e: Equation) -> Callable:
    shape, sizes = e.inputs[0].shape, e.params["slice_sizes"]
    return lambda x, *starts: x[_window(starts, shape, sizes)]


@primitive("dynamic_update_slice")
def dynamic_update_slice(e: Equation) -> Callable:
    shape, sizes = e.inputs[0].shape, e.inputs[1].shape

    def update(x: np.ndarray, new: np.ndarray, *starts: np.ndarray) -> np.ndarray:
        result = np.array(x)
        result[_window(starts, shape, sizes)] = new
        return result

    return update


@primitive("pad")
def pad(e: Equation) -> Callable:
    return padding(e.outputs[0].shape, e.inputs[0].shape, e.params["padding_config"])


def padding(shape: tuple, old: tuple, config: tuple) -> Callable:
    """A function of an array and a fill value; edges may be negative, which cuts off."""
    takes, puts = [], []
    for size, source, (low, _, between) in zip(shape, old, config, strict=True):
        step = between + 1
        first = max(0, -(low // step)) if low < 0 else 0
        stop = min(source, max(first, math.ceil((size - low) / step)))
        takes.append(slice(first, stop))
        puts.append(slice(low + first * step, low + first * step + max(0, (stop - first - 1) * step + 1) if stop > first else low + first * step, step))

    def padded(x: np.ndarray, fill: np.ndarray) -> np.ndarray:
        result = np.full(shape, fill, dtype=np.asarray(x).dtype)
        if result.size and all(t.stop > t.start for t in takes):
            result[tuple(puts)] = x[tuple(takes)]
        return result

    return padded


def _sortable(x: np.ndarray) -> np.ndarray:
    return np.asarray(x, np.float32) if is_small_float(x.dtype) else x


@primitive("sort")
def sort(e: Equation) -> Callable:
    axis, keys = e.params["dimension"], e.params["num_keys"]
    if len(e.inputs) == 1 and not is_small_float(e.inputs[0].dtype):
        return lambda x: np.sort(x, axis, kind="stable")

    def sorted_together(*args: np.ndarray) -> list:
        order = np.lexsort([_sortable(a) for a in reversed(args[:keys])], axis=axis)
        return [np.take_along_axis(a, order, axis) for a in args]

    return sorted_together


@primitive("top_k")
def top_k(e: Equation) -> Callable:
    k, axis = e.params["k"], e.params.get("axis", -1)

    def top(x: np.ndarray) -> list:
        backwards = np.flip(_sortable(x), axis)
        order = np.flip(np.argsort(backwards, axis=axis, kind="stable"), axis)
        order = np.take(x.shape[axis] - 1 - order, range(k), axis)
        return [np.take_along_axis(x, order, axis), order.astype(e.outputs[1].dtype)]

    return top
