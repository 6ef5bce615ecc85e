"""The plan of one Session.run: a sequence of host steps and compiled clusters.

The planner makes plans (passes/pipeline.py lists the stages), and session/execute.py runs them. A plan is cached by its session and runs many times.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
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
from tfcompat._src.runtime.devices.placer import Placer
from tfcompat._src.runtime.ir.item import Item, OpItem
from tfcompat._src.runtime.ir.loop_item import LoopItem
from tfcompat._src.runtime.passes import plan_guards
from tfcompat._src.runtime.state.variable_state import Place, accesses, shared_read, variable_key, variable_op

if TYPE_CHECKING:
    from tfcompat._src.runtime.engines.program import Program
    from tfcompat._src.runtime.host.node_by_node import NodeForm
    from tfcompat._src.runtime.lowering.cluster_trace import Shapes
    from tfcompat._src.runtime.state.run_context import RunContext

GUESS_AFTER = 4
"""Runs that must agree on the sizes of TensorArrays before the next run guesses them."""
COMPILED = "compiled"
"""The last placement rule: compiled, because no other rule applies."""


class WrongGuess(errors.OpError):
    """A size that the plan assumed differs in this run; the call has changed nothing."""

    def __init__(self, node_def: messages.NodeDef | None, op: NodeLike | None, message: str) -> None:
        super().__init__(node_def, op, message, errors.ABORTED)


@dataclass(eq=False)
class HostStep:
    """Operations that run on the host, one after another.

    `kept` are the outputs that are used outside of the step; None means all. `runners` are functions that run the items, cached by the first run.
    """

    items: list[Item]
    kept: Collection[Tensor] | None = None
    runners: list[Callable[..., Any]] | None = None

    @functools.cached_property
    def waits(self) -> bool:
        """Whether an operation of the step may block until another thread acts."""
        return any(i.effects.waits for i in self.items)

    @functools.cached_property
    def calls(self) -> bool:
        """Whether an operation of the step calls a Python function of the program."""
        return any(i.effects.calls for i in self.items)

    def apart(self) -> list[HostStep]:
        """Returns one step for each item."""
        return [HostStep([item]) for item in self.items]


@dataclass(eq=False)
class NamingStep(HostStep):
    """Operations that name resources of the session; runs before all others. `found` caches their results for the context that ran them last."""

    found: tuple[RunContext, dict[Tensor, object]] | None = None


@dataclass(eq=False)
class Cluster:
    """Operations that run as one compiled call.

    Attributes:
      inputs: array arguments. counted: those of them that are padded to one of few lengths, to compile fewer programs.
      statics: compile-time inputs, NumPy values that are part of the program: a new value compiles again.
      large: large constants, passed as arguments. outputs: tensors that the call returns.
      reads, updates, overwrites: the variables that are only read, read and written (their buffers are donated), only written.
      randoms: the random operations, in order. differentiated: the loops whose gradients are in this cluster too.
      place: a JAX device or mesh; None if the session has only one device. assumed: guessed sizes, by the operation that computes them.
      watched: tensors of which none may be infinite or NaN; otherwise the call fails with `not_finite.NotFinite`.
      programs: the programs by the values of `statics`.
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
    programs: Recent[tuple[Hashable, ...], Program] = field(default_factory=Recent)

    @property
    def waits(self) -> bool:
        return False

    @property
    def calls(self) -> bool:
        return False

    @functools.cached_property
    def shared_inputs(self) -> list[tuple[Tensor, Operation, str]]:
        """The inputs that share the buffer of a ref variable, each with the variable's handle operation and key."""
        reads = [(t, variable_op(read.takes[0])) for t in self.inputs if (read := shared_read(t)) is not None]
        return [(t, variable, variable_key(variable)) for t, variable in reads if variable is not None]

    @functools.cached_property
    def has_loops(self) -> bool:
        return any(op.type == "LoopCond" for item in self.items for op in item.operations)

    @functools.cached_property
    def results(self) -> Sequence[Tensor | Cluster]:
        """The keys of a run's results: the outputs, or the cluster itself if it has none, so that every call leaves a value to wait for."""
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
    """Whether an item uses variables or random numbers; such items run in the order of the plan."""
    return not isinstance(item, OpItem) or bool(item.effects.random or item.reads or item.writes)


def _keeps_inputs(item: Item) -> bool:
    """Whether a host item may retain its inputs (handles aside), possibly inside its output, as a dataset does."""
    # Control flow may hold any operation.
    if not isinstance(item, OpItem):
        return True
    if item.effects.keeps_inputs:
        return any(t.dtype.name != "resource" and not t.dtype._is_ref_dtype for t in item.takes)
    return any(t.dtype.name in ("variant", "resource") for t in item.outputs)


