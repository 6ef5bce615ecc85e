"""Placement: which items of a plan run on the host, in NumPy, and which values must be known before compiling.

`placement_rules` says where an item runs; here is what its rules ask, and what follows from them for other items.
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
from tfcompat._src.runtime import placement_rules
from tfcompat._src.runtime.cond_item import CondItem
from tfcompat._src.runtime.engines.choice import NO_RECORD, NOTHING_KNOWN, Record, Runs, decide
from tfcompat._src.runtime.fold import MAX_FOLDED_ELEMENTS, can_fold
from tfcompat._src.runtime.item import Item, OpItem
from tfcompat._src.runtime.loop_program import LoopGradientItem, LoopItem, loops_of
from tfcompat._src.runtime.place import Placer
from tfcompat._src.runtime.towers import TowersItem


@dataclass(frozen=True)
class Work:
    """What a plan is to be made for.

    Attributes:
      items: what is to run, sources first. fetched: what must come out. feeds: what comes in. known: what has a value before.
      assumed: sizes that the plan takes for granted and checks.
      findings: what runs have found out about the graph.
      record: how often it runs, and in how many shapes.
      limited: whether the run has a time limit.
      dead: what has no value, because it stands in a branch that was not taken.
    """

    items: Sequence[Item]
    fetched: Sequence[Tensor]
    feeds: Sequence[Tensor]
    known: Mapping[Tensor, NDArray]
    assumed: Mapping[Tensor, NDArray] = field(default_factory=dict)
    findings: set[Finding] = field(default_factory=set)
    record: Record = NO_RECORD
    limited: bool = False
    dead: Collection[Tensor] = ()


class Placement:
    """Where the items of one plan run.

    Attributes:
      items: those that run. producer: of each tensor. users: of each tensor. owner: the item of each operation.
      on_host: the items that run on the host. rules: the name of the rule that put each item where it is.
      statics: the tensors that must be NumPy values before something is compiled.
      decision: what computes where an item leaves a choice.
      constants: the positions of such inputs of each item. devices: the JAX device or mesh of each item, where there are several.
    """

    def __init__(self, work: Work, placer: Placer) -> None:
        self.work, self.known = work, work.known
        self.items = [i for i in work.items if not all(t in self.known for t in i.outputs) or not i.outputs]
        self.fed, self.fetched = set(work.feeds), set(work.fetched)
        self.producer = {t: i for i in self.items for t in i.outputs}
        self.users: dict[Tensor, list[Item]] = {}
        for i in self.items:
            for t in i.takes:
                self.users.setdefault(t, []).append(i)
        self.owner = {op: i for i in self.items for op in i.operations}
        self.on_host: set[Item] = set()
        self.rules: dict[Item, str] = {}
        self.statics: set[Tensor] = set()
        self._traced_static: dict[Tensor, bool] = {}
        self._varying: dict[Tensor, bool] = {}
        self._must_count: dict[LoopItem, bool] = {}
        self.devices = self._devices(placer)
        record = replace(work.record, runs=Runs.ONCE) if placement_rules.is_initializer(self) else work.record
        self.decision = decide(NOTHING_KNOWN, record)
        self._apply_rules()
        self.constants = {i: self._constants_of(i) for i in self.items}
        for item in self.items:
            if item not in self.on_host:
                for position in self.constants[item]:
                    self._demand_static(item.takes[position])

    def _devices(self, placer: Placer) -> dict[Item, Any]:
        """The JAX device of each item, or their mesh; none where all are on the default device."""
        if len(placer.jax_devices) == 1:
            return {}
        for item in self.items:
            if isinstance(item, TowersItem):
                return dict.fromkeys(self.items, item.place)
        found: dict[Item, Any] = {}
        for item in self.items:
            ops = [op for op in item.operations if not op.spec.facts.names_variable] or item.operations
            found[item] = Counter(placer.device_of(op).jax_device for op in ops).most_common(1)[0][0] if ops else None
        is_plain = not placer.has_twins and set(found.values()) <= {jax.local_devices()[0]}
        return {} if is_plain else found

    def _apply_rules(self) -> None:
        for item in self.items:
            for loop in loops_of(item):
                self._must_count[loop] = loop.program.must_count(self.is_traced_static)
            self._put(item, placement_rules.first_that_holds(self, item))
        for item in reversed(self.items):
            if placement_rules.is_read_for_host(self, item):
                self._put(item, placement_rules.READ_FOR_HOST)
        for item in [i for i in self.items if i in self.on_host and not i.facts.names_variable]:
            for t in item.takes:
                self._pull_to_host(t)

    def _put(self, item: Item, rule: placement_rules.Rule) -> None:
        self.rules[item] = rule.name
        if rule.side == op_spec.HOST:
            self.on_host.add(item)

    def _constants_of(self, item: Item) -> frozenset[int]:
        if isinstance(item, LoopGradientItem):
            return item.constants_where(self._must_count.get(item.loop, True))  # a loop of another plan has been counted
        return item.constants

    # ---- what rules ask ----

    def uses(self, tensor: Tensor) -> list[Item]:
        """The items that take a tensor."""
        return self.users.get(tensor, [])

    def is_there(self, tensor: Tensor) -> bool:
        """Whether a value is on the host before anything is compiled."""
        return tensor in self.fed or tensor in self.known or self.is_from_host_step(tensor)

    def is_from_host_step(self, tensor: Tensor) -> bool:
        """Whether an operation on the host gives a value."""
        source = self.producer.get(tensor)
        return source in self.on_host and isinstance(source, OpItem | LoopGradientItem) and not source.facts.names_variable

    def varies(self, tensor: Tensor) -> bool:
        """Whether the length of what a host step gave depends on data: on how many distinct or nonzero elements there are."""
        found = self._varying.get(tensor)
        if found is None:
            item = self.producer.get(tensor)
            found = item in self.on_host and isinstance(item, OpItem)
            if found and isinstance(item, OpItem):
                found = placement_rules.gives_varying_length(item) or any(map(self.varies, item.takes))
            self._varying[tensor] = found
        return found

    def is_traced_static(self, tensor: Tensor) -> bool:
        """Whether a tensor is a NumPy value while the cluster is traced: made of constants and shapes only."""
        found = self._traced_static.get(tensor)
        if found is None:
            found = self._traced_static[tensor] = self._derive_traced_static(tensor)
        return found

    def _derive_traced_static(self, tensor: Tensor) -> bool:
        if tensor in self.known:
            return True
        if tensor in self.fed or tensor not in self.producer:
            return False
        item = self.producer[tensor]
        if isinstance(item, CondItem) and item not in self.on_host and self.is_traced_static(item.predicate):  # one branch is traced
            return self.static_inside(item.operations)(tensor)
        if not isinstance(item, OpItem):
            return False
        if is_length(item.op):
            length = fixed_length(item.op)
            return length is not None and self.is_traced_static(length)
        if item in self.on_host or not item.takes or not can_fold(item.op):
            return False
        shape_only = item.spec.shape_only_positions
        return all(i in shape_only or self.is_traced_static(t) for i, t in enumerate(item.takes))

    def static_inside(self, operations: Sequence[Operation]) -> Callable[[Tensor], bool]:
        """Tells whether a tensor that one of the `operations` of an item makes or takes is a NumPy value while it is traced."""
        made = {t: op for op in operations for t in op.outputs}

        @functools.cache
        def is_static(tensor: Tensor) -> bool:
            op = made.get(tensor)
            if op is None or tensor in self.known:
                return self.is_traced_static(tensor)
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

    # ---- what follows ----

    def _pull_to_host(self, tensor: Tensor) -> bool:
        """Moves index arithmetic on feeds to the host, where a host step needs it; whether the value is there then."""
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
        """A kernel needs this value as a number: compute it on the host, as far back as NumPy twins and small inputs go."""
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
        if not isinstance(item, OpItem) or item in self.on_host or item.spec.numpy_kernel is None:
            return False
        return also_stateful or not item.effects.is_stateful

    def _is_cheap_on_host(self, tensor: Tensor) -> bool:
        if tensor in self.fed or tensor in self.known or self.producer[tensor] in self.on_host:
            return True
        size = tensor.shape.num_elements()
        return (size is not None and size <= MAX_FOLDED_ELEMENTS) or tensor.dtype.is_integer
