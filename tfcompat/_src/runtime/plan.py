"""What one Session.run does: host steps and compiled clusters, in order."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import errors, jax_processes
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.findings import Finding
from tfcompat._src.base.node_like import NodeLike
from tfcompat._src.base.recent import SHAPES, Recent
from tfcompat._src.graph.constant_value import is_constant
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control.guards import Guard
from tfcompat._src.proto import messages
from tfcompat._src.runtime.item import Item, OpItem
from tfcompat._src.runtime.loop_program import LoopItem
from tfcompat._src.runtime.place import Placer
from tfcompat._src.runtime.variable_state import Place, accesses, variable_key

if TYPE_CHECKING:
    from tfcompat._src.runtime.cluster_trace import Shapes
    from tfcompat._src.runtime.program import Program
    from tfcompat._src.runtime.run_context import RunContext

GUESS_AFTER = 4
COMPILED = "compiled"
"""The rule of what is compiled for no other reason than that nothing speaks against it."""


class WrongGuess(errors.OpError):
    """A size that a plan had assumed is another one in this run; nothing was changed."""

    def __init__(self, node_def: messages.NodeDef | None, op: NodeLike | None, message: str) -> None:
        super().__init__(node_def, op, message, errors.ABORTED)


@dataclass(eq=False)
class HostStep:
    """Operations that run on the host, one after another.

    `kept` are those of their outputs that are taken outside of the step: None for all. `runners` are what the first run finds to run them.
    """

    items: list[Item]
    kept: Collection[Tensor] | None = None
    runners: list[Callable[..., Any]] | None = None

    @functools.cached_property
    def waits(self) -> bool:
        """Whether an operation of it may wait for another thread."""
        return any(i.effects.waits for i in self.items)

    @functools.cached_property
    def calls(self) -> bool:
        """Whether an operation of it calls a function of the program."""
        return any(i.effects.calls for i in self.items)

    def apart(self) -> list[HostStep]:
        """Its items as steps of their own."""
        return [HostStep([item]) for item in self.items]


@dataclass(eq=False)
class NamingStep(HostStep):
    """Operations that name resources of the session, before all others. `found` is what they gave in the context that ran them last."""

    found: tuple[RunContext, dict[Tensor, object]] | None = None


@dataclass(eq=False)
class Cluster:
    """Operations that are one compiled call.

    `inputs` are arrays that come in, `counted` those of them that are filled up to one of few lengths; `statics` come in as NumPy
    values that the compiler sees, so that a new value compiles anew; `large` are constants passed as arguments. `place` is a JAX
    device, or None where the session has one only. `updates` are variables read and written (donated), `reads` read only,
    `overwrites` written only. `randoms` are the random operations, in order. `differentiated` are the loops whose gradients are here too.
    `watched` are tensors of which none may be infinite or NaN; the call fails with `not_finite.NotFinite` else.
    """

    items: list[Item]
    inputs: list[Tensor] = field(default_factory=list)
    statics: list[Tensor] = field(default_factory=list)
    large: list[Tensor] = field(default_factory=list)
    counted: set[Tensor] = field(default_factory=set)
    outputs: list[Tensor] = field(default_factory=list)
    reads: list[Operation] = field(default_factory=list)
    updates: list[Operation] = field(default_factory=list)
    overwrites: list[Operation] = field(default_factory=list)
    randoms: list[Operation] = field(default_factory=list)
    differentiated: list[LoopItem] = field(default_factory=list)
    place: Place = None
    assumed: list[tuple[Operation, NDArray]] = field(default_factory=list)
    watched: Collection[Tensor] = ()
    programs: Recent[tuple[tuple[tuple[int, ...], bytes], ...], Program] = field(default_factory=Recent)

    @property
    def waits(self) -> bool:
        return False

    @property
    def calls(self) -> bool:
        return False

    @functools.cached_property
    def has_loops(self) -> bool:
        return any(op.type == "LoopCond" for item in self.items for op in item.operations)

    @functools.cached_property
    def results(self) -> Sequence[Tensor | Cluster]:
        """What a run files its outputs under: where it has none, the cluster itself has a value when the call has run."""
        return self.outputs or [self]

    @functools.cached_property
    def read_keys(self) -> list[str]:
        return [variable_key(v) for v in self.reads]

    @functools.cached_property
    def update_keys(self) -> list[str]:
        return [variable_key(v) for v in self.updates]

    @functools.cached_property
    def written_keys(self) -> list[str]:
        return [variable_key(v) for v in (*self.updates, *self.overwrites)]


Step = HostStep | Cluster


def touches_state(item: Item) -> bool:
    """Whether an item has to do with variables or random numbers: such items run in the order of the plan."""
    return not isinstance(item, OpItem) or bool(item.effects.random or item.reads or item.writes)


def _keeps_inputs(item: Item) -> bool:
    """Whether an item on the host may keep what it is given, beside handles: also in what it makes, as a dataset does."""
    if not isinstance(item, OpItem):
        return True
    if item.effects.keeps_inputs:
        return any(t.dtype.name != "resource" and not t.dtype._is_ref_dtype for t in item.takes)
    return any(t.dtype.name in ("variant", "resource") for t in item.outputs)


@dataclass(eq=False)
class Plan:
    """The steps of a run, the values known before it, and the variables that must have a value when it starts.

    `sources` are the items behind which each item runs, for data, control edges and variables.
    `sizes` are lengths of growing TensorArrays that later steps are compiled for. Where they have been the same several times for
    feeds of some shapes, a run guesses that they are the same again: then it is one compiled call. `is_stale`: a run has found that
    it must be another plan. `is_rest`: it was made for what was left of such a run. `guarded` are fetched tensors that have a value
    under some values of predicates only, which stand at the end of `fetched`. `rules` says by which rule each item is
    where it is, `findings` is what runs have found out about the graph.
    """

    fetched: list[Tensor]
    feeds: list[Tensor]
    known: dict[Tensor, NDArray]
    steps: list[Step]
    required: list[Operation]
    sources: dict[Item, list[Item]] = field(default_factory=dict)
    sizes: list[Tensor] = field(default_factory=list)
    seen: Recent[Shapes, deque[tuple[int, ...]]] = field(default_factory=Recent)
    is_stale: bool = False
    is_rest: bool = False
    guarded: dict[Tensor, Guard] = field(default_factory=dict)
    rules: dict[Item, str] = field(default_factory=dict)
    findings: set[Finding] = field(default_factory=set)

    @functools.cached_property
    def required_keys(self) -> list[tuple[str, Operation]]:
        return [(variable_key(v), v) for v in self.required]

    @functools.cached_property
    def single(self) -> tuple[Cluster, list[int]] | None:
        """The compiled call that is the whole plan, and which feeds are its inputs; None where there is more to do."""
        if len(self.steps) != 1 or not isinstance(cluster := self.steps[0], Cluster):
            return None
        more = self.sizes or self.guarded or cluster.statics or cluster.counted or cluster.place is not None
        plain = all(t.dtype.is_numpy_compatible and t.dtype.as_numpy_dtype is not object for t in self.feeds)
        if more or not plain or not set(cluster.inputs) <= set(self.feeds) or not set(self.fetched) <= set(cluster.outputs):
            return None
        return cluster, [self.feeds.index(t) for t in cluster.inputs]

    @functools.cached_property
    def kept(self) -> list[int]:
        """Which feeds may be kept by an operation on the host, or by one that it gives them to."""
        items = [item for step in self.steps if isinstance(step, HostStep) for item in step.items]
        if not any(map(_keeps_inputs, items)):
            return []
        used = {t for item in items for t in item.takes}
        return [i for i, t in enumerate(self.feeds) if t in used and t.dtype.is_numpy_compatible]

    @functools.cached_property
    def reading(self) -> list[Tensor | Cluster]:
        """A result of each compiled call that reads feeds: when it is there, the call reads them no more."""
        fed = set(self.feeds)
        return [c.results[0] for c in self.clusters if not fed.isdisjoint((*c.inputs, *c.statics))]

    def note_sizes(self, shapes: Shapes, values: dict[Tensor, Any]) -> None:
        """Keeps what `sizes` are in a run with feeds of these shapes."""
        last = self.seen.get(shapes)
        if last is None:
            last = self.seen[shapes] = deque(maxlen=GUESS_AFTER)
        last.append(tuple([int(values[t]) for t in self.sizes]))

    def guess(self, shapes: Shapes) -> tuple[int, ...] | None:
        """What `sizes` will probably be in a run with feeds of these shapes, or None."""
        last = self.seen.get(shapes)
        return last[0] if last is not None and len(last) == GUESS_AFTER and len(set(last)) == 1 else None

    @property
    def clusters(self) -> list[Cluster]:
        return [s for s in self.steps if isinstance(s, Cluster)]

    def operations(self) -> list[Operation]:
        """The operations that a run executes, in order."""
        return [op for step in self.steps for item in step.items for op in item.operations]

    def first_reader(self, variable: Operation) -> Operation | None:
        """The first operation of a run that reads a variable, outside of loops and branches."""
        return next((op for op in self.operations() if variable in accesses(op)[0]), None)

    def leaves(self) -> list[Operation]:
        """The variables that the operations of a run read and write, and the Const nodes that it takes values of."""
        ops = dict.fromkeys(self.operations())
        variables = dict.fromkeys(variable for op in ops for used in accesses(op) for variable in used)
        return [*(v for v in variables if v not in ops), *(t.op for t in self.known if is_constant(t.op))]

    @functools.cached_property
    def steps_apart(self) -> list[Step] | None:
        """The steps, where those with host operations that may wait, for other threads or for another function of the program, are divided
        such that each part is postponed as a whole; None where no operation may wait."""
        if not self.beside and not any(step.waits for step in self.steps):
            return None
        apart: list[Step] = []
        late = _LateItems(self.sources)
        for step in self.steps:
            if isinstance(step, HostStep) and (step.waits or step.calls):
                apart += late.parts(step)
            else:
                late.before(step.items)
                apart.append(step)
        return apart

    @functools.cached_property
    def beside(self) -> set[Item]:
        """The items that call functions of the program which a later one may wait for, as it needs nothing of them."""
        items = [item for step in self.steps for item in step.items]
        calls = [i for i, item in enumerate(items) if item.effects.calls]
        return {items[i] for i in calls[:-1] if self._has_call_apart(items[i:])}

    def _has_call_apart(self, items: list[Item]) -> bool:
        """Whether one of the items calls a function of the program and needs nothing of the first."""
        needing = {items[0]}
        for item in items[1:]:
            if not needing.isdisjoint(self.sources.get(item, ())):
                needing.add(item)
            elif item.effects.calls:
                return True
        return False

    def compile_count(self) -> int:
        """How many programs have been traced for this plan so far."""
        return sum(p.traces for c in self.clusters for p in c.programs.values())

    def by_rule(self, step: Step) -> dict[str, list[str]]:
        """The names of the items of a step by the rule that put them there, as far as there are more rules than that they are compiled."""
        found: dict[str, list[str]] = {}
        for item in step.items:
            rule = self.rules.get(item, "")
            if rule != COMPILED:
                found.setdefault(rule, []).append(item.name)
        return found

    def describe(self, placer: Placer) -> str:
        """The plan as text: steps, operations, state, and devices by TensorFlow's names, which `placer` knows."""
        lines = [f"plan: {len(self.clusters)} compiled call(s), {len(self.steps) - len(self.clusters)} host step(s)"]
        lines += ["feeds: " + (", ".join(t.name for t in self.feeds) or "none")]
        lines += [f"known before the run: {len(self.known)} tensors"]
        for number, step in enumerate(self.steps):
            names = ", ".join(f"{i.name} ({i.type})" for i in step.items[:12])
            more = f", ... {len(step.items) - 12} more" if len(step.items) > 12 else ""
            where = "host" if isinstance(step, HostStep) else "cluster on " + ", ".join(placer.names_at(step.place, _working(step)))
            lines.append(f"step {number}: {where}: {names}{more}")
            lines += [f"  {rule}: {', '.join(found)}" for rule, found in self.by_rule(step).items()]
            if isinstance(step, HostStep):
                if any(op.spec.facts.meets_others for item in step.items for op in item.operations):
                    lines += [f"  with the processes of {name!r}: {text}" for name, text in jax_processes.TRANSPORTS.items()]
                continue
            for label, ops in (("reads", step.reads), ("updates", step.updates), ("overwrites", step.overwrites), ("random", step.randoms)):
                if ops:
                    lines.append(f"  {label}: " + ", ".join(o.name for o in ops))
            for label, tensors in (("inputs", step.inputs), ("compile-time inputs", step.statics), ("outputs", step.outputs)):
                if tensors:
                    lines.append(f"  {label}: " + ", ".join(t.name for t in tensors))
            kept = sum(len(p.executables) for p in step.programs.values())
            lines.append(f"  made ready for {kept} input shape(s); the {SHAPES} that were used last are kept")
            lines += [f"  shapes {shapes}: {e.describe()}" for p in step.programs.values() for shapes, e in p.executables.items()]
        lines.append("fetches: " + (", ".join(t.name for t in self.fetched) or "none"))
        return "\n".join(lines)


