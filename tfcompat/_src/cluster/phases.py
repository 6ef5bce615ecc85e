"""Divides a part into phases, each of which receives tensors of other tasks, computes, and sends.

Received tensors are fed to a phase and sent ones are fetched from it: a phase is one run of the runtime, which compiles it as a whole.
A phase waits only for tensors that its sends depend on, so tasks never wait for each other in a cycle. In parts of TensorFlow's masters, the
predicates of branches that send are computed in earlier phases.

A part that cannot be divided is one phase, in which nodes send and receive while it runs: if nodes of a tfcompat master send or receive in a
branch, if any do in a loop, or if a value that cannot be fed would pass from one phase to another.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from tfcompat._src.cluster.carried_derivatives import KEPT
from tfcompat._src.cluster.part_order import STAGE
from tfcompat._src.cluster.placement import OF_A_STEP, Conditions, loops, needed
from tfcompat._src.cluster.transfer_ops import RECV, SEND, key_of
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.function_body import CallOperation
from tfcompat._src.ops.control.guards import MERGE
from tfcompat._src.runtime.passes.derivatives import noted_in


@dataclass(eq=False)
class Phase:
    """One run of a part.

    Attributes:
      after: the numbers of the phases that must have ended. received: the tensors that it receives, by key.
      fed: the tensors that are fed to it: received ones, the client's, and results of earlier phases.
      sent: the nodes that send, by key. given: the tensors that are fetched. targets: the operations that run without a result.
    """

    after: frozenset[int] = frozenset()
    received: dict[str, Tensor] = field(default_factory=dict)
    fed: list[Tensor] = field(default_factory=list)
    sent: dict[str, Operation] = field(default_factory=dict)
    given: list[Tensor] = field(default_factory=list)
    targets: list[Operation] = field(default_factory=list)


def is_transfer(op: Operation, types: tuple[str, ...], of_client: bool) -> bool:
    """Whether a node has one of the op types, RECV or SEND, and its peer is the client (`of_client`) or another task (not)."""
    return op.type in types and op.attrs["client_terminated"] == of_client


def ends_of(ops: Collection[Operation]) -> list[Operation]:
    """Returns the nodes that no other node depends on, without those that exist only for derivatives."""
    consumed = {source for op in ops for source in (*(t.op for t in op.inputs), *op.control_inputs)}
    return [op for op in ops if op not in consumed and not op.attrs.get(KEPT)]


def phases_of(graph: Graph) -> list[Phase]:
    """Returns the phases of a part; removes from `graph` the control inputs that come from earlier phases."""
    ops = graph.get_operations()
    cut = _Cut(graph, ops)
    return cut.phases() if cut.is_possible else [_whole(ops)]


def _whole(ops: list[Operation]) -> Phase:
    """Returns the only phase of a part whose nodes send and receive while it runs."""
    fed = [op.outputs[0] for op in ops if is_transfer(op, RECV, True)]
    fetched = [op for op in ops if is_transfer(op, SEND, True)]
    targets = [c for op in fetched for c in op.control_inputs] + [op for op in ends_of(ops) if op not in fetched]
    return Phase(fed=fed, given=[op.inputs[0] for op in fetched], targets=targets)


def predicates_of(ops: Collection[Operation]) -> list[Tensor]:
    """Returns the predicates whose values must be known before a part runs, in topological order; none for parts of tfcompat's masters.

    They decide which nodes send, or which side of a conditional runs here whose other side is received.
    """
    if any(op.type in (*SEND, *RECV) and STAGE in op.attrs for op in ops):
        return []
    conditions = Conditions(list(ops), set())
    pending = [predicate for op in ops if is_transfer(op, SEND, False) for predicate, _ in conditions.of(op)]
    looped = {op for members in loops(list(ops)) for op in members}
    for op in ops:
        if op.type in MERGE and op not in looped:
            # Both inputs of a Merge depend on the predicate, unless another task has the rest of the conditional.
            sides = [{predicate for predicate, _ in conditions.of(t)} for t in op.inputs]
            pending += set[Tensor]().union(*sides) - sides[0].intersection(*sides)
    found: set[Tensor] = set()
    while pending:
        predicate = pending.pop()
        if predicate not in found:
            found.add(predicate)
            pending += [outer for outer, _ in conditions.of(predicate.op)]
    return sorted(found, key=lambda predicate: predicate.op._id)


class _Cut:
    """The assignment of a part's nodes to phases.

    Attributes: `is_possible`: whether the part can be divided into phases.
    """

    def __init__(self, graph: Graph, ops: list[Operation]) -> None:
        self._sends = [op for op in ops if is_transfer(op, SEND, False)]
        self._receives = {op for op in ops if is_transfer(op, RECV, False)}
        self._ends = [op for op in ends_of(ops) if op not in self._sends]
        self._ops = needed((), [*self._sends, *self._ends], set())
        self._predicates = [predicate for predicate in predicates_of(ops) if predicate.op.type not in RECV]
        self._number: dict[Operation, int] = {}
        self._needs = {op: self._receives.intersection(needed((), [op], set())) for op in (*self._sends, *(p.op for p in self._predicates))}
        self._is_staged = all(STAGE in op.attrs for op in self._sends)
        groups = self._groups()
        self._waited_for = [kind for kind, _ in groups]
        self._count = self._fill([members for _, members in groups])
        self._after = self._before()
        self._received = {op.outputs[0] for op in ops if op.type in RECV}
        self._passed = [t for t in dict.fromkeys(t for op in self._ops for t in op.inputs if self._crosses(t, op)) if t not in self._received]
        self.is_possible = self._keeps_whole(graph)

    # ---- which node is in which phase ----

    def _groups(self) -> list[tuple[frozenset[Operation], list[Operation]]]:
        """Returns for each phase but the last the receiving nodes that it waits for, and nodes that determine its members.

        In parts of tfcompat's masters sends have stages, which order them over all tasks. In other parts a node waits for the received tensors
        that all sends which depend on it have in common: then each tensor is sent as soon as possible, in whatever order others arrive.
        """
        if self._is_staged:
            stages = sorted({op.attrs[STAGE] for op in self._sends})
            return [(frozenset(), [op for op in self._sends if op.attrs[STAGE] == stage]) for stage in stages]
        # A meet over the sends that depend on a node: the intersection of the received tensors that they need.
        common: dict[Operation, frozenset[Operation]] = {}
        for kind in dict.fromkeys(map(frozenset, self._needs.values())):
            for op in needed((), [op for op, needs in self._needs.items() if needs == kind], set()):
                if op.type in RECV or not _is_anywhere(op):
                    common[op] = common.get(op, kind) & kind
        # Smaller sets come first, so that a phase comes after those whose tensors are a part of its own. Predicates have phases of their own.
        groups = []
        for kind in sorted(dict.fromkeys(common.values()), key=len):
            groups += [(kind, [predicate.op]) for predicate in self._predicates if self._needs[predicate.op] == kind]
            groups.append((kind, [op for op, needs in common.items() if needs == kind]))
        return groups

    def _before(self) -> list[frozenset[int]]:
        """Returns the phases that come before each phase; the last one, on which no send depends, comes after all others."""
        everything = [frozenset(range(number)) for number in range(self._count)]
        if self._is_staged:
            return everything
        needs = self._waited_for
        return [
            frozenset(n for n in everything[number] if number >= len(needs) or needs[n] <= needs[number]) for number in range(self._count)
        ]

    def _fill(self, groups: list[list[Operation]]) -> int:
        """Assigns each node to the first phase whose sends depend on it, the rest to the last phase; returns the number of phases."""
        for number, group in enumerate(groups):
            for op in needed((), group, set()):
                self._number.setdefault(op, number)
        rest = [op for op in self._ops if op not in self._number]
        # The rest runs with the last group of sends unless it may have to wait: then the sends must not wait with it.
        comes_later = any(op in self._receives and not self._comes_with(op, groups[-1][0]) for op in rest) if groups else True
        last = len(groups) if comes_later or any(map(_may_wait, rest)) else len(groups) - 1
        self._number.update(dict.fromkeys(rest, last))
        return last + 1

    @staticmethod
    def _comes_with(receive: Operation, send: Operation) -> bool:
        """Whether, by their stages, what one node receives does not depend on what the other sends."""
        return STAGE in receive.attrs and STAGE in send.attrs and receive.attrs[STAGE] <= send.attrs[STAGE]

    def _sources(self, op: Operation) -> list[Operation]:
        """Returns the nodes that a node depends on, without receiving nodes and those that every phase has."""
        return [s for s in (*(t.op for t in op.inputs), *op.control_inputs) if s.type not in RECV and not _is_anywhere(s)]

    def _crosses(self, tensor: Tensor, taker: Operation) -> bool:
        """Whether a tensor is computed in an earlier phase than that of its user."""
        return not _is_anywhere(tensor.op) and self._number[tensor.op] < self._number[taker]

    def _keeps_whole(self, graph: Graph) -> bool:
        """Whether nodes that must run together are in one phase, and only values that can be fed pass between phases."""
        crossing = [*self._sends, *self._receives]
        conditions = Conditions(self._ops, set())
        if (self._is_staged and any(conditions.of(op) for op in crossing)) or any(op.control_inputs for op in self._receives):
            return False
        known = set(predicates_of(self._ops))
        # Before the last phase nothing may block, as a dequeue can: other tasks wait for the sends.
        if any(_may_wait(op) and self._number[op] < self._count - 1 for op in self._ops):
            return False
        # A loop is one run, and so are a loop and its derivative.
        looped = loops(self._ops)
        derived = [d.made | d.forward for d in noted_in(graph, self._ops)]
        for members in (*looped, *derived):
            if len({self._number[op] for op in members if op in self._number}) > 1:
                return False
        if any(op in members for members in looped for op in crossing):
            return False
        if any(isinstance(op, CallOperation) and not set(self._passed).isdisjoint(op.inputs) for op in self._ops):
            return False  # an inlined function waits for the nodes of its arguments, which would run again
        if any(self._number[source] not in {self._number[op], *self._after[self._number[op]]} for op in self._ops for source in self._sources(op)):
            return False
        return all(_can_be_fed(t) and known.issuperset(predicate for predicate, _ in conditions.of(t)) for t in self._passed)

    # ---- the phases ----

    def phases(self) -> list[Phase]:
        """Returns the phases, in order."""
        found = [Phase(after) for after in self._after]
        for op in self._ops:
            if op in self._receives:
                found[self._number[op]].received[key_of(op)] = op.outputs[0]
        for op in self._sends:
            self._give(found, op, op.inputs[0])
            found[self._number[op]].sent[key_of(op)] = op
        for op in self._ends:
            if is_transfer(op, SEND, True):
                self._give(found, op, op.inputs[0])
            else:
                found[self._number[op]].targets.append(op)
        for tensor in (*self._passed, *self._predicates):
            self._give(found, tensor.op, tensor)
        for op in self._ops:
            phase = found[self._number[op]]
            taken = [t for t in op.inputs if t in self._received or self._crosses(t, op)]
            waited_for = [c.outputs[0] for c in op.control_inputs if c.type in RECV]
            # A control input from an earlier phase has to run there, as a target.
            for c in op.control_inputs:
                if c.type not in RECV and not _is_anywhere(c) and self._number[c] < self._number[op] and c not in found[self._number[c]].targets:
                    found[self._number[c]].targets.append(c)
            phase.fed += [t for t in dict.fromkeys((*taken, *waited_for)) if t not in phase.fed]
        self._let_go()
        return found

    def _give(self, phases: list[Phase], op: Operation, tensor: Tensor) -> None:
        """Makes the phase of a node fetch a tensor, and run the control inputs of a node that sends it."""
        phase = phases[self._number[op]]
        phase.given += [tensor] if tensor not in phase.given else []
        if op.type in SEND:
            phase.targets += [c for c in op.control_inputs if c.type not in RECV and self._number[c] == self._number[op]]

    def _let_go(self) -> None:
        """Removes control inputs from earlier phases."""
        for op in self._ops:
            waits = [c for c in op.control_inputs if c.type in RECV or _is_anywhere(c) or self._number[c] == self._number[op]]
            if len(waits) < len(op.control_inputs):
                op._set_control_inputs(waits)


def _is_anywhere(op: Operation) -> bool:
    """Whether a node is repeated in each phase that uses it: a constant, or the handle of a variable or resource."""
    if op.inputs or op.control_inputs:
        return False
    return op.type == "Const" or bool(op.outputs) and not any(map(_can_be_fed, op.outputs))


def _can_be_fed(tensor: Tensor) -> bool:
    dtype = tensor.dtype
    return tensor.op.type in OF_A_STEP or (dtype.is_numpy_compatible and not dtype._is_ref_dtype)


def _may_wait(op: Operation) -> bool:
    """Whether a node, or a function that it calls, may block until another node acts."""
    if op.type in RECV:
        return False
    if isinstance(op, CallOperation):
        return op.call_spec.effects.external
    return op.spec.effects.waits

