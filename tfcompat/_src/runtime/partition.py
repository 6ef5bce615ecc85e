"""Partition: which items are compiled together and which run on the host between, in an order that respects data,
control edges and effects.

Every item gets a tick. Even ticks run on the host, odd ticks are compiled clusters, one per device; each is as early as its
inputs allow.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tfcompat._src.graph.op_spec import HOST
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.flow.array_origin import is_length
from tfcompat._src.runtime.cond_item import CondItem
from tfcompat._src.runtime.item import Item, Node, OpItem, is_ref_read_item, names_alone
from tfcompat._src.runtime.loop_program import LoopGradientItem, LoopItem
from tfcompat._src.runtime.placement import Placement
from tfcompat._src.runtime.plan import Cluster, HostStep, NamingStep, Plan, Step
from tfcompat._src.runtime.variable_state import (
    is_chosen,
    possible_variables,
    required_variable_op,
    variable_key,
    variable_op,
)

LARGE_CONSTANT_ELEMENTS = 1024
NAMING = -2
"""The tick of operations that need nothing and name resources."""
StepKey = tuple[int, Any]
"""A tick, and the device of a compiled step where there are several."""


class Partitioner:
    """Assigns ticks to the items of one plan and collects them into steps."""

    def __init__(self, placement: Placement) -> None:
        self.placement, self.items, self.on_host = placement, placement.items, placement.on_host
        self.work, self.known, self.fed = placement.work, placement.known, placement.fed
        self.producer, self.owner = placement.producer, placement.owner
        self.tick: dict[Item, int] = {}
        self.sources: dict[Item, list[Item]] = {}

    def plan(self) -> Plan:
        self._assign_ticks()
        steps = self._steps()
        return Plan(
            list(self.work.fetched), list(self.work.feeds), dict(self.known), steps, self._required(), self.sources, self._array_sizes(steps),
            rules=self.placement.rules, findings=self.work.findings,
        )  # fmt: skip

    def _array_sizes(self, steps: list[Step]) -> list[Tensor]:
        """The lengths of TensorArrays that one cluster finds out and another is compiled for."""
        statics = dict.fromkeys(t for step in steps if isinstance(step, Cluster) for t in step.statics)
        return [t for t in statics if is_length(t.op) and self.producer.get(t) not in (None, *self.on_host)]

    # ---- ticks ----

    def _assign_ticks(self) -> None:
        """Each item as early as it can run, then pure device work as late as its users allow: what crosses clusters is least."""
        last_access: dict[str, list[tuple[Item, bool]]] = {}
        last_external: Item | None = None
        followers: dict[Item, list[tuple[Item, bool]]] = {}
        for item in self.items:
            if names_alone(item):
                self.sources[item], self.tick[item] = [], NAMING
                continue
            sources = self._data_sources(item)
            sources += [(waited, False) for waited in self._waited_for(item, {})]
            sources += [(before, False) for before in self._earlier_accesses(item, last_access)]
            self.sources[item] = [source for source, _ in sources]
            if item.effects.external or (self._is_driven(item)):
                sources += [(last_external, False)] if last_external is not None else []
                last_external = item
            earliest = 0 if item in self.on_host else 1
            self.tick[item] = max([earliest, *[self._after(source, item, static) for source, static in sources]])
            for source, static in sources:
                followers.setdefault(source, []).append((item, static))
        if len(set(self.tick.values())) > 2:
            self._delay(followers)

    def _is_driven(self, item: Item) -> bool:
        """Whether the host drives a conditional or loop, by plans for its parts."""
        return item in self.on_host and isinstance(item, CondItem | LoopItem)

    def _waited_for(self, node: Node, seen: dict[Node, None]) -> list[Item]:
        """The items that control edges make an item wait for, also those of the constants that it takes, which do not run."""
        seen[node] = None
        found = []
        for c in node.waits_for:
            source = self.owner.get(c, c)
            if source in self.tick:
                found.append(source)
            elif source not in seen:
                found += self._waited_for(source, seen)
        for t in node.takes:
            if t in self.known and t.op not in seen:
                found += self._waited_for(t.op, seen)
        return found

    def _data_sources(self, item: Item) -> list[tuple[Item, bool]]:
        """Whom an item gets its inputs from, and whether it needs the value to be compiled."""
        constants = self.placement.constants[item]
        found = []
        for position, tensor in enumerate(item.takes):
            source = self.producer.get(tensor)
            if source is not None and not source.facts.names_variable:
                found.append((source, tensor in self.placement.statics and position in constants))
        return found

    def _delay(self, followers: dict[Item, list[tuple[Item, bool]]]) -> None:
        for item in reversed(self.items):
            if item in self.on_host or item not in followers or item.writes or item.effects.is_stateful:
                continue
            latest = min(self._before(item, follower, static) for follower, static in followers[item])
            self.tick[item] = max(self.tick[item], latest)

    def _before(self, source: Item, item: Item, static: bool) -> int:
        """The latest odd tick at which `source` is early enough for `item`."""
        tick = self.tick[item]
        if item in self.on_host:
            return tick - 1
        return tick - 2 if static or self._are_apart(source, item) else tick

    def _after(self, source: Item, item: Item, static: bool = False) -> int:
        """The earliest tick of `item` behind `source`."""
        tick = self.tick.get(source, 0)
        source_host, item_host = source in self.on_host, item in self.on_host
        if source_host != item_host:
            return tick + 1
        return tick + 2 if not source_host and (static or self._are_apart(source, item)) else tick

    def _are_apart(self, one: Item, other: Item) -> bool:
        """Whether two compiled items are on different devices."""
        return self.placement.devices.get(one) is not self.placement.devices.get(other)

    def _earlier_accesses(self, item: Item, last: dict[str, list[tuple[Item, bool]]]) -> list[Item]:
        reads, writes = item.reads, item.writes
        found: list[Item] = []
        written = {variable_key(v) for v in writes}
        for key in {variable_key(v) for v in reads} | written:
            history = last.setdefault(key, [])
            found.extend(other for other, wrote in history if wrote or key in written)
            if key in written:
                history.clear()
            history.append((item, key in written))
        return found

    # ---- steps ----

    def _steps(self) -> list[Step]:
        by_step: dict[StepKey, list[Item]] = {}
        for item in self.items:
            if not item.facts.names_variable:
                place = self.placement.devices.get(item) if self.tick[item] % 2 else None
                by_step.setdefault((self.tick[item], place), []).append(item)
        for step, items in by_step.items():
            items = self._with_ref_reads(items)
            by_step[step] = self._with_shapes(list(dict.fromkeys(items))) if step[0] % 2 else items
        uses: dict[Tensor, set[StepKey]] = {}
        for step, items in by_step.items():
            for t in (t for item in items for t in item.takes):
                uses.setdefault(t, set()).add(step)
        steps = [
            self._step(items, step, uses)
            for step, items in sorted(by_step.items(), key=lambda entry: (entry[0][0], getattr(entry[0][1], "id", 0)))
        ]
        return [s for s in steps if isinstance(s, HostStep) or not _does_nothing(s)]

    def _step(self, items: list[Item], step: StepKey, uses: dict[Tensor, set[StepKey]]) -> Step:
        if step[0] % 2:
            return self._cluster(items, step, uses)
        return NamingStep(items) if step[0] == NAMING else HostStep(self._files_first(items), self._kept(items, step, uses))

    def _kept(self, items: list[Item], step: StepKey, uses: dict[Tensor, set[StepKey]]) -> set[Tensor]:
        """The outputs of items that are fetched, or taken by other steps."""
        fetched = self.placement.fetched
        return {t for i in items for t in i.outputs if t in fetched or any(u != step for u in uses.get(t, ()))}

    def _files_first(self, items: list[Item]) -> list[Item]:
        """Host operations with those first that read checkpoints: all are found whole before a variable changes."""
        found: list[Item] = []
        place = 0
        for item in items:
            ready = item.facts.reads_files and not item.waits_for
            if ready and all(t in self.known or t in self.fed for t in item.takes):
                found.insert(place, item)
                place += 1
            else:
                found.append(item)
                place = len(found) if item.effects.external else place
        return found

    def _with_ref_reads(self, items: list[Item]) -> list[Item]:
        """Items of a step, each after the reads of refs that it takes from other steps: a read is an alias, taken where its user runs.

        Variables that are given another shape have other memory from then on. What is needed as a number is read before.
        """
        inside, found = set(items), []
        for item in items:
            for t in item.takes:
                source = self.producer.get(t)
                if source is not None and source not in inside and is_ref_read_item(source) and t not in self.placement.statics:
                    variable = variable_op(source.takes[0])
                    if variable is not None and variable not in self._reshaped:
                        found.append(source)
            found.append(item)
        return found

    @functools.cached_property
    def _reshaped(self) -> set[Operation]:
        """The variables that a step may give another shape."""
        leaves = (op for item in self.items for op in item.operations)
        reshaping = (op for op in leaves if op.attrs.get("validate_shape") is False and op.spec.effects.writes)
        return {variable for op in reshaping for variable in possible_variables(op.takes[0])}

    def _with_shapes(self, items: list[Item]) -> list[Item]:
        """Items of a cluster, after those that compute shapes for it in other clusters: shapes are found anew in each."""
        inside = set(items)
        pulled: dict[Item, None] = {}
        for item in items:
            self._pull_shapes(item, inside, pulled)
        return [*pulled, *items]

    def _pull_shapes(self, item: Item, inside: set[Item], pulled: dict[Item, None]) -> None:
        """Notes what computes shapes for an item outside of a cluster, each after what it takes."""
        for t in item.takes:
            source = self.producer.get(t)
            if source is not None and source not in inside and source not in pulled and self.placement.is_traced_static(t):
                self._pull_shapes(source, inside, pulled)
                pulled[source] = None

    def _cluster(self, items: list[Item], step: StepKey, uses: dict[Tensor, set[StepKey]]) -> Cluster:
        cluster = Cluster(items, place=step[1], assumed=[(t.op, value) for t, value in self.work.assumed.items()])
        inside = {t for i in items for t in i.outputs}
        fetched = self.placement.fetched
        needed = {i.takes[p] for i in items for p in self.placement.constants[i]}
        needed.update(t for i in items if isinstance(i, OpItem) and i.spec.side == HOST for t in i.takes)
        for t in dict.fromkeys(t for i in items for t in i.takes):
            if t in inside:
                continue
            if t in self.known:
                if np.size(self.known[t]) > LARGE_CONSTANT_ELEMENTS and self.known[t].dtype != object:
                    cluster.large.append(t)
            elif (_is_handle(t) and t not in self.fed) or (t not in self.producer and t not in self.fed):
                continue
            elif t in self.placement.statics and t in needed:
                cluster.statics.append(t)
            else:
                cluster.inputs.append(t)
        cluster.large = [t for t in cluster.large if t not in needed]
        cluster.outputs = [
            t for i in items for t in i.outputs
            if not _is_handle(t) and (t in fetched or any(u != step for u in uses.get(t, ())))
        ]  # fmt: skip
        cluster.counted = self._counted(cluster)
        self._collect_state(cluster)
        cluster.differentiated = [i.loop for i in items if isinstance(i, LoopGradientItem) and i.loop in items]
        cluster.randoms = [op for i in items for op in i.operations if op.spec.effects.random]
        return cluster

    def _counted(self, cluster: Cluster) -> set[Tensor]:
        """The inputs from feeds and host steps that all who use them, some after scaling them, take with more entries than there are."""
        found = {t for t in cluster.inputs if (t in self.fed or self.placement.is_from_host_step(t)) and t._sizes and t._sizes[0] is None}
        scaled: dict[Item, Tensor] = {}
        for item in cluster.items:
            rows = [t for t in item.takes if t in found]
            if item.facts.scales_rows and len(rows) == 1 and all(t in rows or t._sizes == () for t in item.takes):
                scaled[item] = rows[0]
                found.update(set(item.outputs).difference(cluster.outputs))
        before: set[Tensor] = set()
        while found != before:
            before = set(found)
            for item in cluster.items:
                if item in scaled:
                    chain = {scaled[item], item.outputs[0]}
                    found.difference_update(() if found.issuperset(chain) else chain)
                    continue
                positions = item.counted_positions
                together = found.issuperset(item.takes[p] for p in positions)
                found.difference_update(t for p, t in enumerate(item.takes) if p not in positions or not together)
        return found.intersection(cluster.inputs)

    def _collect_state(self, cluster: Cluster) -> None:
        first: dict[str, tuple[Operation, str]] = {}
        written: set[str] = set()
        for item in cluster.items:
            reads, writes = item.reads, item.writes
            for v in reads:
                first.setdefault(variable_key(v), (v, "read"))
            for v in writes:
                first.setdefault(variable_key(v), (v, "write"))
                written.add(variable_key(v))
        for key, (op, kind) in first.items():
            target = cluster.overwrites if kind == "write" else cluster.updates if key in written else cluster.reads
            target.append(op)

    def _fetched_refs(self) -> list[Tensor]:
        return [t for t in self.work.fetched if t.dtype._is_ref_dtype and variable_op(t) is not None]

    def _required(self) -> list[Operation]:
        """The variables that are read before anything in the plan writes them."""
        written: set[str] = set()
        found: dict[str, Operation] = {}
        for item in sorted(self.items, key=lambda i: self.tick[i]):
            reads, writes = item.reads, item.writes
            may_read = self._is_driven(item) or item in self.on_host and any(t.dtype.name == "resource" and is_chosen(t) for t in item.takes)
            for v in () if may_read else reads:
                if variable_key(v) not in written:
                    found.setdefault(variable_key(v), v)
            written.update(map(variable_key, writes))
        for t in self._fetched_refs():
            op = required_variable_op(t)
            if variable_key(op) not in written and t not in self.fed:
                found.setdefault(variable_key(op), op)
        return list(found.values())


def _is_handle(tensor: Tensor) -> bool:
    return variable_op(tensor) is not None if tensor.dtype._is_ref_dtype or tensor.dtype.name == "resource" else False


def _does_nothing(cluster: Cluster) -> bool:
    idle = all(i.facts.does_nothing for i in cluster.items)
    return idle and not (cluster.outputs or cluster.updates or cluster.overwrites)
