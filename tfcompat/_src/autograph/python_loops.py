"""What is checked of `while` loops that Python runs: that they end, and that they add no operations to a graph again and again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from tfcompat._src.autograph import ag_logging
from tfcompat._src.graph.scopes import executing_eagerly, get_default_graph

LIMIT_PYTHON_ITERATIONS = True
PYTHON_MAX_ITERATIONS = 100000000
WARN_INEFFICIENT_UNROLL = True
INEFFICIENT_UNROLL_MIN_ITERATIONS = 3000
INEFFICIENT_UNROLL_MIN_OPS = 1
ITERATIONS_WATCHED = 3
"""In how many iterations after the first ones it is looked for new operations."""


class PythonLoopChecker:
    """What is known of one loop that runs."""

    def __init__(self) -> None:
        self._iterations = 0
        self._watches = WARN_INEFFICIENT_UNROLL and not executing_eagerly()

    @contextlib.contextmanager
    def iteration(self) -> Iterator[None]:
        """A block that is one iteration.

        Raises:
          ValueError: there were too many before it.
        """
        looks = self._watches and self._iterations > INEFFICIENT_UNROLL_MIN_ITERATIONS
        before = len(get_default_graph().get_operations()) if looks else 0
        yield
        self._iterations += 1
        if LIMIT_PYTHON_ITERATIONS and self._iterations > PYTHON_MAX_ITERATIONS:
            raise ValueError("iteration limit exceeded")
        if looks:
            self._look(before)

    def _look(self, before: int) -> None:
        """Warns where there are more operations than `before`, once."""
        new = tuple(get_default_graph().get_operations()[before:])
        if len(new) >= INEFFICIENT_UNROLL_MIN_OPS:
            ag_logging.warn(
                "TensorFlow ops are being created in a Python loop with large number of iterations. This can lead to slow startup. Did "
                "you mean to use a TensorFlow loop? For example, `while True:` is a Python loop, and `while tf.constant(True):` is a "
                "TensorFlow loop. The following ops were created after iteration %s: %s", self._iterations, new,
            )  # fmt: skip
        self._watches = len(new) < INEFFICIENT_UNROLL_MIN_OPS and self._iterations <= INEFFICIENT_UNROLL_MIN_ITERATIONS + ITERATIONS_WATCHED
