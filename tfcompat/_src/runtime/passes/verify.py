"""The verifier of plans: checks between the stages of planning what the next stage relies on.

It costs as much as planning itself, and is therefore off in use; tests switch it on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control.guards import MERGE
from tfcompat._src.runtime.ir.item import Item, is_ref_read_item, names_alone
from tfcompat._src.runtime.ir.plan import Cluster, HostStep, Plan, Step
from tfcompat._src.runtime.passes.placement import Placement
from tfcompat._src.runtime.state.variable_state import variable_key, variable_op


class InvalidPlan(RuntimeError):
    """A stage of planning produced an invalid result: a bug of the planner."""


class Switch:
    """Whether plans are verified."""

    is_on = False


def structure(items: Sequence[Item], fed: Collection[Tensor], known: Mapping[Tensor, Any]) -> None:
    """Checks, after structure and towers, that each tensor has one producer, which precedes its users.

    Raises:
      InvalidPlan: a tensor is made twice, or is taken before it is made.
    """
    # Producers first; then uses, as a tensor without a producer here must be fed or known.
    position: dict[Tensor, int] = {}
    for index, item in enumerate(items):
        for t in item.outputs:
            if t in position:
                raise InvalidPlan(f"{t.name} is made by {items[position[t]].name} and again by {item.name}")
            position[t] = index
    for index, item in enumerate(items):
        for t in item.takes:
            if t not in fed and t not in known and position.get(t, -1) >= index:
                raise InvalidPlan(f"{item.name} takes {t.name} before {items[position[t]].name} has made it")


def placement(found: Placement) -> None:
    """Checks, after placement, that every item has a rule, and that compile-time constants can be computed before the cluster.

    Raises:
      InvalidPlan: an item has no rule, or nothing computes a compile-time constant before its cluster.
    """
    for item in found.items:
        if item not in found.rules:
            raise InvalidPlan(f"no rule says where {item.name} runs")
        if item in found.on_host:
            continue
        # A constant may come from an earlier step (statics), or be computed from shapes while the cluster is traced.
        for position in found.constants[item]:
            t = item.takes[position]
            if t not in found.statics and not found.is_traced_static(t):
                raise InvalidPlan(f"{item.name} needs {t.name} as a compile-time constant, and nothing computes it before the cluster")


def plan(found: Plan, work_items: Sequence[Item]) -> None:
    """Checks, after partition, that each step has its inputs, effects keep their order, and no buffer is used after its donation.

    Args:
      found: the plan. work_items: the items that it was made of, in order.

    Raises:
      InvalidPlan: one of these conditions does not hold.
    """
    _each_step_has_its_inputs(found)
    _fetched_are_there(found)
    _each_item_runs_once(found)
    _effects_are_in_order(found, work_items)
    for step in found.clusters:
        _buffers_have_one_use(step)


def _given(step: Step) -> set[Tensor]:
    """Returns the tensors that have a value for other steps after this one."""
    return set(step.outputs) if isinstance(step, Cluster) else {t for item in step.items for t in item.outputs}


def _is_variable(tensor: Tensor) -> bool:
    handle = tensor.dtype._is_ref_dtype or tensor.dtype.name == "resource"
    return handle and variable_op(tensor) is not None


def _each_step_has_its_inputs(found: Plan) -> None:
    """Checks that every tensor that the plan makes is available when it is taken.

    Handles of variables are no values, and a Merge takes one of its inputs only: these are not checked.
    """
    available = {*found.feeds, *found.known}
    made = {t for step in found.steps for item in step.items for t in item.outputs}
    for number, step in enumerate(found.steps):
        # A cluster takes what is inside of it or among its inputs; the items of a host step run one after another.
        inside = {t for item in step.items for t in item.outputs} if isinstance(step, Cluster) else set()
        taken = [*step.inputs, *step.statics] if isinstance(step, Cluster) else []
        for item in step.items:
            needed = [t for t in item.takes if t in made and not _is_variable(t) and item.type not in MERGE]
            for t in needed:
                if t in available or t in inside:
                    continue
                raise InvalidPlan(f"step {number}: {item.name} takes {t.name}, which no earlier step computes")
            if isinstance(step, HostStep):
                available.update(item.outputs)
        for t in taken:
            if t not in available:
                raise InvalidPlan(f"step {number}: no earlier step computes its input {t.name}")
        available |= _given(step)


def _fetched_are_there(found: Plan) -> None:
    given = {*found.feeds, *found.known}.union(*map(_given, found.steps))
    made = {t for step in found.steps for item in step.items for t in item.outputs}
    for t in found.fetched:
        if t in made and t not in given and not _is_variable(t):
            raise InvalidPlan(f"{t.name} is fetched, and the step that makes it does not return it")


def _each_item_runs_once(found: Plan) -> None:
    """Checks that no item with effects is in two steps; others may be repeated (reads of refs, shape computations)."""
    seen: dict[Item, int] = {}
    for number, step in enumerate(found.steps):
        for item in step.items:
            if item in seen and (item.effects.is_stateful or item.writes):
                raise InvalidPlan(f"{item.name} has effects, and runs in steps {seen[item]} and {number}")
            seen[item] = number
        made = {t: number for item in step.items for t in item.outputs} if isinstance(step, Cluster) else {}
        if len(made) < len([t for item in step.items for t in item.outputs]) and isinstance(step, Cluster):
            raise InvalidPlan(f"step {number} makes a tensor twice")


def _effects_are_in_order(found: Plan, items: Sequence[Item]) -> None:
    """Checks that accesses of a variable of which one writes, and items with external effects, run in the order of `items`."""
    when = {item: (number, index) for number, step in enumerate(found.steps) for index, item in enumerate(step.items)}
    # The last write of each variable, and the reads since: a write comes after both, a read after the write. Reads of refs are repeated
    # where they are used (passes/partition.py) and have no single time.
    last_write: dict[str, Item] = {}
    readers: dict[str, list[Item]] = {}
    last_external: Item | None = None
    for item in items:
        if item not in when or item.facts.names_variable or names_alone(item):
            continue
        written = {variable_key(v) for v in item.writes}
        for key in written | {variable_key(v) for v in item.reads}:
            before = [last_write[key]] if key in last_write else []
            if key in written:
                before += readers.pop(key, [])
                last_write[key] = item
            elif not is_ref_read_item(item):
                readers.setdefault(key, []).append(item)
            for other in before:
                _require_before(other, item, when, f"both use the variable {key}")
        # External effects are ordered among themselves.
        if item.effects.external:
            if last_external is not None:
                _require_before(last_external, item, when, "both have external effects")
            last_external = item


def _require_before(one: Item, other: Item, when: Mapping[Item, tuple[int, int]], why: str) -> None:
    if one is not other and when[one] > when[other]:
        raise InvalidPlan(
            f"{one.name} must run before {other.name} ({why}), but runs in step {when[one][0]}, and {other.name} in step {when[other][0]}"
        )


def _buffers_have_one_use(cluster: Cluster) -> None:
    """Checks that the buffer of an updated variable, which is donated, is no other argument of the call."""
    roles: dict[str, str] = {}
    for role, variables in (("reads", cluster.reads), ("updates", cluster.updates), ("overwrites", cluster.overwrites)):
        for key in map(variable_key, variables):
            if key in roles:
                raise InvalidPlan(f"a cluster {roles[key]} and {role} the variable {key}: its buffer would be donated and read")
            roles[key] = role
    doubled = [t.name for t in cluster.inputs if t in cluster.statics or t in cluster.large]
    if doubled:
        raise InvalidPlan(f"{doubled[0]} enters a cluster twice, as two kinds of input")
