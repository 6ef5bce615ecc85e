"""A trace as something to call where a compiled program would be called; `TFCOMPAT_ENGINE` says which of the two."""

from __future__ import annotations

import os
import weakref
from typing import Any

import jax
import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.interpreter import engine
from tfcompat._src.interpreter.memory import lenders, lent

ENGINES = ("compile", "interpret")
ENGINE = os.environ.get("TFCOMPAT_ENGINE") or "compile"
"""What evaluates clusters on a CPU: programs that XLA compiles, or the interpreter, which compiles nothing."""
if ENGINE not in ENGINES:
    raise ValueError(f"TFCOMPAT_ENGINE is {ENGINE!r}; it can be {' or '.join(ENGINES)}.")


class Interpreted:
    """What takes and gives the trees of arrays that a jitted function would, as NumPy arrays that nothing else holds."""

    def __init__(self, traced: jax.stages.Traced) -> None:
        self._evaluate = engine.prepare(traced.jaxpr).evaluate
        self._structure = jax.tree.structure(traced.out_info)

    def __call__(self, inputs: tuple, large: tuple, read: tuple, updated: tuple, rng: Any) -> Any:
        """Updated variables that nothing else has may be written to. Where no result comes of that they are `is_spoiled`.

        Raises:
          errors.ResourceExhaustedError: memory does not suffice.
        """
        before, after = (map(np.asarray, jax.tree.leaves(values)) for values in ((inputs, large, read), rng))
        arrays = [*before, *lent(updated), *after]
        kept = lenders(arrays)
        try:
            return jax.tree.unflatten(self._structure, self._evaluate(arrays))
        except BaseException as e:
            _spoiled.update((id(k.array), k.array) for k in kept if k.is_written)
            if isinstance(e, MemoryError):
                raise errors.ResourceExhaustedError(None, None, f"OOM when interpreting a program: {e}") from e
            raise


_spoiled: weakref.WeakValueDictionary[int, np.ndarray] = weakref.WeakValueDictionary()


def is_spoiled(value: Any) -> bool:
    """Whether an evaluation that failed has written to this array."""
    return _spoiled.get(id(value)) is value
