"""Prune: the operations that the fetches need, in the order in which they run."""

from __future__ import annotations

from collections.abc import Container, Iterable

from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.ordering import topological
from tfcompat._src.graph.tensor import Tensor


def prune(
    fetched: Iterable[Tensor], targets: Iterable[Operation], fed: Iterable[Tensor], ran: Container[Operation] = ()
) -> list[Operation]:
    """The operations that must run: data and control inputs of what is asked for, cut at fed tensors, with those of the functions that
    are called. Nothing waits for operations that have `ran`.

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
        pending.extend(t.op for t in op.takes if t not in fed)
        pending.extend(c for c in op.waits_for if c not in ran and not _is_fed(c, fed))
    return topological(needed, fed)


def _is_fed(op: Operation, fed: set[Tensor]) -> bool:
    """Whether waiting for an operation means waiting for a feed."""
    return op.spec.facts.is_placeholder and op.outputs[0] in fed
