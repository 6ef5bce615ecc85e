"""The engine that evaluates the trace in NumPy, until that has cost as much as compiling.

This is the ski rental problem: interpreting until its total cost reaches the price of compiling costs at most twice as much as the
optimal choice in hindsight (Karlin et al., Competitive Snoopy Caching, Algorithmica 3, 1988). Costs are estimated from the trace, not
measured, so that the same program changes its engine at the same step each time.
"""

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
from tfcompat._src.runtime.engines.engine import Call
from tfcompat._src.runtime.engines.spoiled import spoil
from tfcompat._src.runtime.lowering.cluster_trace import Arguments, Trace, Tracing, variable_shapes


def lacks(trace: Trace | jax.stages.Traced) -> bool:
    """Whether the interpreter has no function for something in a trace."""
    return bool(engine.missing(trace.jaxpr.jaxpr))


class Interpreted:
    """See `Executable`. Results are NumPy arrays that nothing else refers to.

    Args:
      each: by how much a call is estimated to exceed one of a compiled program, without loops of unknown trip count, in nanoseconds.
      price: the cost of compiling, in nanoseconds; infinite if the cluster is never to be compiled. If it is finite, a call whose loops of
        unknown trip count use it up is abandoned.
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
        """See `Executable`. A call that is abandoned has changed nothing."""
        with contextlib.suppress(OverLimit):
            if self._writes_in_place and call.updates_variables:
                call.apart(self._call)
            else:
                call.here(self._call)

    def _call(
        self, inputs: tuple[Any, ...], large: tuple[Any, ...], read: tuple[Array, ...], updated: tuple[Array, ...], rng: Array | tuple[()]
    ) -> tuple[Any, ...]:  # fmt: skip
        """Evaluates the trace. Updated variables that nothing else refers to may be overwritten; after an error they are `is_spoiled`.

        Raises:
          errors.ResourceExhaustedError: out of memory.
          OverLimit: loops have run so often that compiling pays; nothing has been changed.
        """
        # A call that may be abandoned must not write in place, as it is made again.
        before, after = (map(np.asarray, jax.tree.leaves(values)) for values in ((inputs, large, read), rng))
        # `lent` arrays count as unshared for the interpreter, which may then reuse their memory for results.
        taken = lent if self._writes_in_place else functools.partial(map, np.asarray)
        arrays = [*before, *taken(updated), *after]
        kept = lenders(arrays)
        # Loops of unknown trip count subtract their work from this budget, and raise OverLimit when it is spent.
        LIMIT.left = math.inf if self._writes_in_place else self._left
        try:
            results: tuple[Any, ...] = jax.tree.unflatten(self._structure, self._evaluate(arrays))
            return results
        # Also for KeyboardInterrupt: an array that was partly overwritten must not be read again.
        except BaseException as e:
            spoil(k.array for k in kept if k.is_written)
            if isinstance(e, MemoryError):
                raise errors.ResourceExhaustedError(None, None, f"OOM when interpreting a program: {e}") from e
            raise
        finally:
            self._left = (self._left if self._writes_in_place else LIMIT.left) - self._each

    def describe(self) -> str:
        """See `Executable`. Tells how many more runs are interpreted, by the estimates."""
        if math.isinf(self._left):
            return "interpreted, as TFCOMPAT_ENGINE says"
        if not self._each:
            return "interpreted: without its loops, a call takes no longer than a call of the compiled program would"
        runs = max(0, math.ceil(self._left / self._each))
        return (
            f"interpreted in {runs} more runs at most ({self._each / 1e9:.3g} s each and their loops), "
            f"which pays for compiling ({self._price / 1e9:.3g} s)"
        )


@dataclass(frozen=True)
class Interpreter:
    """See `Engine`. For `each` and `price` see `Interpreted`."""

    each: int
    price: float

    def prepare(self, tracing: Tracing, arguments: Arguments) -> Interpreted:
        """See `Engine`. Raises NotImplementedError if the interpreter has no function for an equation of the trace."""
        return Interpreted(tracing, tracing.trace_to_interpret(arguments), arguments, self.each, self.price)
