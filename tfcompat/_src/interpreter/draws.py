"""Random numbers: the NumPy form of a drawing function computes a call of it, in pieces that stay in the cache."""

from __future__ import annotations

from collections.abc import Callable

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.jax_compat import ClosedJaxpr, JaxprEqn
from tfcompat._src.interpreter.table import CALLED, Equation, Prepare, ToArrays
from tfcompat._src.ops.random.one_call import IN_NUMPY


def _drawing(draw: Callable[..., NDArray]) -> Prepare:
    def prepare(e: Equation) -> ToArrays:
        result = e.outputs[0]
        return lambda key, counter, *arrays: [draw(key, counter, result, *arrays)]

    return prepare


def of_call(equation: JaxprEqn) -> Prepare | None:
    """What prepares the call of a drawing function; None for other calls."""
    body = equation.params.get("jaxpr")
    draw = IN_NUMPY.get(body) if isinstance(body, ClosedJaxpr) else None
    return _drawing(draw) if draw is not None else None


CALLED.append(of_call)
