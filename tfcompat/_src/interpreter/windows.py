"""Reductions over windows, and the gradient of choosing from windows (of max pooling)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.interpreter.movement import padding
from tfcompat._src.interpreter.reductions import UFUNCS, combination, highest, is_combination, lowest
from tfcompat._src.interpreter.table import TABLE, DType, Equation, Prepare, Shape, ToArray, ToArrays, primitive, wide


def dilated(shape: Shape, edges: Sequence[tuple[int, int]], dilation: Sequence[int]) -> Shape:
    """Returns the shape of an array after `dilation - 1` elements are put between neighbours and edges are added."""
    return tuple(low + high + max(0, (n - 1) * d + 1 if n else 0) for n, (low, high), d in zip(shape, edges, dilation, strict=True))


def view_of_windows(x: NDArray, sizes: Shape, strides: Shape, dilation: Shape) -> NDArray:
    """Returns a strided view of the windows of a padded array: axes of their positions first, then `len(dilation)` axes inside a window."""
    along = [s * n for s, n in zip(x.strides, strides, strict=True)]
    inside = [s * n for s, n in zip(x.strides[len(strides) - len(dilation) :], dilation, strict=True)]
    return np.lib.stride_tricks.as_strided(x, sizes, along + inside, writeable=False)


def _over_windows(e: Equation, combine: ToArray, padded: ToArray, inside: DType) -> ToArray:
    """Returns a reduction that combines shifted views of a padded array, one per position in a window.

    The loop goes over the few positions of one window; each step is one NumPy call on all windows.
    """
    p, shape, dtype = e.params, e.shape, e.dtype
    sizes, strides, dilation = p["window_dimensions"], p["window_strides"], p["window_dilation"]
    # One slice per position in a window: it selects that element of all windows.
    shifts = []
    for place in itertools.product(*map(range, sizes)):
        starts = [i * d for i, d in zip(place, dilation, strict=True)]
        shifts.append(tuple(slice(a, a + (n - 1) * s + 1, s) for a, n, s in zip(starts, shape, strides, strict=True)))

    def run(x: NDArray, start: NDArray) -> NDArray:
        # Padding holds the neutral element, so that windows over the edge reduce what is inside.
        x = padded(x.astype(inside, copy=False), start)
        total = np.full(shape, start, inside)
        for shift in shifts:
            total = combine(total, x[shift])
        return total.astype(dtype, copy=False)

    return run if 0 not in shape else lambda x, start: np.empty(shape, dtype)


def _padded(e: Equation) -> ToArray:
    """Returns the padding of a window reduction, with dilation of its argument."""
    p, old = e.params, e.inputs[0].shape
    config = [(low, high, d - 1) for (low, high), d in zip(p["padding"], p["base_dilation"], strict=True)]
    return padding(dilated(old, p["padding"], p["base_dilation"]), old, config)


def _window_reduction(kind: str) -> Prepare:
    ufunc, neutral = UFUNCS[kind]

    def prepared(e: Equation) -> ToArray:
        inside = wide(e.dtype)
        run, start = _over_windows(e, ufunc, _padded(e), inside), neutral(inside)
        return lambda x: run(x, start)

    return prepared


TABLE.update({f"reduce_window_{kind}": _window_reduction(kind) for kind in ("sum", "max", "min")})


@primitive("reduce_window", refused=lambda params: not is_combination(params["jaxpr"]))
def reduce_window(e: Equation) -> ToArrays:
    combine = combination(e.params["jaxpr"], e.params["consts"])
    run = _over_windows(e, lambda x, y: combine([x], [y])[0], _padded(e), e.dtype)
    return lambda x, start: [run(x, start)]


@primitive("select_and_scatter_add")
def select_and_scatter_add(e: Equation) -> ToArray:
    """Adds each source element to the position that its window of the operand selects: the first greatest or first smallest one."""
    # Window positions of the operand correspond to elements of the source.
    p, old, dtype = e.params, e.inputs[1].shape, e.dtype
    highest_wins = p["select_prim"].name == "ge"
    sizes, strides, edges = p["window_dimensions"], p["window_strides"], p["padding"]
    none = (1,) * len(sizes)
    shape = dilated(old, edges, none)
    pad = padding(shape, old, [(*edge, 0) for edge in edges])
    inside = wide(dtype)
    # Padding never wins.
    fill = lowest(inside) if highest_wins else highest(inside)
    choose = np.argmax if highest_wins else np.argmin

    def run(source: NDArray, operand: NDArray) -> NDArray:
        # The position within a window, then within the padded array; windows may overlap, so `np.add.at` adds repeated positions.
        view = view_of_windows(pad(operand.astype(inside, copy=False), fill), (*source.shape, *sizes), strides, none)
        at = np.unravel_index(choose(view.reshape(*source.shape, math.prod(sizes)), -1), sizes)
        places = tuple(a + i * s for a, i, s in zip(at, np.indices(source.shape), strides, strict=True))
        result = np.zeros(shape, inside)
        np.add.at(result, places, source.astype(inside, copy=False))
        return result[tuple(slice(lo, lo + n) for n, (lo, _) in zip(old, edges, strict=True))].astype(dtype, copy=False)

    return run
