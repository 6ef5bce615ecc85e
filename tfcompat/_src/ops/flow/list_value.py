"""What a variant of a TensorList holds while a graph runs: a tuple of elements that is never changed in place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.graph.tensor import shape_text

Sizes = tuple | None



def invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


def dtype_text(dtype: object) -> str:
    return dtypes.cpp_name(str(dtype))


def is_compatible(a: Sizes, b: Sizes) -> bool:
    """Whether a shape can be both."""
    return a is None or b is None or len(a) == len(b) and all(None in (x, y) or x == y for x, y in zip(a, b))


def merged(a: Sizes, b: Sizes) -> Sizes:
    """The shape that both are, as far as known; InvalidArgumentError where they differ."""
    if a is None or b is None:
        return b if a is None else a
    if len(a) != len(b):
        raise invalid(f"Incompatible ranks during merge: {len(a)} vs. {len(b)}")
    if not is_compatible(a, b):
        raise invalid(f"Incompatible shapes during merge: {shape_text(a)} vs. {shape_text(b)}")
    return tuple(y if x is None else x for x, y in zip(a, b))


def is_full(sizes: Sizes) -> bool:
    return sizes is not None and None not in sizes


def zeros(sizes: tuple, dtype: Any) -> np.ndarray:
    return np.full(sizes, b"" if np.dtype(dtype).hasobject else 0, dtype)


def zeros_like(array: np.ndarray) -> np.ndarray:
    """Zeros in the shape of an array; a list among its elements becomes one of zeros."""
    made = zeros(array.shape, array.dtype)
    if array.dtype.hasobject:
        for place, value in np.ndenumerate(array):
            if hasattr(value, "zeros_like"):
                made[place] = value.zeros_like()
    return made


def variant(value: object) -> np.ndarray:
    """A scalar variant that holds `value`."""
    found = np.empty((), object)
    found[()] = value
    return found


@dataclass(frozen=True, eq=False)
class TensorList:
    """A list of tensors.

    Args:
      dtype: of the elements.
      sizes: the shape of the elements as far as all have it.
      items: the elements; None where none was set.
      limit: how many elements may be pushed, -1 for any number.
    """

    dtype: np.dtype
    sizes: Sizes
    items: tuple
    limit: int = -1

    type_name = "tensorflow::TensorList"

    def variant_text(self, number_text: Callable) -> str:
        return "TensorList"

    def with_items(self, items: Any) -> TensorList:
        return replace(self, items=tuple(items))

    def require_dtype(self, dtype: object) -> TensorList:
        if self.dtype != dtype:
            raise invalid(f"Invalid data types; op elements {dtype_text(dtype)} but list elements {dtype_text(self.dtype)}")
        return self

    def common_sizes(self, sizes: Sizes, items: Any) -> Sizes:
        """The shape that `sizes`, the list and those of `items` that are set agree on."""
        found = merged(sizes, self.sizes)
        for item in items:
            if item is not None:
                found = merged(found, item.shape)
        return found

    def zeros_like(self) -> TensorList:
        return self.with_items(None if item is None else zeros_like(item) for item in self.items)

    def __add__(self, other: TensorList) -> TensorList:
        """The list of sums of elements, where an element that is not set counts as zeros."""
        problem = "Trying to add two lists of tensors "
        if self.dtype != other.dtype:
            raise invalid(f"{problem}of different dtypes. One is {dtype_text(self.dtype)} and the other is {dtype_text(other.dtype)}")
        if not is_compatible(self.sizes, other.sizes):
            raise invalid(
                f"{problem}with incompatible element shapes. One is {shape_text(self.sizes)} and the other is {shape_text(other.sizes)}"
            )
        if len(self.items) != len(other.items):
            raise invalid(f"{problem}with different lengths. One is {len(self.items)} and the other is {len(other.items)}")
        sums = (_sum(a, b) for a, b in zip(self.items, other.items))
        return TensorList(self.dtype, merged(self.sizes, other.sizes), tuple(sums))


def _sum(a: np.ndarray | None, b: np.ndarray | None) -> np.ndarray | None:
    if a is None or b is None:
        return b if a is None else a
    return np.asarray(np.add(a, b))
