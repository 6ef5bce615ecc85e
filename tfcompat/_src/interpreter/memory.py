"""Ownership of arrays: which arrays have no other reference, so that they may be overwritten or returned without a copy.

Functions of primitives may return views, so ownership is decided when an array is about to be written: by CPython's reference count, compared
with the count of a known case that is measured when this module is imported. It counts the interpreter's own references correctly in
whichever version runs.
"""

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


# The call is written as `Evaluator.run` writes it: a tuple of arguments is unpacked into a function that reads the count one call deeper.
_taken = (np.empty(1),)
_ALONE = _counted(*_taken)
"""Reference count of an argument, seen from a primitive's function, when nothing but the call refers to it."""


class _Lent:
    """Owner of a lent array's memory: the `base` of the array that the evaluation gets.

    `is_written` says whether the evaluation has overwritten it.
    """

    def __init__(self, array: NDArray) -> None:
        self.array, self.is_written = array, False
        self.__array_interface__ = array.__array_interface__


def _can_be_lent(x: object) -> TypeGuard[NDArray]:
    return type(x) is np.ndarray and x.dtype.kind in "fiucb" and x.flags.owndata and x.flags.writeable and x.flags.c_contiguous


def _holders(values: tuple[object, ...], position: int) -> int:
    return sys.getrefcount(values[position])


_kept = {"variable": np.empty(1)}
_HELD = _holders((_kept["variable"],), 0)
"""Reference count of an array that one map and one tuple refer to."""


def lent(values: tuple[Array, ...]) -> list[NDArray]:
    """Returns values of variables as arrays for an evaluation. Those that only their variable's map and `values` refer to may be overwritten."""
    # Counted before arrays are made of the values, which would add references.
    is_held_alone = [_holders(values, i) <= _HELD for i in range(len(values))]
    return [np.asarray(_Lent(x) if alone and _can_be_lent(x) else x) for x, alone in zip(values, is_held_alone)]


def lenders(values: list[NDArray]) -> list[_Lent]:
    """Returns the owners of those values that are lent."""
    bases: list[object] = [x.base for x in values]
    return [base for base in bases if isinstance(base, _Lent)]


def is_lent(x: object) -> bool:
    """Returns whether an array may be overwritten and returned although a variable holds its memory."""
    return type(x) is np.ndarray and isinstance(x.base, _Lent)


def writable(x: NDArray) -> NDArray:
    """Returns an array that a primitive's function may write, in C order: its argument `x` if only that function refers to it, else a copy.

    Functions write through reshaped views of it, and an array in another order, as a transposed one, would be copied by a reshape.
    """
    # One reference more than in the measured call: this function's own parameter.
    if _count(x) == _ALONE + 1 and type(x) is np.ndarray and x.flags.writeable and x.flags.c_contiguous:
        # A lent array is owned by its lender, which learns that the variable's value is gone.
        lender: object = x.base
        if isinstance(lender, _Lent):
            lender.is_written = True
            return x
        if x.flags.owndata:
            return x
    return np.array(x, order="C")


def _root(x: NDArray) -> NDArray:
    """Returns the array at the end of a chain of views."""
    while isinstance(x.base, np.ndarray):
        x = x.base
    return x


def frozen(x: object) -> NDArray:
    """Returns a read-only view of a value; views of it are read-only too."""
    # A view, so that the flag of the caller's array stays as it is.
    x = np.asarray(x).view()
    x.flags.writeable = False
    return x


def _is_whole(x: NDArray) -> bool:
    return x.flags.writeable and x.flags.c_contiguous


def given_away(values: Iterable[NDArray], kept: Iterable[NDArray]) -> list[NDArray]:
    """Returns values as arrays that share no memory with one another, with `kept` arrays, or with frozen ones; copies those that do."""
    # Two arrays share memory if they have the same root.
    taken = {id(_root(x)) for x in kept if isinstance(x, np.ndarray)}
    owned = []
    for value in values:
        root = _root(value) if isinstance(value, np.ndarray) else None
        # A lent array is returned as the array that was lent, so that the variable's next value owns its memory.
        lender: object = None if root is None else root.base
        if isinstance(lender, _Lent) and value is root and id(root) not in taken:
            taken.add(id(root))
            value = root = lender.array
        # A view would keep the rest of its root alive, and a root that is returned already belongs to another result: both are copied.
        if root is None or id(root) in taken or not (_is_whole(value) and root.flags.owndata and value.nbytes == root.nbytes):
            root = value = np.array(value, order="C")
        taken.add(id(root))
        owned.append(value)
    return owned
