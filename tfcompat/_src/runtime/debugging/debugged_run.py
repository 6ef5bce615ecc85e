"""Runs for the debugger (tfdbg): operations run one at a time in topological order, so that every value is observed.

This is a small executor of 1.15's dataflow: outputs of the side of a Switch that is not taken are dead, deadness propagates to
consumers up to a Merge, and a loop, which is one node in the order of its surroundings, runs its iterations one after another.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tfcompat._src.base import errors, run_limits, this_run
from tfcompat._src.base.recent import SHAPES, Recent
from tfcompat._src.graph.constant_value import is_constant
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.ordering import BACK_EDGE, topological
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.io import debug_files, debug_urls
from tfcompat._src.ops.control.guards import CONTROL_TRIGGER, MERGE, SWITCH
from tfcompat._src.ops.control.loop_ops import ENTER, EXIT
from tfcompat._src.ops.control.loop_topology import Loop, find_loops
from tfcompat._src.ops.flow.array_value import DeviceArray, HostArray
from tfcompat._src.platform import logging
from tfcompat._src.proto import messages
from tfcompat._src.runtime.debugging.debug_graph import DebugGraph
from tfcompat._src.runtime.debugging.debug_watches import IF_NOT_FINITE, Watches
from tfcompat._src.runtime.debugging.first_not_finite import FirstNotFinite
from tfcompat._src.runtime.debugging.flagged_run import Done, FlaggedRun
from tfcompat._src.runtime.engines.choice import Record, Runs
from tfcompat._src.runtime.host.fetched_value import fetched_value
from tfcompat._src.runtime.ir.item import as_items
from tfcompat._src.runtime.ir.loop_item import GRADIENTS
from tfcompat._src.runtime.ir.plan import Plan
from tfcompat._src.runtime.lowering.lower import truth
from tfcompat._src.runtime.passes.fold import fold
from tfcompat._src.runtime.passes.pipeline import Request
from tfcompat._src.runtime.passes.plan_guards import Facts, GuardedCaches
from tfcompat._src.runtime.passes.prune import prune
from tfcompat._src.runtime.session.execute import run_steps
from tfcompat._src.runtime.session.partition_graphs import argument_names, nodes_of
from tfcompat._src.runtime.state.run_context import RunContext
from tfcompat._src.runtime.state.variable_state import check_fed_refs, is_identity, variable_key, variable_op

if TYPE_CHECKING:
    from tfcompat._src.runtime.session.session import BaseSession

RECORD = "LoopRecord"
"""The op type of the nodes that record how a loop ran. A debugged run skips them: gradients of loops run the loop once more."""
_RUNS = itertools.count()
"""Counts the debugged runs of this process."""
Values = dict[Tensor, Any]


class _Unit:
    """A loop as one node of a topological order."""

    def __init__(self, loop: Loop) -> None:
        # The loop depends on everything that one of its nodes, or of the loops inside, takes from outside.
        members = loop.all_members()
        inside = set(members)
        self.loop = loop
        self.takes = [t for op in members for t in op.takes if t.op not in inside]
        self.waits_for = [c for op in members for c in op.waits_for if c not in inside]
        self.order = max(op.order for op in members)
        self.enters, self.exits = loop.enters, loop.exits
        self.back = [op for op in loop.members if op.type in BACK_EDGE]
        self.body = _ordered([op for op in loop.members if op.type not in ENTER and op.type not in BACK_EDGE], loop.children)


def _ordered(ops: Sequence[Operation], loops: Iterable[Loop], cut: Collection[Tensor] = ()) -> list[Operation | _Unit]:
    """Operations and loops in topological order; edges of `cut` tensors do not count."""
    # Contracting each loop to one node leaves a graph without cycles.
    units = [_Unit(loop) for loop in loops]
    owner = {op: unit for unit in units for op in unit.loop.all_members()}
    return topological([*ops, *units], cut, owner)


class _Sees(Protocol):
    """An observer of a run."""

    def see(self, tensor: Tensor, values: Values, name: str | None = None) -> None:
        """Called once for each tensor that has been computed. `name` replaces the tensor's name (that of a feed's node)."""


class _Observer:
    """Passes each watched value of a run to its debug ops, and writes their results to the watches' URLs.

    Args:
      graph: the debug ops of each tensor. context: has the values of variables.
    """

    def __init__(self, graph: DebugGraph, context: RunContext) -> None:
        self._graph, self._context = graph, context
        self._last = 0

    def see(self, tensor: Tensor, values: Values, name: str | None = None) -> None:
        """Writes what the debug ops of a tensor say about it. See `_Sees`."""
        looking = self._graph.looking.get(name or tensor.name)
        if looking is None:
            return
        device, watch, debug_ops = looking
        name = name or tensor.name
        # Gated debug ops are off until a gRPC server turns them on. A value that nobody wants is not copied to the host.
        asked = [(op, debug_urls.open_urls(watch.urls, f"{name}:{op.spec.name}", op.is_gated)) for _, op in debug_ops]
        if not any(urls for _, urls in asked):
            return
        value = _observed(tensor, values, self._context)
        shape = tensor._sizes if value is None else getattr(value, "shape", ())
        for debug_op, urls in asked:
            proto = debug_op.shown(tensor.dtype, _known(shape), value) if urls else None
            # Timestamps order the dumps of a run, so each is later than the last even if the clock has not advanced.
            if proto is not None:
                self._last = max(self._last + 1, debug_files.now())
                for url in urls:
                    debug_urls.writer(url).write_tensor(url, device, name, debug_op.spec.name, proto, self._last)


def _observed(tensor: Tensor, values: Values, context: RunContext) -> object:
    """The value that debug ops get for a tensor: an array, the serialized handle of a resource, or None if it has no value yet."""
    value = values.get(tensor)
    # A ref shows its variable's value at this point of the run; an uninitialized one has none.
    if value is None and tensor.dtype._is_ref_dtype:
        variable = variable_op(tensor)
        state = context.variable_state
        if variable is not None:
            key = variable_key(variable)
            return np.array(state.read(variable, key)) if key in state.values else None
    if tensor.dtype.base_dtype.name in ("resource", "variant") or not (value is None or _is_array(value)):
        handle = messages.ResourceHandleProto(device=context.placer.device_of(tensor.op).name, container="localhost", name=tensor.op.name)
        serialized: bytes = handle.SerializeToString()
        return serialized
    return np.asarray(fetched_value(tensor, values, context))


def _known(shape: Sequence[int | None] | None) -> tuple[int, ...]:
    """A static shape with 0 for unknown sizes; () for an unknown rank."""
    return tuple(size or 0 for size in shape or ())


def _is_array(value: object) -> bool:
    """Whether a value is an array or a TensorArray, not a Python object on the host."""
    return isinstance(value, (DeviceArray, HostArray)) or hasattr(value, "dtype")


class DebuggedRun:
    """A prepared debugged run: the pruned graph in execution order, with a cache of plans for its operations.

    Args:
      session: the session. fetched, targets, fed: the fetched tensors and operations, and the fed tensors.

    Attributes:
      constants: the Const nodes of the run.
    """

    def __init__(self, session: BaseSession, fetched: Sequence[Tensor], targets: Sequence[Operation], fed: Sequence[Tensor]) -> None:
        self._session, self._fetched, self._targets, self._fed = session, fetched, targets, fed
        # The graph is pruned and placed as for any run, but not optimized further: each node of the program is executed.
        self._ops = prune(fetched, targets, fed)
        check_fed_refs(self._ops, fed)
        session.context.placer.place(session.graph, self._ops)
        self.constants = [op for op in self._ops if is_constant(op)]
        self._constants = fold(self.constants, set(fed))
        outermost, loop_of = find_loops(self._ops)
        self._order = _ordered([op for op in self._ops if op not in loop_of], outermost, fed)
        # Plans by operation and its inputs with values; numbers of runs by watches; flagged runs by watches.
        self._plans: GuardedCaches[tuple[Operation, tuple[Tensor, ...]], Plan] = GuardedCaches(max(SHAPES, 4 * len(self._ops)))
        self._counts: Recent[bytes, itertools.count[int]] = Recent()
        self._flagged: GuardedCaches[tuple[object, ...], FlaggedRun] = GuardedCaches()

    def run(self, feeds: Sequence[object], options: messages.DebugOptions, metadata: messages.RunMetadata | None) -> list[object]:
        """Runs the fetches and dumps the watched tensors.

        If all watches want dumps only of runs with an infinity or a NaN, a compiled run looks for these first, and nothing is dumped
        if there are none.

        Args:
          feeds: the values of the fed tensors. options: the watches. metadata: takes the graphs, or None.

        Returns:
          the fetched values.

        Raises:
          errors.OpError: as a run without the debugger; or a watch is not possible, or a dump could not be written.
        """
        if metadata is not None:
            metadata.Clear()
        finite, done = self._if_all_finite(feeds, options)
        if finite is not None:
            return finite
        watches = Watches(options)
        graph = DebugGraph(nodes_of(self._ops, self._fed, self._fetched, self._session.context.placer.device_of), watches)
        if options.reset_disk_byte_usage:
            debug_files.DISK_USAGE.reset()
        if metadata is not None:
            metadata.partition_graphs.extend(graph.graph_defs.values())
        # The graphs are written before the run, so that the dumps of a run that fails can be read.
        values: Values = dict(zip(self._fed, feeds))
        try:
            self._announce(graph, watches, options)
            self._execute(_Observer(graph, self._session.context), values, done)
        finally:
            debug_urls.close(watches.urls)
        return [fetched_value(t, values, self._session.context) for t in self._fetched]

    def search(self, feeds: Sequence[object]) -> tuple[Plan, list[object]]:
        """Runs the fetches, dumps nothing, and raises an error if a tensor is not finite. Arguments are as for `run`.

        Returns:
          the plan, and the fetched values.

        Raises:
          errors.OpError: as a run without the debugger. errors.InvalidArgumentError: a tensor is not finite; it names the first.
        """
        # The compiled run is the fast path. Only if it meets an infinity or a NaN, operations run one by one to find the origin.
        flagged = self._flagged_run((), feeds, lambda: lambda t: not is_constant(t.op))
        finite, done = (None, Done()) if flagged.obstacle else flagged.run(feeds)
        values = dict(zip(self._fed, feeds)) if finite is None else finite
        if finite is None:
            observer = FirstNotFinite(lambda tensor, values: _observed(tensor, values, self._session.context))
            try:
                self._execute(observer, values, done)
            finally:
                if observer.error is not None:
                    raise observer.error
        return flagged.plan, [fetched_value(t, values, self._session.context) for t in self._fetched]

    def first_not_finite(self, feeds: Sequence[object], drew_from: Mapping[str, int]) -> errors.OpError | None:
        """Runs again until a check fails; returns the error that names the first tensor that is not finite, or None.

        Args:
          feeds: the values of the fed tensors.
          drew_from: the positions of random counters, by the operation's name, before the failed run. They are restored afterwards.
        """
        observer = FirstNotFinite(lambda tensor, values: _observed(tensor, values, self._session.context))
        # Random operations draw again what they drew in the failed run.
        random, drawing = self._session.context.random_state, [op for op in self._ops if op.spec.effects.random]
        before = random.positions()
        random.rewind(drawing, {op: drew_from.get(op.name, 0) for op in drawing})
        try:
            # The check fails again, or something before it does. The caller raises the error of the first run in any case.
            with contextlib.suppress(errors.OpError):
                self._execute(observer, dict(zip(self._fed, feeds)), Done())
        finally:
            random.rewind(drawing, before)
        return observer.error

    def _execute(self, observer: _Sees, values: Values, done: Done) -> None:
        """Runs the operations of the run, with the results in `done` for those in it. `values` has the feeds, and takes all other values."""
        for t, name in argument_names(self._fed).items():
            observer.see(t, values, f"{name}:0")
        run = _Execution(functools.partial(self._run_one, done), observer, frozenset(self._fed))
        outer = this_run.begin()
        try:
            # NumPy's warnings about NaN would repeat what the debugger reports; 1.15 prints none.
            with np.errstate(all="ignore"):
                run.region(self._order, values, set())
        finally:
            this_run.end(outer)

    def _if_all_finite(self, feeds: Sequence[object], options: messages.DebugOptions) -> tuple[list[object] | None, Done]:
        """Runs the compiled plan if all watches want dumps only of runs with an infinity or a NaN.

        Returns:
          the fetched values, or None if a dump is wanted; and the results of operations on the host that have run, which must not repeat.
        """
        # With any other URL something is dumped in every run, so that a compiled run first would be wasted.
        if not all(url in IF_NOT_FINITE for watch in options.debug_tensor_watch_opts for url in watch.debug_urls):
            return None, {}

        def is_watched() -> Callable[[Tensor], bool]:
            watches, names = Watches(options), {t: f"{name}:0" for t, name in argument_names(self._fed).items()}
            return lambda t: watches.counts(names.get(t, t.name))

        flagged = self._flagged_run((options.SerializeToString(), tuple(IF_NOT_FINITE.items())), feeds, is_watched)
        if flagged.obstacle:
            return None, {}
        values, done = flagged.run(feeds)
        return None if values is None else [fetched_value(t, values, self._session.context) for t in self._fetched], done

    def _flagged_run(self, key: tuple[object, ...], feeds: Sequence[object], is_watched: Callable[[], Callable[[Tensor], bool]]) -> FlaggedRun:
        """The run that checks whether tensors are finite, from the cache; `is_watched` makes the predicate that selects the tensors."""
        context = self._session.context
        cache = self._flagged.of(key)
        variables = context.variable_state.values
        flagged = cache.find(self._fed, feeds, variables)
        if flagged is None:
            request = Request(self._fetched, self._targets, self._fed, Facts(dict(zip(self._fed, feeds)), variables))
            plan = context.planner.plan(self._session.graph, request)
            flagged = cache.add(FlaggedRun(context, plan, self._ops, self._fed, is_watched()))
            if flagged.obstacle:
                fetched = ", ".join([*(t.name for t in self._fetched), *(op.name for op in self._targets)])
                logging.warning("Runs of %s execute one operation at a time under the debugger, which is slow: %s.", fetched, flagged.obstacle)
        return flagged

    def _announce(self, graph: DebugGraph, watches: Watches, options: messages.DebugOptions) -> None:
        """Writes graphs and run metadata to the watches' URLs; a gRPC server gets the graphs only before the first run with these watches."""
        # `executor_step_index` counts the runs with the same watches, `session_run_index` all debugged runs of the process.
        key = messages.DebugOptions(debug_tensor_watch_opts=options.debug_tensor_watch_opts).SerializeToString()
        count = self._counts.get(key)
        is_first = count is None
        if count is None:
            count = self._counts[key] = itertools.count()
        metadata = {
            "global_step": options.global_step, "session_run_index": next(_RUNS), "executor_step_index": next(count),
            "input_names": sorted(t.name for t in self._fed), "output_names": sorted(t.name for t in self._fetched),
            "target_nodes": sorted(op.name for op in self._targets),
        }  # fmt: skip
        for url in watches.urls:
            writer = debug_urls.writer(url)
            for device, graph_def in graph.graph_defs.items() if is_first or not debug_urls.is_grpc(url) else ():
                writer.write_graph(url, device, graph_def)
            writer.write_core_metadata(url, metadata)

    def _run_one(self, done: Done, op: Operation, values: Values) -> None:
        """Runs one operation by a plan of its own, unless it is in `done`; its outputs go to `values`."""
        # Const nodes are folded once for all runs.
        if is_constant(op):
            values[op.outputs[0]] = self._constants[op.outputs[0]]
            return
        if op in done:
            values.update(done[op])
            return
        # The plan of a loop gradient contains the forward loop, so the tensors that the graph's loop has left are not its inputs.
        is_gradient = op.type in GRADIENTS
        repeated = [*op.input_named("exits"), op.input_named("steps"), op.input_named("counters")] if is_gradient else []
        given = tuple(t for t in op.takes if t in values and t not in repeated)
        # Inputs without values are refs and handles. There is a plan for each set of inputs that have values.
        cache = self._plans.of((op, given))
        plan = cache.find(given, [values[t] for t in given], self._session.context.variable_state.values)
        if plan is None:
            make = self._gradient_plan if is_gradient else self._plan
            plan = cache.add(make(op, given, values))
        inner = {**plan.known, **{t: values[t] for t in given}}
        run_steps(plan, inner, self._session.context)
        values.update((t, inner[t]) for t in op.outputs if t in inner)

    def _plan(self, op: Operation, given: Sequence[Tensor], values: Values) -> Plan:
        """Makes a plan for one operation; `given` are those of its inputs that have values."""
        wanted = [t for t in op.outputs if not t.dtype._is_ref_dtype]
        return self._session.context.planner.part(
            as_items([op], [t for t in given if t.dtype._is_ref_dtype]), wanted, given, {}, Record(Runs.WATCHED)
        )

    def _gradient_plan(self, op: Operation, given: Sequence[Tensor], values: Values) -> Plan:
        """Makes a plan for the gradient of a loop, which runs the loop once more.

        Raises:
          errors.UnimplementedError: the loop has side effects, or random operations, and so must not run twice.
        """
        # Planned like a run that fetches the gradient, with the values computed so far as feeds.
        context = self._session.context
        facts = Facts({t: values[t] for t in given}, context.variable_state.values)
        plan = context.planner.plan(self._session.graph, Request(op.outputs, [], given, facts))
        acting = next((o for o in plan.operations() if o.spec.effects.random or o.spec.effects.writes or o.spec.effects.external), None)
        if acting is not None:
            text = f"The debugger would have to run {acting.name} (op type {acting.type}) twice for {op.name}, the gradient of its loop."
            raise errors.UnimplementedError(op.node_def, op, f"{text} Build the loop with tf.disable_control_flow_v2().")
        return plan


