"""Arithmetic on shapes in a host step, in Python's integers.

Of `[tf.shape(x)[0], 16]` NumPy would take three kernels, each of which takes longer to begin than to compute. Here a vector of sizes is a
list of parts: constants, dimensions of arrays, numbers of other vectors. What only moves parts never runs; a vector that something else
takes is made of its parts at once.
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
from tfcompat._src.runtime.item import Item, OpItem

Values: TypeAlias = dict[Tensor, NDArray]
Part: TypeAlias = Callable[[Values], int]
"""One number of a vector, given the values of a run so far."""
Maker: TypeAlias = Callable[[Values, object], None]
"""Makes the value of a tensor, given the values of a run so far and the session."""

_MOST_PARTS = 16


class ShapeArithmetic:
    """The vectors and scalars of integers that items of a host step make of constants, dimensions and each other.

    Args:
      items: of the step, in order. kept: the tensors that are taken outside of it. known: what has a value before the run.
    """

    def __init__(self, items: Sequence[Item], kept: Collection[Tensor], known: Mapping[Tensor, NDArray]) -> None:
        self._known = known
        self._parts: dict[Tensor, list[Part]] = {}
        self._skipped = {item for item in items if isinstance(item, OpItem) and self._understand(item)}
        taken = {t for item in items if item not in self._skipped for t in item.takes}
        self._made = {t for t in self._parts if t in taken or t in kept}

    def understands(self, item: Item) -> bool:
        """Whether an item is replaced by what `makers` gives for its output."""
        return item in self._skipped

    def makers(self, tensors: Iterable[Tensor]) -> list[Maker]:
        """What makes the values of those among some outputs of items that `understands` holds of which are taken."""
        return [_maker(t, self._parts[t]) for t in tensors if t in self._made]

    def _understand(self, item: OpItem) -> bool:
        """Notes the parts of an item's output, where it has some."""
        if len(item.outputs) != 1 or not _is_small(item.outputs[0]) or item.waits_for or item.effects != PURE:
            return False
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
        parts = self._of(source)
        if parts is None or source.dtype.name == "int32" or target.dtype.name == "int64":
            return parts
        return [functools.partial(_wrapped, part) for part in parts]

    def _moved(self, item: OpItem) -> list[Part] | None:
        """The parts of an operation that moves numbers: its own kernel moves their places."""
        count = _moved_count(item)
        others = item.takes[count:]
        if not count or item.spec.numpy_kernel is None or any(t not in self._known for t in others):
            return None
        flat: list[Part] = []
        arguments: list[NDArray] = []
        for t in item.takes[:count]:
            parts = self._of(t)
            if parts is None:
                return None
            arguments.append(np.arange(len(flat), len(flat) + len(parts)).astype(t.dtype.as_numpy_dtype).reshape(_sizes(t)))
            flat += parts
        if item.facts.reduces and len(flat) != 1:
            return None
        try:
            (order,) = call_numpy_kernel(item.op, [*arguments, *(self._known[t] for t in others)])
        except errors.OpError:
            return None
        return [flat[i] for i in order.reshape(-1).tolist()] if order.shape == _sizes(item.outputs[0]) else None

    def _of(self, tensor: Tensor) -> list[Part] | None:
        """The parts of a small integer tensor: those that are noted, its constants, or the numbers that it will have."""
        if tensor in self._parts:
            return self._parts[tensor]
        if not _is_small(tensor):
            return None
        if tensor in self._known:
            return [functools.partial(_constant, number) for number in self._known[tensor].reshape(-1).tolist()]
        return [functools.partial(_number, tensor, i) for i in range(int(np.prod(_sizes(tensor))))]


def _moved_count(item: OpItem) -> int:
    """How many of the first inputs of an operation have their numbers moved, to where the others say; 0 where it does more than that."""
    facts = item.facts
    if facts.joins:
        return len(item.takes) - (facts.joins == "old")
    first = item.spec.signature.inputs[0].name if item.takes else None
    return int(facts.cuts or facts.picks or facts.reduces == "product" or (first is not None and facts.hands_on == first))


def _is_small(tensor: Tensor) -> bool:
    """Whether a tensor is a scalar or a vector of integers of a known, small length."""
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


def _number(tensor: Tensor, place: int, values: Values) -> int:
    number: int = values[tensor].item(place)
    return number


def _wrapped(part: Part, values: Values) -> int:
    """A number as int32 holds it."""
    return (part(values) + 2**31) % 2**32 - 2**31


def _maker(tensor: Tensor, parts: list[Part]) -> Maker:
    dtype, sizes = tensor.dtype.as_numpy_dtype, _sizes(tensor)

    def make(values: Values, session: object) -> None:
        numbers = [part(values) for part in parts]
        values[tensor] = new_array(numbers if sizes else numbers[0], dtype)

    return make
