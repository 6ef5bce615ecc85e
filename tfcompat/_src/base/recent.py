"""What is made again when it is needed: only what was used last is kept."""

from __future__ import annotations

import collections
import ctypes
import itertools
import os
from collections.abc import Hashable
from typing import Any, TypeVar, overload

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")

SHAPES = max(1, int(os.environ.get("TFCOMPAT_KEPT_SHAPES", "64")))
"""For so many input shapes (or other values that it depends on) the programs of one thing are kept: each takes a megabyte or more."""

TRIMMED_EACH = 16
"""After so many programs were dropped, what they took is given back to the system."""

_trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None


_dropped = itertools.count(1)


class Recent(collections.OrderedDict[K, V]):
    """A map of at most `bound` entries: where there would be more, those go that `get` found and assignment made longest ago.

    Args:
      bound: how many are kept.
    """

    def __init__(self, bound: int = SHAPES) -> None:
        super().__init__()
        self.bound = bound

    @overload
    def get(self, key: K, default: None = None, /) -> V | None: ...

    @overload
    def get(self, key: K, default: V, /) -> V: ...

    @overload
    def get(self, key: K, default: T, /) -> V | T: ...

    def get(self, key: K, default: object = None, /) -> Any:
        found = dict.get(self, key, default)
        if found is not default and len(self) > 1:
            self._use(key)
        return found

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self._use(key)
        while len(self) > self.bound:
            self.popitem(last=False)
            _give_back()

    def _use(self, key: K) -> None:
        if key in self:  # another thread may have dropped it
            self.move_to_end(key)


def _give_back() -> None:
    """Notes a dropped program. Now and then free memory goes back to the system: the C library of GNU keeps it for the threads that
    compiled, each for itself."""
    if next(_dropped) % TRIMMED_EACH == 0 and _trim is not None:
        _trim(0)
