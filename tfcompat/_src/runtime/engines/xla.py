"""The engine that compiles: JAX hands the trace to XLA, with the settings that suit its size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax.sharding import NamedSharding

from tfcompat._src.base import jax_compat
from tfcompat._src.runtime import failure, reroll
from tfcompat._src.runtime.cluster_trace import Arguments, Tracing
from tfcompat._src.runtime.engines.engine import Call

SMALL = 2**16
LONG = 1500
"""A program of as many equations, on arrays of at most `SMALL` elements in the mean, is compiled as a long one."""
LONG_RUN = 10**10
"""A run of as many floating-point operations is one that a signal's handler is to end."""
REPEATING = 400
"""In a program of as many equations, those that repeat are made loops."""


class Compiled:
    """A jitted function. `is_long` says that a call may take seconds."""

    takes_kept = False
    is_used_up = False

    def __init__(self, tracing: Tracing, function: jax.stages.Wrapped, is_long: bool) -> None:
        self.tracing, self._function, self._is_long = tracing, function, is_long
        self._was_called = False  # from then on JAX needs no Python code to call it

    def fits(self, arguments: Arguments) -> bool:
        """See `Executable`: JAX looks at the shapes of all arguments, and compiles again."""
        return True

    def make(self, call: Call) -> None:
        """See `Executable`."""
        if not (self._was_called and call.at_once(self._function)):
            call.apart(self._function, self._compile)
            self._was_called = not self._is_long

    def _compile(self, arguments: Arguments) -> None:
        self._function.lower(*arguments).compile()

    def describe(self) -> str:
        """See `Executable`."""
        return "compiled"


class Compiler:
    """See `Engine`."""

    def prepare(self, tracing: Tracing, arguments: Arguments) -> Compiled:
        """Compiles. Raises ResourceExhaustedError where a call would need more memory than the device has."""
        function = _jitted(tracing, arguments) if jax_compat.compiles_to_cpu() else tracing.call
        needed, operations = jax_compat.cost(function, arguments)
        there, largest = jax_compat.bytes_there(tracing.cluster.place), tracing.notes.largest
        if needed > there and largest:
            raise failure.out_of_memory(largest, needed, there)
        return Compiled(tracing, function, is_long=operations > LONG_RUN)


XLA = Compiler()


def _jitted(tracing: Tracing, arguments: Arguments) -> jax.stages.Wrapped:
    """The function with the settings for a CPU."""
    equations, elements = jax_compat.program_size(tracing.call, arguments)
    is_small = elements <= equations * SMALL
    shorter = _rerolled(equations, tracing, arguments)
    if shorter is not None:
        found: jax.stages.Wrapped = jax_compat.jit(shorter, donate=(3,), repeated=is_small)
    elif equations >= LONG and is_small:
        found = jax_compat.jit(tracing.function, donate=(3,), long=True)
    else:
        found = tracing.call
    return found


def _rerolled(equations: int, tracing: Tracing, arguments: Arguments) -> Callable[..., Any] | None:
    """The program with loops for what repeats in it; None where it is short, lies on a mesh, or nothing repeats."""
    if equations < REPEATING or isinstance(tracing.cluster.place, NamedSharding):
        return None
    return reroll.rerolled(tracing.trace(arguments))