class _LateItems:
    """Which items, among those that may be late by themselves, postpone each item of a plan; asked for its steps in order."""

    def __init__(self, sources: Mapping[Item, list[Item]]) -> None:
        self._sources = sources
        self._before: dict[Item, frozenset[Item]] = {}
        self._state: frozenset[Item] = frozenset()

    def before(self, items: Sequence[Item]) -> frozenset[Item]:
        """Those that postpone items which run together, among them the items that may be late by themselves.

        What touches state is postponed by all that postpone such items before it, as these run in order.
        """
        needed = [self._before[s] for item in items for s in self._sources.get(item, ()) if s in self._before]
        late = frozenset(item for item in items if item.effects.waits or item.effects.calls).union(*needed)
        if any(map(touches_state, items)):
            self._state = late = late | self._state
        self._before.update(dict.fromkeys(items, late))
        return late

    def parts(self, step: HostStep) -> list[Step]:
        """Divides a step: items in a row that are postponed by the same ones are a part, and only its first may be late by itself."""
        parts: list[Step] = []
        last: frozenset[Item] | None = None
        for item in step.items:
            late = self.before([item])
            if late == last and item not in late:
                parts[-1].items.append(item)
            else:
                parts.append(HostStep([item]))
            last = late
        return parts


def _working(step: Cluster) -> list[Operation]:
    """The operations of a cluster that do not only name a variable; all, where there are no others."""
    ops = [op for item in step.items for op in item.operations]
    return [op for op in ops if not op.spec.facts.names_variable] or ops
