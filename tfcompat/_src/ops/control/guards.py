"""Guards: under which values of which predicates an operation runs, told from Switch and Merge nodes.

A guard is a set of (predicate, value). Switch adds to it, Merge takes away.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.ordering import topological
from tfcompat._src.graph.tensor import Tensor

SWITCH = frozenset(("Switch", "RefSwitch"))
MERGE = frozenset(("Merge", "RefMerge"))
SELECT = "RefSelect"
"""The op type that hands on one of several refs, by an index."""
CONTROL_TRIGGER = "ControlTrigger"
"""The op type that runs also where what it waits for does not."""
Guard = frozenset[Any]


def guards_of(ops: Iterable[Any], known: Collection[Tensor] = (), dead: Collection[object] = ()) -> dict[Any, Guard]:
    """The guard of each operation and of each output. `ops`: sources first. `known`: predicates that are decided. `dead`: tensors without a value.

    That of a Merge is exact where `is_joint` holds; any other may be dead although its guard holds.
    """
    ops = list(ops)
    same = same_reads(ops)
    guards: dict[Any, Guard] = {}
    none: Guard = frozenset()
    for op in ops:
        sources = [guards.get(t, none) for t in op.takes]
        if op.type in MERGE:
            present = [guards.get(t, none) for t in op.takes if t not in dead]
            guard = frozenset.intersection(*present) if present else none
        else:
            guard = none.union(*sources, *(guards.get(c, none) for c in op.waits_for if op.type != CONTROL_TRIGGER))
        guards[op] = guard
        if not isinstance(op, Operation):
            guards.update(dict.fromkeys(op.stands_for, guard))
        for i, t in enumerate(op.outputs):
            guards[t] = guard
            if op.type in SWITCH and op.takes[1] not in known:
                guards[t] = guard | {(root_predicate(op.takes[1], same), bool(i))}
    return guards


def is_joint(merge: Any, guards: Mapping[Any, Guard], dead: Collection[object] = ()) -> bool:
    """Whether guards tell when a Merge is alive, and by which input: its live inputs have one guard, or are the two sides of one predicate."""
    of_inputs = [guards.get(t, frozenset()) for t in merge.takes if t not in dead]
    common = frozenset.intersection(*of_inputs)
    rests = [guard - common for guard in of_inputs]
    if not any(rests):
        return True
    return len(rests) == 2 and all(len(rest) == 1 for rest in rests) and len({predicate for rest in rests for predicate, _ in rest}) == 1


def joined_predicate(merge: Any) -> Tensor | None:
    """The predicate of the branches that a Merge of (false side, true side) joins, or None where it joins no two branches."""
    pending, ancestors = [merge], set()
    while pending:
        op = pending.pop()
        if op not in ancestors:
            ancestors.add(op)
            pending.extend([*(t.op for t in op.takes), *op.waits_for])
    guards = guards_of(topological(ancestors))
    if len(merge.takes) != 2:
        return None
    off, on = (guards[t] for t in merge.takes)
    return next((p for p, value in on if value and (p, False) in off), None)


def root_predicate(tensor: Tensor, same: Mapping[Tensor, Tensor] = {}) -> Tensor:
    """The tensor behind Identity nodes and `same_reads`, the read where that is a variable: one predicate has one name in all guards."""
    while tensor.op.type == "Identity" and not tensor.op.inputs[0].dtype._is_ref_dtype:
        tensor = tensor.op.inputs[0]
    return same.get(tensor, tensor)


def same_reads(ops: Iterable[Any]) -> dict[Tensor, Tensor]:
    """The first of the reads of a variable between which nothing is written, for each of the others."""
    first: dict[Tensor, Tensor] = {}
    found = {}
    for op in ops:
        if op.type == "ReadVariableOp" or (op.type == "Identity" and op.takes[0].dtype._is_ref_dtype):
            read = first.setdefault(op.takes[0], op.outputs[0])
            if read is not op.outputs[0]:
                found[op.outputs[0]] = read
        elif not isinstance(op, Operation) or op.spec.effects.writes:
            first.clear()
    return found
