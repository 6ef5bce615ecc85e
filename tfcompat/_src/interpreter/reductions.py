"""Sums, extremes and their cumulative and windowed forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.interpreter.movement import padding
from tfcompat._src.interpreter.table import TABLE, Equation, is_small_float, primitive


def lowest(dtype: np.dtype) -> Any:
    """What no value of a type is below."""
    return dtype.type(False) if dtype.kind == "b" else np.iinfo(dtype).min if dtype.kind in "iu" else dtype.type(-np.inf)


def highest(dtype: np.dtype) -> Any:
    """What no value of a type is above."""
    return dtype.type(True) if dtype.kind == "b" else np.iinfo(dtype).max if dtype.kind in "iu" else dtype.type(np.inf)


_UFUNCS: dict[str, tuple] = {
    "sum": (np.add, lambda dtype: dtype.type(0)), "prod": (np.multiply, lambda dtype: dtype.type(1)),
    "max": (np.maximum, lowest), "min": (np.minimum, highest),
    "and": (np.bitwise_and, lambda dtype: np.array(-1).astype(dtype)[()]), "or": (np.bitwise_or, lambda dtype: dtype.type(0)),
    "xor": (np.bitwise_xor, lambda dtype: dtype.type(0)),
}  # fmt: skip


def _reduction(kind: str) -> Callable:
    ufunc, neutral = _UFUNCS[kind]

    def prepared(e: Equation) -> Callable:
        axes, dtype = tuple(e.params["axes"]), e.dtype
        if is_small_float(dtype):
            return lambda x: np.asarray(ufunc.reduce(np.asarray(x, np.float32), axes, initial=neutral(np.dtype(np.float32)))).astype(dtype)
        initial = neutral(dtype)
        return lambda x: ufunc.reduce(x, axes, dtype=dtype, initial=initial)

    return prepared


TABLE.update({f"reduce_{kind}": _reduction(kind) for kind in _UFUNCS})


def _extreme_place(function: Callable) -> Callable:
    def prepared(e: Equation) -> Callable:
        (axis,), dtype = e.params["axes"], np.dtype(e.params["index_dtype"])
        small = is_small_float(e.inputs[0].dtype)
        return lambda x: np.asarray(function(np.asarray(x, np.float32) if small else x, axis)).astype(dtype)

    return prepared


TABLE["argmax"], TABLE["argmin"] = _extreme_place(np.argmax), _extreme_place(np.argmin)


def _cumulative(accumulate: Callable) -> Callable:
    def prepared(e: Equation) -> Callable:
        axis, back, dtype = e.params["axis"], e.params["reverse"], e.dtype
        inside = np.dtype(np.float32) if is_small_float(dtype) else dtype

        def run(x: np.ndarray) -> np.ndarray:
            x = np.asarray(x, inside)
            result = np.flip(accumulate(np.flip(x, axis), axis, inside), axis) if back else accumulate(x, axis, inside)
            return result.astype(dtype, copy=False)

        return run

    return prepared


TABLE.update(
    cumsum=_cumulative(np.add.accumulate), cumprod=_cumulative(np.multiply.accumulate),
    cummax=_cumulative(np.maximum.accumulate), cummin=_cumulative(np.minimum.accumulate),
    cumlogsumexp=_cumulative(np.logaddexp.accumulate),
)  # fmt: skip


def windows(x: np.ndarray, sizes: tuple, strides: tuple, dilation: tuple) -> np.ndarray:
    """A view of the windows of a padded array: first where, then what is inside."""
    spans = tuple((n - 1) * d + 1 for n, d in zip(sizes, dilation, strict=True))
    view = np.lib.stride_tricks.sliding_window_view(x, spans)
    return view[(*(slice(None, None, s) for s in strides), *(slice(None, None, d) for d in dilation))]


def _window_reduction(kind: str) -> Callable:
    ufunc, neutral = _UFUNCS[kind]

    def prepared(e: Equation) -> Callable:
        p, old, dtype = e.params, e.inputs[0].shape, e.dtype
        sizes, base, inner = p["window_dimensions"], p["base_dilation"], p["window_dilation"]
        config = [(low, high, d - 1) for (low, high), d in zip(p["padding"], base, strict=True)]
        shape = tuple(lo + hi + max(0, (n - 1) * d + 1 if n else 0) for n, (lo, hi), d in zip(old, p["padding"], base, strict=True))
        inside = np.dtype(np.float32) if is_small_float(dtype) else dtype
        fill, pad = neutral(inside), padding(shape, old, config)
        axes = tuple(range(len(old), 2 * len(old)))

        def run(x: np.ndarray) -> np.ndarray:
            if 0 in e.outputs[0].shape:
                return np.empty(e.outputs[0].shape, dtype)
            view = windows(pad(np.asarray(x, inside), fill), sizes, p["window_strides"], inner)
            return ufunc.reduce(view, axes, dtype=inside, initial=fill).astype(dtype, copy=False)

        return run

    return prepared


TABLE.update({f"reduce_window_{kind}": _window_reduction(kind) for kind in ("sum", "max", "min")})


@primitive("select_and_scatter_add")
def select_and_scatter_add(e: Equation) -> Callable:
    p, old, dtype = e.params, e.inputs[1].shape, e.dtype
    highest_wins = p["select_prim"].name == "ge"
    sizes, strides, edges = p["window_dimensions"], p["window_strides"], p["padding"]
    shape = tuple(low + n + high for n, (low, high) in zip(old, edges, strict=True))
    pad = padding(shape, old, [(*edge, 0) for edge in edges])
    inside = np.dtype(np.float32) if is_small_float(dtype) else dtype
    fill = lowest(inside) if highest_wins else highest(inside)
    choose = np.argmax if highest_wins else np.argmin

    def run(source: np.ndarray, operand: np.ndarray) -> np.ndarray:
        view = windows(pad(np.asarray(operand, inside), fill), sizes, strides, (1,) * len(sizes))
        at = np.unravel_index(choose(view.reshape(*source.shape, -1), -1), sizes)
        starts = np.indices(source.shape)
        places = tuple(a + i * s for a, i, s in zip(at, starts, strides, strict=True))
        result = np.zeros(shape, inside)
        np.add.at(result, places, np.asarray(source, inside))
        return result[tuple(slice(lo, lo + n) for n, (lo, _) in zip(old, edges, strict=True))].astype(dtype, copy=False)

    return run
