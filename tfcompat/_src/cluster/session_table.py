"""A table of sessions with a limit: an LRU cache, since clients may end without closing their sessions."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, Protocol, TypeVar

_MOST = 1024


class _Session(Protocol):
    def close(self) -> None: ...


S = TypeVar("S", bound=_Session)


class SessionTable(Generic[S]):
    """Sessions by handle. Beyond the limit, adding one closes the least recently used one, whose client has probably gone.

    Args:
      most: the largest number of sessions.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most, self._lock = most, threading.Lock()
        self._sessions: OrderedDict[str, S] = OrderedDict()

    def add(self, handle: str, session: S) -> None:
        """Adds a session; closes the least recently used one if there are too many."""
        with self._lock:
            self._sessions[handle] = session
            unused = self._sessions.popitem(last=False)[1] if len(self._sessions) > self._most else None
        # Outside of the lock: closing calls other tasks.
        if unused is not None:
            unused.close()

    def get(self, handle: str) -> S | None:
        """Returns a session and marks it as used; None if the handle is unknown."""
        with self._lock:
            found = self._sessions.get(handle)
            if found is not None:
                self._sessions.move_to_end(handle)
            return found

    def pop(self, handle: str) -> S | None:
        """Removes and returns a session; None if the handle is unknown."""
        with self._lock:
            return self._sessions.pop(handle, None)

    def pop_all(self) -> list[S]:
        """Removes and returns all sessions."""
        with self._lock:
            found = list(self._sessions.values())
            self._sessions.clear()
            return found
