"""Between fold and partition: branches. Predicates known before the run cut off the branch not taken; the others become
conditional units, one `lax.cond` each.

Loops become one item each first (loop_unit.py). Operations with the same guard that nothing outside consumes yet form one unit, so that forward and backward branches of one
`tf.cond` are two units.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.framework.operation import Operation
from tfcompat._src.framework.tensor import Tensor
from tfcompat._src.ops.control.guards import MERGE, SWITCH, Guard, guards_of, root_predicate, same_reads
from tfcompat._src.ops.control.loop_checks import check_loops
from tfcompat._src.ops.control.loop_ops import ENTER
from tfcompat._src.ops.control.loop_topology import find_loops, left_loops
from tfcompat._src.runtime.fold import fold
from tfcompat._src.runtime.loop_unit import collapse
from tfcompat._src.runtime.lower import truth
from tfcompat._src.runtime.lower_control import CondUnit
from tfcompat._src.runtime.lower_loop import LoopUnit
from tfcompat._src.runtime.variable_state import accesses, variable_key, variable_op

_TELLS_STATUS = frozenset(("IsVariableInitialized", "VarIsInitializedOp"))


def structure(
    ops: list[Operation], fetched: list[Tensor], feeds: dict[Tensor, Any], known: dict[Tensor, np.ndarray]
) -> tuple[list[Any], dict[Tensor, np.ndarray], dict[Tensor, Guard]]:
    """The items of a plan (operations, loops and conditional units), the known values with those of decided predicates, and the
    guards of fetched tensors that stand in one branch.
    """
    if not any(op.type in SWITCH or op.type in ENTER for op in ops):
        return ops, known, {}
    live, known, guards = _decided(_with_loops(ops, known), fetched, feeds, known)
    guarded = {t: guards[t] for t in fetched if guards.get(t)}
    known = {t: v for t, v in known.items() if t not in guarded}
    return _in_units(live, [*fetched, *predicates_of(guarded)], guards), known, guarded


def predicates_of(guarded: dict[Tensor, Guard]) -> list[Tensor]:
    """The predicates that say whether fetched tensors have values."""
    return list(dict.fromkeys(p for guard in guarded.values() for p, _ in guard))


def _with_loops(ops: list[Operation], known: dict[Tensor, np.ndarray]) -> list[Any]:
    """`ops` with one item in place of each outermost loop and of each gradient of one."""
    outermost, loop_of = find_loops(ops)
    check_loops(outermost, loop_of)
    loops = left_loops(outermost)
    return collapse(ops, loops, known, _grouped, LoopUnit) if loops else ops


def _grouped(items: list[Any], wanted: list[Tensor], known: dict[Tensor, np.ndarray]) -> tuple[list[Any], dict[Tensor, np.ndarray]]:
    """The items of one part of a loop, with conditional units."""
    if not any(i.type in SWITCH for i in items):
        return items, known
    live, known, guards = _decided(items, wanted, {}, known)
    return _in_units(live, wanted, guards), known


def _decided(
    ops: list[Any], fetched: list[Tensor], feeds: dict[Tensor, Any], known: dict[Tensor, np.ndarray]
) -> tuple[list[Any], dict[Tensor, np.ndarray], dict[Any, Guard]]:
    """What decided predicates leave, the known values with theirs, and the guards of what is left."""
    decided = fold_with(ops, {t: feeds[t] for t in predicate_feeds(ops, set(feeds))}, set(feeds), known)
    known = {**known, **{t: v for t, v in decided.items() if t.dtype.name == "bool"}}
    live, dead = _without_dead(ops, fetched, known, set(feeds))
    known = {t: v for t, v in known.items() if t not in dead}
    return live, known, guards_of(live, known)


def _in_units(ops: list[Any], wanted: list[Tensor], guards: dict[Any, Guard]) -> list[Any]:
    """`ops` with conditional units in place of what is guarded."""
    guarded = any(guards[t] for op in ops for t in op._outputs) or any(guards[op] for op in ops)
    return _Grouping(ops, guards, wanted).group(ops, frozenset()) if guarded else ops


def predicate_feeds(ops: list[Operation], fed: set[Tensor]) -> list[Tensor]:
    """The fed scalars that alone decide the predicate of a Switch: a plan is made for each of their values."""
    found: dict[Tensor, None] = {}
    for op in ops:
        if op.type in SWITCH:
            leaves = _leaves(op.inputs[1], fed)
            if leaves is not None:
                found.update(dict.fromkeys(leaves))
    return list(found)


def asked_status(ops: list[Operation], fed: set[Tensor]) -> list[tuple[Tensor, str]]:
    """The tensors that tell whether a variable has a value, with its key, where no operation of the run changes that: a plan is
    made for each answer.
    """
    asking = [op for op in ops if op.type in _TELLS_STATUS and op._outputs[0] not in fed]
    if not asking or any(op.type == "DestroyResourceOp" for op in ops):
        return []
    changed: set[str] = set()
    for op in ops:
        reads, writes = accesses(op)
        changed.update(variable_key(v) for v in writes if v not in reads)
    found = [(op._outputs[0], variable_op(op._inputs[0])) for op in asking]
    return [(t, variable_key(v)) for t, v in found if v is not None and variable_key(v) not in changed]


def _leaves(tensor: Tensor, fed: set[Tensor], depth: int = 16) -> list[Tensor] | None:
    """The fed scalars that determine `tensor` through NumPy twins, or None where something else does."""
    if tensor in fed:
        return [tensor] if tensor._sizes in ((), None) else None
    op = tensor.op
    if op.type == "Const":
        return []
    if op.spec.numpy_kernel is None or op.spec.effects.is_stateful or not op.inputs or not depth:
        return None
    found: list[Tensor] = []
    for t in op.inputs:
        leaves = _leaves(t, fed, depth - 1)
        if leaves is None:
            return None
        found.extend(leaves)
    return found


def fold_with(ops: list[Operation], values: dict[Tensor, Any], fed: set[Tensor], known: dict[Tensor, np.ndarray]) -> dict[Tensor, np.ndarray]:
    """Known values when also these feeds are known."""
    return fold(ops, fed - set(values), {**known, **{t: np.asarray(v) for t, v in values.items()}}) if values else known


def _without_dead(
    ops: list[Operation], fetched: list[Tensor], known: dict[Tensor, np.ndarray], fed: set[Tensor]
) -> tuple[list[Operation], set[Any]]:
    """The operations that decided predicates leave and that are still needed; and what can have no value."""
    dead: set[Any] = set()
    guards = guards_of(ops)
    for op in ops:
        if op.type not in MERGE and _contradicts(guards[op]):
            dead.update((op, *op.outputs))
        elif op.type in MERGE:
            if all(t in dead for t in op._inputs):
                dead.update((op, *op.outputs))
        elif any(t in dead for t in op._inputs) or any(c in dead for c in op._control_inputs):
            dead.update((op, *op.outputs))
        elif op.type in SWITCH and op.inputs[1] in known:
            dead.add(op.outputs[0 if bool(truth(op.inputs[1], known[op.inputs[1]])) else 1])
        dead.update(t for t in op.outputs if _contradicts(guards[t]))
    if not dead:
        return ops, dead
    targets = [op for op in ops if op not in dead]
    needed = _still_needed(targets, dead, fetched, fed, ops)
    return [op for op in targets if op in needed], dead


def _contradicts(guard: Guard) -> bool:
    """Whether a guard asks for both values of a predicate."""
    return len({p for p, _ in guard}) < len(guard)


def _still_needed(live: list[Operation], dead: set[Any], fetched: list[Tensor], fed: set[Tensor], ops: list[Operation]) -> set[Operation]:
    owner = {t.op: op for op in ops for t in op._outputs}
    consumed = {owner.get(t.op) for op in ops for t in op._inputs} | {owner.get(c, c) for op in ops for c in op._control_inputs}
    pending = [op for op in live if op not in consumed] + [t.op for t in fetched if t not in fed and t.op not in dead]
    needed: set[Operation] = set()
    while pending:
        op = pending.pop()
        op = owner.get(op, op)
        if op not in needed and op not in dead:
            needed.add(op)
            pending.extend(t.op for t in op._inputs if t not in fed and t not in dead)
            pending.extend(op._control_inputs)
    return needed


class _Grouping:
    """Turns operations into items, level by level of nesting; knows all consumers of a tensor."""

    def __init__(self, ops: list[Operation], guards: dict[Any, Guard], fetched: list[Tensor]) -> None:
        self.guards = guards
        self.fetched = set(fetched)
        self.consumers: dict[Tensor, list[Operation]] = {}
        self.predicate_of: dict[Operation, Tensor] = {}
        same = same_reads(ops)
        for op in ops:
            for t in op._inputs:
                self.consumers.setdefault(t, []).append(op)
            if op.type in SWITCH:
                self.predicate_of[op] = root_predicate(op.inputs[1], same)
                self.consumers.setdefault(self.predicate_of[op], []).append(op)

    def is_used_outside(self, tensor: Tensor, members: set[Operation]) -> bool:
        return tensor in self.fetched or any(op not in members for op in self.consumers.get(tensor, ()))

    def group(self, ops: list[Operation], base: Guard) -> list[Any]:
        """Items at one level: operations whose guard is `base`, and units of the deeper ones."""
        items: dict[Any, None] = {}
        open_units: dict[Tensor, CondUnit] = {}
        owner: dict[Operation, CondUnit] = {}
        for op in ops:
            predicate = _unit_predicate(op, self.guards, base)
            unit = open_units.get(predicate) if predicate is not None else None
            _close_consumed(op, owner, open_units, keep=unit)
            if predicate is None:
                items[op] = None
                continue
            if unit is None:
                unit = open_units[predicate] = CondUnit(predicate)
            items.pop(unit, None)
            items[unit] = None
            unit.add(op, self.guards)
            owner[op] = unit
        for unit in items:
            if isinstance(unit, CondUnit):
                unit.finish(self, base)
        return list(items)


def _unit_predicate(op: Operation, guards: dict[Any, Guard], base: Guard) -> Tensor | None:
    """The outermost undecided predicate that an operation stands under beyond those of `base`, or None."""
    decided = {p for p, _ in base}
    extra = guards[op] - base
    if op.type in MERGE:
        extra = frozenset().union(*(guards[t] for t in op._inputs if t in guards)) - base
    elif op.type in SWITCH and not extra:
        extra = (guards[op.outputs[0]] | guards[op.outputs[1]]) - base
    undecided = {p for p, _ in extra} - decided
    if not undecided:
        return None
    return min(undecided, key=lambda p: (len(guards.get(p, ())), p.op._id))


def _close_consumed(op: Operation, owner: dict[Operation, CondUnit], open_units: dict[Tensor, CondUnit], keep: CondUnit | None = None) -> None:
    """A unit takes no more members once something outside uses it, or touches state."""
    touches_state = op.spec.effects.is_stateful or op.spec.effects.reads or op.spec.effects.writes
    used = {owner[s] for s in (*[t.op for t in op._inputs], *op._control_inputs) if s in owner}
    for predicate, unit in list(open_units.items()):
        if unit is not keep and (unit in used or touches_state):
            del open_units[predicate]