@dataclass(eq=False)
class Plan:
    """The steps of a run, the values known before it, and the variables that must have a value when it starts.

    Attributes:
      fetched: the wanted tensors, followed by the predicates of `guarded`. feeds: the fed tensors, in order.
      known: tensors with a value before the run (constants, folded operations). required: variables that must be initialized.
      sources: the items that must run before each item, for data, control edges and variables.
      sizes: lengths of growing TensorArrays for which later steps are compiled. If they were equal in the last runs with the same feed
        shapes, a run guesses that they are again, and is then one compiled call. seen: these lengths, by feed shapes.
      is_stale: a run has found that it needs another plan. is_rest: made for the remaining steps of such a run.
      guards: the facts about a run that the plan depends on: runs in which they hold may use it.
      guesses: plans that assume `sizes`, by these.
      guarded: fetched tensors that have a value in some branches only, with their guards. dead: those that have none.
      rules: the placement rule of each item. findings: facts about the graph that runs have discovered.
      node_forms: how the last steps run node by node, by their identities.
    """

    fetched: list[Tensor]
    feeds: list[Tensor]
    known: dict[Tensor, NDArray]
    steps: list[Step]
    required: list[Operation]
    sources: dict[Item, list[Item]] = field(default_factory=dict)
    sizes: list[Tensor] = field(default_factory=list)
    seen: Recent[Shapes, deque[tuple[int, ...]]] = field(default_factory=Recent)
    guards: tuple[plan_guards.Guard, ...] = ()
    guesses: plan_guards.GuardedCaches[tuple[int, ...], Plan] = field(default_factory=plan_guards.GuardedCaches)
    is_stale: bool = False
    is_rest: bool = False
    guarded: dict[Tensor, Guard] = field(default_factory=dict)
    dead: frozenset[Tensor] = frozenset()
    rules: dict[Item, str] = field(default_factory=dict)
    findings: set[Finding] = field(default_factory=set)
    node_forms: Recent[tuple[int, ...], NodeForm | None] = field(default_factory=Recent)

    @functools.cached_property
    def required_keys(self) -> list[tuple[str, Operation]]:
        return [(variable_key(v), v) for v in self.required]

    @functools.cached_property
    def single(self) -> tuple[Cluster, list[int]] | None:
        """The compiled call that is the whole plan, with the positions of its inputs among the feeds; None if a run has more to do."""
        # A run of such a plan takes a short path in session/execute.py, without the bookkeeping of steps.
        if len(self.steps) != 1 or not isinstance(cluster := self.steps[0], Cluster):
            return None
        # Anything that needs work before or after the call, or another conversion of feeds than the plain one, takes the long path.
        more = self.sizes or self.guarded or self.dead or cluster.statics or cluster.counted or cluster.place is not None
        plain = all(t.dtype.is_numpy_compatible and t.dtype.as_numpy_dtype is not object for t in self.feeds)
        if more or not plain or not set(cluster.inputs) <= set(self.feeds) or not set(self.fetched) <= set(cluster.outputs):
            return None
        return cluster, [self.feeds.index(t) for t in cluster.inputs]

    @functools.cached_property
    def kept(self) -> list[int]:
        """The positions of feeds that a host operation may retain after the run: these are copied, as the user may change the arrays."""
        items = [item for step in self.steps if isinstance(step, HostStep) for item in step.items]
        if not any(map(_keeps_inputs, items)):
            return []
        # An item may pass its input on to one that retains it: every feed that a host item uses counts.
        used = {t for item in items for t in item.takes}
        return [i for i, t in enumerate(self.feeds) if t in used and t.dtype.is_numpy_compatible]

    @functools.cached_property
    def reading(self) -> list[Tensor | Cluster]:
        """One result of each compiled call that reads feeds; when it is ready, the call no longer reads the user's arrays."""
        fed = set(self.feeds)
        return [c.results[0] for c in self.clusters if not fed.isdisjoint((*c.inputs, *c.statics))]

    def note_sizes(self, shapes: Shapes, values: dict[Tensor, Any]) -> None:
        """Records the `sizes` of a run with feeds of these shapes."""
        # Bounded: one short queue for each of the most recent feed shapes.
        last = self.seen.get(shapes)
        if last is None:
            last = self.seen[shapes] = deque(maxlen=GUESS_AFTER)
        last.append(tuple([int(values[t]) for t in self.sizes]))

    def guess(self, shapes: Shapes) -> tuple[int, ...] | None:
        """Returns the `sizes` of the last GUESS_AFTER runs with feeds of these shapes if they were equal, else None."""
        last = self.seen.get(shapes)
        return last[0] if last is not None and len(last) == GUESS_AFTER and len(set(last)) == 1 else None

    @property
    def clusters(self) -> list[Cluster]:
        return [s for s in self.steps if isinstance(s, Cluster)]

    def operations(self) -> list[Operation]:
        """Returns the operations that a run executes, in order."""
        return [op for step in self.steps for item in step.items for op in item.operations]

    def first_reader(self, variable: Operation) -> Operation | None:
        """Returns the first operation of a run that reads a variable, or None."""
        return next((op for op in self.operations() if variable in accesses(op)[0]), None)

    def leaves(self) -> list[Operation]:
        """Returns the nodes without inputs that a run uses and does not execute: variables, and Const nodes whose values are known."""
        # TF1 ref variables are operations of the run themselves, and are not listed again.
        ops = dict.fromkeys(self.operations())
        variables = dict.fromkeys(variable for op in ops for used in accesses(op) for variable in used)
        return [*(v for v in variables if v not in ops), *(t.op for t in self.known if is_constant(t.op))]

    @functools.cached_property
    def steps_apart(self) -> list[Step] | None:
        """The steps with blocking host steps divided so that each part is postponed as a whole (host/postpone.py); None if nothing may block."""
        if not self.beside and not any(step.waits for step in self.steps):
            return None
        apart: list[Step] = []
        # Compiled clusters never block: they are only followed, to know what postpones their users.
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
        """The items that call Python functions and have a later, independent call in the plan: the two may wait for each other."""
        items = [item for step in self.steps for item in step.items]
        calls = [i for i, item in enumerate(items) if item.effects.calls]
        return {items[i] for i in calls[:-1] if self._has_call_apart(items[i:])}

    def _has_call_apart(self, items: list[Item]) -> bool:
        """Whether an item calls a Python function and does not depend on the first item."""
        # `needing`: the items that depend on the first, directly or not.
        needing = {items[0]}
        for item in items[1:]:
            if not needing.isdisjoint(self.sources.get(item, ())):
                needing.add(item)
            elif item.effects.calls:
                return True
        return False

    def compile_count(self) -> int:
        """Returns the number of programs traced for this plan so far."""
        return sum(p.traces for c in self.clusters for p in c.programs.values())

    def by_rule(self, step: Step) -> dict[str, list[str]]:
        """Returns the names of a step's items by placement rule, without those that are compiled by default."""
        names: dict[str, list[str]] = {}
        for item in step.items:
            rule = self.rules.get(item, "")
            if rule != COMPILED:
                names.setdefault(rule, []).append(item.name)
        return names

    def describe(self, placer: Placer) -> str:
        """Returns the plan as text: steps, operations, state, and devices by TensorFlow's names, which `placer` knows."""
        lines = [f"plan: {len(self.clusters)} compiled call(s), {len(self.steps) - len(self.clusters)} host step(s)"]
        lines += ["feeds: " + (", ".join(t.name for t in self.feeds) or "none")]
        lines += [f"known before the run: {len(self.known)} tensors"]
        lines += [f"only while {guard}" for guard in self.guards]
        # One paragraph for each step: items, rules, then state and tensors of a cluster.
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
        for form in filter(None, self.node_forms.values()):
            lines += form.describe()
        lines.append("fetches: " + (", ".join(t.name for t in self.fetched) or "none"))
        return "\n".join(lines)


