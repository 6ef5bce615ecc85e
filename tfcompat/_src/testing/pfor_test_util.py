"""`tensorflow.python.ops.parallel_for.test_util`: pfor against a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes, nest
from tfcompat._src.ops.control.parallel_for import for_loop, pfor
from tfcompat._src.testing.test_case import TestCase
from tfcompat._src.variables.collections import global_variables_initializer


class PForTestCase(TestCase):
    """Tests that compare what two ways to run a function many times give."""

    def _run_targets(self, targets1: object, targets2: object = None, run_init: bool = True) -> list[Any]:
        """The values of all leaves, those of `targets2` behind those of `targets1`."""
        if run_init:
            self.evaluate(global_variables_initializer())
        return self.evaluate([*nest.flatten(targets1), *nest.flatten([] if targets2 is None else targets2)])

    def run_and_assert_equal(self, targets1: object, targets2: object, rtol: float = 1e-4, atol: float = 1e-5) -> None:
        """AssertionError unless both have the same values, numbers to rounding."""
        found = nest.flatten(self._run_targets(targets1, targets2))
        half = len(found) // 2
        for one, other in zip(found[:half], found[half:]):
            if np.asarray(one).dtype == object:
                self.assertAllEqual(other, one)
            else:
                self.assertAllClose(other, one, rtol=rtol, atol=atol)

    def _test_loop_fn(
        self, loop_fn: Callable, iters: object, loop_fn_dtypes: object = dtypes.float32, parallel_iterations: int | None = None
    ) -> None:
        vectorized = pfor(loop_fn, iters, parallel_iterations)
        self.run_and_assert_equal(vectorized, for_loop(loop_fn, loop_fn_dtypes, iters, parallel_iterations))
