"""The work that an evaluation may take; loops, whose length only a run shows, count their rounds."""

from __future__ import annotations

import math
import threading


class OverLimit(Exception):
    """An evaluation has taken all the work that it was given."""


class _Limit(threading.local):
    left: float = math.inf


LIMIT = _Limit()
"""What the evaluation in this thread may still take, in nanoseconds of `Cost`."""


def spend(nanoseconds: float) -> None:
    """Counts work.

    Raises:
      OverLimit: it is more than what is left.
    """
    LIMIT.left -= nanoseconds
    if LIMIT.left < 0:
        raise OverLimit
