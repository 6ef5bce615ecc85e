"""Stage 2: the operations that the fetches need, in the order in which they run."""

from __future__ import annotations

import heapq
from typing import Iterable

from tfcompat._src.framework import errors
from tfcompat._src.framework.operation import Operation
from tfcompat._src.framework.tensor import Tensor

BACK_EDGE = frozenset(("NextIteration", "RefNextIteration"))


def prune(fetched: Iterable[Tensor], targets: Iterable[Operation], fed: Iterable[Tensor]) -> list[Operation]:
    """The operations that must run: data and control inputs of what is asked for, cut at fed tensors.

    Returns:
      them in creation order as far as data, control and back edges allow: first those that were made first.
    """
    fed = set(fed)
    pending = [t.op for t in fetched if t not in fed] + list(targets)
    needed: set[Operation] = set()
    while pending:
        op = pending.pop()
        if op in needed:
            continue
        needed.add(op)
        pending.extend(t.op for t in op._inputs if t not in fed)
        pending.extend(op._control_inputs)
    return _ordered(needed, fed)


def _ordered(needed: set[Operation], fed: set[Tensor]) -> list[Operation]:
    in_creation_order = sorted(needed, key=lambda op: op._id)
    if _is_topological(in_creation_order, fed):
        return in_creation_order
    waiting = {op: _sources(op, needed, fed) for op in needed}
    consumers: dict[Operation, list[Operation]] = {op: [] for op in needed}
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
    if len(order) != len(needed):
        stuck = min((op for op in needed if waiting[op]), key=lambda op: op._id)
        raise errors.InvalidArgumentError(stuck.node_def, stuck, f"Graph is invalid, contains a cycle through {stuck.name!r}.")
    return order


def _is_topological(order: list[Operation], fed: set[Tensor]) -> bool:
    seen: set[Operation] = set()
    for op in order:
        if not all(t.op in seen or t in fed or t.op.type in BACK_EDGE for t in op._inputs):
            return False
        if not seen.issuperset(op._control_inputs):
            return False
        seen.add(op)
    return True


def _sources(op: Operation, needed: set[Operation], fed: set[Tensor]) -> set[Operation]:
    found = {t.op for t in op._inputs if t not in fed and t.op.type not in BACK_EDGE}
    found.update(op._control_inputs)
    return found & needed
