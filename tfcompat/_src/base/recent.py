"""An LRU cache (least recently used) of compiled programs, whose dropped entries' memory is returned to the system."""

from __future__ import annotations

import collections
import ctypes
import itertools
import os
import threading
from collections.abc import Hashable
from typing import Any, TypeVar, overload

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")

SHAPES = max(1, int(os.environ.get("TFCOMPAT_KEPT_SHAPES", "64")))
"""How many programs one cache keeps, one per combination of input shapes (or other key); each takes 1 MB or more."""

TRIMMED_EACH = 16
"""After so many dropped programs, free memory is returned to the system."""

# A function of glibc; other C libraries lack it.
_trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
_dropped = itertools.count(1)


class Recent(collections.OrderedDict[K, V]):
    """A map of at most `bound` entries; an assignment beyond that drops the entry that `get` or assignment used longest ago.

    While it is less than half full, `get` does not note a use, which would cost as much as the look-up itself.

    Threads may share one. The lock is one that its thread may take again, as a signal handler does that runs a session.

    Args:
      bound: the number of entries that are kept.
    """

    def __init__(self, bound: int = SHAPES) -> None:
        super().__init__()
        self.bound = bound
        self._lock = threading.RLock()

    @overload
    def get(self, key: K, default: None = None, /) -> V | None: ...

    @overload
    def get(self, key: K, default: V, /) -> V: ...

    @overload
    def get(self, key: K, default: T, /) -> V | T: ...

    def get(self, key: K, default: object = None, /) -> Any:
        value = dict.get(self, key, default)
        if value is not default and 2 * len(self) > self.bound:
            with self._lock:
                if key in self:  # another thread may have dropped it
                    self.move_to_end(key)
        return value

    def __setitem__(self, key: K, value: V) -> None:
        dropped = 0
        with self._lock:
            super().__setitem__(key, value)
            self.move_to_end(key)
            # An OrderedDict keeps the order of use: the first entry is the one used longest ago.
            while len(self) > self.bound:
                self.popitem(last=False)
                dropped += 1
        for _ in range(dropped):
            _give_back()

    def __delitem__(self, key: K) -> None:
        with self._lock:
            super().__delitem__(key)

    def clear(self) -> None:
        """Drops all entries."""
        with self._lock:
            super().clear()


def _give_back() -> None:
    """Counts a dropped program, and now and then returns free memory to the system: glibc keeps it in an arena per compiling thread."""
    if next(_dropped) % TRIMMED_EACH == 0 and _trim is not None:
        _trim(0)
