"""Towers: data parallelism written as one copy of a subgraph per device becomes one item, an SPMD program over a mesh of the devices.

Towers are recognized where they meet, at a sum or mean with one input from each. From there the inputs are walked back in parallel. Operations
of equal type and attributes, one per tower, form a *row*. A tensor that all towers use is replicated; where the operations differ, each tower
gets a value of its own (a leaf). The sums and means become all-reduces.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.findings import Finding, Kind
from tfcompat._src.graph.op_spec import DEVICE
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.ordering import topological
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control.guards import MERGE
from tfcompat._src.runtime.devices.placer import Placer
from tfcompat._src.runtime.ir.item import Item, MergeItem, OpItem
from tfcompat._src.runtime.state.variable_state import accesses, variable_key

AXIS = "towers"
FREE_ATTRS = frozenset(("seed", "seed2", "_class"))
"""Attributes that may differ within a row."""
ALL, EACH = PartitionSpec(), PartitionSpec(AXIS)
"""Sharding of replicated values, and of values with one part per tower."""
Row = tuple[Any, ...]
"""One operation or tensor of each tower, in the order of the devices."""


@dataclass(eq=False)
class Meeting:
    """A sum or mean of `row` over the towers, which the operations `absorbed` compute, with result `output`.

    `squeezed`: the operations concatenate the parts along an axis of length 1 and reduce it, which removes it.
    """

    row: Row
    output: Tensor
    absorbed: list[Operation]
    mean: bool
    squeezed: bool


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class TowersItem(Item):
    """The operations of all towers, and the meetings, as one item of a plan.

    Attributes:
      rows: the rows of operations, in order. meetings: the sums and means over the towers.
      leaves: rows of inputs, one value per tower. shared: inputs that all towers use.
      each: rows of outputs, one value per tower. jax_devices: the devices of the towers.
      first: the items of the first tower, in order. parts: the items that this one replaces.
    """

    rows: Sequence[Row]
    meetings: Sequence[Meeting]
    leaves: Sequence[Row]
    shared: Sequence[Tensor]
    each: Sequence[Row]
    jax_devices: Sequence[Any]
    first: Sequence[OpItem]
    parts: Sequence[Item]

    @property
    def mesh(self) -> Mesh:
        return Mesh(np.array(self.jax_devices), (AXIS,))

    @property
    def place(self) -> NamedSharding:
        """The sharding of the other values of the cluster: replicated on every device of the mesh."""
        return NamedSharding(self.mesh, ALL)


def _towers_item(walk: _Walk, meetings: list[Meeting], fetched: Sequence[Tensor], items: Sequence[Item]) -> TowersItem:
    """Makes the item of the rows and meetings of a walk."""
    rows, leaves, shared = walk.rows, list(walk.leaves), list(walk.shared)
    operations = tuple(op for row in rows for op in row)
    stands_for = frozenset(operations) | {op for m in meetings for op in m.absorbed}
    # Inputs are the values that the walk ended at; outputs the meetings, and rows of which something outside uses a tensor.
    used = [*shared, *[t for leaf in leaves for t in leaf]]
    inputs = tuple(dict.fromkeys(t for t in used if t not in walk.known))
    outside = set(fetched) | {t for item in items if not stands_for.issuperset(item.stands_for) for t in item.takes}
    each = [row for op_row in rows for row in _output_rows(op_row) if not outside.isdisjoint(row)]
    wanted = {op.takes[p] for op in operations for p in op.constant_positions()}
    return TowersItem(
        name=f"{len(walk.jax_devices)} towers of {rows[0][0].name}", type="towers", order=max(op.order for op in stands_for), takes=inputs,
        outputs=(*(m.output for m in meetings), *(t for row in each for t in row)),
        waits_for=tuple(dict.fromkeys(c for op in stands_for for c in op.waits_for if c not in stands_for)),
        operations=operations, stands_for=stands_for, constants=frozenset(i for i, t in enumerate(inputs) if t in wanted),
        rows=rows, meetings=meetings, leaves=leaves, shared=shared, each=each, jax_devices=walk.jax_devices,
        first=[walk.items[row[0]] for row in rows], parts=[item for item in items if stands_for.issuperset(item.stands_for)],
    )  # fmt: skip


# ---- recognition ----


def with_towers(
    items: Sequence[Item], fetched: Sequence[Tensor], feeds: Sequence[Tensor], known: dict[Tensor, NDArray], placer: Placer,
    findings: Collection[Finding],
) -> Sequence[Item]:  # fmt: skip
    """Returns `items` with one TowersItem in place of towers; unchanged if there are no towers, or if a run found that their shapes differ."""
    if not placer.mesh_towers or Finding(Kind.TOWERS_DIFFER) in findings:
        return items
    if len({placer.device_of(i.op).name for i in items if isinstance(i, OpItem)}) < 2:
        return items
    # Items whose values are known do not run.
    items = [item for item in items if not item.outputs or any(t not in known for t in item.outputs)]
    walk = _Walk(items, feeds, known, placer)
    uses: dict[Tensor, int] = {}
    for t in (*fetched, *[t for item in items for t in item.takes]):
        uses[t] = uses.get(t, 0) + 1
    readers = {t: item for item in items for t in item.takes}
    meetings, late = _first_meetings(items, walk, uses, readers, known)
    # Costly work or control flow that depends on a meeting is not divided among the devices: then towers would gain too little.
    if any(not isinstance(item, OpItem) or item.spec.facts.costly for item in late):
        return items
    if not meetings or walk.clashes():
        return items
    return _collapsed(items, _towers_item(walk.finished(), meetings, fetched, items)) or items


def _first_meetings(
    items: Sequence[Item], walk: _Walk, uses: dict[Tensor, int], readers: dict[Tensor, Item], known: dict[Tensor, NDArray]
) -> tuple[list[Meeting], set[Item]]:
    """Returns the meetings that depend on no other meeting, and the items that depend on one of them."""
    producer = {t: item for item in items for t in item.outputs}
    owner = {op: item for item in items for op in item.stands_for}
    meetings: list[Meeting] = []
    late: set[Item] = set()
    # In topological order: everything after an accepted meeting is late, and runs once instead of in each tower.
    for item in items:
        if any(producer.get(t) in late for t in item.takes) or any(owner.get(c) in late for c in item.waits_for):
            late.add(item)
        elif isinstance(item, OpItem):
            accepted = [m for m in _meetings_at(item.op, uses, readers, known) if walk.take(m.row)]
            meetings += accepted
            late.update(producer[m.output] for m in accepted)
    return meetings, late.difference(producer[m.output] for m in meetings)


def _meetings_at(op: Operation, uses: dict[Tensor, int], readers: dict[Tensor, Item], known: dict[Tensor, NDArray]) -> list[Meeting]:
    """Returns the sum or mean over towers that `op` may complete, in a list of at most one.

    Three forms are known: AddN; a chain of `+`; and a reduction over axis 0 of Pack, or of Concat of parts of length 1.
    """
    facts = op.spec.facts
    if facts.adds_all:
        return [Meeting(op.takes, op.outputs[0], [op], mean=False, squeezed=False)]
    # Only the last addition of a chain is a meeting.
    if facts.counts > 0:
        reader = readers.get(op.outputs[0])
        used_as_part = uses.get(op.outputs[0], 0) == 1 and reader is not None and reader.facts.counts > 0
        leaves, inner = _terms(op, uses)
        return [] if used_as_part else [Meeting(tuple(leaves), op.outputs[0], inner, mean=False, squeezed=False)]
    if facts.reduces not in ("sum", "mean") or op.attrs["keep_dims"] or uses.get(op.takes[0]) != 1:
        return []
    joined, axes = op.takes[0].op, known.get(op.takes[1])
    if axes is None or list(np.ravel(axes)) != [0]:
        return []
    if joined.spec.facts.joins == "new" and joined.attrs["axis"] == 0:
        return [Meeting(joined.takes, op.outputs[0], [joined, op], facts.reduces == "mean", squeezed=False)]
    if joined.spec.facts.joins == "old" and known.get(joined.takes[-1], 1) == 0:
        row = joined.takes[:-1]
        if all(t._sizes and t._sizes[0] == 1 for t in row):
            return [Meeting(row, op.outputs[0], [joined, op], facts.reduces == "mean", squeezed=True)]
    return []


def _terms(op: Operation, uses: dict[Tensor, int]) -> tuple[list[Tensor], list[Operation]]:
    """Returns the terms of a chain of additions that ends with `op`, and its operations."""
    terms, inner = [], [op]
    for t in op.takes:
        if t.op.spec.facts.counts > 0 and uses.get(t) == 1 and t._sizes == op.outputs[0]._sizes:
            more, deeper = _terms(t.op, uses)
            terms += more
            inner += deeper
        else:
            terms.append(t)
    return terms, inner


class _Walk:
    """Walks back from meetings in all towers in parallel, and sorts tensors and operations into rows, leaves and shared tensors."""

    def __init__(self, items: Sequence[Item], feeds: Sequence[Tensor], known: dict[Tensor, NDArray], placer: Placer) -> None:
        self.items = {item.op: item for item in items if isinstance(item, OpItem)}
        self._feeds, self.known, self._placer = set(feeds), known, placer
        self._position = {op: i for i, item in enumerate(items) for op in item.stands_for}
        self._writes = [(i, variable_key(v)) for i, item in enumerate(items) for v in item.writes]
        self.rows: list[Row] = []
        self.leaves: dict[Row, None] = {}
        self.shared: dict[Tensor, None] = {}
        self._seen: dict[Row, None] = {}
        self._towers: tuple[str, ...] = ()
        self.jax_devices: list[jax.Device] = []

    def take(self, row: Row) -> bool:
        """Walks back from a meeting; returns whether it joins towers, one term on each of their devices. Changes nothing otherwise."""
        # The walk runs on a copy, which is adopted if it succeeds.
        trial = _Walk.__new__(_Walk)
        trial.__dict__.update(self.__dict__)
        trial.rows, trial.leaves, trial.shared = list(self.rows), dict(self.leaves), dict(self.shared)
        trial._seen = dict(self._seen)
        if not trial._is_row(tuple(t.op for t in row)) or len({t.value_index for t in row}) > 1:
            return False
        trial._visit(row)
        if not trial._towers or len(trial._towers) != len(row):
            return False
        self.__dict__.update(trial.__dict__)
        return True

    def _visit(self, start: Row) -> None:
        """Sorts a row of tensors and everything that it depends on."""
        pending = [start]
        while pending:
            row = pending.pop()
            if row in self._seen:
                continue
            self._seen[row] = None
            # The same value in all towers.
            if len(set(row)) == 1 or self._is_same_read(row) or self._is_same_constant(row):
                self.shared[row[0]] = None
                continue
            # Different operations: the walk ends, and each tower gets its own value from outside.
            ops = tuple(t.op for t in row)
            if len({t.value_index for t in row}) > 1 or not self._is_row(ops):
                self.leaves[row] = None
                continue
            pending.extend(self._with_controls(ops))

    def _with_controls(self, start: Row) -> list[Row]:
        """Adds a row of operations and the rows of their control inputs; returns the rows of tensors that these take."""
        inputs: list[Row] = []
        pending = [start]
        while pending:
            ops = pending.pop()
            if ops in self._seen or not self._is_row(ops):
                continue
            self._seen[ops] = None
            self.rows.append(ops)
            inputs.extend(zip(*[self.items[op].takes for op in ops]))
            if len({len(op.waits_for) for op in ops}) == 1:
                pending.extend(zip(*[op.waits_for for op in ops]))
        return inputs

    def _is_row(self, ops: tuple[Any, ...]) -> bool:
        """Whether operations form a row: alike, and one on each tower's device, or all on one device.

        The first row on several devices determines the towers.
        """
        first = ops[0]
        if len(set(ops)) != len(ops) or not all(self._may_run_in_tower(op) and self._is_alike(op, first) for op in ops):
            return False
        names = tuple(self._placer.device_of(op).name for op in ops)
        # Operations without a device of their own, as gradients without colocation, follow the rows around them.
        if len(set(names)) == 1:
            return True
        if len(set(names)) != len(ops) or (self._towers and names != self._towers):
            return False
        # Several TensorFlow devices may be one JAX device: a mesh needs distinct ones.
        devices = [self._placer.device_of(op).jax_device for op in ops]
        if len(set(devices)) != len(ops):
            return False
        self._towers, self.jax_devices = names, devices
        return True

    def _may_run_in_tower(self, op: Operation) -> bool:
        """Whether an operation is compiled, has no side effects, and takes and makes arrays only."""
        if op not in self.items or not self._feeds.isdisjoint(op.outputs) or any(t in self.known for t in op.outputs):
            return False
        effects = op.spec.effects
        plain = not (effects.reads or effects.writes or effects.external or effects.creates) and not op.spec.facts.names_variable
        kinds = {t.dtype.name for t in (*op.takes, *op.outputs)}
        refs = any(t.dtype._is_ref_dtype for t in (*op.takes, *op.outputs))
        return plain and not refs and op.spec.side == DEVICE and kinds.isdisjoint(("string", "resource", "variant"))

    def _is_alike(self, one: Operation, other: Operation) -> bool:
        if one.type != other.type or len(one.takes) != len(other.takes):
            return False
        if one.type in MERGE and self._alive(one) != self._alive(other):
            return False
        keys = (set(one.attrs) | set(other.attrs)) - FREE_ATTRS
        return all(_same(one.attrs.get(k), other.attrs.get(k)) for k in keys)

    def _alive(self, merge: Operation) -> int:
        """The position of the one input of a Merge that is alive."""
        item = self.items[merge]
        return item.index if isinstance(item, MergeItem) else -1

    def _is_same_constant(self, row: Row) -> bool:
        values = [self.known.get(t) for t in row]
        return all(v is not None and _same(v, values[0]) for v in values)

    def _is_same_read(self, row: Row) -> bool:
        """Whether all towers read the same variable with no write in between: then the value is shared."""
        reads = [t.op for t in row]
        if not all(op in self.items and op.spec.facts.reads_through for op in reads):
            return False
        variables = {variable_key(v) for op in reads for v in accesses(op)[0]}
        if len(variables) != 1 or not all(accesses(op)[0] for op in reads):
            return False
        positions = [self._position[op] for op in reads]
        return not any(min(positions) < i < max(positions) and key in variables for i, key in self._writes)

    def clashes(self) -> bool:
        """Whether the rows are no valid program: a tensor or operation has two roles, or a kernel needs a constant that differs by tower."""
        # The program is traced with the tensors of the first tower as names: each must be exactly one of made, leaf or shared.
        made = {t for row in self.rows for t in row[0].outputs}
        firsts = [leaf[0] for leaf in self.leaves]
        roles = [*made, *firsts, *self.shared]
        operations = [op for row in self.rows for op in row]
        needed = {row[0].takes[p] for row in self.rows for p in row[0].constant_positions()}
        return len(roles) != len(set(roles)) or len(operations) != len(set(operations)) or not needed.isdisjoint(firsts)

    def finished(self) -> _Walk:
        """Sorts the rows in the order of the plan, and returns the walk."""
        self.rows.sort(key=lambda row: self._position[row[0]])
        return self


def _same(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and np.array_equal(one, other) and one.dtype == other.dtype
    return one == other


def _output_rows(ops: Row) -> list[Row]:
    return list(zip(*[op.outputs for op in ops]))


def _collapsed(items: Sequence[Item], towers: TowersItem) -> list[Item]:
    """Returns `items` with the towers as one item, in topological order; [] if this would create a cycle."""
    rest = [item for item in items if not (isinstance(item, OpItem) and item.op in towers.stands_for)]
    owner = {op: item for item in (*rest, towers) for op in item.stands_for}
    producer = {t: item for item in (*rest, towers) for t in item.outputs}
    # A cycle: an ancestor of the towers that is outside of them depends on one of their outputs.
    pending: list[Item] = [towers]
    seen: set[Item] = set()
    while pending:
        item = pending.pop()
        for source in [*[producer.get(t) for t in item.takes], *[owner.get(c) for c in item.waits_for]]:
            if source is towers:
                return []
            if source is not None and source not in seen:
                seen.add(source)
                pending.append(source)
    return topological([*rest, towers], owner=owner)
