"""Reductions and their cumulative forms: sums, products, extremes, and reductions by a traced function."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.jax_compat import ClosedJaxpr, Jaxpr, JaxprEqn
from tfcompat._src.interpreter import elementwise, special_functions
from tfcompat._src.interpreter.evaluator import Evaluator
from tfcompat._src.interpreter.table import (
    TABLE,
    DType,
    Equation,
    Prepare,
    Scalar,
    ToArray,
    ToArrays,
    called,
    is_small_float,
    primitive,
    wide,
)

Combination: TypeAlias = Callable[[Sequence[NDArray], Sequence[NDArray]], list[NDArray]]
"""Combines two lists of arrays into one, element by element."""


def lowest(dtype: DType) -> Scalar:
    """Returns the lowest value of a type."""
    return dtype.type(False) if dtype.kind == "b" else np.iinfo(dtype).min if dtype.kind in "iu" else dtype.type(-np.inf)


def highest(dtype: DType) -> Scalar:
    """Returns the highest value of a type."""
    return dtype.type(True) if dtype.kind == "b" else np.iinfo(dtype).max if dtype.kind in "iu" else dtype.type(np.inf)


UFUNCS: dict[str, tuple[np.ufunc, Callable[[DType], Scalar]]] = {
    "sum": (np.add, lambda dtype: dtype.type(0)), "prod": (np.multiply, lambda dtype: dtype.type(1)),
    "max": (np.maximum, lowest), "min": (np.minimum, highest),
    "and": (np.bitwise_and, lambda dtype: np.invert(dtype.type(0))), "or": (np.bitwise_or, lambda dtype: dtype.type(0)),
    "xor": (np.bitwise_xor, lambda dtype: dtype.type(0)),
}  # fmt: skip
"""For each kind of reduction the function that combines two values, and its neutral element for a dtype."""


def _reduction(kind: str) -> Prepare:
    """Returns the preparation of a reduction; small floats are accumulated in float32 and rounded once."""
    ufunc, neutral = UFUNCS[kind]

    def prepared(e: Equation) -> ToArray:
        axes, dtype, inside = tuple(e.params["axes"]), e.dtype, wide(e.dtype)
        initial = neutral(inside)
        if inside != dtype:
            return lambda x: np.asarray(ufunc.reduce(x.astype(inside), axes, initial=initial)).astype(dtype)
        # Max and min need an initial value for empty arrays only, which NumPy refuses to reduce without one.
        if math.prod(e.inputs[0].shape) and kind in ("max", "min"):
            return lambda x: ufunc.reduce(x, axes)
        return lambda x: ufunc.reduce(x, axes, dtype, initial=initial)

    return prepared


TABLE.update({f"reduce_{kind}": _reduction(kind) for kind in UFUNCS})
_OF_ELEMENTS = (elementwise.__name__, special_functions.__name__)


def is_combination(jaxpr: Jaxpr | ClosedJaxpr) -> bool:
    """Returns whether a trace on scalars uses elementwise primitives only, so that it can be evaluated on whole arrays."""
    return all(map(_is_on_elements, (jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr).eqns))


def _is_on_elements(equation: JaxprEqn) -> bool:
    name, body = equation.primitive.name, called(equation)
    if body is not None:
        return is_combination(body)
    return name == "broadcast_in_dim" or name in TABLE and TABLE[name].__module__ in _OF_ELEMENTS


def combination(jaxpr: Jaxpr | ClosedJaxpr, consts: Sequence[NDArray] = ()) -> Combination:
    """Returns a function that combines two lists of arrays by a trace on scalars, which is evaluated on arrays of any shape."""
    # Elementwise primitives broadcast, so the trace on scalars computes arrays of any shape.
    run = Evaluator(jaxpr if isinstance(jaxpr, ClosedJaxpr) else ClosedJaxpr(jaxpr, consts)).run
    return lambda left, right: list(run([*left, *right]))


@primitive("reduce", refused=lambda params: not is_combination(params["jaxpr"]))
def reduce(e: Equation) -> ToArrays:
    """Prepares a reduction by a traced function, as a tree: log2(n) combinations of halves instead of n of single elements."""
    combine, axes = combination(e.params["jaxpr"], e.params.get("consts", ())), tuple(e.params["dimensions"])
    count, shape = len(e.outputs), e.shape
    # The reduced axes become one leading axis; an odd last element goes to the totals, the rest is combined by halves.
    order = (*axes, *(a for a in range(len(e.inputs[0].shape)) if a not in axes))
    length = math.prod(e.inputs[0].shape[a] for a in axes)

    def run(*args: NDArray) -> list[NDArray]:
        # An initial value is neutral by XLA's contract, so that it may count for several elements. Every element is a right operand
        # when it is combined first, as in a sequence that begins with the initial value: a function may tell NaN on the left from NaN
        # on the right (`ops/math/extremes.py`).
        totals = starts = [np.broadcast_to(start, shape) for start in args[count:]]
        left = [x.transpose(order).reshape(length, *shape) for x in args[:count]]
        if length > 1:
            half = length // 2
            right = [x[half:] for x in left]
            left = combine([np.broadcast_to(start, (half, *shape)) for start in starts], [x[:half] for x in left])
            if length % 2:
                totals = combine(totals, [x[-1] for x in right])
            left = combine(left, [x[:half] for x in right])
        while left[0].shape[0]:
            # Leading halves of the remaining elements are combined pairwise until one element is left, which is odd.
            half, odd = divmod(left[0].shape[0], 2)
            if odd:
                totals = combine(totals, [x[-1] for x in left])
            left = combine([x[:half] for x in left], [x[half : 2 * half] for x in left]) if half else [x[:0] for x in left]
        return totals

    return run


def _extreme_place(function: ToArray) -> Prepare:
    """Returns the preparation of argmax or argmin; the first of equal values wins, and NaN wins over numbers."""
    def prepared(e: Equation) -> ToArray:
        (axis,), dtype = e.params["axes"], np.dtype(e.params["index_dtype"])
        small = is_small_float(e.inputs[0].dtype)
        return lambda x: function(x.astype(np.float32) if small else x, axis).astype(dtype)

    return prepared


TABLE["argmax"], TABLE["argmin"] = _extreme_place(np.argmax), _extreme_place(np.argmin)


def _cumulative(accumulate: ToArray) -> Prepare:
    """Returns the preparation of a cumulative form; in reverse, the array is flipped before and after."""
    def prepared(e: Equation) -> ToArray:
        axis, back, dtype, inside = e.params["axis"], e.params["reverse"], e.dtype, wide(e.dtype)

        def run(x: NDArray) -> NDArray:
            x = x.astype(inside, copy=False)
            # Accumulated in the wide dtype and rounded once, as XLA's reductions of small floats are.
            result = np.flip(accumulate(np.flip(x, axis), axis, inside), axis) if back else accumulate(x, axis, inside)
            return result.astype(dtype, copy=False)

        return run

    return prepared


TABLE.update(
    cumsum=_cumulative(np.add.accumulate), cumprod=_cumulative(np.multiply.accumulate),
    cummax=_cumulative(np.maximum.accumulate), cummin=_cumulative(np.minimum.accumulate),
    cumlogsumexp=_cumulative(np.logaddexp.accumulate),
)  # fmt: skip
