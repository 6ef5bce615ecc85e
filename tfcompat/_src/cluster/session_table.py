"""The sessions that a server keeps for others, who may end without closing them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, Protocol, TypeVar

_MOST = 1024


class _Session(Protocol):
    def close(self) -> None: ...


S = TypeVar("S", bound=_Session)


class SessionTable(Generic[S]):
    """Sessions by handle. One more than a limit ends the one that nobody has used for longest: its client is likely to have gone.

    Args:
      most: the limit.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most, self._lock = most, threading.Lock()
        self._sessions: OrderedDict[str, S] = OrderedDict()

    def add(self, handle: str, session: S) -> None:
        """Keeps a session."""
        with self._lock:
            self._sessions[handle] = session
            unused = self._sessions.popitem(last=False)[1] if len(self._sessions) > self._most else None
        if unused is not None:
            unused.close()

    def get(self, handle: str) -> S | None:
        """The session of a handle, which is used now; None where there is none."""
        with self._lock:
            found = self._sessions.get(handle)
            if found is not None:
                self._sessions.move_to_end(handle)
            return found

    def pop(self, handle: str) -> S | None:
        """The session of a handle, which is kept no more; None where there is none."""
        with self._lock:
            return self._sessions.pop(handle, None)

    def pop_all(self) -> list[S]:
        """All sessions, which are kept no more."""
        with self._lock:
            found = list(self._sessions.values())
            self._sessions.clear()
            return found
