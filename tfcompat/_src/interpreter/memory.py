"""Which arrays nothing else refers to, so that they may be written in place or given away."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TypeGuard

import numpy as np

from tfcompat._src.base.arrays import Array, NDArray


def _count(x: NDArray) -> int:
    return sys.getrefcount(x)


def _counted(x: NDArray) -> int:
    count = _count(x)
    return count if x.ndim else 0


_taken = (np.empty(1),)
_ALONE = _counted(*_taken)
"""The references to an array that the function of a primitive was called with, where there are none but those of the call."""


class _Lent:
    """Owns the memory of an array that is lent, as its `base`."""

    def __init__(self, array: NDArray) -> None:
        self.array, self.is_written = array, False
        self.__array_interface__ = array.__array_interface__


def _can_be_lent(x: object) -> TypeGuard[NDArray]:
    return type(x) is np.ndarray and x.dtype.kind in "fiucb" and x.flags.owndata and x.flags.writeable and x.flags.c_contiguous


def _holders(values: tuple[object, ...], position: int) -> int:
    return sys.getrefcount(values[position])


_kept = {"variable": np.empty(1)}
_HELD = _holders((_kept["variable"],), 0)
"""The references to an array that is in a map and in a tuple."""


def lent(values: tuple[Array, ...]) -> list[NDArray]:
    """Values of variables, each in one map: as arrays that an evaluation may write to where nothing but the map and `values` has them."""
    is_held_alone = [_holders(values, i) <= _HELD for i in range(len(values))]
    return [np.asarray(_Lent(x) if alone and _can_be_lent(x) else x) for x, alone in zip(values, is_held_alone)]


def lenders(values: list[NDArray]) -> list[_Lent]:
    """Who has the memory of those values that are lent: each knows its `array`, and whether it `is_written`."""
    bases: list[object] = [x.base for x in values]
    return [base for base in bases if isinstance(base, _Lent)]


def is_lent(x: object) -> bool:
    """Whether this array may be written to, and given away, though a variable has its memory."""
    return type(x) is np.ndarray and isinstance(x.base, _Lent)


def writable(x: NDArray) -> NDArray:
    """The argument of a primitive's function, to be written to: `x` itself where that function alone has it, else a copy."""
    if _count(x) == _ALONE + 1 and type(x) is np.ndarray and x.flags.writeable:
        lender: object = x.base
        if isinstance(lender, _Lent):
            lender.is_written = True
            return x
        if x.flags.owndata:
            return x
    return np.array(x)


def _root(x: NDArray) -> NDArray:
    while isinstance(x.base, np.ndarray):
        x = x.base
    return x


def frozen(x: object) -> NDArray:
    """A value as an array that, like all views of it, cannot be written to."""
    x = np.asarray(x).view()
    x.flags.writeable = False
    return x


def _is_whole(x: NDArray) -> bool:
    return x.flags.writeable and x.flags.c_contiguous


def given_away(values: Iterable[NDArray], kept: Iterable[NDArray]) -> list[NDArray]:
    """Values as arrays that share no memory with one another, with `kept` ones, nor with frozen ones; copies where they do."""
    taken = {id(_root(x)) for x in kept if isinstance(x, np.ndarray)}
    found = []
    for value in values:
        root = _root(value) if isinstance(value, np.ndarray) else None
        lender: object = None if root is None else root.base
        if isinstance(lender, _Lent) and value is root and id(root) not in taken:
            taken.add(id(root))
            value = root = lender.array
        if root is None or id(root) in taken or not (_is_whole(value) and root.flags.owndata and value.nbytes == root.nbytes):
            root = value = np.array(value, order="C")
        taken.add(id(root))
        found.append(value)
    return found
