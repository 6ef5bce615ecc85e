"""Stage 5, its second half: which operations are compiled together and which run on the host between, in an order that respects data,
control edges and effects.

Every operation gets a tick. Even ticks run on the host, odd ticks are compiled clusters, one per device; each is as early as its
inputs allow.
"""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any

import jax
import numpy as np

from tfcompat._src.framework import op_spec
from tfcompat._src.framework.operation import Operation
from tfcompat._src.framework.tensor import Tensor
from tfcompat._src.runtime.compile import FEW_RUNS
from tfcompat._src.runtime.host_work import UNITS, HostWork
from tfcompat._src.runtime.lower_control import leaf_operations
from tfcompat._src.runtime.lower_loop import LoopGradientUnit
from tfcompat._src.runtime.place import Placer
from tfcompat._src.runtime.plan import Cluster, HostStep, Plan
from tfcompat._src.runtime.towers import TowerUnit
from tfcompat._src.runtime.variable_state import (
    HANDLE_OPS,
    is_ref_read,
    variable_key,
    variable_op,
)

LARGE_CONSTANT_ELEMENTS = 1024
_SCALES = ("Mul", "RealDiv", "Neg", "Identity", "Cast")
"""Op types that scale rows by numbers."""


class Partitioner(HostWork):
    """Assigns ticks to the operations of one plan and collects them into steps."""

    def __init__(
        self, items: list[Any], fetched: list[Tensor], feeds: list[Tensor], known: dict[Tensor, np.ndarray], placer: Placer,
        assumed: dict[Tensor, np.ndarray] | None = None, compiles: bool = True, is_first: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(items, fetched, feeds, known, compiles)
        self.assumed = assumed or {}
        self.tick: dict[Any, int] = {}
        self.sources: dict[Any, list[Any]] = {}
        self.places = self._device_places(placer)
        self.only_samples = is_first and self._only_samples()

    def plan(self) -> Plan:
        self._choose_places()
        self._assign_ticks()
        steps = self._steps()
        required = self._required()
        runs_left = FEW_RUNS if self.only_samples else None
        return Plan(self.fetched, self.feeds, self.known, steps, required, self.sources, self._array_sizes(steps), runs_left=runs_left)

    def _array_sizes(self, steps: list[Any]) -> list[Tensor]:
        """The lengths of TensorArrays that one cluster finds out and another is compiled for."""
        statics = dict.fromkeys(t for step in steps if isinstance(step, Cluster) for t in step.statics)
        return [t for t in statics if t.op.type == "TensorArraySizeV3" and self.producer.get(t) not in (None, *self.on_host)]

    # ---- places ----

    def _device_places(self, placer: Placer) -> dict[Any, Any]:
        """The JAX device of each item, or their mesh; none where all are on the default device."""
        if len(placer.jax_devices) == 1:
            return {}
        for item in self.items:
            if isinstance(item, TowerUnit):
                return dict.fromkeys(self.items, item.place)
        found = {}
        for item in self.items:
            ops = [op for op in leaf_operations(item) if op.type not in HANDLE_OPS] or leaf_operations(item)
            found[item] = Counter(placer.device_of(op).jax_device for op in ops).most_common(1)[0][0] if ops else None
        is_plain = not placer.has_twins and set(found.values()) <= {jax.devices()[0]}
        return {} if is_plain else found

    # ---- ticks ----

    def _assign_ticks(self) -> None:
        """Each item as early as it can run, then pure device work as late as its users allow: what crosses clusters is least."""
        last_access: dict[str, list[tuple[Any, bool]]] = {}
        last_external: Any = None
        followers: dict[Any, list[tuple[Any, bool]]] = {}
        for item in self.items:
            sources = self._data_sources(item)
            sources += [(waited, False) for waited in self._waited_for(item, {})]
            sources += [(before, False) for before in self._earlier_accesses(item, last_access)]
            self.sources[item] = [source for source, _ in sources]
            if item.spec.effects.external or (isinstance(item, UNITS) and item in self.on_host):
                sources += [(last_external, False)] if last_external is not None else []
                last_external = item
            earliest = 0 if item in self.on_host else 1
            self.tick[item] = max([earliest, *[self._after(source, item, static) for source, static in sources]])
            for source, static in sources:
                followers.setdefault(source, []).append((item, static))
        if len(set(self.tick.values())) > 2:
            self._delay(followers)

    def _waited_for(self, item: Any, seen: dict[Any, None]) -> list[Any]:
        """The items that control edges make an item wait for, also those of the constants that it takes, which do not run."""
        seen[item] = None
        found = []
        for c in item._control_inputs:
            source = self.owner.get(c, c)
            if source in self.tick:
                found.append(source)
            elif source not in seen:
                found += self._waited_for(source, seen)
        for t in item._inputs:
            if t in self.known and t.op not in seen:
                found += self._waited_for(t.op, seen)
        return found

    def _data_sources(self, item: Any) -> list[tuple[Any, bool]]:
        """Whom an item gets its inputs from, and whether it needs the value to be compiled."""
        constants = item.constant_positions()
        found = []
        for position, tensor in enumerate(item._inputs):
            source = self.producer.get(tensor)
            if source is not None and source.type not in HANDLE_OPS:
                found.append((source, tensor in self.statics and position in constants))
        return found

    def _delay(self, followers: dict[Any, list[tuple[Any, bool]]]) -> None:
        for item in reversed(self.items):
            if item in self.on_host or item not in followers or self.access[item][1] or item.spec.effects.is_stateful:
                continue
            latest = min(self._before(item, follower, static) for follower, static in followers[item])
            self.tick[item] = max(self.tick[item], latest)

    def _before(self, source: Any, item: Any, static: bool) -> int:
        """The latest odd tick at which `source` is early enough for `item`."""
        tick = self.tick[item]
        if item in self.on_host:
            return tick - 1
        return tick - 2 if static or self._are_apart(source, item) else tick

    def _after(self, source: Any, item: Any, static: bool = False) -> int:
        """The earliest tick of `item` behind `source`."""
        tick = self.tick.get(source, 0)
        source_host, item_host = source in self.on_host, item in self.on_host
        if source_host != item_host:
            return tick + 1
        return tick + 2 if not source_host and (static or self._are_apart(source, item)) else tick

    def _are_apart(self, one: Any, other: Any) -> bool:
        """Whether two compiled items are on different devices."""
        return self.places.get(one) is not self.places.get(other)

    def _earlier_accesses(self, item: Any, last: dict[str, list[tuple[Any, bool]]]) -> list[Any]:
        reads, writes = self.access[item]
        found = []
        written = {variable_key(v) for v in writes}
        for key in {variable_key(v) for v in reads} | written:
            history = last.setdefault(key, [])
            found.extend(other for other, wrote in history if wrote or key in written)
            if key in written:
                history.clear()
            history.append((item, key in written))
        return found

    # ---- steps ----

    def _steps(self) -> list[HostStep | Cluster]:
        by_step: dict[tuple, list[Any]] = {}
        for item in self.items:
            if item.type not in HANDLE_OPS:
                place = self.places.get(item) if self.tick[item] % 2 else None
                by_step.setdefault((self.tick[item], place), []).append(item)
        for step, items in by_step.items():
            items = self._with_ref_reads(items)
            by_step[step] = self._with_shapes(list(dict.fromkeys(items))) if step[0] % 2 else items
        uses: dict[Tensor, set[tuple]] = {}
        for step, items in by_step.items():
            for t in (t for item in items for t in item._inputs):
                uses.setdefault(t, set()).add(step)
        steps = [
            self._cluster(items, step, uses) if step[0] % 2 else HostStep(self._files_first(items))
            for step, items in sorted(by_step.items(), key=lambda entry: (entry[0][0], getattr(entry[0][1], "id", 0)))
        ]
        return [s for s in steps if isinstance(s, HostStep) or not _does_nothing(s)]

    def _files_first(self, items: list[Any]) -> list[Any]:
        """Host operations with those first that read checkpoints: all are found whole before a variable changes."""
        found: list[Any] = []
        place = 0
        for item in items:
            ready = item.type == "RestoreV2" and not item._control_inputs
            if ready and all(t in self.known or t in self.fed for t in item._inputs):
                found.insert(place, item)
                place += 1
            else:
                found.append(item)
                place = len(found) if item.spec.effects.external else place
        return found

    def _with_ref_reads(self, items: list[Any]) -> list[Any]:
        """Items of a step, each after the reads of refs that it takes from other steps: a read is an alias, taken where its user runs.

        Variables that are given another shape have other memory from then on.
        """
        inside, found = set(items), []
        for item in items:
            for t in item._inputs:
                source = self.producer.get(t)
                if source is not None and source not in inside and is_ref_read(source):
                    if variable_op(source._inputs[0]) not in self._reshaped:
                        found.append(source)
            found.append(item)
        return found

    @functools.cached_property
    def _reshaped(self) -> set[Operation | None]:
        """The variables that a step may give another shape."""
        leaves = (op for item in self.items for op in leaf_operations(item))
        return {variable_op(op._inputs[0]) for op in leaves if op._attrs.get("validate_shape") is False and op.spec.effects.writes}

    def _with_shapes(self, items: list[Any]) -> list[Any]:
        """Items of a cluster, after those that compute shapes for it in other clusters: shapes are found anew in each."""
        inside = set(items)
        pulled: dict[Any, None] = {}

        def pull(item: Any) -> None:
            for t in item._inputs:
                source = self.producer.get(t)
                if source is not None and source not in inside and source not in pulled and self._is_traced_static(t):
                    pull(source)
                    pulled[source] = None

        for item in items:
            pull(item)
        return [*pulled, *items]

    def _cluster(self, items: list[Any], step: tuple, uses: dict[Tensor, set[tuple]]) -> Cluster:
        cluster = Cluster(items, place=step[1], assumed=[(t.op, value) for t, value in self.assumed.items()])
        inside = {t for i in items for t in i._outputs}
        fetched = set(self.fetched)
        needed = {i._inputs[p] for i in items for p in i.constant_positions()}
        needed.update(t for i in items if i.spec.place == op_spec.HOST for t in i._inputs)
        for t in dict.fromkeys(t for i in items for t in i._inputs):
            if t in inside:
                continue
            if t in self.known:
                if np.size(self.known[t]) > LARGE_CONSTANT_ELEMENTS and self.known[t].dtype != object:
                    cluster.large.append(t)
            elif (_is_handle(t) and t not in self.fed) or (t not in self.producer and t not in self.fed):
                continue
            elif t in self.statics and t in needed:
                cluster.statics.append(t)
            else:
                cluster.inputs.append(t)
        cluster.large = [t for t in cluster.large if t not in needed]
        cluster.outputs = [
            t for i in items for t in i._outputs
            if not _is_handle(t) and (t in fetched or any(u != step for u in uses.get(t, ())))
        ]  # fmt: skip
        cluster.counted = self._counted(cluster)
        self._collect_state(cluster)
        for item in items:
            if isinstance(item, LoopGradientUnit):
                item.unit.has_pullback = item.unit in items
        cluster.randoms = [i for i in items for i in leaf_operations(i) if i.spec.effects.random]
        return cluster

    def _counted(self, cluster: Cluster) -> set[Tensor]:
        """The inputs from feeds and host steps that all who use them, some after scaling them, take with more entries than there are."""
        found = {t for t in cluster.inputs if (t in self.fed or self._is_from_host_step(t)) and t.shape.dims and t._sizes[0] is None}
        scaled: dict[Any, Tensor] = {}
        for item in cluster.items:
            rows = [t for t in item._inputs if t in found]
            if item.type in _SCALES and len(rows) == 1 and all(t in rows or t._sizes == () for t in item._inputs):
                scaled[item] = rows[0]
                found.update(set(item._outputs).difference(cluster.outputs))
        before: set[Tensor] = set()
        while found != before:
            before = set(found)
            for item in cluster.items:
                if item in scaled:
                    found.difference_update([] if item._outputs[0] in found else [scaled[item]])
                    continue
                positions = item.spec.counted_positions
                together = found.issuperset(item._inputs[p] for p in positions)
                found.difference_update(t for p, t in enumerate(item._inputs) if p not in positions or not together)
        return found.intersection(cluster.inputs)

    def _collect_state(self, cluster: Cluster) -> None:
        first: dict[str, tuple[Operation, str]] = {}
        written: set[str] = set()
        for item in cluster.items:
            reads, writes = self.access[item]
            for v in reads:
                first.setdefault(variable_key(v), (v, "read"))
            for v in writes:
                first.setdefault(variable_key(v), (v, "write"))
                written.add(variable_key(v))
        for key, (op, kind) in first.items():
            target = cluster.overwrites if kind == "write" else cluster.updates if key in written else cluster.reads
            target.append(op)

    def _fetched_refs(self) -> list[Tensor]:
        return [t for t in self.fetched if t._dtype._is_ref_dtype and variable_op(t) is not None]

    def _required(self) -> list[Operation]:
        """The variables that are read before anything in the plan writes them."""
        written: set[str] = set()
        found: dict[str, Operation] = {}
        for item in sorted(self.items, key=lambda i: self.tick[i]):
            reads, writes = self.access[item]
            for v in () if isinstance(item, UNITS) and item in self.on_host else reads:
                if variable_key(v) not in written:
                    found.setdefault(variable_key(v), v)
            written.update(map(variable_key, writes))
        for t in self._fetched_refs():
            op = variable_op(t)
            if variable_key(op) not in written and t not in self.fed:
                found.setdefault(variable_key(op), op)
        return list(found.values())


def _is_handle(tensor: Tensor) -> bool:
    return variable_op(tensor) is not None if tensor._dtype._is_ref_dtype or tensor._dtype.name == "resource" else False


def _does_nothing(cluster: Cluster) -> bool:
    return not (cluster.outputs or cluster.updates or cluster.overwrites) and all(
        i.type in ("NoOp", "ControlTrigger") for i in cluster.items
    )
