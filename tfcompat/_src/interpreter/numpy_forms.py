"""Computes calls of functions that have a NumPy form (`base/one_call.py`) by that form: random numbers, and convolutions that a compiled
program adds up one kernel element at a time.
"""

from __future__ import annotations

from tfcompat._src.base.jax_compat import ClosedJaxpr, JaxprEqn
from tfcompat._src.base.one_call import IN_NUMPY
from tfcompat._src.interpreter.table import CALLED, Prepare


def of_call(equation: JaxprEqn) -> Prepare | None:
    """Returns how to prepare a call of such a function; None for other calls."""
    body = equation.params.get("jaxpr")
    form = IN_NUMPY.get(body) if isinstance(body, ClosedJaxpr) else None
    return (lambda equation: form) if form is not None else None


CALLED.append(of_call)
