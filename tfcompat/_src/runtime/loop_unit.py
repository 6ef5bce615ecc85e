"""A loop as one item of a plan: its variables, condition, body, and what is known of them before it runs."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Container, Iterator
from typing import Any

import numpy as np

from tfcompat._src.framework import run_limits
from tfcompat._src.framework.constant_value import KnownShape, call_numpy_kernel
from tfcompat._src.framework.operation import Operation
from tfcompat._src.framework.ordering import topological
from tfcompat._src.framework.tensor import Tensor
from tfcompat._src.ops.control.loop_ops import ENTER, EXIT, NEXT_ITERATION
from tfcompat._src.ops.control.loop_topology import Loop, Variable
from tfcompat._src.runtime.fold import can_fold, fold
from tfcompat._src.runtime.lower_control import CHOSEN_BY_HOST, CondUnit, UnitSpec
from tfcompat._src.runtime.variable_state import accesses, is_ref_read, variable_key, variable_op

MAX_ENTERING_ELEMENTS = 1024
CANCELLED = "[_Derived_]Loop execution was cancelled."
SHORT = 1000
"""A compiled loop that is known to go round no more often does not look whether it is to end."""
CHANGES_SHAPE: weakref.WeakSet[Operation] = weakref.WeakSet()
COMPARISONS = {"Less": (1, 0), "LessEqual": (1, 1), "Greater": (-1, 0), "GreaterEqual": (-1, 1)}
Grouping = Callable[[list[Any], list[Tensor], dict[Tensor, np.ndarray]], tuple[list[Any], dict[Tensor, np.ndarray]]]


class LoopItem:
    """One loop of a plan.

    `variables` change from iteration to iteration; `constants` are the Enter nodes of everything else, loop variables that
    keep their value among them (`aliases` says under which names those are known inside). `cond_items` and `body_items` are
    the items of one iteration, `shared` what the body takes from the condition.
    """

    type = "loop"
    spec = UnitSpec
    gradient_types: dict[str, type[LoopGradientItem]]

    def __init__(self, loop: Loop, records: list[Operation], known: dict[Tensor, np.ndarray], group: Grouping) -> None:
        self._loop, self.records = loop, records
        self.condition = loop.condition
        self.exits = loop.exits
        self.name = f"loop of {loop.members[0].name.rpartition('/')[0] or loop.members[0].name}"
        self.gradients: list[Any] = []
        self.tape = object()
        self.has_pullback = self.needs_steps = False
        self.plans: dict[tuple[str, bool], Any] = {}
        self.shapes: dict[str, set[tuple]] = {}
        every = loop.all_members()
        self._operations = [op for op in every if op.type not in ENTER]
        self.stands_for = mine = {*every, *records}
        self._id = max(op._id for op in every)
        self._inputs = list(dict.fromkeys(op._inputs[0] for op in loop.enters))
        self._outputs = [op._outputs[0] for op in self.exits] + [t for r in records for t in r._outputs]
        self._control_inputs = list(dict.fromkeys(c for op in every for c in op._control_inputs if c not in mine))
        self._sort_variables(loop)
        self.known = self._fold_inside(loop, known)
        self._group(loop, group)
        self._blocked, self._constants = self._demands()

    # ---- building ----

    def _sort_variables(self, loop: Loop) -> None:
        self.variables: list[Variable] = []
        self.constants: list[Operation] = [op for op in loop.enters if op._attrs["is_constant"]]
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

    def _fold_inside(self, loop: Loop, known: dict[Tensor, np.ndarray]) -> dict[Tensor, np.ndarray]:
        found = dict(known)
        for enter in self.constants:
            value = known.get(enter._inputs[0])
            if value is not None and np.size(value) <= MAX_ENTERING_ELEMENTS:
                found[enter._outputs[0]] = value
        found.update({t: found[e._outputs[0]] for t, e in self.aliases.items() if e._outputs[0] in found})
        return fold(loop.members, set(), found)

    def _group(self, loop: Loop, group: Grouping) -> None:
        routing = {v.merge for v in loop.variables()} | {v.switch for v in loop.variables()}
        inner = [op for op in loop.members if not (op in routing or op.type in ENTER | EXIT | NEXT_ITERATION or op is self.condition)]
        items = collapse(inner, loop.children, self.known, group, type(self))
        owner = {op: item for item in items if not isinstance(item, Operation) for op in item.stands_for}
        in_condition = _ancestors(self.condition._inputs[0], items, owner) if self.condition is not None else set()
        conditional = [i for i in items if i in in_condition]
        rest = [i for i in items if i not in in_condition]
        made = {t for i in conditional for t in i._outputs}
        self.shared = list(dict.fromkeys(t for i in rest for t in i._inputs if t in made and t not in self.known))
        self.shared += [v.following for v in self.variables if v.following in made and v.following not in self.shared]
        if self.condition is None:
            self.cond_items, wanted = [], [op._inputs[0] for op in self.exits]
        else:
            self.cond_items, self.known = group(conditional, [self.condition._inputs[0], *self.shared], self.known)
            wanted = [v.following for v in self.variables]
        self.body_items, self.known = group(rest, wanted, self.known)
        self.loops = [unit for item in (*self.cond_items, *self.body_items) for unit in loop_units(item)]

    # ---- what the other stages ask ----

    @staticmethod
    def names_inside(variable: Variable) -> list[Tensor]:
        """The tensors that are the value of a loop variable inside."""
        return [variable.merge._outputs[0]] + ([variable.switch._outputs[1]] if variable.switch is not None else [])

    @staticmethod
    def entering(exit: Operation) -> Operation:
        """The Enter node of the variable that goes out."""
        return exit._inputs[0].op._inputs[0].op._inputs[0].op

    @property
    def inputs(self) -> list[Tensor]:
        return self._inputs

    @property
    def outputs(self) -> list[Tensor]:
        return self._outputs

    def operations(self) -> list[Operation]:
        """All operations inside, also of inner loops."""
        return self._operations

    def constant_positions(self) -> frozenset[int]:
        """The positions of the inputs that something inside needs as NumPy values."""
        return frozenset(i for i, t in enumerate(self._inputs) if t in self._constants)

    def accesses(self, fed: Container[Tensor] = ()) -> tuple[list[Operation], list[Operation]]:
        """The variables that the loop reads and writes; a written one is also read, since there may be no iteration."""
        reads, writes = [], []
        for op in self._operations:
            r, w = accesses(op, fed)
            reads += r
            writes += w
        return reads + writes, writes

    def changing_reads(self) -> dict[Tensor, Operation]:
        """The reads of refs that enter as constants, of variables that the loop writes: a read is an alias and sees what is written."""
        written = {variable_key(v) for v in self.accesses()[1]}
        reads = {e._outputs[0]: e._inputs[0].op for e in self.constants if is_ref_read(e._inputs[0].op)}
        variables = {t: variable_op(read._inputs[0]) for t, read in reads.items()}
        return {t: v for t, v in variables.items() if v is not None and variable_key(v) in written}

    @property
    def blocked(self) -> str:
        """Why this cannot be compiled as one loop, or ""."""
        if self.condition in CHANGES_SHAPE:
            return "a loop variable changes its shape"
        if run_limits.seconds_left() is not None and self.condition is not None and next(self._bound_needs(), None) is None:
            return "the run has a time limit, and how often the loop runs has none"
        if host_chooses_branch(self):
            return "the shapes of a conditional depend on its predicate"
        return self._blocked or next((u.blocked for u in self.loops if u.blocked), "")

    def _demands(self) -> tuple[str, set[Tensor]]:
        """The outer tensors that must be NumPy values; or why there is no way to have all that must be inside."""
        needed: set[Tensor] = set()
        for unit in self.loops:
            if unit.gradients:
                unit.settle(lambda t: self.static_needs(t) is not None)
                needed.update(*(self.static_needs(t) for needs in unit.chosen_needs() for t in needs))
        for item in (*self.cond_items, *self.body_items):
            for inner in _flat(item):
                for position in inner.constant_positions():
                    tensor = inner._inputs[position]
                    found = self.static_needs(tensor)
                    if found is None:
                        return f"{inner.name} needs {tensor.name} when the loop is compiled", set()
                    needed |= found
        return "", needed

    def static_needs(self, tensor: Tensor) -> set[Tensor] | None:
        """The outer tensors that must be NumPy values so that `tensor` is one inside; None where it changes."""
        if tensor in self.known:
            return set()
        op = tensor.op
        if tensor in self.aliases or (op.type in ENTER and op in self.constants):
            return {self.aliases.get(tensor, op)._inputs[0]}
        if tensor in self._variable_of:
            return None
        if op.type == "TensorArraySizeV3":
            return self._array_needs(op)
        if not op._inputs or not can_fold(op) or op.type in ENTER:
            return None
        found: set[Tensor] = set()
        for i, t in enumerate(op._inputs):
            if i not in op.spec.shape_only_positions:
                inner = self.static_needs(t)
                if inner is None:
                    return None
                found |= inner
        return found

    def _array_needs(self, op: Operation) -> set[Tensor] | None:
        """What the size of a TensorArray made inside the loop hangs on."""
        source = op._inputs[0].op
        if source.type != "TensorArrayV3" or source._attrs["dynamic_size"]:
            return None
        return self.static_needs(source._inputs[0])

    # ---- how many iterations ----

    def settle(self, is_static: Callable[[Tensor], bool]) -> None:
        """Finds out whether the gradient must count the iterations first. `is_static`: a tensor is NumPy when compiled."""
        self.needs_steps = not any(all(is_static(t) for t in needs) for needs in self._bound_needs())
        for unit in self.loops:
            unit.settle(lambda t: (needs := self.static_needs(t)) is not None and all(map(is_static, needs)))

    def chosen_needs(self) -> list[set[Tensor]]:
        """The outer tensors that tell, where they are NumPy values, how often this and each inner loop runs at most."""
        if self.must_count:
            return []
        return [*list(self._bound_needs())[:1], *[needs for u in self.loops for needs in u.chosen_needs()]]

    @property
    def must_count(self) -> bool:
        return self.needs_steps or any(u.must_count for u in self.loops)

    def _bound_needs(self) -> Iterator[set[Tensor]]:
        for comparison in self._conjuncts():
            found = self._counter(comparison)
            if found is not None:
                variable, limit, _, _ = found
                needs = self.static_needs(limit)
                if needs is not None:
                    yield needs | {variable.enter._inputs[0]}

    def _conjuncts(self) -> list[Operation]:
        if self.condition is None:
            return []
        found, pending = [], [self.condition._inputs[0]]
        while pending:
            op = behind_identity(pending.pop()).op
            if op.type == "LogicalAnd":
                pending.extend(op._inputs)
            else:
                found.append(op)
        return found

    def _counter(self, op: Operation) -> tuple[Variable, Tensor, int, bool] | None:
        """(variable, limit, step, whether the limit counts) of a comparison between a counter and its limit."""
        if op.type not in COMPARISONS:
            return None
        sign, closed = COMPARISONS[op.type]
        for side, direction in ((0, sign), (1, -sign)):
            variable = self._variable_of.get(behind_identity(op._inputs[side]))
            step = self.step(variable) if variable is not None else None
            if step is not None and step * direction > 0:
                return variable, op._inputs[1 - side], step, bool(closed)
        return None

    def step(self, variable: Variable) -> int | None:
        """What a counter grows by in each iteration, or None where it is no counter."""
        op = behind_identity(variable.following).op
        if op.type not in ("Add", "AddV2", "Sub") or not op._outputs[0]._dtype.is_integer:
            return None
        for side in (0, 1) if op.type != "Sub" else (0,):
            step = self.known.get(op._inputs[1 - side])
            if self._variable_of.get(behind_identity(op._inputs[side])) is variable and step is not None and step.ndim == 0:
                return -int(step) if op.type == "Sub" else int(step)
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
        start, limit = lookup(variable.enter._inputs[0]), self.evaluate(limit_tensor, lookup)
        if not (_is_known(start) and _is_known(limit)) or start.ndim or limit.ndim:
            return None
        distance = (int(limit) - int(start)) * (1 if step > 0 else -1)
        return max(0, distance // abs(step) + 1 if closed else -(-distance // abs(step)))

    def evaluate(self, tensor: Tensor, lookup: Callable[[Tensor], Any]) -> Any:
        """The value inside of a tensor that does not change, as far as it is known now; else None."""
        if tensor in self.known:
            return self.known[tensor]
        op = tensor.op
        if tensor in self.aliases or (op.type in ENTER and op in self.constants):
            return lookup(self.aliases.get(tensor, op)._inputs[0])
        if tensor in self._variable_of or not op._inputs or not can_fold(op) or op.type in ENTER:
            return None
        values = []
        for i, t in enumerate(op._inputs):
            value = self.evaluate(t, lookup)
            if i in op.spec.shape_only_positions and value is not None:
                value = KnownShape(value.shape, value.dtype)
            elif not _is_known(value):
                return None
            values.append(value)
        return call_numpy_kernel(op, values)[tensor.value_index]


class LoopGradientItem:
    """A LoopGradient or LoopGradientGradient operation together with the loop that it differentiates."""

    type = "loop gradient"
    spec = UnitSpec

    def __init__(self, op: Operation, unit: LoopItem) -> None:
        self.op, self.unit, self.stands_for = op, unit, {op}
        self.name, self._id = op.name, op._id
        self.inputs = self._inputs = op._inputs
        self.outputs = self._outputs = op._outputs
        self._control_inputs = op._control_inputs
        unit.gradients.append(self)

    def operations(self) -> list[Operation]:
        return [self.op]

    def constant_positions(self) -> frozenset[int]:
        """The steps where the loop has no known bound, and what the loop itself needs."""
        found = {i for i, t in enumerate(self._inputs) if t in self.unit._constants}
        if self.unit.must_count:
            found.add(self._inputs.index(self.op.input_named("steps")))
        return frozenset(found)

    def accesses(self, fed: Container[Tensor] = ()) -> tuple[list[Operation], list[Operation]]:
        return [v for t in self.op.input_named("captured") if t not in fed and (v := variable_op(t)) is not None], []


def collapse(ops: list[Operation], loops: list[Loop], known: dict[Tensor, np.ndarray], group: Grouping, unit: type[LoopItem]) -> list[Any]:
    """`ops` in order, with one item in place of each of `loops` and of each gradient of one."""
    units = []
    unit_of: dict[Operation, LoopItem] = {}
    for loop in loops:
        mine = set(loop.all_members())
        records = [op for op in ops if op.type == "LoopRecord" and op._inputs[0].op in mine]
        units.append(unit(loop, records, known, group))
        unit_of.update(dict.fromkeys(units[-1].stands_for, units[-1]))
    found: list[Any] = list(units)
    owner: dict[Operation, Any] = dict(unit_of)
    for op in ops:
        if op.type in unit.gradient_types and op not in unit_of:
            owner[op] = unit.gradient_types[op.type](op, unit_of[op._inputs[0].op])
            found.append(owner[op])
        elif op not in unit_of:
            found.append(op)
    return topological(found, owner=owner)


def _is_known(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic))


def behind_identity(tensor: Tensor) -> Tensor:
    """The tensor that Identity nodes pass on."""
    while tensor.op.type in ("Identity", "RefIdentity"):
        tensor = tensor.op._inputs[0]
    return tensor


def loop_units(item: Any) -> Iterator[LoopItem]:
    """The loops of an item: itself, or those in the branches of a cond."""
    if isinstance(item, LoopItem):
        yield item
    elif isinstance(item, CondUnit):
        for branch in item.branches.values():
            for inner in branch:
                yield from loop_units(inner)


def host_chooses_branch(item: Any) -> bool:
    """Whether the result shapes of a conditional in an item depend on its predicate."""
    if isinstance(item, LoopItem):
        return any(map(host_chooses_branch, (*item.cond_items, *item.body_items)))
    if isinstance(item, CondUnit):
        return item.predicate in CHOSEN_BY_HOST or any(host_chooses_branch(i) for branch in item.branches.values() for i in branch)
    return False


def _flat(item: Any) -> Iterator[Any]:
    """An item, and the items in the branches of a cond."""
    if isinstance(item, CondUnit):
        for branch in item.branches.values():
            for inner in branch:
                yield from _flat(inner)
    else:
        yield item


def _ancestors(tensor: Tensor, items: list[Any], owner: dict[Operation, Any]) -> set[Any]:
    """The items that a tensor hangs on."""
    inside = set(items)
    pending = [tensor.op]
    found: set[Any] = set()
    while pending:
        op = pending.pop()
        item = owner.get(op, op)
        if item in inside and item not in found:
            found.add(item)
            pending.extend(t.op for t in item._inputs)
            pending.extend(item._control_inputs)
    return found
