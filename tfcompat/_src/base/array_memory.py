"""Ownership of array memory.

No operation writes into an array that another one holds. So that a program cannot do so either, it gets private, writable arrays, and
tfcompat keeps copies of the program's arrays. The copy is skipped if nothing else refers to the array, by its reference count.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.arrays import NDArray, new_array


def _references(holder: Any, key: Any) -> int:
    return sys.getrefcount(holder[key])


_HELD_ONCE = _references([object()], 0)
"""The reference count of an object that only its container holds, as this Python counts it here."""


def private(holder: Any, place: Any) -> NDArray:
    """Returns the array at an index or key of a list or dict as a writable array that nothing else refers to.

    That is the array itself if only the list or dict refers to it and it owns its memory, otherwise a copy.

    Raises:
      errors.ResourceExhaustedError: there is no memory for the copy.
    """
    if type(holder[place]) is np.ndarray and _references(holder, place) == _HELD_ONCE:
        # A view does not own its memory: its base may be referenced elsewhere.
        flags = holder[place].flags
        if flags.owndata and flags.carray:
            return holder[place]  # type: ignore[no-any-return]  # an ndarray, as its type says
    try:
        return new_array(holder[place], order="C")
    except MemoryError as e:
        raise errors.ResourceExhaustedError(None, None, f"OOM when allocating tensor: {e}") from None


def frozen(holder: Any, place: Any) -> NDArray:
    """Returns `private(holder, place)` made read-only, so that it can be kept and shared without further copies."""
    array = private(holder, place)
    array.flags.writeable = False
    return array
