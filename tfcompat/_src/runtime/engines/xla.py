"""The engine that compiles with JAX and XLA. On a CPU it selects compiler options by the size of the trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax.sharding import NamedSharding

from tfcompat._src.base import jax_compat
from tfcompat._src.runtime.engines.engine import Call
from tfcompat._src.runtime.latency import reroll
from tfcompat._src.runtime.lowering import failure
from tfcompat._src.runtime.lowering.cluster_trace import Arguments, Tracing, variable_shapes

SMALL = 2**16
LONG = 1500
"""A program of at least this many equations, on arrays of at most `SMALL` elements on average, is compiled with `long` options."""
LONG_RUN = 10**10
"""A call of more floating-point operations may take seconds, so it runs in a helper thread: a signal handler can end the waiting."""
REPEATING = 400
"""In a program of at least this many equations, repeated stretches are rolled into loops (`latency/reroll.py`)."""


class Compiled:
    """See `Executable`. `function` is jitted; `is_long` says that a call may take seconds."""

    takes_kept = False
    is_used_up = False

    def __init__(self, tracing: Tracing, function: jax.stages.Wrapped, is_long: bool) -> None:
        self.tracing, self._function, self._is_long = tracing, function, is_long
        # After its first call JAX dispatches a function in C++.
        self._was_called = False

    def fits(self, arguments: Arguments) -> bool:
        """See `Executable`. JAX itself compiles again for other shapes."""
        return True

    def make(self, call: Call) -> None:
        """See `Executable`."""
        # The first call traces and compiles, in a helper thread. A long call always runs there.
        if not (self._was_called and call.at_once(self._function)):
            call.apart(self._function, self._compile)
            self._was_called = not self._is_long

    def _compile(self, arguments: Arguments) -> None:
        """Compiles into JAX's cache, so that the call that follows does not."""
        self._function.lower(*arguments).compile()

    def describe(self) -> str:
        """See `Executable`."""
        return "compiled"


class Compiler:
    """See `Engine`."""

    def prepare(self, tracing: Tracing, arguments: Arguments) -> Compiled:
        """See `Engine`. Compiles, as only the compiled program tells how much memory a call needs."""
        function = _jitted(tracing, arguments) if jax_compat.compiles_to_cpu() else tracing.call
        needed, operations = jax_compat.cost(function, arguments)
        there, largest = jax_compat.bytes_there(tracing.cluster.place), tracing.notes.largest
        if needed > there and largest:
            raise failure.out_of_memory(largest, needed, there)
        return Compiled(tracing, function, is_long=operations > LONG_RUN)


XLA = Compiler()


def _jitted(tracing: Tracing, arguments: Arguments) -> jax.stages.Wrapped:
    """The cluster's function, jitted with the compiler options for a CPU."""
    # Repeats are rolled into loops first. What is still long, on small arrays, is compiled without fusion: the time of that pass grows
    # with the square of the number of equations, and the code is no faster for it.
    equations, elements = jax_compat.program_size(tracing.call, arguments)
    is_small = elements <= equations * SMALL
    shorter = _rerolled(equations, tracing, arguments)
    if shorter is not None:
        function: jax.stages.Wrapped = jax_compat.jit(shorter, donate=(3,), repeated=is_small)
    elif equations >= LONG and is_small:
        function = jax_compat.jit(tracing.function, donate=(3,), long=True)
    else:
        function = tracing.call
    return function


def _rerolled(equations: int, tracing: Tracing, arguments: Arguments) -> Callable[..., Any] | None:
    """The function with repeated equations rolled into loops; None if it is short, runs on a mesh, or has no repeats."""
    if equations < REPEATING or isinstance(tracing.cluster.place, NamedSharding):
        return None
    rolled, shapes = reroll.rerolled(tracing.trace(arguments)), variable_shapes(arguments)
    if rolled is None:
        return None
    # JAX calls the function again for variables of other shapes, of which this trace knows nothing.
    return lambda *given: rolled(*given) if variable_shapes(given) == shapes else tracing.function(*given)
