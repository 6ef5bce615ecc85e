"""Symbolic evaluation of shape arithmetic in a host step, in Python integers instead of NumPy kernels.

`[tf.shape(x)[0], 16]` takes three NumPy kernels, and starting a kernel takes longer than its work here. A vector of sizes is represented by its
parts: constants, dimensions of arrays, elements of other vectors. Operations that only move elements (Pack, StridedSlice, ...) are resolved
when the step is prepared and never run; a vector that another operation takes is built from its parts at once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.arrays import NDArray, new_array
from tfcompat._src.graph.constant_value import call_numpy_kernel
from tfcompat._src.graph.op_spec import PURE
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.runtime.ir.item import Item, OpItem

Values: TypeAlias = dict[Tensor, NDArray]
Part: TypeAlias = Callable[[Values], int]
"""Computes one element of a vector from the values of a run so far."""
Maker: TypeAlias = Callable[[Values, object], None]
"""Stores the value of a tensor in the values of a run, in the form of a host step's runner; the second argument, the session, is not used."""

_MOST_PARTS = 16
"""Most elements of a vector that is represented by parts."""


class ShapeArithmetic:
    """The integer vectors and scalars that the items of a host step make of constants, dimensions and each other.

    Args:
      items: of the step, in order. kept: the tensors that are used outside of it. known: the tensors with a value before the run.
    """

    def __init__(self, items: Sequence[Item], kept: Collection[Tensor], known: Mapping[Tensor, NDArray]) -> None:
        self._known = known
        self._parts: dict[Tensor, list[Part]] = {}
        self._skipped = {item for item in items if isinstance(item, OpItem) and self._understand(item)}
        # A vector is built only if a remaining item, or something outside of the step, uses it.
        taken = {t for item in items if item not in self._skipped for t in item.takes}
        self._made = {t for t in self._parts if t in taken or t in kept}

    def understands(self, item: Item) -> bool:
        """Whether the makers of an item's output replace the item."""
        return item in self._skipped

    def makers(self, tensors: Iterable[Tensor]) -> list[Maker]:
        """Returns the makers of those `tensors`, outputs of understood items, that something uses."""
        return [_maker(t, self._parts[t]) for t in tensors if t in self._made]

    def _understand(self, item: OpItem) -> bool:
        """Records the parts of an item's output; returns False if the item does more than shape arithmetic."""
        if len(item.outputs) != 1 or item.fed or not _is_small(item.outputs[0]) or item.waits_for or item.effects != PURE:
            return False
        # Shape; Cast; operations that move elements.
        if item.facts.tells_sizes:
            parts = _dimensions(item.takes[0])
        elif item.facts.converts:
            parts = self._cast(item.takes[0], item.outputs[0])
        else:
            parts = self._moved(item)
        if parts is None:
            return False
        self._parts[item.outputs[0]] = parts
        return True

    def _cast(self, source: Tensor, target: Tensor) -> list[Part] | None:
        """Returns the parts of a conversion; int64 to int32 wraps around, as NumPy's does."""
        # Only a narrowing conversion changes values.
        parts = self._of(source)
        if parts is None or source.dtype.name == "int32" or target.dtype.name == "int64":
            return parts
        return [functools.partial(_wrapped, part) for part in parts]

    def _moved(self, item: OpItem) -> list[Part] | None:
        """Returns the parts of an operation that moves elements, or None.

        The operation's NumPy kernel is run once on the indices of the elements, which shows where each element goes.
        """
        count = _moved_count(item)
        others = item.takes[count:]
        if not count or item.spec.numpy_kernel is None or any(t not in self._known for t in others):
            return None
        # `arguments` are the inputs with each element replaced by its index in `flat`, the parts of all inputs.
        flat: list[Part] = []
        arguments: list[NDArray] = []
        for t in item.takes[:count]:
            parts = self._of(t)
            if parts is None:
                return None
            arguments.append(np.arange(len(flat), len(flat) + len(parts)).astype(t.dtype.as_numpy_dtype).reshape(_sizes(t)))
            flat += parts
        # The product of one element moves it; other products compute.
        if item.facts.reduces and len(flat) != 1:
            return None
        try:
            (order,) = call_numpy_kernel(item.op, [*arguments, *(self._known[t] for t in others)])
        except errors.OpError:  # indices out of range: the operation itself raises that when it runs
            return None
        return [flat[i] for i in order.reshape(-1).tolist()] if order.shape == _sizes(item.outputs[0]) else None

    def _of(self, tensor: Tensor) -> list[Part] | None:
        """Returns the parts of a small integer tensor: its recorded parts, constants, or elements read from its value at run time."""
        if tensor in self._parts:
            return self._parts[tensor]
        if not _is_small(tensor):
            return None
        if tensor in self._known:
            return [functools.partial(_constant, number) for number in self._known[tensor].reshape(-1).tolist()]
        return [functools.partial(_number, tensor, i) for i in range(int(np.prod(_sizes(tensor))))]


def _moved_count(item: OpItem) -> int:
    """Returns how many leading inputs of an operation it only moves elements of, as its other inputs say; 0 for other operations."""
    facts = item.facts
    if facts.joins:
        return len(item.takes) - (facts.joins == "old")
    # Concat's axis is its last input ("old" joins along an axis that exists); the others move the elements of their first input.
    first = item.spec.signature.inputs[0].name if item.takes else None
    return int(facts.cuts or facts.picks or facts.reduces == "product" or (first is not None and facts.hands_on == first))


def _is_small(tensor: Tensor) -> bool:
    """Whether a tensor is an integer scalar or vector of known length of at most _MOST_PARTS."""
    sizes = tensor._sizes
    if tensor.dtype.name not in ("int32", "int64") or sizes is None or None in sizes:
        return False
    return len(sizes) < 2 and all(n <= _MOST_PARTS for n in _sizes(tensor))


def _sizes(tensor: Tensor) -> tuple[int, ...]:
    return tuple(n for n in tensor._sizes or () if n is not None)


def _dimensions(tensor: Tensor) -> list[Part] | None:
    sizes = tensor._sizes
    if sizes is None or tensor.dtype._is_ref_dtype or not tensor.dtype.is_numpy_compatible:
        return None
    return [functools.partial(_dimension, tensor, axis) for axis in range(len(sizes))]


def _constant(number: int, values: Values) -> int:
    return number


def _dimension(tensor: Tensor, axis: int, values: Values) -> int:
    size: int = values[tensor].shape[axis]
    return size


def _number(tensor: Tensor, index: int, values: Values) -> int:
    number: int = values[tensor].item(index)
    return number


def _wrapped(part: Part, values: Values) -> int:
    """Returns a number wrapped around to int32."""
    return (part(values) + 2**31) % 2**32 - 2**31


def _maker(tensor: Tensor, parts: list[Part]) -> Maker:
    """Returns the maker of a tensor with these parts."""
    dtype, sizes = tensor.dtype.as_numpy_dtype, _sizes(tensor)

    def make(values: Values, session: object) -> None:
        numbers = [part(values) for part in parts]
        values[tensor] = new_array(numbers if sizes else numbers[0], dtype)

    return make
