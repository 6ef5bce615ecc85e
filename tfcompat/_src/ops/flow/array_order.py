"""Reads of TensorArrays that a run would make twice, and uses of closed ones, told from the items of a plan.

A flow carries its elements, so nothing here is freed by a read; programs that 1.15 refuses are refused all the same, as far as
indices are known when the run is planned, and outside of loops and branches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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


def _require_read_once(operations: Sequence[Operation], known: Mapping[Tensor, np.ndarray]) -> None:
    seen: dict[Operation, set[int]] = {}
    for op in operations:
        if op.type not in _READS or op.takes[0].op.type == "TensorArrayGradV3":
            continue
        array = array_op(op.takes[0])
        indices = None if array is None or not array.attrs["clear_after_read"] else _indices(op.takes[1], array, known)
        if indices is None:
            continue
        read = seen.setdefault(array, set())
        for index in np.atleast_1d(indices).tolist():
            if index in read:
                raise errors.InvalidArgumentError(
                    op.node_def, op, f"TensorArray {_name(array)}: Could not read index {index} twice because it was cleared after a previous "
                    "read (perhaps try setting clear_after_read = false?).",
                )  # fmt: skip
            read.add(index)


def _indices(tensor: Tensor, array: Operation, known: Mapping[Tensor, np.ndarray]) -> np.ndarray | None:
    """The value of the index or indices of a read where it is known; those of all elements are as TensorArray.stack makes them."""
    if tensor in known or tensor.op.type != "Range" or tensor.op.takes[1].op.type != "TensorArraySizeV3" or array.attrs["dynamic_size"]:
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
