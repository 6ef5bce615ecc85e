"""A loop as one item of a plan: its variables, condition and body, and what is known of them before it runs.

Three drivers run a loop: `loop_compiled` (one `lax.while_loop`), `loop_differentiated` (that, with a derivative) and `HostLoop`
(an iteration at a time).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.findings import Finding, Kind
from tfcompat._src.graph.constant_value import KnownShape, call_numpy_kernel
from tfcompat._src.graph.loop_derivative import LoopDerivative
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.ordering import topological
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control.guards import SWITCH
from tfcompat._src.ops.control.loop_ops import ENTER, EXIT, NEXT_ITERATION
from tfcompat._src.ops.control.loop_topology import Loop, Variable, leaving
from tfcompat._src.ops.flow.array_origin import FORWARDS_HANDLE, fixed_length, is_length
from tfcompat._src.runtime.cond_item import CondItem
from tfcompat._src.runtime.derivatives import Derivatives
from tfcompat._src.runtime.fold import can_fold, fold
from tfcompat._src.runtime.item import Item, Node, accesses_of
from tfcompat._src.runtime.variable_state import is_identity, is_ref_read, variable_key, variable_op

MAX_ENTERING_ELEMENTS = 1024
CANCELLED = "[_Derived_]Loop execution was cancelled."
SHORT = 1000
"""A compiled loop that is known to go round no more often does not look whether it is to end."""
GRADIENTS = ("LoopGradient", "LoopGradientGradient")


class Wrt(NamedTuple):
    """What a loop is differentiated with respect to: the tensor `source`, where `name` stands for it.

    `name` is `source` itself, or the output of the one Enter node through which it is meant.
    """

    source: Tensor
    name: Tensor

    def enters_by(self, enter: Operation) -> bool:
        """Whether an Enter node is one through which it is meant."""
        return enter.takes[0] is self.source and (self.name is self.source or self.name is enter.outputs[0])


class Record(NamedTuple):
    """What repeating a loop needs: bounds of how often it and the loops inside it ran, and the counters of its random operations."""

    steps: Tensor
    counters: Tensor


Known = dict[Tensor, NDArray]
IsStatic = Callable[[Tensor], bool]
MakePart = Callable[[list[Node], list[Tensor], Known, Container[Tensor]], tuple[tuple[Item, ...], Known]]
"""Makes the items of a part of a loop from its nodes, the tensors wanted of it, what is known and what is fed."""


class Building(NamedTuple):
    """What the items of all loops of a run are made with."""

    make_part: MakePart
    fed: Container[Tensor]
    derivatives: Derivatives


class LoopProgram:
    """One loop. Nothing changes it once it is made.

    `variables` change from iteration to iteration; `constants` are the Enter nodes of everything else, loop variables that
    keep their value among them (`aliases` says under which names those are known inside). `condition_items` and `body_items` are
    the items of one iteration, `shared` what the body takes from the condition, `inner` the loops inside. `records` are the
    operations that tell how often it ran.
    """

    def __init__(self, loop: Loop, records: Sequence[Record], known: Known, building: Building) -> None:
        first = loop.members[0].name
        self.name = f"loop of {first.rpartition('/')[0] or first}"
        self.condition, self.exits, self.records = loop.condition, tuple(loop.exits), tuple(records)
        replaced = building.derivatives.replaced
        self.operations = tuple(op for op in loop.all_members() if op.type not in ENTER and op not in replaced)
        self._sort_variables(loop)
        self.known = self._fold_inside(loop, known)
        self._make_parts(loop, building)
        reads, writes = accesses_of(self.operations, building.fed)
        self.reads, self.writes = tuple(reads), tuple(writes)
        self.obstacle, self.constant_tensors = self._demands()

    # ---- building ----

    def _sort_variables(self, loop: Loop) -> None:
        self.variables: list[Variable] = []
        self.constants: list[Operation] = [op for op in loop.enters if op.attrs["is_constant"]]
        self.aliases: dict[Tensor, Operation] = {}
        self._variable_of: dict[Tensor, Variable] = {}
        changing = set()
        for v in loop.variables():
            inside = self.names_inside(v)
            if behind_identity(v.following) in inside:
                self.constants.append(v.enter)
                self.aliases.update(dict.fromkeys(inside, v.enter))
            else:
                self.variables.append(v)
                self._variable_of.update(dict.fromkeys(inside, v))
            changing.add(v.enter)
        self.constants += [op for op in loop.enters if op not in changing and op not in self.constants]

    def _fold_inside(self, loop: Loop, known: Known) -> Known:
        found = dict(known)
        for enter in self.constants:
            value = known.get(enter.takes[0])
            if value is not None and np.size(value) <= MAX_ENTERING_ELEMENTS:
                found[enter.outputs[0]] = value
        found.update({t: found[e.outputs[0]] for t, e in self.aliases.items() if e.outputs[0] in found})
        return fold(loop.members, set(), found)

    def _make_parts(self, loop: Loop, building: Building) -> None:
        make_part, fed = building.make_part, building.fed
        routing = {v.merge for v in loop.variables()} | {v.switch for v in loop.variables()} | loop.handed_on()
        own = [op for op in loop.members if not (op in routing or op.type in ENTER | EXIT | NEXT_ITERATION or op is self.condition)]
        nodes = collapse(own, loop.children, self.known, building)
        owner = {op: node for node in nodes if isinstance(node, Item) for op in node.stands_for}
        in_condition = _ancestors(self.condition.takes[0], nodes, owner) if self.condition is not None else set()
        conditional = [n for n in nodes if n in in_condition]
        rest = [n for n in nodes if n not in in_condition]
        made = {t for n in conditional for t in n.outputs}
        self.shared = list(dict.fromkeys(t for n in rest for t in n.takes if t in made and t not in self.known))
        self.shared += [v.following for v in self.variables if v.following in made and v.following not in self.shared]
        self.condition_items: tuple[Item, ...] = ()
        if self.condition is None:
            wanted = [op.takes[0] for op in self.exits]
        else:
            self.condition_items, self.known = make_part(conditional, [self.condition.takes[0], *self.shared], self.known, fed)
            wanted = [v.following for v in self.variables]
        self.body_items, self.known = make_part(rest, wanted, self.known, fed)
        self.inner = [loop for item in (*self.condition_items, *self.body_items) for loop in loops_of(item)]

    def _demands(self) -> tuple[str, set[Tensor]]:
        """The outer tensors that must be NumPy values; or why there is no way to have all that must be inside."""
        needed: set[Tensor] = set()
        for loop in self.inner:
            if loop.wrts:
                needed.update(*(self.static_needs(t) or () for needs in loop.program.chosen_needs(self._is_static) for t in needs))
        for item in (*self.condition_items, *self.body_items):
            for flat in opened(item):
                for position in self._constants_of(flat):
                    tensor = flat.takes[position]
                    found = self.static_needs(tensor)
                    if found is None:
                        return f"{flat.name} needs {tensor.name} when the loop is compiled", set()
                    needed |= found
        return "", needed

    def _constants_of(self, item: Item) -> frozenset[int]:
        if isinstance(item, LoopGradientItem):
            return item.constants_where(item.loop.program.must_count(self._is_static))
        return item.constants

    # ---- what the other stages ask ----

    @staticmethod
    def names_inside(variable: Variable) -> list[Tensor]:
        """The tensors that are the value of a loop variable inside."""
        return [variable.merge.outputs[0]] + ([variable.switch.outputs[1]] if variable.switch is not None else [])

    @staticmethod
    def entering(exit: Operation) -> Operation:
        """The Enter node of the variable that goes out."""
        return leaving(exit)[-1].takes[0].op.takes[0].op

    @property
    def randoms(self) -> list[Operation]:
        """The random operations inside, also of inner loops."""
        return [op for op in self.operations if op.spec.effects.random]

    def changing_reads(self) -> dict[Tensor, Operation]:
        """The reads of refs that enter as constants, of variables that the loop writes: a read is an alias and sees what is written."""
        written = {variable_key(v) for v in self.writes}
        reads = {e.outputs[0]: e.takes[0].op for e in self.constants if is_ref_read(e.takes[0].op)}
        variables = {t: variable_op(read.takes[0]) for t, read in reads.items()}
        return {t: v for t, v in variables.items() if v is not None and variable_key(v) in written}

    def why_not_compiled(self, findings: Collection[Finding], limited: bool) -> str:
        """Why this cannot be compiled as one loop, or "". `limited`: the run has a time limit."""
        if Finding(Kind.HOST_DRIVES, self.condition) in findings:
            return "a loop variable changes its shape, or the body cannot be computed for the shapes of a run"
        if limited and self.condition is not None and next(self._bound_needs(), None) is None:
            return "the run has a time limit, and how often the loop runs has none"
        if any(host_chooses(item, findings) for item in (*self.condition_items, *self.body_items)):
            return "the shapes of a conditional depend on its predicate"
        return self.obstacle or next(filter(None, (loop.program.why_not_compiled(findings, limited) for loop in self.inner)), "")

    def static_needs(self, tensor: Tensor) -> set[Tensor] | None:
        """The outer tensors that must be NumPy values so that `tensor` is one inside; None where it changes."""
        if tensor in self.known:
            return set()
        op = tensor.op
        if tensor in self.aliases or (op.type in ENTER and op in self.constants):
            return {self.aliases.get(tensor, op).takes[0]}
        if tensor in self._variable_of:
            return None
        if is_length(op):
            return self._length_needs(op)
        if op.type in SWITCH:
            return self.static_needs(op.takes[0])
        if not op.takes or not can_fold(op) or op.type in ENTER:
            return None
        found: set[Tensor] = set()
        for i, t in enumerate(op.takes):
            if i not in op.spec.shape_only_positions:
                inner = self.static_needs(t)
                if inner is None:
                    return None
                found |= inner
        return found

    def _length_needs(self, op: Operation) -> set[Tensor] | None:
        """What the length of a TensorArray made inside the loop hangs on."""
        length = fixed_length(op) if op.takes[0].op.type not in FORWARDS_HANDLE else None
        return None if length is None else self.static_needs(length)

    def _is_static(self, tensor: Tensor) -> bool:
        return self.static_needs(tensor) is not None

    # ---- how many iterations ----

    def must_count(self, is_static: IsStatic) -> bool:
        """Whether a gradient must be told how often this or an inner loop ran. `is_static`: a tensor is NumPy when compiled."""
        is_bounded = any(all(is_static(t) for t in needs) for needs in self._bound_needs())
        return any([loop.program.must_count(self._inside(is_static)) for loop in self.inner]) or not is_bounded

    def _inside(self, is_static: IsStatic) -> IsStatic:
        """Tells of the tensors inside what `is_static` tells of those outside."""

        def is_static_inside(tensor: Tensor) -> bool:
            needs = self.static_needs(tensor)
            return needs is not None and all(map(is_static, needs))

        return is_static_inside

    def chosen_needs(self, is_static: IsStatic) -> list[set[Tensor]]:
        """The outer tensors that tell, where they are NumPy values, how often this and each inner loop runs at most."""
        if self.must_count(is_static):
            return []
        return [*list(self._bound_needs())[:1], *[needs for loop in self.inner for needs in loop.program.chosen_needs(self._inside(is_static))]]

    def _bound_needs(self) -> Iterator[set[Tensor]]:
        for comparison in self._conjuncts():
            found = self._counter(comparison)
            if found is not None:
                variable, limit, _, _ = found
                needs = self.static_needs(limit)
                if needs is not None:
                    yield needs | {variable.enter.takes[0]}

    def _conjuncts(self) -> list[Operation]:
        if self.condition is None:
            return []
        found, pending = [], [self.condition.takes[0]]
        while pending:
            op = behind_identity(pending.pop()).op
            if op.spec.facts.conjoins:
                pending.extend(op.takes)
            else:
                found.append(op)
        return found

    def _counter(self, op: Operation) -> tuple[Variable, Tensor, int, bool] | None:
        """(variable, limit, step, whether the limit counts) of a comparison between a counter and its limit."""
        if op.spec.facts.compares is None:
            return None
        sign, closed = op.spec.facts.compares
        for side, direction in ((0, sign), (1, -sign)):
            variable = self._variable_of.get(behind_identity(op.takes[side]))
            if variable is None:
                continue
            step = self.step(variable)
            if step is not None and step * direction > 0:
                return variable, op.takes[1 - side], step, bool(closed)
        return None

    @property
    def predicate(self) -> Tensor:
        """What decides whether the loop goes on; only a loop with a condition has one."""
        if self.condition is None:
            raise RuntimeError(f"{self.name} has no condition")
        return self.condition.takes[0]

    def step(self, variable: Variable) -> int | None:
        """What a counter grows by in each iteration, or None where it is no counter."""
        op = behind_identity(variable.following).op
        sign = op.spec.facts.counts
        if not sign or not op.outputs[0].dtype.is_integer:
            return None
        for side in (0, 1) if sign > 0 else (0,):
            step = self.known.get(op.takes[1 - side])
            if self._variable_of.get(behind_identity(op.takes[side])) is variable and step is not None and step.ndim == 0:
                return sign * int(step)
        return None

    def bound(self, lookup: Callable[[Tensor], Any]) -> tuple[int | None, bool]:
        """An upper bound of the number of iterations where values known now give one, and whether it is the number itself."""
        bounds, exact = [], True
        for comparison in self._conjuncts():
            found = self._counter(comparison)
            count = None if found is None else self._count(found, lookup)
            if count is None:
                exact = False
            else:
                bounds.append(count)
        return (min(bounds), exact) if bounds else (None, False)

    def _count(self, found: tuple[Variable, Tensor, int, bool], lookup: Callable[[Tensor], Any]) -> int | None:
        variable, limit_tensor, step, closed = found
        start, limit = lookup(variable.enter.takes[0]), self._evaluate(limit_tensor, lookup)
        if not (_is_known(start) and _is_known(limit)) or start.ndim or limit.ndim:
            return None
        distance = (int(limit) - int(start)) * (1 if step > 0 else -1)
        return max(0, distance // abs(step) + 1 if closed else -(-distance // abs(step)))

    def _evaluate(self, tensor: Tensor, lookup: Callable[[Tensor], Any]) -> Any:
        """The value inside of a tensor that does not change, as far as it is known now; else None."""
        if tensor in self.known:
            return self.known[tensor]
        op = tensor.op
        if tensor in self.aliases or (op.type in ENTER and op in self.constants):
            return lookup(self.aliases.get(tensor, op).takes[0])
        if tensor in self._variable_of or not op.takes or not can_fold(op) or op.type in ENTER:
            return None
        values = []
        for i, t in enumerate(op.takes):
            value = self._evaluate(t, lookup)
            if i in op.spec.shape_only_positions and value is not None:
                value = KnownShape(value.shape, value.dtype)
            elif not _is_known(value):
                return None
            values.append(value)
        return call_numpy_kernel(op, values)[tensor.value_index]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class LoopItem(Item):
    """A loop of a plan. `wrts` are what the items beside it that differentiate it need gradients of."""

    program: LoopProgram
    wrts: tuple[Wrt, ...]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class LoopGradientItem(Item):
    """The gradient of a loop.

    Attributes:
      exits: results of the loop. grads: their gradients.
      wrts: what gradients are wanted of. results: what each is given as: a tensor, or values, indices and perhaps shape of slices.
      second: the LoopGradientGradient, where it is the second derivative.
    """

    loop: LoopItem
    record: Record
    exits: tuple[Tensor, ...]
    grads: tuple[Tensor, ...]
    wrts: tuple[Wrt, ...]
    results: tuple[tuple[Tensor, ...], ...]
    second: Operation | None = None

    def constants_where(self, must_count: bool) -> frozenset[int]:
        """What the loop needs, and the number of iterations where that must be counted before it is compiled."""
        return self.constants | {self.takes.index(self.record.steps)} if must_count else self.constants


def _loop_item(
    loop: Loop, serving: Sequence[Operation], records: Sequence[Record], wrts: Iterable[Wrt], known: Known, building: Building
) -> LoopItem:
    """The item of a loop. `serving`: operations that it stands for besides its own, which serve its gradients."""
    program = LoopProgram(loop, records, known, building)
    every = loop.all_members()
    mine = frozenset([*every, *serving])
    inputs = tuple(dict.fromkeys(op.takes[0] for op in loop.enters))
    return LoopItem(
        name=program.name, type="loop", order=max(op.order for op in every), takes=inputs,
        outputs=(*(op.outputs[0] for op in program.exits), *(t for r in records for t in r)),
        waits_for=tuple(dict.fromkeys(c for op in every for c in op.waits_for if c not in mine)),
        operations=program.operations, stands_for=mine,
        reads=(*program.reads, *program.writes), writes=program.writes,  # there may be no iteration that writes
        constants=frozenset(i for i, t in enumerate(inputs) if t in program.constant_tensors),
        program=program, wrts=tuple(dict.fromkeys(wrts)),
    )  # fmt: skip


class _Gradient(NamedTuple):
    """A gradient of a loop before its item is made: a node of the graph, or a backward loop that is noted as one."""

    name: str
    order: tuple[int, ...]
    record: Record
    exits: tuple[Tensor, ...]
    grads: tuple[Tensor, ...]
    wrts: tuple[Wrt, ...]
    results: tuple[tuple[Tensor, ...], ...]
    outputs: tuple[Tensor, ...]
    operations: tuple[Operation, ...]
    stands_for: frozenset[Operation]
    further: tuple[Tensor, ...] = ()
    second: Operation | None = None

    def item(self, loop: LoopItem, fed: Container[Tensor]) -> LoopGradientItem:
        """The item beside that of the loop."""
        takes = tuple(dict.fromkeys((*self.exits, *loop.takes, *self.record, *self.grads, *self.further)))
        captured = [v for t in loop.takes if t not in fed and (v := variable_op(t)) is not None]
        waits_for = dict.fromkeys(c for op in self.stands_for for c in op.waits_for if c not in self.stands_for and c not in loop.stands_for)
        return LoopGradientItem(
            name=self.name, type="loop gradient", order=self.order, takes=takes, outputs=self.outputs, waits_for=tuple(waits_for),
            operations=self.operations, stands_for=self.stands_for, reads=tuple(captured),
            constants=frozenset(i for i, t in enumerate(takes) if t in loop.program.constant_tensors),
            loop=loop, record=self.record, exits=self.exits, grads=self.grads, wrts=self.wrts, results=self.results, second=self.second,
        )  # fmt: skip


def _gradient_of_node(op: Operation) -> _Gradient:
    """What a LoopGradient, or LoopGradientGradient, says."""
    captured = op.input_named("captured")
    return _Gradient(
        op.name, op.order, Record(op.input_named("steps"), op.input_named("counters")), tuple(op.input_named("exits")),
        tuple(op.input_named("grads")), tuple(Wrt(captured[i], captured[i]) for i in op.attrs["wanted"]), tuple((t,) for t in op.outputs),
        tuple(op.outputs), (op,), frozenset([op]), op.takes, op if op.type == "LoopGradientGradient" else None,
    )  # fmt: skip


def _gradient_of_loop(backward: Loop, derivative: LoopDerivative) -> _Gradient:
    """What a backward loop computes, as far as the run asks for it."""
    members = backward.all_members()
    exits, entries = derivative.exits, derivative.entries
    outputs = tuple(t for entry in entries for t in entry.parts)
    steps, counters = (Tensor(derivative.counter, i, kind) for i, kind in enumerate((dtypes.int32, dtypes.uint32), 1))
    steps._sizes, counters._sizes = (None,), (None, 6)
    return _Gradient(
        f"gradient of {derivative.counter.name}", max(op.order for op in members), Record(steps, counters), tuple(e.exit for e in exits),
        tuple(e.grad for e in exits),
        tuple(Wrt(entry.enter.takes[0], entry.enter.outputs[0]) for entry in entries), tuple(entry.parts for entry in entries),
        outputs, (outputs[0].op,), frozenset(members),
    )  # fmt: skip


def collapse(ops: Sequence[Operation], loops: list[Loop], known: Known, building: Building) -> list[Node]:
    """`ops` in order, with one item in place of each of `loops` and of each gradient of one."""
    derivatives = building.derivatives
    backward = {loop: d for loop in loops if (d := derivatives.of(loop.exits[0])) is not None and not _leaves_forward(loop, d)}
    items: list[Item] = []
    for whole in loops:
        if whole not in backward:
            items += _with_gradients(whole, {loop: d for loop, d in backward.items() if d.exits[0].exit.op in whole.members}, ops, known, building)
    owner = {op: item for item in items for op in item.stands_for}
    return topological([*items, *(op for op in ops if op not in owner and op not in derivatives.idle)], owner=owner)


def _leaves_forward(loop: Loop, derivative: LoopDerivative) -> bool:
    """Whether a loop is the forward one of a derivative."""
    return any(op in derivative.forward for op in loop.members)


def _with_gradients(
    whole: Loop, backward: dict[Loop, LoopDerivative], ops: Sequence[Operation], known: Known, building: Building
) -> list[Item]:
    """The items of a loop and of its gradients: of the loops that go back over it, and of the nodes that say so."""
    every = whole.all_members()
    serving = [op for op in every if any(op in d.made for d in backward.values())]
    loop = whole.without(frozenset(serving)) if serving else whole
    mine = set(every)
    records = [op for op in ops if op.type == "LoopRecord" and op.takes[0].op in mine]
    mine.update(records)
    gradients = [_gradient_of_node(op) for op in ops if op.type in GRADIENTS and op not in mine and op.takes[0].op in mine]
    gradients += [_gradient_of_loop(back, derivative) for back, derivative in backward.items()]
    wrts = [wrt for gradient in gradients if gradient.second is None for wrt in gradient.wrts]
    kept = dict.fromkeys([*(Record(*op.outputs) for op in records), *(gradient.record for gradient in gradients)])
    item = _loop_item(loop, [*serving, *records], list(kept), wrts, known, building)
    return [item, *(gradient.item(item, building.fed) for gradient in gradients)]


def _is_known(value: object) -> bool:
    return isinstance(value, (np.ndarray, np.generic))


def behind_identity(tensor: Tensor) -> Tensor:
    """The tensor that Identity nodes pass on."""
    while tensor.op.type == "RefIdentity" or is_identity(tensor.op):
        tensor = tensor.op.takes[0]
    return tensor


def loops_of(item: Item) -> Iterator[LoopItem]:
    """The loops of an item: itself, or those in the branches of a conditional."""
    for inner in opened(item):
        if isinstance(inner, LoopItem):
            yield inner


def host_chooses(item: Item, findings: Collection[Finding]) -> bool:
    """Whether the branches of a conditional in an item cannot be in one program."""
    if isinstance(item, LoopItem):
        program = item.program
        return any(host_chooses(i, findings) for i in (*program.condition_items, *program.body_items))
    if isinstance(item, CondItem):
        inside = (i for branch in item.branches.values() for i in branch)
        return Finding(Kind.HOST_CHOOSES, item.predicate) in findings or any(host_chooses(i, findings) for i in inside)
    return False


def opened(item: Item) -> Iterator[Item]:
    """An item, or those in the branches of a conditional."""
    if isinstance(item, CondItem):
        for branch in item.branches.values():
            for inner in branch:
                yield from opened(inner)
    else:
        yield item


def _ancestors(tensor: Tensor, nodes: list[Node], owner: dict[Operation, Item]) -> set[Node]:
    """The nodes that a tensor hangs on."""
    inside = set(nodes)
    pending = [tensor.op]
    found: set[Node] = set()
    while pending:
        op = pending.pop()
        node = owner.get(op, op)
        if node in inside and node not in found:
            found.add(node)
            pending.extend(t.op for t in node.takes)
            pending.extend(node.waits_for)
    return found
