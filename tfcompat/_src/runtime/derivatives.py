"""Behind prune: which loops of a run are derivatives of others, so that one item computes them.

tf.gradients makes a loop that goes back, fed by stacks that the forward loop pushes onto, and notes it (graph/loop_derivative.py); loops of
a file are recognized when they are first run. Where
a run asks for nothing of these nodes but the gradients that come out, a plan has the derivative of the forward loop in their place. Else
the nodes run themselves.
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
from tfcompat._src.runtime.prune import prune


@dataclass(frozen=True)
class Derivatives:
    """The loops of a run that are derivatives.

    `idle` are the nodes outside of these that are needed for them alone: stacks, and what their sums start with.
    """

    found: tuple[LoopDerivative, ...] = ()
    idle: frozenset[Operation] = frozenset()

    @functools.cached_property
    def replaced(self) -> frozenset[Operation]:
        """The operations that do not run."""
        return self.idle.union(*(d.made for d in self.found))

    def of(self, op: Operation) -> LoopDerivative | None:
        """The derivative that a node of a backward loop belongs to."""
        return next((d for d in self.found if op in d.made), None)


NONE = Derivatives()


def noted_in(graph: Graph, ops: Iterable[Operation]) -> Sequence[LoopDerivative]:
    """What is noted of the loops of a graph, those of `ops` that pop from stacks examined first."""
    made = {op for d in graph.loop_derivatives for op in d.made}
    if graph.recognized_version < graph.version and any(op.type == POP and op not in made for op in ops):
        graph.recognized_version = graph.version
        for recognize in RECOGNIZERS:
            recognize(graph)
    return graph.loop_derivatives


def with_derivatives(
    ops: list[Operation], fetched: Sequence[Tensor], targets: Sequence[Operation], fed: Collection[Tensor], noted: Sequence[LoopDerivative]
) -> tuple[list[Operation], Derivatives]:
    """The derivatives among `ops`, the operations of a run; and these with the results of the loops that are differentiated.

    Args:
      noted: what is noted of the graph.
    """
    found = _found(ops, fetched, targets, fed, noted)
    if not found:
        return ops, NONE
    before = set(ops)
    found = [d.among(before) for d in found]
    ops = prune([*fetched, *(e.exit for d in found for e in d.exits)], targets, fed)
    return ops, Derivatives(tuple(found), frozenset(_idle(set(ops), found, fetched, targets, fed)))


def _found(
    ops: list[Operation], fetched: Sequence[Tensor], targets: Sequence[Operation], fed: Collection[Tensor], noted: Sequence[LoopDerivative]
) -> list[LoopDerivative]:
    present = set(ops)
    here = [d for d in noted if not d.made.isdisjoint(present)]
    asked = set(targets)
    found = [d for d in here if d.is_intact and _is_asked(d.among(present)) and asked.isdisjoint(d.made) and not _is_watched(d, ops, fetched, fed)]
    pushes = [op for op in ops if op.type == PUSH]
    while True:  # a loop that pushes for one backward loop runs as it is, and has no derivative
        served = {op for d in found for op in d.made}
        needed = {t.op for push in pushes if push not in served for t in push.takes}
        kept = [d for d in found if d.forward.isdisjoint(needed)]
        if len(kept) == len(found):
            return found
        found = kept


def _is_asked(derivative: LoopDerivative) -> bool:
    """Whether a run needs gradients of a loop, and these hang on those of its results."""
    return bool(derivative.exits and derivative.entries)


def _is_watched(derivative: LoopDerivative, ops: Iterable[Operation], fetched: Iterable[Tensor], fed: Container[Tensor]) -> bool:
    """Whether a run asks for a node of a backward loop, gives it a value, or takes of it what is no gradient."""
    made = derivative.made
    results = {part for entry in derivative.entries for part in entry.parts}
    if any(t.op in made and (t not in results or _is_part(derivative, t)) for t in fetched) or any(t in fed for op in made for t in op.outputs):
        return True
    outside = (op for op in ops if op not in made)
    inside = made.difference(t.op for t in results)
    return any(any(t.op in made and t not in results for t in op.takes) or not inside.isdisjoint(op.waits_for) for op in outside)


def _is_part(derivative: LoopDerivative, tensor: Tensor) -> bool:
    """Whether a tensor is one of the parts of slices: which there are, only the nodes tell."""
    return any(len(entry.parts) > 1 and tensor in entry.parts for entry in derivative.entries)


def _idle(
    present: set[Operation], found: Sequence[LoopDerivative], fetched: Iterable[Tensor], targets: Iterable[Operation], fed: Container[Tensor]
) -> set[Operation]:
    """The operations that are not needed where the derivatives are computed of the forward loops."""
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
