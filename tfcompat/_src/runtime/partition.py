"""Stage 5: which operations are compiled together and which run on the host between, in an order that respects data,
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

from tfcompat._src.framework import dtypes, jax_compat, op_spec
from tfcompat._src.framework.operation import Operation
from tfcompat._src.framework.tensor import Tensor
from tfcompat._src.ops.control.guards import SWITCH
from tfcompat._src.ops.flow.array_origin import array_of_flow, array_op, has_one_element_shape
from tfcompat._src.runtime import uncompiled
from tfcompat._src.runtime.compile import FEW_RUNS
from tfcompat._src.runtime.fold import MAX_FOLDED_ELEMENTS, can_fold
from tfcompat._src.runtime.loop_unit import LoopGradientItem, LoopItem, host_chooses_branch, loop_units
from tfcompat._src.runtime.lower_control import CondUnit, leaf_operations
from tfcompat._src.runtime.lower_loop import LoopGradientUnit
from tfcompat._src.runtime.place import Placer
from tfcompat._src.runtime.plan import Cluster, HostStep, Plan
from tfcompat._src.runtime.towers import TowerUnit
from tfcompat._src.runtime.variable_state import (
    HANDLE_OPS,
    accesses,
    is_ref_read,
    variable_key,
    variable_op,
)

LARGE_CONSTANT_ELEMENTS = 1024
UNITS = (CondUnit, LoopItem)


_PICKS_ROWS = ("GatherV2", "ResourceGather", "UnsortedSegmentSum", "SparseSegmentMeanGrad", "SparseSegmentSqrtNGrad")
"""Op types that pick rows, or add them up, by their second input."""
_SCALES = ("Mul", "RealDiv", "Neg", "Identity", "Cast")
"""Op types that scale rows by numbers."""
_VARYING = ("Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2", "Where", "SparseFillEmptyRows")
"""Host op types the length of whose results depends on data."""

_REJECTS = ("RandomGamma",)
"""Random op types that draw until a sample is accepted: in NumPy only samples that are not yet accepted are computed."""
_FEW_SAMPLES = 1 << 15
"""So many are sampled faster in NumPy than by a compiled loop, whose compilation takes longer than hundreds of such runs."""


class Partitioner:
    """Assigns ticks to the operations of one plan and collects them into steps."""

    def __init__(
        self, items: list[Any], fetched: list[Tensor], feeds: list[Tensor], known: dict[Tensor, np.ndarray], placer: Placer,
        assumed: dict[Tensor, np.ndarray] | None = None, compiles: bool = True, is_first: bool = False,
    ) -> None:  # fmt: skip
        self.assumed, self.compiles = assumed or {}, compiles
        self.items = [i for i in items if not all(t in known for t in i._outputs) or not i._outputs]
        self.fetched, self.feeds, self.known = fetched, feeds, known
        self.fed = set(feeds)
        self.fetched_set = set(fetched)
        self.producer = {t: i for i in self.items for t in i._outputs}
        self.users: dict[Tensor, list[Any]] = {}
        for i in self.items:
            for t in i._inputs:
                self.users.setdefault(t, []).append(i)
        self.owner = {op: i for i in self.items for op in leaf_operations(i)}
        self.access = {i: accesses(i) for i in self.items}
        self.statics: set[Tensor] = set()
        self.on_host: set[Any] = set()
        self.tick: dict[Any, int] = {}
        self.sources: dict[Any, list[Any]] = {}
        self.traced_static: dict[Tensor, bool] = {}
        self.varying: dict[Tensor, bool] = {}
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

    def _choose_places(self) -> None:
        in_numpy = self.only_samples or self._is_initializer()
        for item in self.items:
            spec = item.spec
            if isinstance(item, UNITS):
                for unit in loop_units(item):
                    unit.settle(self._is_traced_static)
                if self._needs_host(item):
                    self.on_host.add(item)
            elif isinstance(item, LoopGradientItem):
                if item.unit in self.on_host:
                    self.on_host.add(item)
            elif item.type in HANDLE_OPS or self._handles_host_dtype(item):
                self.on_host.add(item)
            elif spec.place == op_spec.HOST:
                if not (spec.is_pure_on_host and all(map(self._is_traced_static, item._outputs))):
                    if spec.padded is None or not self._only_updates_rows(item):
                        self.on_host.add(item)
            elif in_numpy and not spec.effects.creates and (spec.numpy_kernel is not None or not item._outputs and not item._inputs):
                self.on_host.add(item)
            elif not self.compiles and self._has_numpy_kernel(item):
                self.on_host.add(item)
            elif self._samples_by_rejection(item) or self._is_integer_work_on_host_values(item) or self._moves_host_value(item):
                self.on_host.add(item)
            elif self._depends_on_host_count(item) or self._cuts_at_host_place(item):
                self.on_host.add(item)
        for item in reversed(self.items):
            if item.type in ("Identity", "ReadVariableOp") and self._is_for_host_only(item):
                self.on_host.add(item)
        for item in [i for i in self.items if i in self.on_host and i.type not in HANDLE_OPS]:
            for t in item._inputs:
                self._pull_to_host(t)
        for item in self.items:
            if item not in self.on_host:
                for position in item.constant_positions():
                    self._demand_static(item._inputs[position])

    @staticmethod
    def _has_numpy_kernel(item: Any) -> bool:
        effects = item.spec.effects
        has_kernel = item.spec.numpy_kernel is not None or uncompiled.kernel(item) is not None
        return has_kernel and not (effects.reads or effects.writes or effects.external)

    def _handles_host_dtype(self, item: Any) -> bool:
        """Strings, variants, quantized values, and resources that are no variables live on the host."""
        for t in (*item._inputs, *item._outputs):
            name = t._dtype.base_dtype.name
            array = array_op(t) if name == "resource" else array_of_flow(t)
            if array is not None:
                if array._attrs["dtype"].name in ("string", "variant", "resource") or not has_one_element_shape(array):
                    return True
                continue
            if (name in ("string", "variant") or t._dtype.is_quantized) and t not in self.known:
                return True
            if name == "resource":
                variable = variable_op(t)
                if variable is None or variable._attrs["dtype"].name in ("string", "variant"):
                    return True
        return False

    def _only_updates_rows(self, unique: Any) -> bool:
        """Whether distinct row numbers are used for nothing but sums by row and updates of rows."""
        rows, places = unique._outputs
        if unique.inputs[0].dtype not in (dtypes.int32, dtypes.int64) or not {rows, places}.isdisjoint(self.fetched):
            return False
        if jax_compat.compiles_to_cpu() and self._varies(unique._inputs[0]):
            return False
        sums = [i for i, t in self._uses(places)]
        if not all(i.type == "UnsortedSegmentSum" and i._inputs[1] is places for i in sums):
            return False
        return all(self._is_row_update(i, t) or self._is_row_count(i, sums) for i, t in self._uses(rows))

    def _is_row_update(self, item: Any, rows: Tensor) -> bool:
        names = item.spec.signature.input_index
        return bool(item.spec.effects.writes) and "indices" in names and item._inputs[names["indices"]] is rows

    def _is_row_count(self, item: Any, sums: list[Any]) -> bool:
        """Whether `item` is a Shape whose one element is the number of rows of the sums."""
        if item.type != "Shape":
            return False
        counts = [i for i, _ in self._uses(item._outputs[0])]
        return all(
            c.type == "StridedSlice" and all(u in sums and u._inputs[2] is t for u, t in self._uses(c._outputs[0]))
            for c in counts
        )

    def _uses(self, tensor: Tensor) -> list[tuple[Any, Tensor]]:
        return [(i, tensor) for i in self.items if tensor in i._inputs]

    def _samples_by_rejection(self, item: Any) -> bool:
        """Whether an item draws few samples by rejection, from parameters that are on the host."""
        if item.type not in _REJECTS or not jax_compat.compiles_to_cpu() or not all(map(self._is_there, item._inputs)):
            return False
        return (item._outputs[0].shape.num_elements() or 0) <= _FEW_SAMPLES

    def _is_integer_work_on_host_values(self, item: Any) -> bool:
        """Index arithmetic on what a host step gave: its shapes vary from run to run, so it is not worth compiling."""
        if item.spec.numpy_kernel is None or item.spec.effects != op_spec.PURE:
            return False
        if not all(t._dtype.is_integer or t._dtype.is_bool for t in item._outputs):
            return False
        sources = [self.producer.get(t) for t in item._inputs if t not in self.known]
        return bool(sources) and all(s in self.on_host and s.type not in HANDLE_OPS for s in sources)

    def _moves_host_value(self, item: Any) -> bool:
        """Whether all that an item does is to hand on or store what a host step gave: a restored variable is not compiled."""
        if item.type not in ("Identity", "Reshape", "Assign", "AssignVariableOp"):
            return False
        source = self.producer.get(item._inputs[1 if item.type.startswith("Assign") else 0])
        if source is None or source not in self.on_host or source.type in HANDLE_OPS or isinstance(source, UNITS):
            return False
        return item.type != "Reshape" or item._inputs[1] in self.known or self._varies(item._inputs[0]) and self._is_there(item._inputs[1])

    def _is_there(self, tensor: Tensor) -> bool:
        """Whether a value is on the host before anything is compiled."""
        return tensor in self.fed or tensor in self.known or self._is_from_host_step(tensor)

    def _depends_on_host_count(self, item: Any) -> bool:
        """Whether an item picks fed or host values by what a host step found, or rows by what varies in number.

        How many there are varies from run to run, so it is not worth compiling.
        """
        if item.type not in _PICKS_ROWS or not self._is_from_host_step(item._inputs[1]):
            return False
        if item.spec.numpy_kernel is None and uncompiled.kernel(item) is None:
            return False
        if jax_compat.compiles_to_cpu() and self._varies(item._inputs[1]):
            return True
        return item.type == "GatherV2" and (item._inputs[0] in self.fed or self._is_from_host_step(item._inputs[0]))

    def _cuts_at_host_place(self, item: Any) -> bool:
        """Whether an item cuts a piece out of a value on the host where a host step says, which would be compiled for each place."""
        if item.type not in ("StridedSlice", "Slice") or not all(map(self._is_there, item._inputs)):
            return False
        return any(map(self._is_from_host_step, item._inputs[1:]))

    def _varies(self, tensor: Tensor) -> bool:
        """Whether the length of what a host step gave depends on data: on how many distinct or nonzero elements there are."""
        found = self.varying.get(tensor)
        if found is None:
            item = self.producer.get(tensor)
            found = item in self.on_host and isinstance(item, Operation) and (item.type in _VARYING or any(map(self._varies, item._inputs)))
            self.varying[tensor] = found
        return found

    def _is_from_host_step(self, tensor: Tensor) -> bool:
        source = self.producer.get(tensor)
        return source in self.on_host and source.type not in HANDLE_OPS and not isinstance(source, UNITS)

    def _is_for_host_only(self, item: Any) -> bool:
        """Whether host steps, and nothing else, use what an item reads."""
        users = self.users.get(item._outputs[0], ())
        return bool(users) and item._outputs[0] not in self.fetched_set and all(u in self.on_host for u in users)

    def _pull_to_host(self, tensor: Tensor) -> bool:
        """Moves index arithmetic on feeds to the host, where a host step needs it; whether the value is there then."""
        if tensor in self.fed or tensor in self.known:
            return True
        item = self.producer.get(tensor)
        if item is None or item in self.on_host:
            return item is not None
        if isinstance(item, CondUnit) or item.spec.numpy_kernel is None or item.spec.effects != op_spec.PURE:
            return False
        if not all(t._dtype.is_integer or t._dtype.is_bool for t in item._outputs):
            return False
        if not item._inputs or not all([self._pull_to_host(t) for t in item._inputs]):
            return False
        self.on_host.add(item)
        return True

    def _needs_host(self, unit: Any) -> bool:
        """Whether a unit holds host work, or the predicate or a value of a branch comes from the host."""
        if isinstance(unit, CondUnit) and self.producer.get(unit.predicate) in self.on_host:
            return True
        for t in unit._inputs:
            source = self.producer.get(t)
            if isinstance(source, CondUnit) and source in self.on_host and source.is_guarded(t):
                return True
        if any(loop.blocked for loop in loop_units(unit)) or host_chooses_branch(unit):
            return True
        if isinstance(unit, CondUnit) and self._must_know_inside(unit):
            return True
        return any(
            op.spec.effects.external or op.spec.place == op_spec.HOST or self._handles_host_dtype(op)
            for op in leaf_operations(unit)
        )

    def _must_know_inside(self, unit: CondUnit) -> bool:
        """Whether a kernel in a branch needs a value as a number that the branch computes from data."""
        made = {t: op for op in unit.operations() for t in op._outputs}

        def is_static(tensor: Tensor) -> bool:
            op = made.get(tensor)
            if op is None or tensor in self.known:
                return self._is_traced_static(tensor)
            if op.type in SWITCH:
                return is_static(op._inputs[0])
            if not isinstance(op, Operation) or not op._inputs or not can_fold(op):
                return False
            shape_only = op.spec.shape_only_positions
            return all(i in shape_only or is_static(t) for i, t in enumerate(op._inputs))

        asked = (op._inputs[p] for op in unit.operations() if isinstance(op, Operation) for p in op.constant_positions())
        return any(t in made and not is_static(t) for t in asked)

    def _is_initializer(self) -> bool:
        """Nothing fed, something written, nothing read that was not written before: runs once, so nothing is worth compiling."""
        if self.feeds or not any(writes for _, writes in self.access.values()):
            return False
        written: set[str] = set()
        for item in self.items:
            reads, writes = self.access[item]
            if any(variable_key(v) not in written for v in reads):
                return False
            written.update(map(variable_key, writes))
        return True

    def _only_samples(self) -> bool:
        """Nothing fed, no variable used: few random numbers and what NumPy makes of them, which compiling takes longer for than a few runs."""
        if self.feeds or self.places or not jax_compat.compiles_to_cpu():
            return False
        return any(i.spec.effects.random for i in self.items) and all(map(self._is_small_in_numpy, self.items))

    def _is_small_in_numpy(self, item: Any) -> bool:
        effects = item.spec.effects
        if isinstance(item, UNITS) or any(self.access[item]) or effects.external or effects.creates:
            return False
        if item.spec.numpy_kernel is None:
            return not item._inputs and not item._outputs
        sizes = [t.shape.num_elements() for t in item._outputs]
        return None not in sizes and max(sizes, default=0) <= MAX_FOLDED_ELEMENTS

    def _is_traced_static(self, tensor: Tensor) -> bool:
        """Whether a tensor is a NumPy value while the cluster is traced: made of constants and shapes only."""
        found = self.traced_static.get(tensor)
        if found is None:
            found = self.traced_static[tensor] = self._derive_traced_static(tensor)
        return found

    def _derive_traced_static(self, tensor: Tensor) -> bool:
        if tensor in self.known:
            return True
        if tensor in self.fed or tensor not in self.producer:
            return False
        item = self.producer[tensor]
        if item.type == "TensorArraySizeV3":
            array = array_op(item._inputs[0])
            return array is not None and not array._attrs["dynamic_size"] and self._is_traced_static(array._inputs[0])
        if item in self.on_host or not item._inputs or not can_fold(item):
            return False
        shape_only = item.spec.shape_only_positions
        return all(i in shape_only or self._is_traced_static(t) for i, t in enumerate(item._inputs))

    def _demand_static(self, tensor: Tensor) -> None:
        """A kernel needs this value as a number: compute it on the host, as far back as NumPy twins and small inputs go."""
        if self._is_traced_static(tensor) or tensor in self.statics:
            return
        self.statics.add(tensor)
        item = self.producer.get(tensor)
        if item is None or item in self.on_host or item.spec.numpy_kernel is None or item.spec.effects.is_stateful:
            return
        if any(t._dtype.name == "resource" for t in item._inputs):
            return
        if all(self._is_cheap_on_host(t) for t in item._inputs):
            self.on_host.add(item)
            for t in item._inputs:
                inner = self.producer.get(t)
                if inner is not None and inner not in self.on_host and inner.spec.numpy_kernel is not None:
                    self._demand_static(t)

    def _is_cheap_on_host(self, tensor: Tensor) -> bool:
        if tensor in self.fed or tensor in self.known or self.producer[tensor] in self.on_host:
            return True
        size = tensor.shape.num_elements()
        return (size is not None and size <= MAX_FOLDED_ELEMENTS) or tensor._dtype.is_integer

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
