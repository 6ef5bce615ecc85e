"""Which arrays nothing else refers to, so that they may be written in place or given away."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np


def _count(x: np.ndarray) -> int:
    return sys.getrefcount(x)


def _counted(x: np.ndarray) -> int:
    count = _count(x)
    return count if x.ndim else 0


_taken = (np.empty(1),)
_ALONE = _counted(*_taken)
"""The references to an array that the function of a primitive was called with, where there are none but those of the call."""


class _Lent:
    """What has the memory of an array that is lent."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.is_written = array, False
        self.__array_interface__ = array.__array_interface__


def _can_be_lent(x: object) -> bool:
    return type(x) is np.ndarray and x.dtype.kind in "fiucb" and x.flags.owndata and x.flags.writeable and x.flags.c_contiguous


def _holders(values: tuple, place: int) -> int:
    return sys.getrefcount(values[place])


_kept = {"variable": np.empty(1)}
_HELD = _holders((_kept["variable"],), 0)
"""The references to an array that is in a map and in a tuple."""


def lent(values: tuple) -> list[Any]:
    """Values of variables, each in one map: as arrays that an evaluation may write to where nothing but the map and `values` has them."""
    is_free = [_holders(values, i) <= _HELD and _can_be_lent(values[i]) for i in range(len(values))]
    return [np.asarray(_Lent(x) if free else x) for x, free in zip(values, is_free)]


def lenders(values: list[Any]) -> list[_Lent]:
    """Who has the memory of those values that are lent: each knows its `array`, and whether it `is_written`."""
    return [x.base for x in values if is_lent(x)]


def is_lent(x: object) -> bool:
    """Whether this array may be written to, and given away, though a variable has its memory."""
    return type(x) is np.ndarray and type(x.base) is _Lent


def writable(x: np.ndarray) -> np.ndarray:
    """The argument of a primitive's function, to be written to: `x` itself where that function alone has it, else a copy."""
    if _count(x) == _ALONE + 1 and type(x) is np.ndarray and (x.flags.owndata or type(x.base) is _Lent) and x.flags.writeable:
        if type(x.base) is _Lent:
            x.base.is_written = True
        return x
    return np.array(x)


def _root(x: np.ndarray) -> np.ndarray:
    while isinstance(x.base, np.ndarray):
        x = x.base
    return x


def frozen(x: object) -> np.ndarray:
    """A value as an array that, like all views of it, cannot be written to."""
    x = np.asarray(x).view()
    x.flags.writeable = False
    return x


def _is_whole(x: np.ndarray) -> bool:
    return x.flags.writeable and x.flags.c_contiguous


def given_away(values: Iterable[Any], kept: Iterable[Any]) -> list[np.ndarray]:
    """Values as arrays that share no memory with one another, with `kept` ones, nor with frozen ones; copies where they do."""
    taken = {id(_root(x)) for x in kept if isinstance(x, np.ndarray)}
    found = []
    for value in values:
        root = _root(value) if isinstance(value, np.ndarray) else None
        if is_lent(root) and value is root and id(root) not in taken:
            taken.add(id(root))
            value = root = root.base.array
        if root is None or id(root) in taken or not (_is_whole(value) and root.flags.owndata and value.nbytes == root.nbytes):
            root = value = np.array(value, order="C")
        taken.add(id(root))
        found.append(value)
    return found