class _Execution:
    """Executes topological orders of operations and loops with dead tensors, as 1.15's executor does.

    Args:
      run_one: runs an operation. observer: is called for each tensor. fed: fed tensors, whose values operations do not replace.
    """

    def __init__(self, run_one: Callable[[Operation, Values], None], observer: _Sees, fed: Collection[Tensor]) -> None:
        self._run_one, self._observer, self._fed = run_one, observer, fed

    def region(self, order: Iterable[Operation | _Unit], values: Values, dead: set[object]) -> None:
        """Runs nodes in order: the whole run, or one iteration of a loop.

        Args:
          values: takes the values of tensors. dead: takes dead tensors and the operations that did not run.
        """
        for node in order:
            run_limits.require_time()
            if isinstance(node, _Unit):
                self._loop(node, values, dead)
            elif node.type in MERGE:
                self._merge(node, values, dead)
            elif _is_dead(node, dead):
                dead.update((node, *node.outputs))
            else:
                self._node(node, values, dead)

    def _node(self, op: Operation, values: Values, dead: set[object]) -> None:
        """Runs an operation that is alive."""
        if op.type in SWITCH:
            side = int(bool(truth(op.takes[1], values[op.takes[1]])))
            dead.add(op.outputs[1 - side])
            _hand_on(op.takes[0], op.outputs[side], values)
        # Routing ops forward values here; a LoopRecord has no value; NoOps and Identities of refs have nothing to compute.
        elif op.type == RECORD:
            return
        elif op.type in EXIT or op.type == "LoopCond":
            _hand_on(op.takes[0], op.outputs[0], values)
        elif not (op.spec.facts.does_nothing or is_identity(op) and op.outputs[0].dtype._is_ref_dtype):
            kept = {t: values[t] for t in op.outputs if t in self._fed}
            self._run_one(op, values)
            values.update(kept)
        self._see(op, values, dead)

    def _see(self, op: Operation, values: Values, dead: Collection[object]) -> None:
        """Shows the outputs of an operation to the observer. Feeds have been shown before the run."""
        for t in op.outputs:
            if t not in dead and t not in self._fed:
                self._observer.see(t, values)

    def _merge(self, op: Operation, values: Values, dead: set[object]) -> None:
        """Forwards the first input that is not dead; without one the Merge is dead."""
        alive = next((i for i, t in enumerate(op.takes) if t not in dead), None)
        if alive is None:
            dead.update((op, *op.outputs))
            return
        _hand_on(op.takes[alive], op.outputs[0], values)
        values[op.outputs[1]] = np.array(alive, np.int32)
        self._see(op, values, dead)

    def _loop(self, unit: _Unit, values: Values, dead: set[object]) -> None:
        """Runs the iterations of a loop; the results of its Exit nodes go to `values`.

        A loop with no live Enter node does not run. It ends with the iteration in which every NextIteration is dead.
        """
        entered = [op for op in unit.enters if not _is_dead(op, dead)]
        constant = [op for op in entered if op.attrs["is_constant"]]
        left: Values = {}
        is_left: set[Tensor] = set()
        # Live tensors at the start of an iteration: Enter outputs in the first one, then constant Enters and NextIterations. Refs are
        # live without a value.
        alive = {op.outputs[0]: values.get(op.takes[0]) for op in entered}
        going_on = bool(entered)
        while going_on:
            inner = {**values, **{t: v for t, v in alive.items() if v is not None}}
            # In the first iteration NextIterations are dead, in later ones the Enters of loop variables: so Merges take the right input.
            dead_here: set[object] = {t for op in (*unit.enters, *unit.back) for t in op.outputs if t not in alive}
            for op in unit.enters:
                self._see(op, inner, dead_here)
            self.region(unit.body, inner, dead_here)
            # An Exit is dead in all iterations but the one that leaves the loop.
            for op in unit.exits:
                if op.outputs[0] not in dead_here:
                    is_left.add(op.outputs[0])
                    left.update({t: inner[t] for t in op.outputs if t in inner})
            # NextIterations are cut out of the body's order, as their consumers are in the next iteration. They run at its end.
            following = [op for op in unit.back if not _is_dead(op, dead_here)]
            for op in following:
                inner.pop(op.outputs[0], None)
                _hand_on(op.takes[0], op.outputs[0], inner)
                self._see(op, inner, ())
            alive = {op.outputs[0]: inner.get(op.outputs[0]) for op in (*constant, *following)}
            going_on = bool(following)
        # An Exit that was dead in every iteration is dead outside, too.
        values.update(left)
        for op in unit.exits:
            if op.outputs[0] not in is_left:
                dead.update((op, op.outputs[0]))


def _is_dead(op: Operation, dead: Collection[object]) -> bool:
    """Whether an operation has a dead input. A ControlTrigger runs whatever its control inputs are."""
    return any(t in dead for t in op.takes) or (op.type != CONTROL_TRIGGER and any(c in dead for c in op.waits_for))


def _hand_on(source: Tensor, target: Tensor, values: Values) -> None:
    """Forwards the value of `source` to `target`; a ref has none."""
    if source in values:
        values[target] = values[source]
