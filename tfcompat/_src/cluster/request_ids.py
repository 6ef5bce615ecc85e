"""Detection of repeated requests: a client repeats a request after a lost connection, and it must not take effect twice."""

from __future__ import annotations

import threading
from collections import OrderedDict

from tfcompat._src.base import errors

_REMEMBERED = 4096
"""How many request ids are kept."""


class RequestIds:
    """The ids of the last requests of one method.

    Args:
      what: the name of the method in the error.
    """

    def __init__(self, what: str) -> None:
        self._what, self._lock = what, threading.Lock()
        self._seen: OrderedDict[int, None] = OrderedDict()

    def require_new(self, number: int) -> None:
        """Records the id of a request; 0, of clients without ids, is never a repetition.

        Raises:
          errors.AbortedError: the id came before.
        """
        with self._lock:
            if number in self._seen:
                raise errors.AbortedError(None, None, f"The same {self._what} request was received twice.")
            if number:
                self._seen[number] = None
            if len(self._seen) > _REMEMBERED:
                self._seen.popitem(last=False)
