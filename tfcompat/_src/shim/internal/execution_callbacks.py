"""`tensorflow.python.eager.execution_callbacks`: what eager execution would do about infinities and NaN."""

from __future__ import annotations

import contextlib
import enum


class ExecutionCallback(enum.Enum):
    """What to do about an infinity or NaN."""

    IGNORE = "ignore"
    PRINT = "print"
    RAISE = "raise"
    WARN = "warn"


def errstate(inf_or_nan: ExecutionCallback | None = None) -> contextlib.AbstractContextManager[None]:
    """A block in which eager results are checked.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError(
        "tfcompat does not have eager execution (tensorflow.python.eager.execution_callbacks.errstate); "
        "in a graph, use tf.debugging.check_numerics"
    )
