"""Which engine computes a cluster: on a CPU the interpreter, until what it took would have paid for compiling; then, and elsewhere, XLA.

Both costs are estimated from the trace alone, so that the same program changes its engine at the same step each time.
`TFCOMPAT_ENGINE` forces one of them.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator

from tfcompat._src.base import jax_compat
from tfcompat._src.runtime.cluster_trace import Arguments, Tracing
from tfcompat._src.runtime.engines import interpreter, xla
from tfcompat._src.runtime.engines.engine import Engine
from tfcompat._src.runtime.variable_state import Place

ENGINES = ("choose", "compile", "interpret")
ENGINE = os.environ.get("TFCOMPAT_ENGINE") or "choose"
if ENGINE not in ENGINES:
    raise ValueError(f"TFCOMPAT_ENGINE is {ENGINE!r}; it can be {', '.join(ENGINES[:-1])} or {ENGINES[-1]}.")


class _Haste(threading.local):
    """Whether this thread lets nothing pay for compiling first."""

    is_on = False


_HASTE = _Haste()


@contextlib.contextmanager
def decided_at_once() -> Iterator[None]:
    """Within the `with` statement, what this thread runs for new shapes is compiled in the second run, if it ever would be."""
    before, _HASTE.is_on = _HASTE.is_on, True
    try:
        yield
    finally:
        _HASTE.is_on = before


def can_interpret(place: Place) -> bool:
    """Whether the interpreter may evaluate clusters at this place: on the one CPU that there is, where arrays are not placed."""
    return ENGINE != "compile" and place is None and jax_compat.compiles_to_cpu()


def engine_for(tracing: Tracing, arguments: Arguments, was_used_up: bool) -> Engine:
    """The engine of a cluster for arguments of these shapes; `was_used_up` says that the interpreter had it for as long as is worth it."""
    if was_used_up or not can_interpret(tracing.cluster.place):
        return xla.XLA
    if ENGINE == "interpret":
        return interpreter.ALWAYS
    if interpreter.lacks(tracing.trace(arguments)):
        return xla.XLA
    return interpreter.IN_HASTE if _HASTE.is_on else interpreter.UNTIL_IT_PAYS
