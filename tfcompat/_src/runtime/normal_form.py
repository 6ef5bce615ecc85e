"""A trace in a form in which repeats look alike: with nothing that the outputs do not need, and equal constants as one."""

from __future__ import annotations

import jax
import numpy as np

from tfcompat._src.base import jax_compat
from tfcompat._src.base.jax_compat import Atom, ClosedJaxpr, Var


def normalized(trace: ClosedJaxpr) -> ClosedJaxpr:
    """A trace that computes the same, in that form."""
    trace = jax_compat.without_dead_code(trace)
    first: dict[tuple[jax.core.AbstractValue, bytes], Var] = {}
    instead: dict[Var, Var] = {}
    for variable, value in zip(trace.jaxpr.constvars, trace.consts):
        if not isinstance(value, jax.Array):
            instead[variable] = first.setdefault((variable.aval, np.asarray(value).tobytes()), variable)

    def shared(atoms: list[Atom]) -> list[Atom]:
        return [instead.get(a, a) if isinstance(a, Var) else a for a in atoms]

    equations = [e.replace(invars=shared(e.invars)) for e in trace.jaxpr.eqns]
    return ClosedJaxpr(trace.jaxpr.replace(eqns=equations, outvars=shared(trace.jaxpr.outvars)), trace.consts)
