"""The order of operations: creation order, as far as data, control and back edges allow."""

from __future__ import annotations

import heapq
from typing import Collection

from tfcompat._src.framework import errors
from tfcompat._src.framework.operation import Operation
from tfcompat._src.framework.tensor import Tensor

BACK_EDGE = frozenset(("NextIteration", "RefNextIteration"))


def topological(ops: Collection[Operation], cut: Collection[Tensor] = ()) -> list[Operation]:
    """`ops` with sources before consumers, otherwise by creation; edges through `cut` tensors do not count.

    Raises:
      errors.InvalidArgumentError: there is a cycle that no NextIteration closes.
    """
    by_creation = sorted(ops, key=lambda op: op._id)
    inside = set(ops)
    if _is_topological(by_creation, inside, cut):
        return by_creation
    waiting = {op: _sources(op, inside, cut) for op in by_creation}
    consumers: dict[Operation, list[Operation]] = {op: [] for op in by_creation}
    for op, sources in waiting.items():
        for source in sources:
            consumers[source].append(op)
    ready = [(op._id, op) for op, sources in waiting.items() if not sources]
    heapq.heapify(ready)
    order = []
    while ready:
        _, op = heapq.heappop(ready)
        order.append(op)
        for consumer in consumers[op]:
            waiting[consumer].discard(op)
            if not waiting[consumer]:
                heapq.heappush(ready, (consumer._id, consumer))
    if len(order) != len(by_creation):
        stuck = next(op for op in by_creation if waiting[op])
        raise errors.InvalidArgumentError(stuck.node_def, stuck, f"Graph is invalid, contains a cycle through {stuck.name!r}.")
    return order


def _is_topological(order: list[Operation], inside: set[Operation], cut: Collection[Tensor]) -> bool:
    seen: set[Operation] = set()
    for op in order:
        for t in op._inputs:
            if t.op not in seen and t.op in inside and t not in cut and t.op.type not in BACK_EDGE:
                return False
        for c in op._control_inputs:
            if c not in seen and c in inside:
                return False
        seen.add(op)
    return True


def _sources(op: Operation, inside: set[Operation], cut: Collection[Tensor]) -> set[Operation]:
    found = {t.op for t in op._inputs if t not in cut and t.op.type not in BACK_EDGE}
    found.update(op._control_inputs)
    return found & inside
