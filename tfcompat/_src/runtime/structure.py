"""Between fold and partition: operations become items. Loops become one item each first (loop_program.py). Of branches, predicates
that are known before the run cut off the one not taken; the others become conditional items, one `lax.cond` each.

Operations with the same guard that nothing outside consumes yet form one item, so that forward and backward branches of one
`tf.cond` are two items.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.graph.constant_value import is_constant
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control.guards import (
    CONTROL_TRIGGER,
    MERGE,
    SWITCH,
    Guard,
    guards_of,
    root_predicate,
    same_reads,
)
from tfcompat._src.ops.control.loop_checks import check_loops
from tfcompat._src.ops.control.loop_ops import ENTER
from tfcompat._src.ops.control.loop_topology import find_loops, left_loops
from tfcompat._src.runtime.cond_item import CondItem
from tfcompat._src.runtime.derivatives import NONE, Derivatives
from tfcompat._src.runtime.fold import fold
from tfcompat._src.runtime.item import Item, Node, accesses_of, as_items, constants_of, operations_of
from tfcompat._src.runtime.loop_program import Building, collapse
from tfcompat._src.runtime.lower import truth
from tfcompat._src.runtime.variable_state import accesses, variable_key, variable_op


@dataclass(frozen=True)
class Structure:
    """The items of a plan, the known values with those of decided predicates, and the guards of fetched tensors that stand in one
    branch.
    """

    items: Sequence[Item]
    known: dict[Tensor, NDArray]
    guarded: dict[Tensor, Guard] = field(default_factory=dict)

    @property
    def predicates(self) -> list[Tensor]:
        """The predicates that say whether fetched tensors have values."""
        return list(dict.fromkeys(p for guard in self.guarded.values() for p, _ in guard))


def structure(
    ops: list[Operation], fetched: list[Tensor], fed: set[Tensor], deciding: Mapping[Tensor, Any], known: dict[Tensor, NDArray],
    derivatives: Derivatives = NONE,
) -> Structure:  # fmt: skip
    """The items of a run of `ops`, sources first.

    Args:
      fetched: what must come out. fed: what comes in. deciding: values of fed tensors that may decide predicates.
      known: what has a value before the run. derivatives: the loops that are derivatives of others.
    """
    if not any(op.type in SWITCH or op.type in ENTER for op in ops):
        return Structure(as_items(ops, fed), known)
    nodes, known, guards = _decided(_with_loops(ops, known, Building(_part, fed, derivatives)), fetched, fed, deciding, known)
    guarded = {t: guards[t] for t in fetched if guards.get(t)}
    found = Structure((), {t: v for t, v in known.items() if t not in guarded}, guarded)
    return Structure(_in_items(nodes, [*fetched, *found.predicates], guards, fed), found.known, guarded)


def _with_loops(ops: list[Operation], known: dict[Tensor, NDArray], building: Building) -> list[Node]:
    """`ops` with one item in place of each outermost loop and of each gradient of one."""
    outermost, loop_of = find_loops(ops)
    check_loops(outermost, loop_of)
    loops = left_loops(outermost)
    return collapse(ops, loops, known, building) if loops else list(ops)


def _part(
    nodes: list[Node], wanted: list[Tensor], known: dict[Tensor, NDArray], fed: Container[Tensor]
) -> tuple[tuple[Item, ...], dict[Tensor, NDArray]]:
    """One part of a loop, its condition or its body, with conditional items."""
    if not any(n.type in SWITCH for n in nodes):
        return as_items(nodes, fed), known
    live, known, guards = _decided(nodes, wanted, set(), {}, known)
    return _in_items(live, wanted, guards, fed), known


def _decided(
    nodes: list[Node], fetched: list[Tensor], fed: set[Tensor], deciding: Mapping[Tensor, Any], known: dict[Tensor, NDArray]
) -> tuple[list[Node], dict[Tensor, NDArray], dict[Any, Guard]]:
    """What decided predicates leave, the known values with theirs, and the guards of what is left."""
    decided = _fold_with(nodes, {t: deciding[t] for t in predicate_feeds(nodes, set(deciding))}, fed, known)
    known = {**known, **{t: v for t, v in decided.items() if t.dtype.name == "bool"}}
    live, dead = _without_dead(nodes, fetched, known, fed)
    known = {t: v for t, v in known.items() if t not in dead}
    return live, known, guards_of(live, known)


def _in_items(nodes: list[Node], wanted: list[Tensor], guards: dict[Any, Guard], fed: Container[Tensor]) -> tuple[Item, ...]:
    """The items of nodes, with conditional ones in place of what is guarded."""
    guarded = any(guards[t] for n in nodes for t in n.outputs) or any(guards[n] for n in nodes)
    return _Grouping(nodes, guards, wanted, fed).group(nodes, frozenset()) if guarded else as_items(nodes, fed)


def predicate_feeds(nodes: Iterable[Node], fed: set[Tensor]) -> list[Tensor]:
    """The fed scalars that alone decide the predicate of a Switch: a plan is made for each of their values."""
    found: dict[Tensor, None] = {}
    for node in nodes:
        if node.type in SWITCH:
            leaves = _leaves(node.takes[1], fed)
            if leaves is not None:
                found.update(dict.fromkeys(leaves))
    return list(found)


def asked_status(ops: list[Operation], fed: set[Tensor]) -> list[tuple[Tensor, str]]:
    """The tensors that tell whether a variable has a value, with its key, where no operation of the run changes that: a plan is
    made for each answer.
    """
    asking = [op for op in ops if op.spec.facts.tells_status and op.outputs[0] not in fed]
    if not asking or any(op.spec.facts.forgets for op in ops):
        return []
    changed: set[str] = set()
    for op in ops:
        reads, writes = accesses(op)
        changed.update(variable_key(v) for v in writes if v not in reads)
    found = [(op.outputs[0], variable_op(op.takes[0])) for op in asking]
    return [(t, variable_key(v)) for t, v in found if v is not None and variable_key(v) not in changed]


def _leaves(tensor: Tensor, fed: set[Tensor], depth: int = 16) -> list[Tensor] | None:
    """The fed scalars that determine `tensor` through NumPy twins, or None where something else does."""
    if tensor in fed:
        return [tensor] if tensor._sizes in ((), None) else None
    op = tensor.op
    if is_constant(op):
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


def _fold_with(nodes: list[Node], values: dict[Tensor, Any], fed: set[Tensor], known: dict[Tensor, NDArray]) -> dict[Tensor, NDArray]:
    """Known values when also these feeds are known."""
    ops = [n for n in nodes if isinstance(n, Operation)]
    return fold(ops, fed - set(values), {**known, **{t: np.asarray(v) for t, v in values.items()}}) if values else known


def _without_dead(
    nodes: list[Node], fetched: list[Tensor], known: dict[Tensor, NDArray], fed: set[Tensor]
) -> tuple[list[Node], set[Any]]:
    """The nodes that decided predicates leave and that are still needed; and what can have no value."""
    dead: set[Any] = set()
    guards = guards_of(nodes)
    for node in nodes:
        if node.type not in MERGE and _contradicts(guards[node]):
            dead.update((node, *node.outputs))
        elif node.type in MERGE:
            if all(t in dead for t in node.takes):
                dead.update((node, *node.outputs))
        elif any(t in dead for t in node.takes) or (node.type != CONTROL_TRIGGER and any(c in dead for c in node.waits_for)):
            dead.update((node, *node.outputs))
        elif node.type in SWITCH and node.takes[1] in known:
            dead.add(node.outputs[0 if bool(truth(node.takes[1], known[node.takes[1]])) else 1])
        dead.update(t for t in node.outputs if _contradicts(guards[t]))
    if not dead:
        return nodes, dead
    targets = [node for node in nodes if node not in dead]
    needed = _still_needed(targets, dead, fetched, fed, nodes)
    return [node for node in targets if node in needed], dead


def _contradicts(guard: Guard) -> bool:
    """Whether a guard asks for both values of a predicate."""
    return len({p for p, _ in guard}) < len(guard)


def _still_needed(live: list[Node], dead: set[Any], fetched: list[Tensor], fed: set[Tensor], nodes: list[Node]) -> set[Node]:
    owner: dict[Node, Node] = {t.op: op for op in nodes for t in op.outputs}
    consumed = {owner.get(t.op) for op in nodes for t in op.takes} | {owner.get(c, c) for op in nodes for c in op.waits_for}
    pending: list[Node] = [op for op in live if op not in consumed] + [t.op for t in fetched if t not in fed and t.op not in dead]
    needed: set[Node] = set()
    while pending:
        op = pending.pop()
        op = owner.get(op, op)
        if op not in needed and op not in dead:
            needed.add(op)
            pending.extend(t.op for t in op.takes if t not in fed and t not in dead)
            pending.extend(op.waits_for)
    return needed


class _OpenCond:
    """A conditional item whose members are still being found."""

    def __init__(self, predicate: Tensor) -> None:
        self.predicate = predicate
        self.sides: dict[bool, list[Node]] = {False: [], True: []}
        self.shared: list[Node] = []
        self.merges: list[Operation] = []

    def add(self, node: Node, guards: dict[Any, Guard]) -> None:
        """Files a node under its branch; Switches on the predicate itself stand before both."""
        if (self.predicate, True) in guards[node]:
            self.sides[True].append(node)
        elif (self.predicate, False) in guards[node]:
            self.sides[False].append(node)
        elif isinstance(node, Operation) and node.type in MERGE:
            self.merges.append(node)
        else:
            self.shared.append(node)

    @property
    def members(self) -> list[Node]:
        return [*self.shared, *self.sides[False], *self.sides[True], *self.merges]


class _Grouping:
    """Turns nodes into items, level by level of nesting; knows all consumers of a tensor."""

    def __init__(self, nodes: list[Node], guards: dict[Any, Guard], wanted: list[Tensor], fed: Container[Tensor]) -> None:
        self._guards, self._wanted, self._fed = guards, set(wanted), fed
        self._consumers: dict[Tensor, list[Node]] = {}
        self._predicate_of: dict[Node, Tensor] = {}
        same = same_reads(nodes)
        for node in nodes:
            for t in node.takes:
                self._consumers.setdefault(t, []).append(node)
            if node.type in SWITCH:
                self._predicate_of[node] = root_predicate(node.takes[1], same)
                self._consumers.setdefault(self._predicate_of[node], []).append(node)

    def group(self, nodes: list[Node], base: Guard) -> tuple[Item, ...]:
        """Items at one level: nodes whose guard is `base`, and conditional items of the deeper ones."""
        found: dict[Node | _OpenCond, None] = {}
        open_conds: dict[Tensor, _OpenCond] = {}
        owner: dict[Node, _OpenCond] = {}
        for node in nodes:
            predicate = _outer_predicate(node, self._guards, base)
            cond = open_conds.get(predicate) if predicate is not None else None
            if cond is not None and any(t.op in cond.merges for t in node.takes):
                cond = None
            _close_consumed(node, owner, open_conds, keep=cond)
            if predicate is None:
                found[node] = None
                continue
            if cond is None:
                cond = open_conds[predicate] = _OpenCond(predicate)
            found.pop(cond, None)
            found[cond] = None
            cond.add(node, self._guards)
            owner[node] = cond
        return as_items([self._finished(n, base) if isinstance(n, _OpenCond) else n for n in found], self._fed)

    def _finished(self, cond: _OpenCond, base: Guard) -> CondItem:
        """The item, when all members are there; nested conditionals are items of its branches."""
        predicate, members = cond.predicate, cond.members
        branches = {on: self.group(side, base | {(predicate, on)}) for on, side in cond.sides.items()}
        mine = set(members)
        inside = {t for node in members for t in node.outputs}
        nested = [item.predicate for side in branches.values() for item in side if isinstance(item, CondItem)]
        used = [t for t in (*(t for node in members for t in node.takes), *nested) if t not in inside]
        inputs = tuple(dict.fromkeys([predicate, *used]))
        wanted = {node.takes[p] for node in members for p in constants_of(node)}
        reads, writes = accesses_of(members, self._fed)
        operations = tuple(operations_of(members))
        return CondItem(
            name=f"cond on {predicate.name}", type="cond", order=max(node.order for node in members), takes=inputs,
            outputs=tuple(t for node in members for t in node.outputs if self._is_used_outside(t, mine)),
            waits_for=tuple(dict.fromkeys(c for node in members for c in node.waits_for if c not in mine)),
            operations=operations, stands_for=frozenset(operations),
            reads=(*reads, *writes), writes=tuple(writes),  # what one branch writes the other keeps
            constants=frozenset(i for i, t in enumerate(inputs) if t in wanted),
            predicate=predicate, branches=branches, shared=as_items(cond.shared, self._fed), merges=tuple(cond.merges),
            names={predicate, *(node.takes[1] for node in members if self._predicate_of.get(node) is predicate)}, guards=self._guards,
        )  # fmt: skip

    def _is_used_outside(self, tensor: Tensor, members: set[Node]) -> bool:
        return tensor in self._wanted or any(node not in members for node in self._consumers.get(tensor, ()))


def _outer_predicate(op: Node, guards: dict[Any, Guard], base: Guard) -> Tensor | None:
    """The outermost undecided predicate that an operation stands under beyond those of `base`, or None."""
    decided = {p for p, _ in base}
    extra = guards[op] - base
    if op.type in MERGE:
        extra = frozenset().union(*(guards[t] for t in op.takes if t in guards)) - base
    elif op.type in SWITCH and not extra:
        extra = (guards[op.outputs[0]] | guards[op.outputs[1]]) - base
    undecided = {p for p, _ in extra} - decided
    if not undecided:
        return None
    found: Tensor = min(undecided, key=lambda p: (len(guards.get(p, ())), p.op.order))
    return found


def _close_consumed(node: Node, owner: dict[Node, _OpenCond], open_conds: dict[Tensor, _OpenCond], keep: _OpenCond | None) -> None:
    """A conditional takes no more members once something outside uses it, or touches state."""
    effects = node.spec.effects if isinstance(node, Operation) else node.effects
    touches_state = effects.is_stateful or effects.reads or effects.writes
    used = {owner[s] for s in (*[t.op for t in node.takes], *node.waits_for) if s in owner}
    for predicate, cond in list(open_conds.items()):
        if cond is not keep and (cond in used or touches_state):
            del open_conds[predicate]
