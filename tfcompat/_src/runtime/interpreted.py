"""A trace as something to call where a compiled program would be called; `TFCOMPAT_ENGINE` says which of the two."""

from __future__ import annotations

import os
from typing import Any

import jax
import numpy as np

from tfcompat._src.interpreter import engine
from tfcompat._src.interpreter.memory import lent

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
        arrays = [*map(np.asarray, jax.tree.leaves((inputs, large, read))), *lent(updated), *map(np.asarray, jax.tree.leaves(rng))]
        return jax.tree.unflatten(self._structure, self._evaluate(arrays))
