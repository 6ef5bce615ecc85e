"""Sorting by one or several keys, and the k greatest elements. Both are stable."""

from __future__ import annotations

import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.interpreter.table import Equation, ToArrays, is_small_float, primitive


def _key(x: NDArray) -> NDArray:
    """Returns values that NumPy can sort: small floats as float32."""
    return x.astype(np.float32) if is_small_float(x.dtype) else x


@primitive("sort")
def sort(e: Equation) -> ToArrays:
    axis, keys = e.params["dimension"], e.params["num_keys"]
    if len(e.inputs) == 1 and not is_small_float(e.inputs[0].dtype):
        return lambda x: [np.sort(x, axis, kind="stable")]

    def sorted_together(*args: NDArray) -> list[NDArray]:
        # `lexsort` takes the most significant key last.
        order = np.lexsort([_key(a) for a in reversed(args[:keys])], axis=axis)
        return [np.take_along_axis(a, order, axis) for a in args]

    return sorted_together


@primitive("top_k")
def top_k(e: Equation) -> ToArrays:
    k, axis, dtype = e.params["k"], e.params.get("axis", -1), e.outputs[1].dtype

    def top(x: NDArray) -> list[NDArray]:
        # Ascending on the flipped axis and flipped back: of equal elements the one with the lower index comes first. NaN counts as greatest.
        backwards = np.flip(_key(x), axis)
        order = np.flip(np.argsort(backwards, axis=axis, kind="stable"), axis)
        order = x.shape[axis] - 1 - np.take(order, range(k), axis)
        return [np.take_along_axis(x, order, axis), order.astype(dtype)]

    return top
