"""Finds the backward loops of a run whose nodes one item can replace: the derivative of the forward loop. The stage after prune.

tf.gradients makes 1.15's nodes: a backward loop that pops from stacks onto which the forward loop pushes. It records which loop is
the derivative of which (graph/loop_derivative.py); loops of imported graphs are recognized before their first run. If a run uses
nothing of these nodes but the resulting gradients, the plan has JAX's vjp of the forward loop in their place. Else the nodes run.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import dataclass

from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.loop_derivative import RECOGNIZERS, LoopDerivative
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.flow.stack import POP, PUSH
from tfcompat._src.runtime.passes.prune import prune


@dataclass(frozen=True)
class Derivatives:
    """The backward loops of a run that are replaced.

    `idle` are nodes outside of these loops that only they need: stacks, and the initial values of accumulated gradients.
    """

    found: tuple[LoopDerivative, ...] = ()
    idle: frozenset[Operation] = frozenset()

    @functools.cached_property
    def replaced(self) -> frozenset[Operation]:
        """The operations that do not run: those of the backward loops, what serves these in the forward loops, and `idle`."""
        return self.idle.union(*(d.made for d in self.found))

    def of(self, op: Operation) -> LoopDerivative | None:
        """The derivative that a node belongs to, or None."""
        return next((d for d in self.found if op in d.made), None)


NONE = Derivatives()


def noted_in(graph: Graph, ops: Iterable[Operation]) -> Sequence[LoopDerivative]:
    """The recorded derivatives of a graph's loops.

    If `ops` pop from stacks in loops without a record, and the graph has changed since the last time, all recognizers run first.
    """
    made = {op for d in graph.loop_derivatives for op in d.made}
    if graph.recognized_version < graph.version and any(op.type == POP and op not in made for op in ops):
        graph.recognized_version = graph.version
        for recognize in RECOGNIZERS:
            recognize(graph)
    return graph.loop_derivatives


def with_derivatives(
    ops: list[Operation], fetched: Sequence[Tensor], targets: Sequence[Operation], fed: Collection[Tensor], noted: Sequence[LoopDerivative]
) -> tuple[list[Operation], Derivatives]:
    """Decides which backward loops of a run are replaced.

    Args:
      ops: the operations of the run, pruned. fetched, targets, fed: of the run. noted: the recorded derivatives of the graph.

    Returns:
      the operations of the run, pruned again so that they compute the results of the forward loops too; and the derivatives.
    """
    found = _found(ops, fetched, targets, fed, noted)
    if not found:
        return ops, NONE
    # The results of a forward loop are inputs of its gradient's item. Nodes need not have taken them, so they are added to the fetches.
    before = set(ops)
    found = [d.among(before) for d in found]
    ops = prune([*fetched, *(e.exit for d in found for e in d.exits)], targets, fed)
    return ops, Derivatives(tuple(found), frozenset(_idle(set(ops), found, fetched, targets, fed)))


def _found(
    ops: list[Operation], fetched: Sequence[Tensor], targets: Sequence[Operation], fed: Collection[Tensor], noted: Sequence[LoopDerivative]
) -> list[LoopDerivative]:
    """The derivatives that can be replaced in a run."""
    present = set(ops)
    here = [d for d in noted if not d.made.isdisjoint(present)]
    asked = set(targets)
    candidates = [
        d for d in here if d.is_intact and _is_asked(d.among(present)) and asked.isdisjoint(d.made) and not _is_watched(d, ops, fetched, fed)
    ]
    pushes = [op for op in ops if op.type == PUSH]
    # Greatest fixed point: a forward loop whose values are pushed for a backward loop that runs as nodes must run as nodes too, so its
    # own derivative is not a candidate; which can make further pushes necessary.
    while True:
        served = {op for d in candidates for op in d.made}
        needed = {t.op for push in pushes if push not in served for t in push.takes}
        kept = [d for d in candidates if d.forward.isdisjoint(needed)]
        if len(kept) == len(candidates):
            return candidates
        candidates = kept


def _is_asked(derivative: LoopDerivative) -> bool:
    """Whether a run needs gradients from a backward loop, and gradients of the forward loop's results enter it."""
    return bool(derivative.exits and derivative.entries)


def _is_watched(derivative: LoopDerivative, ops: Iterable[Operation], fetched: Iterable[Tensor], fed: Container[Tensor]) -> bool:
    """Whether a run fetches or feeds a tensor inside a backward loop, or other operations use more of it than its gradients."""
    made = derivative.made
    results = {part for entry in derivative.entries for part in entry.parts}
    if any(t.op in made and (t not in results or _is_part(derivative, t)) for t in fetched) or any(t in fed for op in made for t in op.outputs):
        return True
    # Consumers outside may take the gradients, but no other tensor, and have no control edge from a node inside.
    outside = (op for op in ops if op not in made)
    inside = made.difference(t.op for t in results)
    return any(any(t.op in made and t not in results for t in op.takes) or not inside.isdisjoint(op.waits_for) for op in outside)


def _is_part(derivative: LoopDerivative, tensor: Tensor) -> bool:
    """Whether a tensor is the values, indices or shape of IndexedSlices. Those of 1.15 have rows that only the nodes compute."""
    return any(len(entry.parts) > 1 and tensor in entry.parts for entry in derivative.entries)


def _idle(
    present: set[Operation], found: Sequence[LoopDerivative], fetched: Iterable[Tensor], targets: Iterable[Operation], fed: Container[Tensor]
) -> set[Operation]:
    """The operations of a run that nothing needs once the backward loops are replaced: dead code elimination over both kinds of edges."""
    # Reachability from the fetches, where a backward loop counts as one node that takes the results of the forward loop and their
    # gradients, and waits for what its members wait for outside.
    owner = {op: d for d in found for op in d.made}
    pending = [t.op for t in fetched if t not in fed] + list(targets)
    needed: set[Operation] = set()
    while pending:
        op = pending.pop()
        if op in needed:
            continue
        needed.add(op)
        derivative = owner.get(op)
        takes = op.takes if derivative is None else [t for e in derivative.exits for t in (e.exit, e.grad)]
        pending += [t.op for t in takes if t not in fed]
        pending += [c for c in op.waits_for if c in present] if derivative is None else [
            c for member in derivative.made for c in member.waits_for if c in present and c not in derivative.made and c not in derivative.forward
        ]  # fmt: skip
    return present - needed - owner.keys()
