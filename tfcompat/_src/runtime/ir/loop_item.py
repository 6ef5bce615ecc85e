"""Loops as items of a plan: loop variables, condition, body, and static analysis of the trip count.

`collapse` replaces the nodes of each loop of 1.15's graph (Enter, Merge, Switch, NextIteration, Exit) by one `LoopItem`, and each
gradient of a loop by one `LoopGradientItem`. Three drivers run these items: `loop_compiled` (one `lax.while_loop`),
`loop_differentiated` (the same with a derivative) and `driven_by_host.HostLoop` (one plan per iteration).
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
from tfcompat._src.runtime.ir.cond_item import CondItem
from tfcompat._src.runtime.ir.item import Item, Node, accesses_of
from tfcompat._src.runtime.ir.routed_item import RoutedItem
from tfcompat._src.runtime.passes.derivatives import Derivatives
from tfcompat._src.runtime.passes.fold import can_fold, fold
from tfcompat._src.runtime.passes.plan_guards import Facts
from tfcompat._src.runtime.state.variable_state import is_identity, shared_read, variable_key, variable_op

MAX_ENTERING_ELEMENTS = 1024
"""Known values of more elements are not folded into the body of a loop; they enter it as inputs."""
CANCELLED = "[_Derived_]Loop execution was cancelled."
SHORT = 1000
"""A compiled loop with a bound of at most this many iterations does not poll the stop flag."""
GRADIENTS = ("LoopGradient", "LoopGradientGradient")
"""The op types of nodes that are the first and the second derivative of a loop."""


class Wrt(NamedTuple):
    """A tensor that a loop is differentiated with respect to.

    `source` is the tensor outside the loop. `name` is `source` itself for the gradient through every Enter node that takes it, or
    the output of one Enter node for the gradient through that node alone.
    """

    source: Tensor
    name: Tensor

    def enters_by(self, enter: Operation) -> bool:
        """Whether the gradient counts what flows through an Enter node."""
        return enter.takes[0] is self.source and (self.name is self.source or self.name is enter.outputs[0])


class Record(NamedTuple):
    """What a gradient needs to run a loop again.

    `steps` are bounds of the trip counts of the loop and of its inner loops, `counters` the counters of its random operations.
    """

    steps: Tensor
    counters: Tensor


Known = dict[Tensor, NDArray]
IsStatic = Callable[[Tensor], bool]
MakePart = Callable[[list[Node], list[Tensor], Known, Container[Tensor]], tuple[tuple[Item, ...], Known]]
"""(nodes of the condition or the body, its results, known values, fed tensors) -> (items, known values including folded ones)."""


class Building(NamedTuple):
    """Arguments that are the same for the items of all loops of a run."""

    make_part: MakePart
    fed: Container[Tensor]
    derivatives: Derivatives


class LoopProgram:
    """The condition and the body of one loop, and what is known before it runs; immutable once made.

    Attributes:
      variables: the loop variables that change.
      constants: the Enter nodes of loop-invariant values: captured tensors, and loop variables that the body returns unchanged.
      aliases: the tensors inside that have the value of such an unchanged loop variable -> its Enter node.
      known: values of tensors inside that are known before the run.
      condition_items, body_items: the items of one iteration.
      shared: tensors that the condition computes and the body uses.
      inner: the loops inside. records: the tensors that tell gradients how this loop ran.
      reads, writes: the variables (of the session) that operations inside read and write.
      obstacle: why this loop cannot be compiled whatever the run is, or "".
      constant_tensors: the outer tensors that must be NumPy values when it is compiled.
    """

    def __init__(self, loop: Loop, records: Sequence[Record], known: Known, building: Building) -> None:
        # The name scope of the loop, as users know it: "while/Merge" -> "loop of while".
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
        """Separates the loop variables that change from loop-invariant values."""
        self.variables: list[Variable] = []
        # A tensor that enters for operations which this run does not need, as a string, is no input of the loop.
        taken = {t for op in loop.all_members() for t in op.takes}
        self.enters = [op for op in loop.enters if op.outputs[0] in taken]
        self.constants: list[Operation] = [op for op in self.enters if op.attrs["is_constant"]]
        self.aliases: dict[Tensor, Operation] = {}
        self._variable_of: dict[Tensor, Variable] = {}
        changing = set()
        for v in loop.variables():
            inside = self.names_inside(v)
            # A body that returns a variable as it came (through Identity nodes at most) makes it loop-invariant: the backward pass
            # then keeps one copy of it, not one for each iteration.
            if behind_identity(v.following) in inside:
                self.constants.append(v.enter)
                self.aliases.update(dict.fromkeys(inside, v.enter))
            else:
                self.variables.append(v)
                self._variable_of.update(dict.fromkeys(inside, v))
            changing.add(v.enter)
        self.constants += [op for op in self.enters if op not in changing and op not in self.constants]

    def _fold_inside(self, loop: Loop, known: Known) -> Known:
        """Constant folding inside the loop: adds to `known` the values of invariants, and of the operations that depend on these alone."""
        values = dict(known)
        for enter in self.constants:
            value = known.get(enter.takes[0])
            if value is not None and np.size(value) <= MAX_ENTERING_ELEMENTS:
                values[enter.outputs[0]] = value
        values.update({t: values[e.outputs[0]] for t, e in self.aliases.items() if e.outputs[0] in values})
        return fold(loop.members, set(), values)

    def _make_parts(self, loop: Loop, building: Building) -> None:
        """Makes the items of the condition and of the body."""
        make_part, fed = building.make_part, building.fed
        # The nodes that route values between iterations have no items: the drivers do what they do. Inner loops become items.
        routing = {v.merge for v in loop.variables()} | {v.switch for v in loop.variables()} | loop.handed_on()
        own = [op for op in loop.members if not (op in routing or op.type in ENTER | EXIT | NEXT_ITERATION or op is self.condition)]
        nodes = collapse(own, loop.children, self.known, building)
        owner = {op: node for node in nodes if isinstance(node, Item) for op in node.stands_for}
        # The graph does not say which nodes are the condition and which the body. The condition is what LoopCond depends on; the
        # body may take tensors of it, which are then computed once.
        in_condition = _ancestors(self.condition.takes[0], nodes, owner) if self.condition is not None else set()
        conditional = [n for n in nodes if n in in_condition]
        rest = [n for n in nodes if n not in in_condition]
        # `shared`: tensors of the condition that the body uses, or returns as the next value of a loop variable.
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
        """(obstacle, constant tensors): the outer tensors that must be NumPy values, or why an input that must be one cannot be.

        Kernels take some inputs as NumPy values (shapes, axes). Inside a loop such an input must be derived from loop-invariant values.
        """
        needed: set[Tensor] = set()
        # The gradient of an inner loop needs the bound of its trip count when it is compiled, if it can be computed from invariants.
        for loop in self.inner:
            if loop.wrts:
                needed.update(*(self.static_needs(t) or () for needs in loop.program.chosen_needs(self._is_static) for t in needs))
        # Each input that must be a NumPy value is traced back to the invariants that it is computed from.
        for item in (*self.condition_items, *self.body_items):
            for flat in opened(item):
                if isinstance(flat, RoutedItem):
                    return f"the host chooses what of it runs: {flat.name}", set()
                for position in self._constants_of(flat):
                    tensor = flat.takes[position]
                    needs = self.static_needs(tensor)
                    if needs is None:
                        return f"{flat.name} needs the value of {tensor.name} when it is compiled, but it can change in each iteration", set()
                    needed |= needs
        return "", needed

    def _constants_of(self, item: Item) -> frozenset[int]:
        """The positions of an item's inputs that must be NumPy values when it is compiled."""
        if isinstance(item, LoopGradientItem):
            return item.constants_where(item.loop.program.must_count(self._is_static))
        return item.constants

    # ---- queries of the other stages ----

    @staticmethod
    def names_inside(variable: Variable) -> list[Tensor]:
        """The tensors inside the loop that hold the value of a loop variable: the outputs of its Merge and of its Switch."""
        return [variable.merge.outputs[0]] + ([variable.switch.outputs[1]] if variable.switch is not None else [])

    @staticmethod
    def entering(exit: Operation) -> Operation:
        """The Enter node of the loop variable that an Exit node returns."""
        return leaving(exit)[-1].takes[0].op.takes[0].op

    @property
    def randoms(self) -> list[Operation]:
        """The random operations inside, including those of inner loops."""
        return [op for op in self.operations if op.spec.effects.random]

    def changing_reads(self) -> dict[Tensor, Operation]:
        """Reads of refs that enter as invariants, of variables that the loop writes -> the handle operation.

        In 1.15 the read of a ref variable shares the variable's buffer, so it sees the writes of all iterations.
        """
        written = {variable_key(v) for v in self.writes}
        reads = {e.outputs[0]: read for e in self.constants if (read := shared_read(e.takes[0])) is not None}
        variables = {t: variable_op(read.takes[0]) for t, read in reads.items()}
        return {t: v for t, v in variables.items() if v is not None and variable_key(v) in written}

    def why_not_compiled(self, findings: Collection[Finding], facts: Facts) -> str:
        """Why this loop cannot be compiled into one program, or "".

        Args:
          findings: what earlier traces have found out about the graph. facts: tells whether the run has a time limit.
        """
        if Finding(Kind.HOST_DRIVES, self.condition) in findings:
            return "a loop variable changes its shape, or the body cannot be traced with the shapes of a run"
        is_unbounded = self.condition is not None and next(self._bound_needs(), None) is None
        if is_unbounded and facts.has_time_limit():
            return "the run has a time limit, and the number of iterations has no known bound"
        if any(host_chooses(item, findings) for item in (*self.condition_items, *self.body_items)):
            return "the result shapes of a conditional inside depend on its predicate"
        return self.obstacle or next(filter(None, (loop.program.why_not_compiled(findings, facts) for loop in self.inner)), "")

    def static_needs(self, tensor: Tensor) -> set[Tensor] | None:
        """The outer tensors that must be NumPy values so that `tensor`, which is inside, is one; None if it can change in each iteration."""
        if tensor in self.known:
            return set()
        op = tensor.op
        if tensor in self.aliases or (op.type in ENTER and op in self.constants):
            return {self.aliases.get(tensor, op).takes[0]}
        if tensor in self._variable_of:
            return None
        # Depth-first through the operations that compute `tensor`. Those that fold pass the question on to their inputs; the size of a
        # TensorArray and a Switch have no kernel to fold, but their values follow from other tensors.
        if is_length(op):
            return self._length_needs(op)
        if op.type in SWITCH:
            return self.static_needs(op.takes[0])
        if not op.takes or not can_fold(op) or op.type in ENTER:
            return None
        needs: set[Tensor] = set()
        for i, t in enumerate(op.takes):
            if i not in op.spec.shape_only_positions:
                inner = self.static_needs(t)
                if inner is None:
                    return None
                needs |= inner
        return needs

    def _length_needs(self, op: Operation) -> set[Tensor] | None:
        """`static_needs` of the size of a TensorArray that is made inside the loop."""
        length = fixed_length(op) if op.takes[0].op.type not in FORWARDS_HANDLE else None
        return None if length is None else self.static_needs(length)

    def _is_static(self, tensor: Tensor) -> bool:
        return self.static_needs(tensor) is not None

    # ---- bounds of the trip count ----
    #
    # A loop has a static bound if its condition is a conjunction with a comparison `counter < limit` (or <=, >, >=, on either side), where
    # the body adds a known nonzero integer to the counter towards the limit, and start and limit are known when the loop is compiled.

    def must_count(self, is_static: IsStatic) -> bool:
        """Whether a gradient needs the trip count that this or an inner loop had in the run, as no bound is known when it is compiled.

        Args:
          is_static: whether an outer tensor is a NumPy value when the gradient is compiled.
        """
        is_bounded = any(all(is_static(t) for t in needs) for needs in self._bound_needs())
        return any([loop.program.must_count(self._inside(is_static)) for loop in self.inner]) or not is_bounded

    def _inside(self, is_static: IsStatic) -> IsStatic:
        """`is_static` for the tensors inside the loop, given that for the tensors outside."""

        def is_static_inside(tensor: Tensor) -> bool:
            needs = self.static_needs(tensor)
            return needs is not None and all(map(is_static, needs))

        return is_static_inside

    def chosen_needs(self, is_static: IsStatic) -> list[set[Tensor]]:
        """The outer tensors that bound the trip counts if they are NumPy values: a set for this loop and one for each inner loop.

        Empty where the trip counts of the run are needed (`must_count`).
        """
        if self.must_count(is_static):
            return []
        return [*list(self._bound_needs())[:1], *[needs for loop in self.inner for needs in loop.program.chosen_needs(self._inside(is_static))]]

    def _bound_needs(self) -> Iterator[set[Tensor]]:
        """For each comparison that bounds the trip count, the outer tensors that its start and limit depend on."""
        # A limit may itself be computed inside, from invariants.
        for comparison in self._conjuncts():
            counter = self._counter(comparison)
            if counter is not None:
                variable, limit, _, _ = counter
                needs = self.static_needs(limit)
                if needs is not None:
                    yield needs | {variable.enter.takes[0]}

    def _conjuncts(self) -> list[Operation]:
        """The operations whose logical conjunction is the condition."""
        if self.condition is None:
            return []
        conjuncts, pending = [], [self.condition.takes[0]]
        while pending:
            op = behind_identity(pending.pop()).op
            if op.spec.facts.conjoins:
                pending.extend(op.takes)
            else:
                conjuncts.append(op)
        return conjuncts

    def _counter(self, op: Operation) -> tuple[Variable, Tensor, int, bool] | None:
        """(variable, limit, step, whether the limit is inclusive) of a comparison between a counter and its limit, else None."""
        if op.spec.facts.compares is None:
            return None
        sign, closed = op.spec.facts.compares
        # `limit > counter` is `counter < limit`. A step away from the limit bounds nothing.
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
        """The scalar bool that LoopCond takes. Raises RuntimeError where the loop has no LoopCond."""
        if self.condition is None:
            raise RuntimeError(f"{self.name} has no LoopCond node, so it has no predicate")
        return self.condition.takes[0]

    def step(self, variable: Variable) -> int | None:
        """The known integer that each iteration adds to a loop variable, or None where it is no such counter."""
        # i + c, c + i or i - c with a known scalar integer c. Floats are no counters, as their steps are rounded.
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
        """(upper bound of the number of iterations or None, whether it is the exact number).

        Args:
          lookup: the value of an outer tensor; anything but a NumPy value counts as unknown.
        """
        # The bound is exact only if every conjunct is a counter with known start and limit.
        bounds, exact = [], True
        for comparison in self._conjuncts():
            counter = self._counter(comparison)
            count = None if counter is None else self._count(counter, lookup)
            if count is None:
                exact = False
            else:
                bounds.append(count)
        return (min(bounds), exact) if bounds else (None, False)

    def _count(self, counter: tuple[Variable, Tensor, int, bool], lookup: Callable[[Tensor], Any]) -> int | None:
        """How often a counter's comparison holds, None where start or limit is unknown."""
        variable, limit_tensor, step, closed = counter
        start, limit = lookup(variable.enter.takes[0]), self._evaluate(limit_tensor, lookup)
        if not (_is_known(start) and _is_known(limit)) or start.ndim or limit.ndim:
            return None
        # Iterations until start + n * step reaches the limit: ceil(distance / step), or floor + 1 if the limit is inclusive.
        distance = (int(limit) - int(start)) * (1 if step > 0 else -1)
        return max(0, distance // abs(step) + 1 if closed else -(-distance // abs(step)))

    def _evaluate(self, tensor: Tensor, lookup: Callable[[Tensor], Any]) -> Any:
        """The value of a loop-invariant tensor inside the loop, computed in NumPy; None where it varies or an input is unknown."""
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
            # A kernel that takes only the shape of an input (Shape, Size, Rank) needs no value, so a traced array will do.
            if i in op.spec.shape_only_positions and value is not None:
                value = KnownShape(value.shape, value.dtype)
            elif not _is_known(value):
                return None
            values.append(value)
        return call_numpy_kernel(op, values)[tensor.value_index]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class LoopItem(Item):
    """A loop of a plan. `wrts` are the tensors that the gradient items beside it differentiate it with respect to."""

    program: LoopProgram
    wrts: tuple[Wrt, ...]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class LoopGradientItem(Item):
    """The gradient (vector-Jacobian product) of a loop.

    Attributes:
      loop: the forward loop. record: how that ran.
      exits: results of the loop. grads: their gradients (cotangents).
      wrts: the tensors to differentiate with respect to.
      results: the output tensors for each of `wrts`: the gradient, or the values, indices and perhaps dense shape of IndexedSlices.
      second: the LoopGradientGradient node, if this is the second derivative.
    """

    loop: LoopItem
    record: Record
    exits: tuple[Tensor, ...]
    grads: tuple[Tensor, ...]
    wrts: tuple[Wrt, ...]
    results: tuple[tuple[Tensor, ...], ...]
    second: Operation | None = None

    def constants_where(self, must_count: bool) -> frozenset[int]:
        """The positions of inputs that must be NumPy values: those of the loop, and the trip counts if `must_count`."""
        return self.constants | {self.takes.index(self.record.steps)} if must_count else self.constants


def _loop_item(
    loop: Loop, serving: Sequence[Operation], records: Sequence[Record], wrts: Iterable[Wrt], known: Known, building: Building
) -> LoopItem:
    """Makes the item of a loop. `serving` are further operations that it replaces: the records and pushes that only gradients use."""
    program = LoopProgram(loop, records, known, building)
    every = loop.all_members()
    mine = frozenset([*every, *serving])
    # Several Enter nodes may take the same tensor; the item takes it once.
    inputs = tuple(dict.fromkeys(op.takes[0] for op in program.enters))
    return LoopItem(
        name=program.name, type="loop", order=max(op.order for op in every), takes=inputs,
        outputs=(*(op.outputs[0] for op in program.exits), *(t for r in records for t in r)),
        waits_for=tuple(dict.fromkeys(c for op in every for c in op.waits_for if c not in mine)),
        operations=program.operations, stands_for=mine,
        reads=(*program.reads, *program.writes), writes=program.writes,  # without an iteration, the value before the loop is the result
        constants=frozenset(i for i, t in enumerate(inputs) if t in program.constant_tensors),
        program=program, wrts=tuple(dict.fromkeys(wrts)),
    )  # fmt: skip


class _Gradient(NamedTuple):
    """The fields of a `LoopGradientItem` before its loop's item is made; from a gradient node, or from a recognized backward loop."""

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
        """Makes the item, given that of the forward loop."""
        takes = tuple(dict.fromkeys((*self.exits, *loop.takes, *self.record, *self.grads, *self.further)))
        # The gradient may run the loop again, so it reads the variables that the loop captures by handle or ref.
        captured = [v for t in loop.takes if t not in fed and (v := variable_op(t)) is not None]
        waits_for = dict.fromkeys(c for op in self.stands_for for c in op.waits_for if c not in self.stands_for and c not in loop.stands_for)
        return LoopGradientItem(
            name=self.name, type="loop gradient", order=self.order, takes=takes, outputs=self.outputs, waits_for=tuple(waits_for),
            operations=self.operations, stands_for=self.stands_for, reads=tuple(captured),
            constants=frozenset(i for i, t in enumerate(takes) if t in loop.program.constant_tensors),
            loop=loop, record=self.record, exits=self.exits, grads=self.grads, wrts=self.wrts, results=self.results, second=self.second,
        )  # fmt: skip


def _gradient_of_node(op: Operation) -> _Gradient:
    """The gradient that a LoopGradient or LoopGradientGradient node computes."""
    captured = op.input_named("captured")
    return _Gradient(
        op.name, op.order, Record(op.input_named("steps"), op.input_named("counters")), tuple(op.input_named("exits")),
        tuple(op.input_named("grads")), tuple(Wrt(captured[i], captured[i]) for i in op.attrs["wanted"]), tuple((t,) for t in op.outputs),
        tuple(op.outputs), (op,), frozenset([op]), op.takes, op if op.type == "LoopGradientGradient" else None,
    )  # fmt: skip


def _gradient_of_loop(backward: Loop, derivative: LoopDerivative) -> _Gradient:
    """The gradient that a backward loop of the graph computes, as far as the run asks for it."""
    members = backward.all_members()
    exits, entries = derivative.exits, derivative.entries
    outputs = tuple(t for entry in entries for t in entry.parts)
    # 1.15's backward loop has no tensors for a Record. These two are not in the graph: outputs 1 and 2 of the node that counts the
    # iterations, int32[loops] and uint32[random operations, 6].
    steps, counters = (Tensor(derivative.counter, i, kind) for i, kind in enumerate((dtypes.int32, dtypes.uint32), 1))
    steps._sizes, counters._sizes = (None,), (None, 6)
    return _Gradient(
        f"gradient of {derivative.counter.name}", max(op.order for op in members), Record(steps, counters), tuple(e.exit for e in exits),
        tuple(e.grad for e in exits),
        tuple(Wrt(entry.enter.takes[0], entry.enter.outputs[0]) for entry in entries), tuple(entry.parts for entry in entries),
        outputs, (outputs[0].op,), frozenset(members),
    )  # fmt: skip


def collapse(ops: Sequence[Operation], loops: list[Loop], known: Known, building: Building) -> list[Node]:
    """Replaces each loop, and each gradient of a loop, by one item.

    Args:
      ops: the operations of a region, outside of its loops. loops: the outermost loops of the region.
      known: values known before the run.

    Returns:
      operations and items in topological order.
    """
    derivatives = building.derivatives
    # A recognized backward loop becomes part of the items of its forward loop, and has none of its own.
    backward = {loop: d for loop in loops if (d := derivatives.of(loop.exits[0])) is not None and not _leaves_forward(loop, d)}
    items: list[Item] = []
    for whole in loops:
        if whole not in backward:
            items += _with_gradients(whole, {loop: d for loop, d in backward.items() if d.exits[0].exit.op in whole.members}, ops, known, building)
    owner = {op: item for item in items for op in item.stands_for}
    return topological([*items, *(op for op in ops if op not in owner and op not in derivatives.idle)], owner=owner)


def _leaves_forward(loop: Loop, derivative: LoopDerivative) -> bool:
    """Whether a loop has nodes of the forward loop of a derivative."""
    return any(op in derivative.forward for op in loop.members)


def _with_gradients(
    whole: Loop, backward: dict[Loop, LoopDerivative], ops: Sequence[Operation], known: Known, building: Building
) -> list[Item]:
    """The items of a loop and of its gradients, which are recognized backward loops (`backward`) or nodes among `ops`."""
    every = whole.all_members()
    # The forward loop of a recognized derivative does not push onto stacks: JAX's vjp keeps the residuals.
    serving = [op for op in every if any(op in d.made for d in backward.values())]
    loop = whole.without(frozenset(serving)) if serving else whole
    mine = set(every)
    records = [op for op in ops if op.type == "LoopRecord" and op.takes[0].op in mine]
    mine.update(records)
    gradients = [_gradient_of_node(op) for op in ops if op.type in GRADIENTS and op not in mine and op.takes[0].op in mine]
    gradients += [_gradient_of_loop(back, derivative) for back, derivative in backward.items()]
    wrts = [wrt for gradient in gradients if gradient.second is None for wrt in gradient.wrts]
    kept = dict.fromkeys([*(Record(*op.outputs) for op in records), *(gradient.record for gradient in gradients)])
    # Second derivatives trace the loop themselves, so the loop item need not prepare gradients for them.
    item = _loop_item(loop, [*serving, *records], list(kept), wrts, known, building)
    return [item, *(gradient.item(item, building.fed) for gradient in gradients)]


def _is_known(value: object) -> bool:
    return isinstance(value, (np.ndarray, np.generic))


def behind_identity(tensor: Tensor) -> Tensor:
    """The tensor that a chain of Identity nodes forwards."""
    while tensor.op.type == "RefIdentity" or is_identity(tensor.op):
        tensor = tensor.op.takes[0]
    return tensor


def loops_of(item: Item) -> Iterator[LoopItem]:
    """The loops of an item: the item itself, or those in the branches of a conditional. Loops inside loops are not among them."""
    for inner in opened(item):
        if isinstance(inner, LoopItem):
            yield inner


def host_chooses(item: Item, findings: Collection[Finding]) -> bool:
    """Whether an item has a conditional whose branches cannot be in one program, as an earlier trace has found."""
    if isinstance(item, LoopItem):
        program = item.program
        return any(host_chooses(i, findings) for i in (*program.condition_items, *program.body_items))
    if isinstance(item, CondItem):
        inside = (i for branch in item.branches.values() for i in branch)
        return Finding(Kind.HOST_CHOOSES, item.predicate) in findings or any(host_chooses(i, findings) for i in inside)
    return False


def opened(item: Item) -> Iterator[Item]:
    """Yields an item, or for a conditional the items in its branches, recursively."""
    if isinstance(item, CondItem):
        for branch in item.branches.values():
            for inner in branch:
                yield from opened(inner)
    else:
        yield item


def _ancestors(tensor: Tensor, nodes: list[Node], owner: dict[Operation, Item]) -> set[Node]:
    """The nodes among `nodes` that a tensor depends on, also by control edges."""
    inside = set(nodes)
    pending = [tensor.op]
    ancestors: set[Node] = set()
    while pending:
        op = pending.pop()
        node = owner.get(op, op)
        if node in inside and node not in ancestors:
            ancestors.add(node)
            pending.extend(t.op for t in node.takes)
            pending.extend(node.waits_for)
    return ancestors
