"""Reads of TensorArrays that a run would make twice, and uses of closed ones, told from the items of a plan.

A flow carries its elements, so nothing here is freed by a read; programs that 1.15 refuses are refused all the same, as far as
indices are known when the run is planned (or are one tensor), and outside of loops and branches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.flow.array_origin import array_op
from tfcompat._src.ops.flow.array_value import require_room

_READS = ("TensorArrayReadV3", "TensorArrayGatherV3")
_USES = (*_READS, "TensorArrayWriteV3", "TensorArrayScatterV3", "TensorArrayConcatV3", "TensorArraySplitV3")


class Node(Protocol):
    """Something that a run executes, in the place of operations of the graph."""

    @property
    def type(self) -> str: ...

    @property
    def takes(self) -> tuple[Tensor, ...]: ...

    @property
    def waits_for(self) -> Sequence[Operation]: ...

    @property
    def operations(self) -> Sequence[Operation]: ...

    @property
    def stands_for(self) -> Iterable[Operation]: ...


def require_order(nodes: Sequence[Node], operations: Sequence[Operation], known: Mapping[Tensor, np.ndarray]) -> None:
    """Raises InvalidArgumentError where an element is read twice and the array frees what was read, or an array is used when closed.

    Args:
      nodes: of a run, sources first. operations: those among them that are one operation each. known: what has a value before the run.
    """
    if any(op.type in _READS for op in operations):
        _require_read_once(operations, known)
    if any(op.type == "TensorArrayCloseV3" for op in operations):
        _require_open(nodes)


@dataclass
class _Reads:
    """What the operations so far have read of an array: elements by their number, by the tensor of the index, and all of them."""

    numbers: set[int] = field(default_factory=set)
    tensors: set[Tensor] = field(default_factory=set)
    all: bool = False


def _require_read_once(operations: Sequence[Operation], known: Mapping[Tensor, np.ndarray]) -> None:
    seen: dict[Operation, _Reads] = {}
    for op in operations:
        if op.type not in _READS or op.takes[0].op.type == "TensorArrayGradV3":
            continue
        array = array_op(op.takes[0])
        if array is None or not array.attrs["clear_after_read"]:
            continue
        twice = _read(op.takes[1], array, seen.setdefault(array, _Reads()), known)
        if twice is not None:
            raise errors.InvalidArgumentError(
                op.node_def, op, f"TensorArray {_name(array)}: Could not read index {twice} twice because it was cleared after a previous "
                "read (perhaps try setting clear_after_read = false?).",
            )  # fmt: skip


def _read(index: Tensor, array: Operation, reads: _Reads, known: Mapping[Tensor, np.ndarray]) -> int | str | None:
    """Adds a read to those of an array; returns the index (or the name of its tensor) that is read a second time, or None.

    Whether it is one must not depend on what a later run knows of the size: a read beside one of all elements is a second one for any size.
    """
    indices = _indices(index, array, known)
    if indices is not None:
        numbers = np.atleast_1d(indices).tolist()
        twice = next((n for n in numbers if n in reads.numbers), None)
        reads.numbers.update(numbers)
        return numbers[0] if twice is None and reads.all and numbers else twice
    is_all = _takes_all(index)
    if is_all and (reads.all or reads.numbers or reads.tensors):
        return min(reads.numbers, default=0)
    if reads.all or index in reads.tensors:
        return index.name
    reads.all |= is_all
    reads.tensors.add(index)
    return None


def _takes_all(index: Tensor) -> bool:
    """Whether indices are those of all elements, as TensorArray.stack makes them."""
    return index.op.type == "Range" and index.op.takes[1].op.type == "TensorArraySizeV3"


def _indices(tensor: Tensor, array: Operation, known: Mapping[Tensor, np.ndarray]) -> np.ndarray | None:
    """The value of the index or indices of a read where it is known; those of all elements are as TensorArray.stack makes them."""
    if tensor in known or not _takes_all(tensor) or array.attrs["dynamic_size"]:
        return known.get(tensor)
    size = known.get(array.takes[0])
    if size is None:
        return None
    require_room(int(size))
    return np.arange(int(size))


def _require_open(nodes: Sequence[Node]) -> None:
    """Raises InvalidArgumentError for an operation on an array that waits for its end."""
    closed: dict[Operation, set[Operation]] = {}
    for item in nodes:
        sources = [t.op for t in item.takes] + list(item.waits_for)
        before = set().union(*(closed.get(s, ()) for s in sources))
        array = array_op(item.takes[0]) if item.type in _USES or item.type == "TensorArrayCloseV3" else None
        if item.type in _USES and array in before:
            op = item.operations[0]
            raise errors.InvalidArgumentError(op.node_def, op, f"TensorArray {_name(array)} has already been closed.")
        if item.type == "TensorArrayCloseV3" and array is not None:
            before.add(array)
        if before:
            closed.update(dict.fromkeys(item.stands_for, before))


def _name(array: Operation) -> str:
    return f"{array.attrs['tensor_array_name'].decode() or array.name}_0"
