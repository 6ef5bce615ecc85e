"""Normalizes a trace for the search for repeats: removes dead code, and merges equal constants, which would make equal iterations differ."""

from __future__ import annotations

import jax
import numpy as np

from tfcompat._src.base import jax_compat
from tfcompat._src.base.jax_compat import Atom, ClosedJaxpr, Var


def normalized(trace: ClosedJaxpr) -> ClosedJaxpr:
    """Returns an equivalent trace in normal form. Constants that are on a device are not compared, as that would copy them to the host."""
    trace = jax_compat.without_dead_code(trace)
    first: dict[tuple[jax.core.AbstractValue, bytes], Var] = {}
    replacement: dict[Var, Var] = {}
    for variable, value in zip(trace.jaxpr.constvars, trace.consts):
        if not isinstance(value, jax.Array):
            replacement[variable] = first.setdefault((variable.aval, np.asarray(value).tobytes()), variable)

    def shared(atoms: list[Atom]) -> list[Atom]:
        return [replacement.get(a, a) if isinstance(a, Var) else a for a in atoms]

    equations = [e.replace(invars=shared(e.invars)) for e in trace.jaxpr.eqns]
    return ClosedJaxpr(trace.jaxpr.replace(eqns=equations, outvars=shared(trace.jaxpr.outvars)), trace.consts)
