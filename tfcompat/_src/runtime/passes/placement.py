"""Placement: a stage of planning that assigns each item to the host (NumPy) or to compiled clusters, and to a device.

Three passes: the rules of `placement_rules` in topological order; items that only host steps use, backwards; then demand-driven moves to the
host, recursive from inputs of host steps and from inputs that kernels need as NumPy values when they are compiled.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard

import jax

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.findings import Finding
from tfcompat._src.graph import op_spec
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control.guards import SWITCH
from tfcompat._src.ops.flow.array_origin import fixed_length, is_length
from tfcompat._src.runtime.devices.placer import Placer
from tfcompat._src.runtime.engines.choice import NO_RECORD, NODE_BY_NODE, NOTHING_KNOWN, Record, Runs, decide
from tfcompat._src.runtime.ir.cond_item import CondItem
from tfcompat._src.runtime.ir.item import Item, OpItem
from tfcompat._src.runtime.ir.loop_item import LoopGradientItem, LoopItem, loops_of
from tfcompat._src.runtime.passes import placement_rules
from tfcompat._src.runtime.passes.fold import MAX_FOLDED_ELEMENTS, can_fold
from tfcompat._src.runtime.passes.plan_guards import Facts
from tfcompat._src.runtime.passes.towers import TowersItem


@dataclass(frozen=True)
class Work:
    """The input of a plan.

    Attributes:
      items: to run, in topological order. fetched: the wanted tensors. feeds: the fed tensors. known: values of tensors before the run.
      facts: what is known of the run.
      assumed: sizes that the plan assumes, and checks when it runs.
      findings: facts about the graph that earlier traces found (`Replan`).
      record: how often the plan runs, and with how many shapes.
      dead: tensors without a value, because they are in a branch that was not taken.
    """

    items: Sequence[Item]
    fetched: Sequence[Tensor]
    feeds: Sequence[Tensor]
    known: Mapping[Tensor, NDArray]
    facts: Facts
    assumed: Mapping[Tensor, NDArray] = field(default_factory=dict)
    findings: set[Finding] = field(default_factory=set)
    record: Record = NO_RECORD
    dead: Collection[Tensor] = ()


class Placement:
    """The sides and devices on which the items of one plan run.

    Attributes:
      items: those that run. producer: the item of each tensor. users: the items that take each tensor. owner: the item of each operation.
      on_host: the items that run on the host. rules: the name of the rule that placed each item.
      arrays: the TensorArrays behind flows, as far as rules have asked.
      statics: the tensors that must be NumPy values before a cluster is compiled.
      decision: the engine for items that both sides could compute.
      constants: the positions of the inputs that each item needs as NumPy values.
      devices: the JAX device or mesh of each item; empty if all items are on the default device.
    """

    def __init__(self, work: Work, placer: Placer) -> None:
        # Items whose outputs are all known do not run. Those without outputs do: they have effects.
        self.work, self.known = work, work.known
        self.items = [i for i in work.items if not all(t in self.known for t in i.outputs) or not i.outputs]
        self.fed, self.fetched = set(work.feeds), set(work.fetched)
        self.producer = {t: i for i in self.items for t in i.outputs if t not in self.fed}
        self.users: dict[Tensor, list[Item]] = {}
        for i in self.items:
            for t in i.takes:
                self.users.setdefault(t, []).append(i)
        self.owner = {op: i for i in self.items for op in i.operations}
        self.on_host: set[Item] = set()
        self.rules: dict[Item, str] = {}
        self.statics: set[Tensor] = set()
        self.arrays: dict[Tensor, Operation | None] = {}
        self._traced_static: dict[Tensor, bool] = {}
        self._varying: dict[Tensor, bool] = {}
        self._must_count: dict[LoopItem, bool] = {}
        self.devices = self._devices(placer)
        # An initializer runs once, so that compiling it cannot pay.
        record = replace(work.record, runs=Runs.ONCE) if placement_rules.is_initializer(self) else work.record
        self.decision = decide(NOTHING_KNOWN, record)
        self._apply_rules()
        # After the rules, since these decide which consumers are compiled and so demand constants.
        self.constants = {i: self._constants_of(i) for i in self.items}
        for item in self.items:
            if item not in self.on_host:
                for position in self.constants[item]:
                    self._demand_static(item.takes[position])

    def _devices(self, placer: Placer) -> dict[Item, Any]:
        """Returns the JAX device of each item, or the mesh of all; {} if all are on the default device."""
        if len(placer.jax_devices) == 1:
            return {}
        # Towers of data parallelism are one program on a mesh (SPMD), which the whole plan shares.
        for item in self.items:
            if isinstance(item, TowersItem):
                return dict.fromkeys(self.items, item.place)
        devices: dict[Item, Any] = {}
        # An item is one program on one device: that of most of its operations, e.g. of a loop's body.
        for item in self.items:
            ops = [op for op in item.operations if not op.spec.facts.names_variable] or item.operations
            devices[item] = Counter(placer.device_of(op).jax_device for op in ops).most_common(1)[0][0] if ops else None
        is_plain = not placer.has_twins and set(devices.values()) <= {jax.local_devices()[0]}
        return {} if is_plain else devices

    def _apply_rules(self) -> None:
        """Places every item by the rules, and moves items that only host steps need to the host."""
        if self.work.record.runs is Runs.BY_NODE:
            self.on_host.update(self.items)
            self.rules.update(dict.fromkeys(self.items, NODE_BY_NODE))
            return
        # Forward, as rules ask on which side an item's sources run.
        for item in self.items:
            for loop in loops_of(item):
                self._must_count[loop] = loop.program.must_count(self.is_traced_static)
            self._put(item, placement_rules.first_that_holds(self, item))
        # Backward, as this rule asks for an item's users: a chain of reads moves from its end.
        for item in reversed(self.items):
            if placement_rules.is_read_for_host(self, item):
                self._put(item, placement_rules.READ_FOR_HOST)
        # Index arithmetic that a host step needs would otherwise be a compiled call of its own before that step.
        for item in [i for i in self.items if i in self.on_host and not i.facts.names_variable]:
            for t in item.takes:
                self._pull_to_host(t)

    def _put(self, item: Item, rule: placement_rules.Rule) -> None:
        self.rules[item] = rule.name
        if rule.side == op_spec.HOST:
            self.on_host.add(item)

    def _constants_of(self, item: Item) -> frozenset[int]:
        """Returns the positions of the inputs that an item needs as NumPy values."""
        # The forward loop of a gradient may be in another plan. It has counted its iterations there.
        if isinstance(item, LoopGradientItem):
            return item.constants_where(self._must_count.get(item.loop, True))
        return item.constants

    # ---- queries for rules ----

    def uses(self, tensor: Tensor) -> list[Item]:
        """Returns the items that take a tensor."""
        return self.users.get(tensor, [])

    def is_there(self, tensor: Tensor) -> bool:
        """Whether a tensor's value is on the host without a compiled call: it is fed, known, or computed by a host step."""
        return tensor in self.fed or tensor in self.known or self.is_from_host_step(tensor)

    def is_from_host_step(self, tensor: Tensor) -> bool:
        """Whether an operation on the host computes a tensor."""
        source = self.producer.get(tensor)
        return source in self.on_host and isinstance(source, OpItem | LoopGradientItem) and not source.facts.names_variable

    def varies(self, tensor: Tensor) -> bool:
        """Whether the length of a tensor from a host step depends on data, e.g. on how many elements are distinct or nonzero.

        Inherited along chains of host operations. Memoized.
        """
        varying = self._varying.get(tensor)
        if varying is None:
            item = self.producer.get(tensor)
            varying = item in self.on_host and isinstance(item, OpItem)
            if varying and isinstance(item, OpItem):
                varying = placement_rules.gives_varying_length(item) or any(map(self.varies, item.takes))
            self._varying[tensor] = varying
        return varying

    def is_traced_static(self, tensor: Tensor) -> bool:
        """Whether a tensor is a NumPy value while its cluster is traced, because it depends on constants and shapes only. Memoized."""
        is_static = self._traced_static.get(tensor)
        if is_static is None:
            is_static = self._traced_static[tensor] = self._derive_traced_static(tensor)
        return is_static

    def _derive_traced_static(self, tensor: Tensor) -> bool:
        """Computes `is_traced_static` from that of the producer's inputs; must agree with the folding in `lower.run_device_op`."""
        if tensor in self.known:
            return True
        if tensor in self.fed or tensor not in self.producer:
            return False
        item = self.producer[tensor]
        # With a static predicate only one branch of a conditional is traced, as part of the surrounding program.
        if isinstance(item, CondItem) and item not in self.on_host and self.is_traced_static(item.predicate):
            return self.static_inside(item.operations)(tensor)
        if not isinstance(item, OpItem):
            return False
        # The size of a TensorArray that does not grow is the size that it was made with.
        if is_length(item.op):
            length = fixed_length(item.op)
            return length is not None and self.is_traced_static(length)
        # Everything else is static if the trace folds it. Shapes are static in every trace.
        if item in self.on_host or not item.takes or not can_fold(item.op):
            return False
        shape_only = item.spec.shape_only_positions
        return all(i in shape_only or self.is_traced_static(t) for i, t in enumerate(item.takes))

    def static_inside(self, operations: Sequence[Operation]) -> Callable[[Tensor], bool]:
        """Returns a predicate like `is_traced_static` for the tensors that the `operations` inside of an item take and compute."""
        made = {t: op for op in operations for t in op.outputs}

        @functools.cache
        def is_static(tensor: Tensor) -> bool:
            op = made.get(tensor)
            if op is None or tensor in self.known:
                return self.is_traced_static(tensor)
            # The rules of `_derive_traced_static`; a Switch forwards its input.
            if op.type in SWITCH:
                return is_static(op.takes[0])
            if is_length(op):
                length = fixed_length(op)
                return length is not None and is_static(length)
            if not op.takes or not can_fold(op):
                return False
            shape_only = op.spec.shape_only_positions
            return all(i in shape_only or is_static(t) for i, t in enumerate(op.takes))

        return is_static

    # ---- moves to the host that other placements demand ----

    def _pull_to_host(self, tensor: Tensor) -> bool:
        """Moves the integer arithmetic that computes a tensor to the host, if it depends on host values only.

        Returns:
          whether the value is on the host now.
        """
        # Sources that have moved stay on the host even if another input of the same item cannot move.
        if tensor in self.fed or tensor in self.known:
            return True
        item = self.producer.get(tensor)
        if item is None or item in self.on_host:
            return item is not None
        if not isinstance(item, OpItem) or item.spec.numpy_kernel is None or item.effects != op_spec.PURE:
            return False
        if not all(t.dtype.is_integer or t.dtype.is_bool for t in item.outputs):
            return False
        if not item.takes or not all([self._pull_to_host(t) for t in item.takes]):
            return False
        self._put(item, placement_rules.INDICES_FOR_HOST)
        return True

    def _demand_static(self, tensor: Tensor) -> None:
        """Marks a tensor whose value a kernel needs when it is compiled, and moves the operations that compute it to the host.

        Follows the inputs as far as operations have NumPy kernels and inputs are small; the rest is computed by an earlier cluster.
        """
        if self.is_traced_static(tensor) or tensor in self.statics:
            return
        self.statics.add(tensor)
        item = self.producer.get(tensor)
        if not self._may_compute_number(item) or any(t.dtype.name == "resource" for t in item.takes):
            return
        if all(self._is_cheap_on_host(t) for t in item.takes):
            self._put(item, placement_rules.NUMBER_FOR_COMPILER)
            for t in item.takes:
                if self._may_compute_number(self.producer.get(t), also_stateful=True):
                    self._demand_static(t)

    def _may_compute_number(self, item: Item | None, also_stateful: bool = False) -> TypeGuard[OpItem]:
        """Whether an item that is not on the host could run there."""
        if not isinstance(item, OpItem) or item in self.on_host or item.spec.numpy_kernel is None:
            return False
        return also_stateful or not item.effects.is_stateful

    def _is_cheap_on_host(self, tensor: Tensor) -> bool:
        """Whether a tensor is on the host, or is small enough to be transferred. Integers count as small: they are indices and sizes."""
        if tensor in self.fed or tensor in self.known or self.producer[tensor] in self.on_host:
            return True
        size = tensor.shape.num_elements()
        return (size is not None and size <= MAX_FOLDED_ELEMENTS) or tensor.dtype.is_integer
