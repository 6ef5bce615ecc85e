"""Topological order of operations, closest to creation order (Kahn's algorithm with a priority queue)."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor

BACK_EDGE = frozenset(("NextIteration", "RefNextIteration"))


def topological(ops: Collection[Any], cut: Collection[Tensor] = (), owner: Mapping[Operation, Any] = {}) -> list[Any]:
    """Returns `ops` in topological order; operations that do not depend on each other keep creation order.

    Args:
      ops: operations, or items that contain operations.
      cut: tensors whose edges are ignored, such as fed ones.
      owner: maps operations to the item of `ops` that contains them.

    Raises:
      errors.InvalidArgumentError: there is a cycle without a NextIteration node, or items depend on one another.
    """
    # Most graphs are built in topological order already, and checking that is cheaper than sorting.
    by_creation = sorted(ops, key=lambda op: op.order)
    inside = set(ops)
    if _is_topological(by_creation, inside, cut, owner):
        return by_creation
    # Kahn, "Topological sorting of large networks" (CACM 1962); the heap picks the earliest created operation that is ready.
    waiting = {op: _sources(op, inside, cut, owner) for op in by_creation}
    consumers: dict[Operation, list[Operation]] = {op: [] for op in by_creation}
    for op, sources in waiting.items():
        for source in sources:
            consumers[source].append(op)
    ready = [(op.order, op) for op, sources in waiting.items() if not sources]
    heapq.heapify(ready)
    order = []
    while ready:
        _, op = heapq.heappop(ready)
        order.append(op)
        for consumer in consumers[op]:
            waiting[consumer].discard(op)
            if not waiting[consumer]:
                heapq.heappush(ready, (consumer.order, consumer))
    if len(order) != len(by_creation):
        stuck = next(op for op in by_creation if waiting[op])
        raise errors.InvalidArgumentError(getattr(stuck, "node_def", None), stuck, f"Graph is invalid, contains a cycle through {stuck.name!r}.")
    return order


def _is_topological(order: list[Any], inside: set[Any], cut: Collection[Tensor], owner: Mapping[Operation, Any]) -> bool:
    """Whether every source among `inside` precedes its consumers in `order`."""
    seen: set[Any] = set()
    for op in order:
        # Edges from outside `ops`, through `cut` tensors and back edges do not count, as in `_sources`.
        for t in op.takes:
            source = owner.get(t.op, t.op)
            if source not in seen and source in inside and t not in cut and t.op.type not in BACK_EDGE:
                return False
        for c in op.waits_for:
            source = owner.get(c, c)
            if source not in seen and source in inside:
                return False
        seen.add(op)
    return True


def _sources(op: Any, inside: set[Any], cut: Collection[Tensor], owner: Mapping[Operation, Any]) -> set[Any]:
    """Returns the items among `inside` on which `op` depends; the outputs of NextIteration are back edges and do not count."""
    sources = {owner.get(t.op, t.op) for t in op.takes if t not in cut and t.op.type not in BACK_EDGE}
    sources.update(owner.get(c, c) for c in op.waits_for)
    return sources & inside
