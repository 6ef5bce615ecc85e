"""A limit on the work of an evaluation in this thread. Loops of unknown length report each iteration, and the evaluation stops at the limit.

The runtime sets the limit to what compiling the program would cost (`runtime/engines/interpreter.py`).
"""

from __future__ import annotations

import math
import threading


class OverLimit(Exception):
    """The evaluation has used up the work that it was allowed."""


class _Limit(threading.local):
    left: float = math.inf


LIMIT = _Limit()
"""Work that the evaluation in this thread may still do, in nanoseconds of `Cost`."""


def spend(nanoseconds: float) -> None:
    """Subtracts work from the limit.

    Raises:
      OverLimit: less than this was left.
    """
    LIMIT.left -= nanoseconds
    if LIMIT.left < 0:
        raise OverLimit
