"""Calls of functions that have a form in NumPy (`base/one_call.py`) are computed by that: random numbers, convolutions that a program sums up tap by tap."""

from __future__ import annotations

from tfcompat._src.base.jax_compat import ClosedJaxpr, JaxprEqn
from tfcompat._src.base.one_call import IN_NUMPY
from tfcompat._src.interpreter.table import CALLED, Prepare


def of_call(equation: JaxprEqn) -> Prepare | None:
    """What prepares the call of such a function; None for other calls."""
    body = equation.params.get("jaxpr")
    form = IN_NUMPY.get(body) if isinstance(body, ClosedJaxpr) else None
    return (lambda equation: form) if form is not None else None


CALLED.append(of_call)
