"""Pruning, the first stage of planning: the operations that a run needs, in topological order."""

from __future__ import annotations

from collections.abc import Container, Iterable

from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.ordering import topological
from tfcompat._src.graph.tensor import Tensor


def prune(
    fetched: Iterable[Tensor], targets: Iterable[Operation], fed: Iterable[Tensor], ran: Container[Operation] = ()
) -> list[Operation]:
    """Returns the ancestors of `fetched` and `targets` by data and control edges, cut at fed tensors; called functions are included.

    Operations in `ran` have run before: control edges from them are satisfied.

    Returns:
      the operations in the order of creation, as far as data, control and back edges allow.
    """
    # Depth-first search from the fetches and targets, against the edges.
    fed = set(fed)
    pending = [t.op for t in fetched if t not in fed] + list(targets)
    needed: set[Operation] = set()
    while pending:
        op = pending.pop()
        if op in needed:
            continue
        needed.add(op)
        pending.extend(t.op for t in op.takes if t not in fed)
        pending.extend(c for c in op.waits_for if c not in ran and not _is_fed(c, fed))
    return topological(needed, fed)


def _is_fed(op: Operation, fed: set[Tensor]) -> bool:
    """Whether an operation is a fed placeholder, which does not run: a control edge from it is satisfied."""
    return op.spec.facts.is_placeholder and op.outputs[0] in fed
