"""Recovers structured control flow from the Switch and Merge graph: operations become items of a plan, conditionals and loops one item each.

Loops come first (ir/loop_item.py). A predicate that is known before the run removes the branch not taken (dead-code elimination); each other
predicate gives conditional items, one `lax.cond` each. Operations under the same guard form one item until something outside uses it, so that
the forward and the backward branches of one `tf.cond` are two items.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
    is_joint,
    root_predicate,
    same_reads,
)
from tfcompat._src.ops.control.loop_checks import check_loops
from tfcompat._src.ops.control.loop_ops import ENTER
from tfcompat._src.ops.control.loop_topology import find_loops, left_loops
from tfcompat._src.runtime.ir.cond_item import CondItem
from tfcompat._src.runtime.ir.item import Item, MergeItem, Node, accesses_of, as_items, constants_of, operations_of
from tfcompat._src.runtime.ir.loop_item import Building, collapse
from tfcompat._src.runtime.ir.routed_item import RoutedItem, routed_item
from tfcompat._src.runtime.lowering.lower import truth
from tfcompat._src.runtime.passes.derivatives import NONE, Derivatives
from tfcompat._src.runtime.passes.fold import fold
from tfcompat._src.runtime.passes.plan_guards import Facts
from tfcompat._src.runtime.state.variable_state import accesses, variable_key, variable_op


@dataclass(frozen=True)
class Structure:
    """The items of a plan.

    Attributes:
      known: the tensors with a value before the run, decided predicates among them.
      guarded: the guards of wanted tensors that are inside of a branch. dead: the wanted tensors that have no value.
    """

    items: Sequence[Item]
    known: dict[Tensor, NDArray]
    guarded: dict[Tensor, Guard] = field(default_factory=dict)
    dead: frozenset[Tensor] = frozenset()

    @property
    def predicates(self) -> list[Tensor]:
        """The predicates that decide whether the guarded tensors have values."""
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
    if not any(op.type in SWITCH or op.type in MERGE or op.type in ENTER for op in ops):
        return Structure(as_items(ops, fed), known)
    nodes = _with_loops(ops, known, Building(_part, fed, derivatives))
    # Feeds such as `training=True` decide predicates only. What else they determine stays unknown: the plan serves other feeds too.
    return _structured(nodes, fetched, fed, {**facts.decided(nodes), **known})


def decided(item: RoutedItem, predicates: Mapping[Tensor, NDArray]) -> Structure:
    """Returns the items of a routed item where its predicates have these values."""
    ops = [node for node in item.nodes if isinstance(node, Operation)]
    return _structured(item.nodes, item.outputs, item.fed, fold(ops, set(item.fed), {**item.known, **predicates}), item.dead)


def _structured(nodes: Sequence[Node], wanted: Sequence[Tensor], fed: Collection[Tensor], known: Mapping[Tensor, NDArray], dead: Collection[object] = ()) -> Structure:
    """Returns the items of nodes, of which `known` decides some predicates. `dead`: nodes and tensors before these that have no value."""
    known = {**known, **_known_by_another_name(nodes, known)}
    live, dead = _without_dead(nodes, fed, known, dead)
    guards = guards_of(live, known, dead)
    live = [_settled(node, guards, fed, dead) if node.type in MERGE else node for node in live]
    known = {t: v for t, v in known.items() if t not in dead}
    # A Switch of a predicate that is known on the side that is taken has nothing left to do.
    live = [node for node in live if node.type not in SWITCH or not all(t in known or t in dead for t in node.outputs)]
    routed = _routed(live, wanted, guards, known, fed, dead)
    if routed is not None:
        inside = set(routed.nodes)
        live = [node for node in live if node not in inside]
        known = {t: v for t, v in known.items() if t not in routed.outputs}
    inner = () if routed is None else routed.outputs
    guarded = {t: guards[t] for t in wanted if guards.get(t) and t not in inner}
    # Whether a guarded tensor has a value is known only after the run: its predicates are wanted too.
    known = {t: v for t, v in known.items() if t not in guarded}
    found = Structure((), known, guarded, frozenset(t for t in wanted if t in dead))
    items = _in_items(live, [*wanted, *found.predicates], guards, fed)
    return replace(found, items=items if routed is None else (*items, routed))


def _known_by_another_name(nodes: Sequence[Node], known: Mapping[Tensor, NDArray]) -> dict[Tensor, NDArray]:
    """Returns the values of predicates that forward one whose value is known, as the `pred_id` of a conditional does that waits for others."""
    same = same_reads(nodes)
    roots = {node.takes[1]: root_predicate(node.takes[1], same) for node in nodes if node.type in SWITCH}
    values = {root: known[t] for predicate, root in roots.items() for t in (predicate, root) if t in known}
    return {predicate: values[root] for predicate, root in roots.items() if root in values and predicate not in known}


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
    found = _structured(nodes, wanted, (), known)
    return tuple(found.items), found.known


def _routed(
    nodes: list[Node], wanted: Sequence[Tensor], guards: Mapping[object, Guard], known: dict[Tensor, NDArray], fed: Collection[Tensor], dead: Collection[object]
) -> RoutedItem | None:  # fmt: skip
    """Returns the item of the nodes of which guards do not tell whether they are alive, and of all that they share branches with; None for none.

    These are the nodes behind a Merge that is not joint. The item begins at the Switches on the predicates behind that Merge, and has all that
    depends on these.
    """
    loose = [node for node in nodes if isinstance(node, Operation) and node.type in MERGE and not is_joint(node, guards, dead)]
    predicates = {p for merge in loose for t in merge.takes for p, _ in guards.get(t, ())}
    if not predicates:
        return None
    same = same_reads(nodes)
    further = predicates
    while further:
        inside = _behind([node for node in nodes if node.type in SWITCH and root_predicate(node.takes[1], same) in predicates], nodes)
        # What enters may be dead itself, in a branch of a further predicate.
        made = _made_by(inside)
        entering = {s for node in inside for s in (*node.takes, *node.waits_for)} - made
        further = {p for s in entering for p, _ in guards.get(s, ())} - predicates
        predicates |= further
    deciding = [node.takes[1] for node in inside if node.type in SWITCH and root_predicate(node.takes[1], same) in predicates]
    return routed_item(inside, deciding, wanted, known, fed, dead)


def _behind(first: Collection[Node], nodes: Sequence[Node]) -> list[Node]:
    """Returns the nodes `first` and all that depend on them, by data or control edges, in the order of `nodes`."""
    found, made = [], _made_by(first)
    for node in nodes:
        if node in made or not made.isdisjoint(node.takes) or not made.isdisjoint(node.waits_for):
            found.append(node)
            made |= _made_by([node])
    return found


def _made_by(nodes: Iterable[Node]) -> set[object]:
    """Returns nodes, the operations that they stand for, and their outputs."""
    made: set[object] = set()
    for node in nodes:
        made.update((node, *node.outputs, *(() if isinstance(node, Operation) else node.stands_for)))
    return made


def _in_items(nodes: list[Node], wanted: Sequence[Tensor], guards: dict[Any, Guard], fed: Container[Tensor]) -> tuple[Item, ...]:
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


def _settled(merge: Node, guards: dict[Any, Guard], fed: Collection[Tensor], dead: Collection[object]) -> Node:
    """Returns a Merge as an item of the one input that is alive where it is; the Merge itself if a run decides which that is."""
    alive = [t for t in merge.takes if t not in dead]
    if not isinstance(merge, Operation) or len({guards.get(t, frozenset()) for t in alive}) > 1:
        return merge
    item = MergeItem(merge, merge.takes.index(alive[0]), fed)
    guards[item] = guards[merge]
    return item


def _without_dead(
    nodes: Sequence[Node], fed: Collection[Tensor], known: Mapping[Tensor, NDArray], before: Collection[object]
) -> tuple[list[Node], set[object]]:
    """Returns the nodes that run under the decided predicates, and the dead nodes and tensors, which never have a value.

    Deadness propagates as in TensorFlow's executor: a dead input or control input kills a node. A Merge dies only if all of its inputs are
    dead; a ControlTrigger runs in spite of dead control inputs. Every other node runs, whoever uses it. `before`: the dead ones before these nodes.
    """
    dead: set[object] = set(before)
    guards = guards_of(nodes)
    # Nodes are in topological order, so that one pass reaches everything that dead nodes feed.
    for node in nodes:
        if node.type in MERGE:
            is_dead = all(t in dead for t in node.takes)
        else:
            waits_for = () if node.type == CONTROL_TRIGGER else node.waits_for
            is_dead = _contradicts(guards[node]) or not (dead.isdisjoint(node.takes) and dead.isdisjoint(waits_for))
        if is_dead:
            dead |= _made_by([node]).difference(fed)
        elif node.type in SWITCH and node.takes[1] in known:
            dead.add(node.outputs[0 if bool(truth(node.takes[1], known[node.takes[1]])) else 1])
        dead.update(t for t in node.outputs if _contradicts(guards[t]))
    return [node for node in nodes if node not in dead], dead


def _contradicts(guard: Guard) -> bool:
    """Whether a guard requires both values of a predicate."""
    return len({p for p, _ in guard}) < len(guard)


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

    def __init__(self, nodes: list[Node], guards: dict[Any, Guard], wanted: Sequence[Tensor], fed: Container[Tensor]) -> None:
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
