"""Stage 5, its first half: which operations of a plan run on the host, in NumPy, and which values must be known before compiling."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.framework import dtypes, jax_compat, op_spec
from tfcompat._src.framework.operation import Operation
from tfcompat._src.framework.tensor import Tensor
from tfcompat._src.ops.control.guards import SWITCH
from tfcompat._src.ops.flow.array_origin import array_of_flow, array_op, has_one_element_shape
from tfcompat._src.runtime import uncompiled
from tfcompat._src.runtime.fold import MAX_FOLDED_ELEMENTS, can_fold
from tfcompat._src.runtime.loop_unit import LoopGradientItem, LoopItem, host_chooses_branch, loop_units
from tfcompat._src.runtime.lower_control import CondUnit, leaf_operations
from tfcompat._src.runtime.variable_state import HANDLE_OPS, accesses, variable_key, variable_op

UNITS = (CondUnit, LoopItem)

_PICKS_ROWS = ("GatherV2", "ResourceGather", "UnsortedSegmentSum", "SparseSegmentMeanGrad", "SparseSegmentSqrtNGrad")
"""Op types that pick rows, or add them up, by their second input."""
_VARYING = ("Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2", "Where", "SparseFillEmptyRows")
"""Host op types the length of whose results depends on data."""

_REJECTS = ("RandomGamma",)
"""Random op types that draw until a sample is accepted: in NumPy only samples that are not yet accepted are computed."""
_FEW_SAMPLES = 1 << 15
"""So many are sampled faster in NumPy than by a compiled loop, whose compilation takes longer than hundreds of such runs."""


class HostWork:
    """The items of one plan: `on_host` are those that run on the host, `statics` what must be known before compiling."""

    places: dict[Any, Any]
    only_samples: bool

    def __init__(
        self, items: list[Any], fetched: list[Tensor], feeds: list[Tensor], known: dict[Tensor, np.ndarray], compiles: bool
    ) -> None:
        self.compiles = compiles
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
        self.access = {i: accesses(i, self.fed) for i in self.items}
        self.statics: set[Tensor] = set()
        self.on_host: set[Any] = set()
        self.traced_static: dict[Tensor, bool] = {}
        self.varying: dict[Tensor, bool] = {}

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
        operations = leaf_operations(unit)
        is_static = self._static_inside(operations)
        if isinstance(unit, CondUnit):
            # A kernel in a branch may need a value as a number that the branch computes from data.
            inside = {t for op in unit.operations() for t in op._outputs}
            asked = (op._inputs[p] for op in unit.operations() if isinstance(op, Operation) for p in op.constant_positions())
            if any(t in inside and not is_static(t) for t in asked):
                return True
        return any(
            op.spec.effects.external or self._handles_host_dtype(op)
            or op.spec.place == op_spec.HOST and not (op.spec.is_pure_on_host and all(map(is_static, op._outputs)))
            for op in operations
        )  # fmt: skip

    def _static_inside(self, operations: list[Operation]) -> Callable[[Tensor], bool]:
        """Tells whether a tensor that one of the `operations` of a unit makes or takes is a NumPy value while the unit is traced."""
        made = {t: op for op in operations for t in op._outputs}

        @functools.cache
        def is_static(tensor: Tensor) -> bool:
            op = made.get(tensor)
            if op is None or tensor in self.known:
                return self._is_traced_static(tensor)
            if op.type in SWITCH:
                return is_static(op._inputs[0])
            if not op._inputs or not can_fold(op):
                return False
            shape_only = op.spec.shape_only_positions
            return all(i in shape_only or is_static(t) for i, t in enumerate(op._inputs))

        return is_static

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
