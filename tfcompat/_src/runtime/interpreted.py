"""What evaluates a cluster on a CPU: the interpreter, until what was interpreted would have paid for compiling it; then what XLA has compiled.

Both costs are estimated from the trace alone, so that the same program changes its engine at the same step each time.
`TFCOMPAT_ENGINE` forces one of them.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from tfcompat._src.base import errors, jax_compat
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.interpreter import engine
from tfcompat._src.interpreter.cost import cost
from tfcompat._src.interpreter.limit import LIMIT
from tfcompat._src.interpreter.memory import lenders, lent
from tfcompat._src.runtime.variable_state import Array, Place

ENGINES = ("choose", "compile", "interpret")
ENGINE = os.environ.get("TFCOMPAT_ENGINE") or "choose"
if ENGINE not in ENGINES:
    raise ValueError(f"TFCOMPAT_ENGINE is {ENGINE!r}; it can be {', '.join(ENGINES[:-1])} or {ENGINES[-1]}.")
OF_A_PROGRAM = 3 * 10**7
OF_AN_EQUATION = 5 * 10**6 // 2
"""Nanoseconds that compiling a program takes, and each equation of it."""
OF_A_CALL = 12000
"""Nanoseconds that calling a compiled program takes in any case: what evaluates in less is never compiled."""


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


def cost_of_compiling(trace: jax.stages.Traced) -> int:
    """About how long it takes to compile a trace, in nanoseconds."""
    return OF_A_PROGRAM + OF_AN_EQUATION * jax_compat.equations(trace.jaxpr.jaxpr)


def can_interpret(place: Place) -> bool:
    """Whether the interpreter may evaluate clusters at this place: on the one CPU that there is, where arrays are not placed."""
    return ENGINE != "compile" and place is None and jax_compat.compiles_to_cpu()


def is_interpretable(trace: jax.stages.Traced) -> bool:
    """Whether the interpreter has functions for all of a trace; where it is forced, what it lacks is an error."""
    return ENGINE == "interpret" or not engine.missing(trace.jaxpr.jaxpr)


class Interpreted:
    """What takes and gives the trees of arrays that a jitted function would, as NumPy arrays that nothing else holds.

    `left`: the work, in nanoseconds, after which it is to be compiled. `writes_in_place`: whether a call may write to arrays of
    variables, and then goes on to its end.
    """

    def __init__(self, trace: jax.stages.Traced) -> None:
        self._evaluate = engine.prepare(trace.jaxpr).evaluate
        self._structure = jax.tree.structure(trace.out_info)
        self._each = max(0, cost(trace.jaxpr, 0).nanoseconds - OF_A_CALL)
        self.writes_in_place = not (ENGINE == "choose" and jax_compat.has_unbounded_loops(trace.jaxpr.jaxpr))
        self._price = 0 if _HASTE.is_on and self._each else cost_of_compiling(trace)
        self.left = math.inf if ENGINE == "interpret" else self._price

    def __call__(
        self, inputs: tuple[Any, ...], large: tuple[Any, ...], read: tuple[Array, ...], updated: tuple[Array, ...], rng: Array | tuple[()]
    ) -> tuple[Any, ...]:  # fmt: skip
        """Updated variables that nothing else has may be written to. Where no result comes of that they are `is_spoiled`.

        Raises:
          errors.ResourceExhaustedError: memory does not suffice.
          OverLimit: loops have gone round so often that it is to be compiled; nothing has happened.
        """
        before, after = (map(np.asarray, jax.tree.leaves(values)) for values in ((inputs, large, read), rng))
        taken = lent if self.writes_in_place else functools.partial(map, np.asarray)
        arrays = [*before, *taken(updated), *after]
        kept = lenders(arrays)
        LIMIT.left = math.inf if self.writes_in_place else self.left
        try:
            results: tuple[Any, ...] = jax.tree.unflatten(self._structure, self._evaluate(arrays))
            return results
        except BaseException as e:
            _spoiled.update((id(k.array), k.array) for k in kept if k.is_written)
            if isinstance(e, MemoryError):
                raise errors.ResourceExhaustedError(None, None, f"OOM when interpreting a program: {e}") from e
            raise
        finally:
            self.left = (self.left if self.writes_in_place else LIMIT.left) - self._each

    def described(self) -> str:
        """How long it is interpreted, by the estimates."""
        if math.isinf(self.left):
            return "interpreted, as TFCOMPAT_ENGINE says"
        if not self._each:
            return "interpreted: but for its loops, a call takes no longer than one of what is compiled would"
        runs = max(0, math.ceil(self.left / self._each))
        return f"interpreted in {runs} more runs at most ({self._each / 1e9:.3g} s each and their loops), which pays for compiling ({self._price / 1e9:.3g} s)"


_spoiled: weakref.WeakValueDictionary[int, NDArray] = weakref.WeakValueDictionary()


def is_spoiled(value: object) -> bool:
    """Whether an evaluation that failed has written to this array."""
    return _spoiled.get(id(value)) is value
