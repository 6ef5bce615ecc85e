"""What each stage of planning relies on, checked between stages. Off in use: it costs as much as planning. Tests switch it on."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control.guards import MERGE
from tfcompat._src.runtime.item import Item, is_ref_read_item, names_alone
from tfcompat._src.runtime.placement import Placement
from tfcompat._src.runtime.plan import Cluster, HostStep, Plan, Step
from tfcompat._src.runtime.variable_state import variable_key, variable_op


class InvalidPlan(RuntimeError):
    """A stage has left what the next one cannot rely on: a defect of the planner."""


class Switch:
    """Whether plans are verified; and it is."""

    is_on = False


def structure(items: Sequence[Item], fed: Collection[Tensor], known: Mapping[Tensor, Any]) -> None:
    """After structure and towers: each tensor has one source, which stands before its users.

    Raises:
      InvalidPlan: a tensor is made twice, or is taken before it is made.
    """
    position: dict[Tensor, int] = {}
    for place, item in enumerate(items):
        for t in item.outputs:
            if t in position:
                raise InvalidPlan(f"{t.name} is made by {items[position[t]].name} and again by {item.name}")
            position[t] = place
    for place, item in enumerate(items):
        for t in item.takes:
            if t not in fed and t not in known and position.get(t, -1) >= place:
                raise InvalidPlan(f"{item.name} takes {t.name} before {items[position[t]].name} has made it")


def placement(found: Placement) -> None:
    """After placement: every item is somewhere by a rule, and what the compiler must know can be known before it.

    Raises:
      InvalidPlan: an item has no rule, or a cluster needs a number that only a cluster on the same data gives.
    """
    for item in found.items:
        if item not in found.rules:
            raise InvalidPlan(f"no rule says where {item.name} runs")
        if item in found.on_host:
            continue
        for position in found.constants[item]:
            t = item.takes[position]
            if t not in found.statics and not found.is_traced_static(t):
                raise InvalidPlan(f"{item.name} needs the number {t.name} when it is compiled, and nothing computes it before")


def plan(found: Plan, work_items: Sequence[Item]) -> None:
    """After partition: each step has what it takes, effects keep their order, and no buffer is used after it was given away.

    Args:
      found: the plan. work_items: the items that it was made of, in order.

    Raises:
      InvalidPlan: one of these does not hold.
    """
    _each_step_has_its_inputs(found)
    _fetched_are_there(found)
    _each_item_runs_once(found)
    _effects_are_in_order(found, work_items)
    for step in found.clusters:
        _buffers_have_one_use(step)


def _given(step: Step) -> set[Tensor]:
    return set(step.outputs) if isinstance(step, Cluster) else {t for item in step.items for t in item.outputs}


def _is_variable(tensor: Tensor) -> bool:
    handle = tensor.dtype._is_ref_dtype or tensor.dtype.name == "resource"
    return handle and variable_op(tensor) is not None


def _each_step_has_its_inputs(found: Plan) -> None:
    there = {*found.feeds, *found.known}
    made = {t for step in found.steps for item in step.items for t in item.outputs}
    for number, step in enumerate(found.steps):
        inside = {t for item in step.items for t in item.outputs} if isinstance(step, Cluster) else set()
        taken = [*step.inputs, *step.statics] if isinstance(step, Cluster) else []
        for item in step.items:
            needed = [t for t in item.takes if t in made and not _is_variable(t) and item.type not in MERGE]
            for t in needed:
                if t in there or t in inside:
                    continue
                raise InvalidPlan(f"step {number}: {item.name} takes {t.name}, which no earlier step gives")
            if isinstance(step, HostStep):
                there.update(item.outputs)
        for t in taken:
            if t not in there:
                raise InvalidPlan(f"step {number}: its input {t.name} is given by no earlier step")
        there |= _given(step)


def _fetched_are_there(found: Plan) -> None:
    given = {*found.feeds, *found.known}.union(*map(_given, found.steps))
    made = {t for step in found.steps for item in step.items for t in item.outputs}
    for t in found.fetched:
        if t in made and t not in given and not _is_variable(t):
            raise InvalidPlan(f"{t.name} is fetched, and the step that makes it does not give it")


def _each_item_runs_once(found: Plan) -> None:
    seen: dict[Item, int] = {}
    for number, step in enumerate(found.steps):
        for item in step.items:
            if item in seen and (item.effects.is_stateful or item.writes):
                raise InvalidPlan(f"{item.name} acts, and runs in steps {seen[item]} and {number}")
            seen[item] = number
        places = {t: number for item in step.items for t in item.outputs} if isinstance(step, Cluster) else {}
        if len(places) < len([t for item in step.items for t in item.outputs]) and isinstance(step, Cluster):
            raise InvalidPlan(f"step {number} makes a tensor twice")


def _effects_are_in_order(found: Plan, items: Sequence[Item]) -> None:
    when = {item: (number, place) for number, step in enumerate(found.steps) for place, item in enumerate(step.items)}
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
        if item.effects.external:
            if last_external is not None:
                _require_before(last_external, item, when, "both act outside of the graph")
            last_external = item


def _require_before(one: Item, other: Item, when: Mapping[Item, tuple[int, int]], why: str) -> None:
    if one is not other and when[one] > when[other]:
        raise InvalidPlan(f"{one.name} must run before {other.name} ({why}), but runs in step {when[one][0]} and it in step {when[other][0]}")


def _buffers_have_one_use(cluster: Cluster) -> None:
    """A donated buffer, that of an updated variable, is no other argument of the call."""
    roles: dict[str, str] = {}
    for role, variables in (("reads", cluster.reads), ("updates", cluster.updates), ("overwrites", cluster.overwrites)):
        for key in map(variable_key, variables):
            if key in roles:
                raise InvalidPlan(f"a cluster {roles[key]} and {role} the variable {key}: its buffer would be donated and read")
            roles[key] = role
    doubled = [t.name for t in cluster.inputs if t in cluster.statics or t in cluster.large]
    if doubled:
        raise InvalidPlan(f"{doubled[0]} comes into a cluster twice")
