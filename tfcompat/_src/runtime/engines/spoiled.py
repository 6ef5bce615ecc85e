"""Arrays of variables that a call has written to before it failed: their values are lost, as those of donated arrays are."""

from __future__ import annotations

import weakref
from collections.abc import Iterable

from tfcompat._src.base.arrays import NDArray

_spoiled: weakref.WeakValueDictionary[int, NDArray] = weakref.WeakValueDictionary()


def spoil(arrays: Iterable[NDArray]) -> None:
    """Notes arrays to which an engine has written without a result."""
    _spoiled.update((id(array), array) for array in arrays)


def is_spoiled(value: object) -> bool:
    """Whether a call that failed has written to this array."""
    return _spoiled.get(id(value)) is value
