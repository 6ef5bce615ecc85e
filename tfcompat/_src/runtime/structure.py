"""Recovers structured control flow from the Switch and Merge graph: operations become items of a plan, conditionals and loops one item each.

Loops come first (loop_program.py). A predicate that is known before the run removes the branch not taken (dead-code elimination); each other
predicate gives conditional items, one `lax.cond` each. Operations under the same guard form one item until something outside uses it, so that
the forward and the backward branches of one `tf.cond` are two items.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from typing import Any

from tfcompat._src.base.arrays import NDArray
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
from tfcompat._src.runtime.item import Item, Node, accesses_of, as_items, constants_of, operations_of
from tfcompat._src.runtime.loop_program import Building, collapse
from tfcompat._src.runtime.lower import truth
from tfcompat._src.runtime.plan_guards import NOTHING_FED, Facts
from tfcompat._src.runtime.variable_state import accesses, variable_key, variable_op


@dataclass(frozen=True)
class Structure:
    """The items of a plan.

    Attributes:
      known: the tensors with a value before the run, decided predicates among them.
      guarded: the guards of fetched tensors that are inside of a branch.
    """

    items: Sequence[Item]
    known: dict[Tensor, NDArray]
    guarded: dict[Tensor, Guard] = field(default_factory=dict)

    @property
    def predicates(self) -> list[Tensor]:
        """The predicates that decide whether the guarded fetched tensors have values."""
        return list(dict.fromkeys(p for guard in self.guarded.values() for p, _ in guard))


def structure(
    ops: list[Operation], fetched: list[Tensor], fed: set[Tensor], facts: Facts, known: dict[Tensor, NDArray],
    derivatives: Derivatives = NONE,
) -> Structure:  # fmt: skip
    """Returns the items of a run of `ops`, in topological order.

    Args:
      fetched: the wanted tensors. fed: the tensors whose values are given. facts: tells which predicates feeds decide.
      known: the tensors with a value before the run. derivatives: the loops that are derivatives of others.
    """
    # Without control flow every operation is an item.
    if not any(op.type in SWITCH or op.type in ENTER for op in ops):
        return Structure(as_items(ops, fed), known)
    nodes, known, guards = _decided(_with_loops(ops, known, Building(_part, fed, derivatives)), fetched, fed, facts, known)
    guarded = {t: guards[t] for t in fetched if guards.get(t)}
    # Whether a guarded fetch has a value is known only after the run: its predicates are fetched too.
    without_items = Structure((), {t: v for t, v in known.items() if t not in guarded}, guarded)
    return Structure(_in_items(nodes, [*fetched, *without_items.predicates], guards, fed), without_items.known, guarded)


def _with_loops(ops: list[Operation], known: dict[Tensor, NDArray], building: Building) -> list[Node]:
    """Replaces each outermost loop, and each gradient of a loop, in `ops` by one item."""
    outermost, loop_of = find_loops(ops)
    check_loops(outermost, loop_of)
    loops = left_loops(outermost)
    return collapse(ops, loops, known, building) if loops else list(ops)


def _part(
    nodes: list[Node], wanted: list[Tensor], known: dict[Tensor, NDArray], fed: Container[Tensor]
) -> tuple[tuple[Item, ...], dict[Tensor, NDArray]]:
    """Returns the items of the condition or body of a loop, conditionals included, and the known values."""
    if not any(n.type in SWITCH for n in nodes):
        return as_items(nodes, fed), known
    live, known, guards = _decided(nodes, wanted, set(), NOTHING_FED, known)
    return _in_items(live, wanted, guards, fed), known


def _decided(
    nodes: list[Node], fetched: list[Tensor], fed: set[Tensor], facts: Facts, known: dict[Tensor, NDArray]
) -> tuple[list[Node], dict[Tensor, NDArray], dict[Any, Guard]]:
    """Removes the branches that decided predicates do not take; returns the remaining nodes, the known values, and the guards of the nodes."""
    # Feeds such as `training=True` decide predicates only. What else they determine stays unknown: the plan serves other feeds too.
    known = {**facts.decided(nodes), **known}
    live, dead = _without_dead(nodes, fetched, known, fed)
    known = {t: v for t, v in known.items() if t not in dead}
    # A Switch of a predicate that is known on the side that is taken has nothing left to do.
    live = [n for n in live if n.type not in SWITCH or not all(t in known or t in dead for t in n.outputs)]
    return live, known, guards_of(live, known)


def _in_items(nodes: list[Node], wanted: list[Tensor], guards: dict[Any, Guard], fed: Container[Tensor]) -> tuple[Item, ...]:
    """Returns the items of nodes, with conditional items for the guarded ones."""
    guarded = any(guards[t] for n in nodes for t in n.outputs) or any(guards[n] for n in nodes)
    return _Grouping(nodes, guards, wanted, fed).group(nodes, frozenset()) if guarded else as_items(nodes, fed)


def asked_status(ops: list[Operation], fed: set[Tensor]) -> list[tuple[Tensor, str]]:
    """Returns the outputs of operations that ask whether a variable is initialized, with the variable's key.

    Only those whose answer no operation of the run changes: each answer is a guard of the plan.
    """
    asking = [op for op in ops if op.spec.facts.tells_status and op.outputs[0] not in fed]
    if not asking or any(op.spec.facts.forgets for op in ops):
        return []
    # An operation that updates a variable needs its value and leaves the status unchanged; one that only writes may initialize it.
    changed: set[str] = set()
    for op in ops:
        reads, writes = accesses(op)
        changed.update(variable_key(v) for v in writes if v not in reads)
    answers = [(op.outputs[0], variable_op(op.takes[0])) for op in asking]
    return [(t, variable_key(v)) for t, v in answers if v is not None and variable_key(v) not in changed]


def _without_dead(
    nodes: list[Node], fetched: list[Tensor], known: dict[Tensor, NDArray], fed: set[Tensor]
) -> tuple[list[Node], set[Any]]:
    """Returns the nodes that still run under the decided predicates, and the dead nodes and tensors, which never have a value.

    Deadness propagates as in TensorFlow's executor: a dead input or control input kills a node. A Merge dies only if all of its inputs are
    dead; a ControlTrigger runs in spite of dead control inputs.
    """
    dead: set[Any] = set()
    guards = guards_of(nodes)
    # Nodes are in topological order, so that one pass reaches everything that dead nodes feed.
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
    # Nodes that only dead ones used are removed as well.
    targets = [node for node in nodes if node not in dead]
    needed = _still_needed(targets, dead, fetched, fed, nodes)
    return [node for node in targets if node in needed], dead


def _contradicts(guard: Guard) -> bool:
    """Whether a guard requires both values of a predicate."""
    return len({p for p, _ in guard}) < len(guard)


def _still_needed(live: list[Node], dead: set[Any], fetched: list[Tensor], fed: set[Tensor], nodes: list[Node]) -> set[Node]:
    """Returns the live nodes that fetches need, or that nothing used before either (targets), with their ancestors."""
    owner: dict[Node, Node] = {t.op: op for op in nodes for t in op.outputs}
    # A loop item stands for its operations: `owner` maps the operation of each output to the item.
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
    """A conditional item under construction."""

    def __init__(self, predicate: Tensor) -> None:
        self.predicate = predicate
        self.sides: dict[bool, list[Node]] = {False: [], True: []}
        self.shared: list[Node] = []
        self.merges: list[Operation] = []

    def add(self, node: Node, guards: dict[Any, Guard]) -> None:
        """Adds a node to its branch, to the Merges, or to the nodes before both branches (the Switches on the predicate itself)."""
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
    """Turns nodes into items, one nesting level of conditionals at a time."""

    def __init__(self, nodes: list[Node], guards: dict[Any, Guard], wanted: list[Tensor], fed: Container[Tensor]) -> None:
        self._guards, self._wanted, self._fed = guards, set(wanted), fed
        self._consumers: dict[Tensor, list[Node]] = {}
        self._predicate_of: dict[Node, Tensor] = {}
        # Several reads of one variable may be one predicate. A Switch counts as a consumer of its predicate's root.
        same = same_reads(nodes)
        for node in nodes:
            for t in node.takes:
                self._consumers.setdefault(t, []).append(node)
            if node.type in SWITCH:
                self._predicate_of[node] = root_predicate(node.takes[1], same)
                self._consumers.setdefault(self._predicate_of[node], []).append(node)

    def group(self, nodes: list[Node], base: Guard) -> tuple[Item, ...]:
        """Returns the items of one level: nodes whose guard is `base`, and conditional items for those with a longer guard."""
        level: dict[Node | _OpenCond, None] = {}
        open_conds: dict[Tensor, _OpenCond] = {}
        owner: dict[Node, _OpenCond] = {}
        for node in nodes:
            predicate = _outer_predicate(node, self._guards, base)
            cond = open_conds.get(predicate) if predicate is not None else None
            # A node that uses a Merge of the same predicate comes after the conditional: it begins a second one.
            if cond is not None and any(t.op in cond.merges for t in node.takes):
                cond = None
            _close_consumed(node, owner, open_conds, keep=cond)
            if predicate is None:
                level[node] = None
                continue
            if cond is None:
                cond = open_conds[predicate] = _OpenCond(predicate)
            # A conditional runs where its last member was, after all of its inputs.
            level.pop(cond, None)
            level[cond] = None
            cond.add(node, self._guards)
            owner[node] = cond
        return as_items([self._finished(n, base) if isinstance(n, _OpenCond) else n for n in level], self._fed)

    def _finished(self, cond: _OpenCond, base: Guard) -> CondItem:
        """Makes the item of a complete conditional; its branches are grouped recursively."""
        predicate, members = cond.predicate, cond.members
        branches = {on: self.group(side, base | {(predicate, on)}) for on, side in cond.sides.items()}
        # The interface: tensors from outside are inputs, members used outside are outputs.
        mine = set(members)
        inside = {t for node in members for t in node.outputs}
        nested = [item.predicate for side in branches.values() for item in side if isinstance(item, CondItem)]
        # Predicates of nested conditionals are inputs too, even if no node takes them directly.
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
            reads=(*reads, *writes), writes=tuple(writes),  # a variable that one branch writes is read too: the other branch keeps its value
            constants=frozenset(i for i, t in enumerate(inputs) if t in wanted),
            predicate=predicate, branches=branches, shared=as_items(cond.shared, self._fed), merges=tuple(cond.merges),
            names={predicate, *(node.takes[1] for node in members if self._predicate_of.get(node) is predicate)}, guards=self._guards,
        )  # fmt: skip

    def _is_used_outside(self, tensor: Tensor, members: set[Node]) -> bool:
        return tensor in self._wanted or any(node not in members for node in self._consumers.get(tensor, ()))


def _outer_predicate(op: Node, guards: dict[Any, Guard], base: Guard) -> Tensor | None:
    """Returns the outermost predicate that guards an operation beyond those of `base`, or None."""
    decided = {p for p, _ in base}
    extra = guards[op] - base
    # A Merge has the guard of what it joins, without its own predicate; a Switch has one on its outputs only.
    if op.type in MERGE:
        extra = frozenset().union(*(guards[t] for t in op.takes if t in guards)) - base
    elif op.type in SWITCH and not extra:
        extra = (guards[op.outputs[0]] | guards[op.outputs[1]]) - base
    undecided = {p for p, _ in extra} - decided
    if not undecided:
        return None
    outermost: Tensor = min(undecided, key=lambda p: (len(guards.get(p, ())), p.op.order))
    return outermost


def _close_consumed(node: Node, owner: dict[Node, _OpenCond], open_conds: dict[Tensor, _OpenCond], keep: _OpenCond | None) -> None:
    """Closes the conditionals, except `keep`, that `node` uses; all of them if it uses variables or has side effects, which must keep their order."""
    effects = node.spec.effects if isinstance(node, Operation) else node.effects
    touches_state = effects.is_stateful or effects.reads or effects.writes
    used = {owner[s] for s in (*[t.op for t in node.takes], *node.waits_for) if s in owner}
    for predicate, cond in list(open_conds.items()):
        if cond is not keep and (cond in used or touches_state):
            del open_conds[predicate]
