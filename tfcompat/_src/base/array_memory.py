"""Whose memory an array is.

Nothing in a run writes into an array that another operation has. So that user code cannot do that either, it gets private,
writable arrays, and what is kept of its arrays is a copy. An array that nothing else refers to is handed over without one.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.arrays import NDArray, new_array


def _references(holder: Any, place: Any) -> int:
    return sys.getrefcount(holder[place])


_HELD_ONCE = _references([object()], 0)


def private(holder: Any, place: Any) -> NDArray:
    """The array at a place of a list or dict as one that nobody else has: a copy, unless only the list or dict refers to it."""
    if type(holder[place]) is np.ndarray and _references(holder, place) == _HELD_ONCE:
        flags = holder[place].flags
        if flags.owndata and flags.carray:
            return holder[place]  # type: ignore[no-any-return]  # an ndarray, as its type says
    try:
        return new_array(holder[place], order="C")
    except MemoryError as e:
        raise errors.ResourceExhaustedError(None, None, f"OOM when allocating tensor: {e}") from None


def frozen(holder: Any, place: Any) -> NDArray:
    """`private`, made read-only: whoever keeps it needs no copy of his own."""
    found = private(holder, place)
    found.flags.writeable = False
    return found
