"""Partition: the last stage of planning, which groups placed items into host steps and compiled clusters.

List scheduling: every item gets a tick, as early as its inputs, control edges and variables allow; even ticks are host steps, odd ticks are
compiled clusters, one per device. Compiled items without effects then move as late as their users allow, so that fewer tensors cross clusters.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tfcompat._src.graph.op_spec import HOST
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.flow.array_origin import is_length
from tfcompat._src.runtime.ir.cond_item import CondItem
from tfcompat._src.runtime.ir.item import Item, Node, OpItem, is_ref_read_item, names_alone
from tfcompat._src.runtime.ir.loop_item import LoopGradientItem, LoopItem
from tfcompat._src.runtime.ir.plan import Cluster, HostStep, NamingStep, Plan, Step
from tfcompat._src.runtime.ir.routed_item import RoutedItem
from tfcompat._src.runtime.passes.placement import Placement
from tfcompat._src.runtime.state.variable_state import (
    is_chosen,
    possible_variables,
    required_variable_op,
    variable_key,
    variable_op,
)

LARGE_CONSTANT_ELEMENTS = 1024
"""A constant with more elements is an argument of the compiled call, not part of the program."""
NAMING = -2
"""The tick of operations without inputs that name resources."""
StepKey = tuple[int, Any]
"""A tick, and the device of a compiled step if the session has several."""


class Partitioner:
    """Assigns ticks to the items of one plan and collects the items into steps.

    Attributes:
      tick: of each item. sources: the items that must run before each item. The others are those of the placement.
    """

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
        """Returns the lengths of TensorArrays that one cluster computes and another one is compiled for."""
        statics = dict.fromkeys(t for step in steps if isinstance(step, Cluster) for t in step.statics)
        return [t for t in statics if is_length(t.op) and self.producer.get(t) not in (None, *self.on_host)]

    # ---- ticks ----

    def _assign_ticks(self) -> None:
        """Schedules each item as early as possible, then delays compiled items without effects."""
        last_access: dict[str, list[tuple[Item, bool]]] = {}
        last_external: Item | None = None
        followers: dict[Item, list[tuple[Item, bool]]] = {}
        for item in self.items:
            # Operations that only name a resource run before everything else.
            if names_alone(item):
                self.sources[item], self.tick[item] = [], NAMING
                continue
            # Three kinds of edges: data (the flag says that the value is a compile-time constant), control, accesses of a variable.
            sources = self._data_sources(item)
            sources += [(waited, False) for waited in self._waited_for(item, {})]
            sources += [(before, False) for before in self._earlier_accesses(item, last_access)]
            self.sources[item] = [source for source, _ in sources]
            # Items with external effects, and control flow that the host drives, keep their order. `sources` does not show this edge.
            if item.effects.external or (self._is_driven(item)):
                sources += [(last_external, False)] if last_external is not None else []
                last_external = item
            earliest = 0 if item in self.on_host else 1
            self.tick[item] = max([earliest, *[self._after(source, item, static) for source, static in sources]])
            for source, static in sources:
                followers.setdefault(source, []).append((item, static))
        # With one host step and one cluster there is nothing to gain.
        if len(set(self.tick.values())) > 2:
            self._delay(followers)

    def _is_driven(self, item: Item) -> bool:
        """Whether an item is control flow that the host drives, with a plan for each part."""
        return item in self.on_host and isinstance(item, CondItem | LoopItem | RoutedItem)

    def _waited_for(self, node: Node, seen: dict[Node, None]) -> list[Item]:
        """Returns the items that a node's control edges wait for, followed through nodes that do not run because their value is known."""
        seen[node] = None
        waited = []
        for c in node.waits_for:
            source = self.owner.get(c, c)
            if source in self.tick:
                waited.append(source)
            elif source not in seen:
                waited += self._waited_for(source, seen)
        for t in node.takes:
            if t in self.known and t.op not in seen:
                waited += self._waited_for(t.op, seen)
        return waited

    def _data_sources(self, item: Item) -> list[tuple[Item, bool]]:
        """Returns the items that produce an item's inputs, each with whether the input is a compile-time constant of the item."""
        constants = self.placement.constants[item]
        sources = []
        for position, tensor in enumerate(item.takes):
            source = self.producer.get(tensor)
            if source is not None and not source.facts.names_variable:
                sources.append((source, tensor in self.placement.statics and position in constants))
        return sources

    def _delay(self, followers: dict[Item, list[tuple[Item, bool]]]) -> None:
        """Moves compiled items without effects to the latest tick at which every user still gets their outputs."""
        for item in reversed(self.items):
            if item in self.on_host or item not in followers or item.writes or item.effects.is_stateful:
                continue
            latest = min(self._before(item, follower, static) for follower, static in followers[item])
            self.tick[item] = max(self.tick[item], latest)

    def _before(self, source: Item, item: Item, static: bool) -> int:
        """Returns the latest odd tick of a compiled `source` that `item` allows."""
        tick = self.tick[item]
        if item in self.on_host:
            return tick - 1
        return tick - 2 if static or self._are_apart(source, item) else tick

    def _after(self, source: Item, item: Item, static: bool = False) -> int:
        """Returns the earliest tick of `item` that `source` allows.

        Compiled items share a tick unless the second needs the value at compile time or runs on another device: then a cluster lies between.
        """
        tick = self.tick.get(source, 0)
        source_host, item_host = source in self.on_host, item in self.on_host
        if source_host != item_host:
            return tick + 1
        return tick + 2 if not source_host and (static or self._are_apart(source, item)) else tick

    def _are_apart(self, one: Item, other: Item) -> bool:
        """Whether two compiled items are on different devices."""
        return self.placement.devices.get(one) is not self.placement.devices.get(other)

    def _earlier_accesses(self, item: Item, last: dict[str, list[tuple[Item, bool]]]) -> list[Item]:
        """Returns the items that access the same variables before `item`, unless both only read; updates the accesses `last`."""
        reads, writes = item.reads, item.writes
        earlier: list[Item] = []
        written = {variable_key(v) for v in writes}
        for key in {variable_key(v) for v in reads} | written:
            # Since the last write: an item that writes comes after all of them, one that reads after the write only.
            history = last.setdefault(key, [])
            earlier.extend(other for other, wrote in history if wrote or key in written)
            if key in written:
                history.clear()
            history.append((item, key in written))
        return earlier

    # ---- steps ----

    def _steps(self) -> list[Step]:
        """Collects the items of each tick and device into a step, in order; clusters without an effect or output are left out."""
        by_step: dict[StepKey, list[Item]] = {}
        for item in self.items:
            if not item.facts.names_variable:
                place = self.placement.devices.get(item) if self.tick[item] % 2 else None
                by_step.setdefault((self.tick[item], place), []).append(item)
        # Items that are cheap, or must be evaluated where they are used, are repeated in the steps of their users.
        for step, items in by_step.items():
            items = self._with_ref_reads(items)
            by_step[step] = self._with_shapes(list(dict.fromkeys(items))) if step[0] % 2 else items
        # A step returns the outputs that other steps use.
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
        """Returns the outputs of items that are fetched or used by other steps."""
        fetched = self.placement.fetched
        return {t for i in items for t in i.outputs if t in fetched or any(u != step for u in uses.get(t, ()))}

    def _files_first(self, items: list[Item]) -> list[Item]:
        """Moves operations that read checkpoints before other host operations, so that a damaged file raises before a variable changes.

        They do not move across operations with external effects.
        """
        ordered: list[Item] = []
        position = 0
        for item in items:
            ready = item.facts.reads_files and not item.waits_for
            if ready and all(t in self.known or t in self.fed for t in item.takes):
                ordered.insert(position, item)
                position += 1
            else:
                ordered.append(item)
                position = len(ordered) if item.effects.external else position
        return ordered

    def _with_ref_reads(self, items: list[Item]) -> list[Item]:
        """Repeats, before each item of a step, the reads of ref variables that it uses from other steps.

        In TensorFlow 1.15 such a read is an alias: its user sees the variable's value at its own time. Two reads are not repeated: of a
        variable that changes its shape, whose old memory the alias keeps, and of a value that is needed as a compile-time constant.
        """
        inside, repeated = set(items), []
        for item in items:
            for t in item.takes:
                source = self.producer.get(t)
                if source is not None and source not in inside and is_ref_read_item(source) and t not in self.placement.statics:
                    variable = variable_op(source.takes[0])
                    if variable is not None and variable not in self._reshaped:
                        repeated.append(source)
            repeated.append(item)
        return repeated

    @functools.cached_property
    def _reshaped(self) -> set[Operation]:
        """The variables whose shape an operation of the plan may change (Assign with validate_shape=False)."""
        leaves = (op for item in self.items for op in item.operations)
        reshaping = (op for op in leaves if op.attrs.get("validate_shape") is False and op.spec.effects.writes)
        return {variable for op in reshaping for variable in possible_variables(op.takes[0])}

    def _with_shapes(self, items: list[Item]) -> list[Item]:
        """Repeats, before the items of a cluster, the shape computations of other clusters that it uses: each trace computes its own shapes."""
        inside = set(items)
        pulled: dict[Item, None] = {}
        for item in items:
            self._pull_shapes(item, inside, pulled)
        return [*pulled, *items]

    def _pull_shapes(self, item: Item, inside: set[Item], pulled: dict[Item, None]) -> None:
        """Adds to `pulled` the items outside of a cluster that compute shapes for `item`, in topological order."""
        for t in item.takes:
            source = self.producer.get(t)
            if source is not None and source not in inside and source not in pulled and self.placement.is_traced_static(t):
                self._pull_shapes(source, inside, pulled)
                pulled[source] = None

    def _cluster(self, items: list[Item], step: StepKey, uses: dict[Tensor, set[StepKey]]) -> Cluster:
        """Makes a cluster of items, and sorts the tensors that enter it into constants, compile-time inputs and inputs."""
        cluster = Cluster(items, place=step[1], assumed=[(t.op, value) for t, value in self.work.assumed.items()])
        inside = {t for i in items for t in i.outputs if t not in self.fed}
        fetched = self.placement.fetched
        # Tensors whose values kernels of this cluster need while it is compiled.
        needed = {i.takes[p] for i in items for p in self.placement.constants[i]}
        needed.update(t for i in items if isinstance(i, OpItem) and i.spec.side == HOST for t in i.takes)
        for t in dict.fromkeys(t for i in items for t in i.takes):
            if t in inside:
                continue
            if t in self.known:
                if np.size(self.known[t]) > LARGE_CONSTANT_ELEMENTS and self.known[t].dtype != object:
                    cluster.large.append(t)
            # Handles are resolved while planning; a tensor without a producer is in a branch that is not taken.
            elif (_is_handle(t) and t not in self.fed) or (t not in self.producer and t not in self.fed):
                continue
            elif t in self.placement.statics and t in needed:
                cluster.statics.append(t)
            else:
                cluster.inputs.append(t)
        # A constant that a kernel needs at compile time stays part of the program, however large.
        cluster.large = [t for t in cluster.large if t not in needed]
        cluster.outputs = [
            t for i in items for t in i.outputs
            if not _is_handle(t) and t not in self.fed and (t in fetched or any(u != step for u in uses.get(t, ())))
        ]  # fmt: skip
        cluster.counted = self._counted(cluster)
        self._collect_state(cluster)
        cluster.differentiated = [i.loop for i in items if isinstance(i, LoopGradientItem) and i.loop in items]
        cluster.randoms = [op for i in items for op in i.operations if op.spec.effects.random]
        return cluster

    def _counted(self, cluster: Cluster) -> set[Tensor]:
        """Returns the inputs from feeds and host steps that may be padded along axis 0, because every user accepts padded rows.

        Greatest fixed point: all candidates first, then those with a user that needs exact rows are removed until nothing changes. A row-wise
        scaling between input and user passes the property on.
        """
        found = {t for t in cluster.inputs if (t in self.fed or self.placement.is_from_host_step(t)) and t._sizes and t._sizes[0] is None}
        scaled: dict[Item, Tensor] = {}
        # Row-wise operations on one candidate and scalars: their outputs are candidates too, unless other steps use them.
        for item in cluster.items:
            rows = [t for t in item.takes if t in found]
            if item.facts.scales_rows and len(rows) == 1 and all(t in rows or t._sizes == () for t in item.takes):
                scaled[item] = rows[0]
                found.update(set(item.outputs).difference(cluster.outputs))
        before: set[Tensor] = set()
        while found != before:
            before = set(found)
            for item in cluster.items:
                # Input and output of a scaling keep or lose the property together.
                if item in scaled:
                    chain = {scaled[item], item.outputs[0]}
                    found.difference_update(() if found.issuperset(chain) else chain)
                    continue
                positions = item.counted_positions
                together = found.issuperset(item.takes[p] for p in positions)
                found.difference_update(t for p, t in enumerate(item.takes) if p not in positions or not together)
        return found.intersection(cluster.inputs)

    def _collect_state(self, cluster: Cluster) -> None:
        """Sorts the variables of a cluster by first access: a variable that is written first needs no old value."""
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
        """Returns the variables that are read before the plan writes them, and must have a value when a run starts.

        Reads of control flow that the host drives, and of a handle chosen at run time, may not happen; they are checked when they do.
        """
        written: set[str] = set()
        required: dict[str, Operation] = {}
        for item in sorted(self.items, key=lambda i: self.tick[i]):
            reads, writes = item.reads, item.writes
            may_read = self._is_driven(item) or item in self.on_host and any(t.dtype.name == "resource" and is_chosen(t) for t in item.takes)
            for v in () if may_read else reads:
                if variable_key(v) not in written:
                    required.setdefault(variable_key(v), v)
            written.update(map(variable_key, writes))
        for t in self._fetched_refs():
            op = required_variable_op(t)
            if variable_key(op) not in written and t not in self.fed:
                required.setdefault(variable_key(op), op)
        return list(required.values())


def _is_handle(tensor: Tensor) -> bool:
    return variable_op(tensor) is not None if tensor.dtype._is_ref_dtype or tensor.dtype.name == "resource" else False


def _does_nothing(cluster: Cluster) -> bool:
    idle = all(i.facts.does_nothing for i in cluster.items)
    return idle and not (cluster.outputs or cluster.updates or cluster.overwrites)
