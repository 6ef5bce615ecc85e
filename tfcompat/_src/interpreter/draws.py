"""Random numbers: the NumPy form of a drawing function computes a call of it, in pieces that stay in the cache."""

from __future__ import annotations

from tfcompat._src.base.jax_compat import ClosedJaxpr, JaxprEqn
from tfcompat._src.interpreter.table import CALLED, Prepare
from tfcompat._src.ops.random.one_call import IN_NUMPY


def of_call(equation: JaxprEqn) -> Prepare | None:
    """What prepares the call of a drawing function; None for other calls."""
    body = equation.params.get("jaxpr")
    draw = IN_NUMPY.get(body) if isinstance(body, ClosedJaxpr) else None
    return (lambda equation: draw) if draw is not None else None


CALLED.append(of_call)
