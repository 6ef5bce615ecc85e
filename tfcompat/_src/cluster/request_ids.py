"""Which requests have come: a client whose connection broke sends a request again, and it must not act twice."""

from __future__ import annotations

import threading
from collections import OrderedDict

from tfcompat._src.base import errors

_REMEMBERED = 4096


class RequestIds:
    """The numbers of the last requests: one that comes again was sent again, and must not act twice."""

    def __init__(self, what: str) -> None:
        self._what, self._lock = what, threading.Lock()
        self._seen: OrderedDict[int, None] = OrderedDict()

    def require_new(self, number: int) -> None:
        """errors.AbortedError where the number came before; 0 is no number."""
        with self._lock:
            if number in self._seen:
                raise errors.AbortedError(None, None, f"The same {self._what} request was received twice.")
            if number:
                self._seen[number] = None
            if len(self._seen) > _REMEMBERED:
                self._seen.popitem(last=False)
