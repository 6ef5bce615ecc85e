"""The engine that compiles nothing: NumPy evaluates the trace, until what that took would have paid for compiling it."""

from __future__ import annotations

import contextlib
import functools
import math
import weakref
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from tfcompat._src.base import errors, jax_compat
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.interpreter import engine
from tfcompat._src.interpreter.cost import cost
from tfcompat._src.interpreter.limit import LIMIT, OverLimit
from tfcompat._src.interpreter.memory import lenders, lent
from tfcompat._src.runtime.cluster_trace import Arguments, Tracing, variable_shapes
from tfcompat._src.runtime.engines.engine import Call
from tfcompat._src.runtime.variable_state import Array

OF_A_PROGRAM = 3 * 10**7
OF_AN_EQUATION = 5 * 10**6 // 2
"""Nanoseconds that compiling a program takes, and each equation of it."""
OF_A_CALL = 12000
"""Nanoseconds that calling a compiled program takes in any case: what evaluates in less is never compiled."""


def cost_of_compiling(trace: jax.stages.Traced) -> int:
    """About how long it takes to compile a trace, in nanoseconds."""
    return OF_A_PROGRAM + OF_AN_EQUATION * jax_compat.equations(trace.jaxpr.jaxpr)


def lacks(trace: jax.stages.Traced) -> bool:
    """Whether the interpreter has no function for something in a trace."""
    return bool(engine.missing(trace.jaxpr.jaxpr))


class Interpreted:
    """What takes and gives the trees of arrays that a jitted function would, as NumPy arrays that nothing else holds.

    `price`: the work, in nanoseconds, that pays for compiling. Where it is finite, a call with loops whose length only a run shows may give up.
    """

    takes_kept = True

    def __init__(self, tracing: Tracing, trace: jax.stages.Traced, arguments: Arguments, price: float) -> None:
        self.tracing = tracing
        self._shapes = variable_shapes(arguments)
        self._evaluate = engine.prepare(trace.jaxpr).evaluate
        self._structure = jax.tree.structure(trace.out_info)
        self._each = max(0, cost(trace.jaxpr, 0).nanoseconds - OF_A_CALL)
        self._writes_in_place = math.isinf(price) or not jax_compat.has_unbounded_loops(trace.jaxpr.jaxpr)
        self._price = self._left = price if self._each else max(price, cost_of_compiling(trace))

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
            _spoiled.update((id(k.array), k.array) for k in kept if k.is_written)
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


class Interpreter:
    """See `Engine`. `price` gives, for a trace, the work in nanoseconds after which its cluster is compiled."""

    def __init__(self, price: Callable[[jax.stages.Traced], float]) -> None:
        self._price = price

    def prepare(self, tracing: Tracing, arguments: Arguments) -> Interpreted:
        """Finds a function for each equation. Raises NotImplementedError where there is none."""
        trace = tracing.trace(arguments)
        return Interpreted(tracing, trace, arguments, self._price(trace))


ALWAYS = Interpreter(lambda trace: math.inf)
UNTIL_IT_PAYS = Interpreter(cost_of_compiling)
IN_HASTE = Interpreter(lambda trace: 1)  # the first run is more than that


_spoiled: weakref.WeakValueDictionary[int, NDArray] = weakref.WeakValueDictionary()


def is_spoiled(value: object) -> bool:
    """Whether an evaluation that failed has written to this array."""
    return _spoiled.get(id(value)) is value
