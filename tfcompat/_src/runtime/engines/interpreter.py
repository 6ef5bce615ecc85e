"""The engine that compiles nothing: NumPy evaluates the trace, until what that took would have paid for compiling it."""

from __future__ import annotations

import contextlib
import functools
import math
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.arrays import Array
from tfcompat._src.interpreter import engine
from tfcompat._src.interpreter.limit import LIMIT, OverLimit
from tfcompat._src.interpreter.memory import lenders, lent
from tfcompat._src.runtime.cluster_trace import Arguments, Trace, Tracing, variable_shapes
from tfcompat._src.runtime.engines.engine import Call
from tfcompat._src.runtime.engines.spoiled import spoil


def lacks(trace: Trace | jax.stages.Traced) -> bool:
    """Whether the interpreter has no function for something in a trace."""
    return bool(engine.missing(trace.jaxpr.jaxpr))


class Interpreted:
    """What takes and gives the trees of arrays that a jitted function would, as NumPy arrays that nothing else holds.

    `each` is the work that a call counts as, but for loops whose length only a run shows, and `price` the work that pays for compiling, in
    nanoseconds. Where that is finite, a call with such loops may give up.
    """

    takes_kept = True

    def __init__(self, tracing: Tracing, trace: Trace | jax.stages.Traced, arguments: Arguments, each: int, price: float) -> None:
        self.tracing = tracing
        self._shapes = variable_shapes(arguments)
        self._evaluate = engine.prepare(trace.jaxpr).evaluate
        self._structure = jax.tree.structure(trace.out_info)
        self._writes_in_place = math.isinf(price) or not engine.has_unbounded_loops(trace.jaxpr.jaxpr)
        self._each = each
        self._price = self._left = price

    @property
    def is_used_up(self) -> bool:
        """See `Executable`."""
        return self._left <= 0

    def fits(self, arguments: Arguments) -> bool:
        """See `Executable`."""
        return variable_shapes(arguments) == self._shapes

    def make(self, call: Call) -> None:
        """See `Executable`. The interpreter gives up before anything was changed."""
        with contextlib.suppress(OverLimit):
            if self._writes_in_place and call.updates_variables:
                call.apart(self._call)
            else:
                call.here(self._call)

    def _call(
        self, inputs: tuple[Any, ...], large: tuple[Any, ...], read: tuple[Array, ...], updated: tuple[Array, ...], rng: Array | tuple[()]
    ) -> tuple[Any, ...]:  # fmt: skip
        """Updated variables that nothing else has may be written to. Where no result comes of that they are `is_spoiled`.

        Raises:
          errors.ResourceExhaustedError: memory does not suffice.
          OverLimit: loops have gone round so often that it is to be compiled; nothing has happened.
        """
        before, after = (map(np.asarray, jax.tree.leaves(values)) for values in ((inputs, large, read), rng))
        taken = lent if self._writes_in_place else functools.partial(map, np.asarray)
        arrays = [*before, *taken(updated), *after]
        kept = lenders(arrays)
        LIMIT.left = math.inf if self._writes_in_place else self._left
        try:
            results: tuple[Any, ...] = jax.tree.unflatten(self._structure, self._evaluate(arrays))
            return results
        except BaseException as e:
            spoil(k.array for k in kept if k.is_written)
            if isinstance(e, MemoryError):
                raise errors.ResourceExhaustedError(None, None, f"OOM when interpreting a program: {e}") from e
            raise
        finally:
            self._left = (self._left if self._writes_in_place else LIMIT.left) - self._each

    def describe(self) -> str:
        """How long it is interpreted, by the estimates."""
        if math.isinf(self._left):
            return "interpreted, as TFCOMPAT_ENGINE says"
        if not self._each:
            return "interpreted: but for its loops, a call takes no longer than one of what is compiled would"
        runs = max(0, math.ceil(self._left / self._each))
        return f"interpreted in {runs} more runs at most ({self._each / 1e9:.3g} s each and their loops), which pays for compiling ({self._price / 1e9:.3g} s)"


@dataclass(frozen=True)
class Interpreter:
    """See `Engine`. For `each` and `price` see `Interpreted`."""

    each: int
    price: float

    def prepare(self, tracing: Tracing, arguments: Arguments) -> Interpreted:
        """Finds a function for each equation. Raises NotImplementedError where there is none."""
        return Interpreted(tracing, tracing.trace_to_interpret(arguments), arguments, self.each, self.price)
