"""Registers arrays of variables that a failed call has partly overwritten. Their values are lost, like those of donated buffers."""

from __future__ import annotations

import weakref
from collections.abc import Iterable

from tfcompat._src.base.arrays import NDArray

_spoiled: weakref.WeakValueDictionary[int, NDArray] = weakref.WeakValueDictionary()


def spoil(arrays: Iterable[NDArray]) -> None:
    """Marks arrays as partly overwritten."""
    _spoiled.update((id(array), array) for array in arrays)


def is_spoiled(value: object) -> bool:
    """Whether a failed call has overwritten this array in part."""
    return _spoiled.get(id(value)) is value
