"""Random numbers: the NumPy form of a drawing function computes a call of it, in pieces that stay in the cache."""

from __future__ import annotations

from collections.abc import Callable

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.interpreter.table import CALLED, Equation, Prepare, ToArrays
from tfcompat._src.ops.random import distributions
from tfcompat._src.ops.random.one_call import IN_NUMPY, call_name


def _drawing(draw: Callable[..., NDArray]) -> Prepare:
    def prepare(e: Equation) -> ToArrays:
        result = e.outputs[0]
        return lambda key, counter, *arrays: [draw(key, counter, result, *arrays)]

    return prepare


DRAWS = (
    distributions.uniform, distributions.uniform_int, distributions.full_int, distributions.normal, distributions.truncated_normal,
    distributions.shuffle,
)  # fmt: skip
CALLED.update((call_name(draw), _drawing(IN_NUMPY[call_name(draw)])) for draw in DRAWS)