class _LateItems:
    """Computes, for the steps of a plan in order, which blocking items postpone each item.

    A late item is one that may block. An item is postponed by the late items that it depends on.
    """

    def __init__(self, sources: Mapping[Item, list[Item]]) -> None:
        self._sources = sources
        self._before: dict[Item, frozenset[Item]] = {}
        self._state: frozenset[Item] = frozenset()

    def before(self, items: Sequence[Item]) -> frozenset[Item]:
        """Returns the late items that postpone items which run together, including late ones among these.

        Items that use variables or random numbers run in order: each is postponed by all that postpone such items before it.
        """
        # Union over the items' sources, all of which are in earlier steps or earlier in this one.
        needed = [self._before[s] for item in items for s in self._sources.get(item, ()) if s in self._before]
        late = frozenset(item for item in items if item.effects.waits or item.effects.calls).union(*needed)
        if any(map(touches_state, items)):
            self._state = late = late | self._state
        self._before.update(dict.fromkeys(items, late))
        return late

    def parts(self, step: HostStep) -> list[Step]:
        """Divides a step into runs of items that the same late items postpone; only the first item of a part may be late itself."""
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
    """Returns the operations of a cluster without those that only name a variable; all, if there are no others."""
    ops = [op for item in step.items for op in item.operations]
    return [op for op in ops if not op.spec.facts.names_variable] or ops
