"""Execution: runs the steps of a plan in order, on concrete values.

A cluster is one call of a compiled or interpreted program. A host step runs its items one by one in NumPy, by closures (`Runner`) that are
made in the first run and kept with the step. A trace that raises `Replan` leads to a new plan for the steps that have not run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import jax
import numpy as np
from jax.sharding import NamedSharding

from tfcompat._src.base import array_memory, checks, errors, jax_compat, jax_threads, run_limits, signal_watch, this_run
from tfcompat._src.base.arrays import Array, NDArray, as_array, content_key, new_array
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.graph import constant_value, op_spec
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.flow.array_value import FIRST_CAPACITY, ArrayHandle, ArrayOverflow, DeviceArray, HostArray
from tfcompat._src.runtime.debugging import cache_checks
from tfcompat._src.runtime.engines.program import Program
from tfcompat._src.runtime.engines.transaction import ProgramCall
from tfcompat._src.runtime.host.control_flow import HostCond, HostLoop, HostRouting, holds, run_backwards
from tfcompat._src.runtime.host.postpone import run_apart
from tfcompat._src.runtime.host.shape_arithmetic import ShapeArithmetic
from tfcompat._src.runtime.ir.cond_item import CondItem
from tfcompat._src.runtime.ir.item import Item, MergeItem, OpItem
from tfcompat._src.runtime.ir.loop_item import LoopGradientItem, LoopItem
from tfcompat._src.runtime.ir.plan import Cluster, HostStep, NamingStep, Plan, Step
from tfcompat._src.runtime.ir.routed_item import DEAD, RoutedItem
from tfcompat._src.runtime.lowering import failure
from tfcompat._src.runtime.lowering.cluster_trace import Arrays, Shapes, input_shapes
from tfcompat._src.runtime.lowering.lower import (
    ROUTES,
    Frame,
    Replan,
    flatten_results,
    gather_inputs,
    hand_on,
    store_results,
    value_outputs,
)
from tfcompat._src.runtime.passes.fold import near_kernel
from tfcompat._src.runtime.session import run_metadata as trace
from tfcompat._src.runtime.session.fetched_value import fetched_value
from tfcompat._src.runtime.state.run_context import RunContext
from tfcompat._src.runtime.state.variable_state import (
    NONE_CHOSEN,
    Place,
    accesses,
    is_chosen,
    is_identity,
    is_ref_read,
    required_variable_op,
    uninitialized,
    variable_key,
    variable_op,
)

Values: TypeAlias = dict[Tensor, Any]
Runner: TypeAlias = Callable[[Values, RunContext], None]
"""Runs an item of a host step: reads its inputs from the values, and stores its outputs there."""
Kernel: TypeAlias = Callable[..., object]
KernelCall: TypeAlias = Callable[[Operation, Kernel, list[object], dict[str, object]], object]


def execute(
    plan: Plan, feeds: Sequence[object], context: RunContext, result: Callable[[Tensor, Values, RunContext], object], lent: bool = False
) -> list[object]:  # fmt: skip
    """Runs a plan and returns its fetched values.

    Args:
      feeds: the values of `plan.feeds`. result: converts one fetched tensor, given all values and the context.
      lent: the caller may change the arrays of `feeds` after this returns, so that nothing may retain them or read them later.

    Raises:
      errors.OpError: a variable has no value, a check failed, or a host operation raised. Variables then have the values that they had
      before the step that failed.
    """
    # An uninitialized variable is reported before anything runs, with the operation that would read it.
    state = context.variable_state
    initialized = state.values
    for key, op in plan.required_keys:
        if key not in initialized:
            raise uninitialized(op, plan.first_reader(op))
    try:
        values = _run_single(plan, feeds, context, lent)
        if values is None:
            values = _run_all(plan, feeds, context, lent)
        return [result(t, values, context) for t in plan.fetched]
    # After an error of the runtime itself (out of memory, a lost device), the new values of some variables never arrive.
    except jax.errors.JaxRuntimeError as e:
        state.forget_lost()
        raise failure.of_jax(e, next(op for op in plan.operations())) from None


def _run_single(plan: Plan, feeds: Sequence[object], context: RunContext, lent: bool) -> dict[Tensor, Any] | None:
    """Runs a plan that is a single cluster with a prepared executable for feeds of these shapes.

    Returns:
      the cluster's outputs, or None if the plan must run step by step: it has other work, no executable is prepared, or a trace records it.
    """
    # The fast path of a training loop: no values, no steps and no per-run bookkeeping beside the call itself.
    if plan.single is None or trace.current() is not None:
        return None
    cluster, positions = plan.single
    inputs = tuple([feeds[i] for i in positions])
    program = cluster.programs.get(())
    if program is None or (shapes := input_shapes(inputs)) not in program.executables:
        return None
    outputs = _call_program(program, cluster, inputs, shapes, plan.known, context)
    if outputs is None:
        return None
    # The caller may change lent feeds as soon as this returns. A fetched output waits for the call anyway.
    if lent and not cluster.outputs:
        jax.block_until_ready(outputs)
    return dict(zip(cluster.outputs, outputs))


def _run_all(plan: Plan, feeds: Sequence[object], context: RunContext, lent: bool) -> dict[Tensor, Any]:
    """Runs the steps of a plan in order, and returns the values of all tensors that steps pass on.

    Fetched tensors in branches that were not taken are DEAD.
    """
    values: dict[Any, Any] = {**plan.known, **dict(zip(plan.feeds, feeds))}
    # Host operations may retain a feed (a queue, a dataset): they get copies of lent arrays.
    if lent:
        values.update({plan.feeds[i]: array_memory.frozen(feeds, i) for i in plan.kept})
    outer = this_run.begin()
    try:
        run_steps(plan, values, context)
    finally:
        this_run.end(outer)
        # Calls are asynchronous. Also after an error, those that still read a lent feed must end first.
        if lent and plan.reading:
            jax.block_until_ready([values.get(t) for t in plan.reading])
    # If the sizes are equal in several runs, the next plan assumes them (`Plan.guess`).
    if plan.sizes and not plan.is_stale:
        plan.note_sizes(input_shapes(feeds), values)
    # A compiled conditional returns zeros for tensors of the other branch.
    values.update(dict.fromkeys([*plan.dead, *(t for t, guard in plan.guarded.items() if not holds(guard, values))], DEAD))
    return values


def run_steps(plan: Plan, values: dict[Tensor, Any], context: RunContext) -> None:
    """Runs the steps of a plan; `values` takes their outputs. If a trace raises `Replan`, makes and runs a new plan for the remaining steps.

    Raises:
      Replan: the plan of the remaining steps needs a finding that it was already made with.
    """
    recorder = trace.current()
    run_one = run_step if recorder is None else recorder.timed(run_step)
    steps, done = plan.steps_apart or plan.steps, []

    def run(step: Step) -> None:
        run_one(step, plan, values, context)
        done.append(step)

    # Steps that may block (a dequeue) run apart, so that independent steps go on meanwhile, as in TensorFlow's executor.
    try:
        if plan.steps_apart is not None:
            run_apart(steps, plan.sources, plan.beside, run)
        else:
            for step in steps:
                run(step)
    except Replan as change:
        # Steps with effects have run and must not repeat, so only the rest is planned, with the values so far as its feeds. A finding
        # that the plan already has would lead to the same plan again, without end.
        if plan.is_rest and change.finding in plan.findings:
            raise
        plan.findings.add(change.finding)
        plan.is_stale = True
        run_steps(context.planner.rest(plan, [step for step in steps if step not in done], values), values, context)


def run_step(step: Step, plan: Plan, values: dict[Tensor, Any], context: RunContext) -> None:
    """Runs one step of a plan; `values` takes its outputs."""
    if isinstance(step, Cluster):
        run_cluster(step, plan.known, values, context)
    elif isinstance(step, NamingStep):
        _run_naming_step(step, plan.known, values, context)
    else:
        run_host_step(step, plan.known, values, context)


def run_cluster(cluster: Cluster, known: dict[Tensor, Any], values: dict[Any, Any], context: RunContext) -> None:
    """Runs a cluster: gathers its inputs, calls its program on them and the session's state, and stores outputs and new state."""
    inputs = tuple([_device_input(_filled_up(values[t]) if t in cluster.counted else values[t], cluster.place) for t in cluster.inputs])
    # Arrays of gradients have the room that the program of the loop needed: the program that repeats the loop needs it too.
    room = max([a.capacity for a in inputs if isinstance(a, DeviceArray) and a.meta.dynamic], default=0)
    program = program_for(cluster, known, values, max(room, FIRST_CAPACITY))
    shapes = input_shapes(inputs)
    # Amortized growth: a TensorArray of unknown size that overflows its buffer repeats the call with four times the capacity. An aborted
    # call has changed nothing, so the repetition is safe.
    while (outputs := _call_program(program, cluster, inputs, shapes, known, context)) is None:
        program = program_for(cluster, known, values, program.capacity * 4)
    values.update(zip(cluster.results, outputs))


def _call_program(
    program: Program, cluster: Cluster, inputs: Arrays, shapes: Shapes, known: dict[Tensor, Any], context: RunContext
) -> Sequence[Any] | None:  # fmt: skip
    """Calls a program and returns its outputs, or None if a growing TensorArray needs a greater capacity.

    Raises:
      errors.OpError: a check of the program failed.
    """
    large = tuple([context.large_constants.get(known[t], cluster.place) for t in cluster.large]) if cluster.large else ()
    if cache_checks.Switch.is_on:
        for tensor, array in zip(cluster.large, large):
            cache_checks.same_constant(array, known[tensor])
    if cluster.randoms:
        context.random_state.await_turn(cluster.randoms)
    # A compiled loop on a CPU blocks its thread, and may not end. It polls a flag, so that time limits and signals can stop it.
    if cluster.has_loops and not isinstance(cluster.place, NamedSharding) and jax_compat.compiles_to_cpu():
        outputs, error = _called_with_loops(program, cluster, inputs, shapes, large, context)
    else:
        outputs, error = _called(program, cluster, inputs, shapes, large, context)
    if isinstance(error, ArrayOverflow):
        return None
    if error is not None:
        raise error
    return outputs


def _called_with_loops(
    program: Program, cluster: Cluster, inputs: Arrays, shapes: Shapes, large: Arrays, context: RunContext
) -> tuple[Sequence[Any], Exception | None]:
    """Does the same as `_called`, with a flag that stops the loops of the call.

    Python runs a signal handler only after the call returns, so a signal sets the flag. If the handler then does not raise, the call
    is repeated in a helper thread, where no signal stops it. A stopped call has changed no variable.
    """
    # The first attempt: a time limit, the close of the session or a signal sets the flag.
    with run_limits.stoppable(context.life) as flag, signal_watch.watching(flag.set_by_signal):
        outputs, error = _called(program, cluster, inputs, shapes, (*large, flag.array_on(cluster.place)), context)
    if not (isinstance(error, errors.CancelledError) and flag.was_set_by_signal):
        if isinstance(error, errors.CancelledError):
            run_limits.require_time()
        return outputs, error
    # The handler has returned: the run goes on, as a run of 1.15 does after a handled signal.
    with run_limits.stoppable(context.life) as flag:
        return _called(program, cluster, inputs, shapes, (*large, flag.array_on(cluster.place)), context, is_apart=True)


def _called(
    program: Program, cluster: Cluster, inputs: Arrays, shapes: Shapes, large: Arrays, context: RunContext,
    is_apart: bool = False,
) -> tuple[Sequence[Any], Exception | None]:  # fmt: skip
    """Calls a program on the session's variables, in a helper thread if `is_apart`.

    Returns:
      the outputs, and the error of the first failed check or None. The new state is stored, now or by the next user of the variables.
    """
    state = context.variable_state
    # The lock makes read, call and store atomic for other threads. A signal handler in this thread may still run the session in between:
    # its call completes the one that it interrupted (`file_left`), and `make` then returns False, so that this one starts again.
    with state.lock:
        while True:
            if state.unfiled:
                state.file_left()
            call = ProgramCall(program, cluster, inputs, shapes, large, context, is_apart)
            try:
                state.unfiled.append(call)
                if call.make():
                    return call.prepare()
            finally:
                call.leave()


def program_for(cluster: Cluster, known: dict[Tensor, Any], values: dict[Tensor, Any], capacity: int) -> Program:
    """Returns the program for the current values of the cluster's compile-time inputs, with at least `capacity` for growing TensorArrays."""
    # The cache key is the contents of the compile-time inputs: shapes and axes, a few numbers each.
    statics = [as_array(values[t]) for t in cluster.statics] if cluster.statics else []
    key = tuple(map(content_key, statics))
    program = cluster.programs.get(key)
    if program is None or program.capacity < capacity:
        program = cluster.programs[key] = Program(cluster, known, statics, capacity)
    return program


def _device_input(value: object, place: Place) -> Any:
    if not isinstance(value, (jax.Array, np.ndarray, np.generic, DeviceArray, ArrayHandle)):
        value = as_array(value)
    return value if place is None else jax.tree.map(lambda x: jax.device_put(x, place), value)


def _filled_up(entries: Array) -> NDArray:
    """Pads entries along axis 0, by less than 16 rows or a quarter of them, so that few lengths are compiled.

    Integers are padded with `checks.no_row`, which kernels with counted inputs ignore, other dtypes with 0.
    """
    entries = as_array(entries)
    count = max(len(entries), 1)
    # Between two powers of two there are at most four lengths: the number of compiled programs is logarithmic in the greatest length.
    step = 1 << max(4, (count - 1).bit_length() - 3)
    filler = checks.no_row(entries.dtype) if entries.dtype.kind == "i" else 0
    padded = np.full((-(-count // step) * step, *entries.shape[1:]), filler, entries.dtype)
    padded[: len(entries)] = entries
    return padded


def _run_naming_step(step: NamingStep, known: dict[Tensor, NDArray], values: Values, context: RunContext) -> None:
    """Runs operations that name resources once in a context; later runs take the handles of the first from a cache."""
    found = step.found
    if found is None or found[0] is not context:
        run_host_step(step, known, values, context)
        step.found = context, {t: values[t] for item in step.items for t in item.outputs}
    else:
        values.update(found[1])


def run_host_step(step: HostStep, known: dict[Tensor, NDArray], values: Values, context: RunContext) -> None:
    """Runs the items of a host step in order; `values` takes their outputs. The first run makes the runners."""
    if step.runners is None:
        step.runners = _runners(step, known)
    for run in step.runners:
        run(values, context)


def _runners(step: HostStep, known: dict[Tensor, NDArray]) -> list[Runner]:
    """Returns the runners of a host step, in order."""
    if step.kept is None:
        return [_runner(item, known) for item in step.items]
    # Shape arithmetic is evaluated symbolically, in Python integers: its operations need no NumPy kernels.
    shapes = ShapeArithmetic(step.items, step.kept, known)
    runners: list[Runner] = []
    for item in step.items:
        runners += shapes.makers(item.outputs) if shapes.understands(item) else [_runner(item, known)]
    return runners


def _runner(item: Item, known: Mapping[Tensor, NDArray]) -> Runner:
    """Returns a function that runs an item of a host step. Everything that does not depend on values is decided here, once."""
    if not isinstance(item, OpItem) or not item.fed:
        return _runner_of_all(item, known)
    fed, run_all = item.fed, _runner_of_all(item, known)

    def run(values: Values, context: RunContext) -> None:
        given = {t: values[t] for t in fed}
        run_all(values, context)
        values.update(given)

    return run


def _runner_of_all(item: Item, known: Mapping[Tensor, NDArray]) -> Runner:
    """Returns a function that runs an item and stores all of its outputs; `known` are the values known before the run."""
    # Control flow with host work has plans of its own for branches and bodies.
    if isinstance(item, CondItem):
        return HostCond(item, known, run_steps, fetched_value)
    if isinstance(item, RoutedItem):
        return HostRouting(item, run_steps, fetched_value)
    if isinstance(item, LoopItem):
        return HostLoop(item, run_steps, fetched_value)
    if isinstance(item, LoopGradientItem):
        return lambda values, context: run_backwards(item, values)
    op = item.operations[0]
    # A resource handle whose variable is known has no value: users of it resolve the variable themselves.
    if is_identity(op) and op.outputs[0].dtype.name == "resource" and variable_op(op.outputs[0]) is not None:
        return lambda values, context: None
    if isinstance(item, MergeItem):
        return _routing(item.reads, lambda frame: hand_on(item, frame))
    if op.type in ROUTES:
        return _routing(item.reads, lambda frame: ROUTES[op.type](op, frame))
    if op.type == "Identity" and _is_stateless(op):
        return _handing_on(*op.takes, *op.outputs)
    # Operations on variables, from the special cases to the general one.
    if any(map(is_chosen, op.takes)) and any(accesses(op)):
        return _chosen_runner(op)
    if op.type == "Identity" and is_ref_read(op) and variable_op(op.takes[0]) is not None:
        return _ref_reader(op)
    return _stateful_runner(op) if _changes_state(op) else _value_runner(op)


def _routing(reads: Sequence[Operation], route: Callable[[Frame], None]) -> Runner:
    """Returns a runner for an operation that only forwards values: `route`, on a frame of those of the run. `reads`: the variables that it may read."""
    keys = [(variable_key(v), v) for v in reads]

    def run(values: Values, context: RunContext) -> None:
        route(Frame(values, {key: context.variable_state.view(v, key) for key, v in keys if key in context.variable_state.values}))

    return run


def _is_stateless(op: Operation) -> bool:
    """Whether an operation neither reads nor writes variables and draws no random numbers."""
    return not (_changes_state(op) or op.spec.effects.reads)


def _changes_state(op: Operation) -> bool:
    """Whether an operation writes variables, takes refs of them, or draws random numbers."""
    effects = op.spec.effects
    return bool(effects.random or effects.writes) or any(t.dtype._is_ref_dtype for t in (*op.takes, *op.outputs))


def _handing_on(source: Tensor, target: Tensor) -> Runner:
    """Returns a runner that forwards the value of `source` to `target`."""

    def run(values: Values, context: RunContext) -> None:
        values[target] = _on_host(values.get(source))

    return run


def _ref_reader(op: Operation) -> Runner:
    """Returns a runner for an Identity of a ref: it forwards the variable's value, or the ref's own value if it has one (a fed ref)."""
    (source,), (target,) = op.takes, op.outputs
    variable, run_generally = required_variable_op(source), _stateful_runner(op)
    key = variable_key(variable)

    def run(values: Values, context: RunContext) -> None:
        if source in values:
            run_generally(values, context)
        else:
            values[target] = context.variable_state.view(variable, key)

    return run


def _value_runner(op: Operation) -> Runner:
    """Returns a runner for an operation without state changes: its inputs are values, or handles of variables that it reads."""
    inputs, outputs = list(op.takes), list(op.outputs)
    kernel, names, needs_context = *_numpy_kernel(op), op.spec.context
    groups = constant_value.argument_groups(op)
    attrs = constant_value.kernel_arguments(op, inputs)[1]
    keywords = {k: attrs[k] for k in names}
    kinds = [np.dtype(t.dtype.as_numpy_dtype) if t.dtype.is_numpy_compatible else None for t in outputs]
    is_one, is_opaque, call = len(outputs) == 1, kinds == [None], _caller(op)
    variables = _read_variables(op)

    def run(values: Values, context: RunContext) -> None:
        arguments = [v if type(v := values.get(t)) is np.ndarray else _on_host(v) for t in inputs]
        for position, variable, key in variables:
            if arguments[position] is None:
                arguments[position] = context.variable_state.view(variable, key)
        if groups is not None:
            arguments = constant_value.grouped(arguments, groups)
        if needs_context:
            arguments = [HostContext(context, op), *arguments]
        returned = call(op, kernel, arguments, keywords)
        # Fast paths, as most kernels return arrays of the declared dtypes. The last branch converts, and checks number and dtypes.
        if is_one and (type(returned) is np.ndarray and returned.dtype == kinds[0] or is_opaque and type(returned) not in (tuple, list)):
            values[outputs[0]] = returned
            return
        if is_one and isinstance(returned, np.generic) and returned.dtype == kinds[0]:
            values[outputs[0]] = as_array(returned)
            return
        results = flatten_results(returned)
        if len(results) == len(outputs) and all([type(r) is np.ndarray and r.dtype == k for r, k in zip(results, kinds)]):
            values.update(zip(outputs, results))
        else:
            store_results(op, _as_arrays(op, results), Frame(values, {}))

    return run


def _read_variables(op: Operation) -> list[tuple[int, Operation, str]]:
    """Returns the inputs that are handles of variables which an operation reads: position, handle operation and variable key of each."""
    read = accesses(op)[0]
    handles = [(i, variable_op(t)) for i, t in enumerate(op.takes) if t.dtype.name == "resource"] if read else []
    return [(i, v, variable_key(v)) for i, v in handles if v in read]


def _numpy_kernel(op: Operation) -> tuple[Kernel, tuple[str, ...]]:
    """Returns the kernel of an operation for NumPy values, and the names of the attributes that it takes."""
    spec = op.spec
    # Preferred in this order: an exact NumPy kernel, one that is equal but for rounding, the device kernel.
    if spec.numpy_kernel is None and (near := near_kernel(op)) is not None:
        return near, op_spec.keyword_names(near)
    if spec.side == op_spec.HOST or spec.numpy_kernel is None or spec.numpy_kernel is spec.kernel:
        return spec.kernel, spec.kernel_attrs
    return spec.numpy_kernel, spec.fold_attrs


def _chosen_runner(op: Operation) -> Runner:
    """Returns a runner for an operation on handles that are chosen at run time, e.g. by a Switch or RefSelect."""
    # One runner for each combination of variables that runs have chosen, as a runner resolves its variables when it is made.
    runners: dict[tuple[Operation, ...], Runner] = {}
    handles = [t for t in op.takes if is_chosen(t)]

    def run(values: Values, context: RunContext) -> None:
        chosen = {t: v for t in handles if isinstance(v := values.get(t), Operation)}
        key = tuple(chosen.values())
        if key not in runners:
            runners[key] = _stateful_runner(op, chosen)
        runners[key](values, context)
        values.update({t: chosen[op.takes[0]] for t in op.outputs if is_chosen(t)})

    return run


def _stateful_runner(op: Operation, chosen: Mapping[Tensor, Operation] = NONE_CHOSEN) -> Runner:
    """Returns a runner that computes an operation in NumPy and stores outputs and new state, atomically for other threads.

    Args:
      chosen: the variables of handles that are chosen at run time.
    """
    reads, writes = accesses(op, chosen=chosen)
    refs = [t for t in op.takes if t.dtype._is_ref_dtype]
    is_random, compute = op.spec.effects.random, _stateful_kernel(op)
    keys = [variable_key(v) for v in writes]

    def run(values: Values, context: RunContext) -> None:
        # A ref with a value of its own (a fed one) is not a read of its variable, which may be uninitialized.
        read = accesses(op, values)[0] if refs and any(t in values and t not in chosen for t in refs) else reads
        if is_random:
            context.random_state.await_turn([op])
        with context.variable_state.lock if keys or is_random else contextlib.nullcontext():
            frame = Frame({t: _on_host(values[t]) for t in op.takes if t in values and t not in chosen}, {}, chosen=chosen)
            frame.state = {variable_key(v): _current(context, v, op if v in read else None) for v in (*read, *writes)}
            compute(frame, context)
            values.update(frame.values)
            # The kernel has succeeded: all new values are stored in one call, so that a signal sees all of them or none.
            if keys:
                context.variable_state.store(keys, [_owned(frame.state[key]) for key in keys])

    return run


def _stateful_kernel(op: Operation) -> Callable[[Frame, RunContext], None]:
    """Returns a function that computes an operation on a frame: outputs replace the frame's values, and its random counter advances."""
    spec, call, groups = op.spec, _caller(op), constant_value.argument_groups(op)
    kernel, names = _numpy_kernel(op)
    attrs = constant_value.kernel_arguments(op, list(op.takes))[1]
    keywords: dict[str, object] = {k: attrs[k] for k in names}
    reserved = {k: attrs[k] for k in op_spec.keyword_names(spec.reserve)} if spec.effects.random and spec.reserve is not None else {}

    def compute(frame: Frame, context: RunContext) -> None:
        arguments, given = constant_value.grouped(gather_inputs(op, frame), groups), keywords
        # A random kernel gets its Philox key (2 words) and counter (4 words).
        if spec.effects.random:
            row = context.random_state.row(op)
            given = {**keywords, "rng": (row[:2], row[2:])}
        if spec.context:
            arguments = [HostContext(context, op), *arguments]
        results = flatten_results(call(op, kernel, arguments, given))
        frame.values = {}
        store_results(op, _as_arrays(op, results), frame)
        # How many numbers were consumed can depend on the results (rejection sampling), so the counter advances last.
        if spec.effects.random and spec.reserve is not None:
            context.random_state.advance(op, spec.reserve(results, *arguments, **reserved))

    return compute


def _owned(value: Any) -> NDArray:
    """Returns an array that nobody else can change: `value` itself if it is read-only and owns its memory, else a copy."""
    frozen = isinstance(value, np.ndarray) and not value.flags.writeable and value.flags.owndata
    return value if frozen else new_array(value)


def _current(context: RunContext, variable: Operation, reader: Operation | None) -> NDArray | None:
    """Returns the value of a variable, or None if it has none and `reader` is None.

    Raises:
      errors.OpError: the variable has no value, and the operation `reader` reads it.
    """
    key = variable_key(variable)
    if key in context.variable_state.values:
        return context.variable_state.view(variable, key)
    if reader is not None:
        raise uninitialized(variable, reader)
    return None


def _caller(op: Operation) -> KernelCall:
    """Returns the function that calls an operation's kernel; in one that may block or run the user's Python code, the thread leaves JAX."""
    return _call_outside if op.spec.context or op.spec.effects.external else _call


def _call(op: Operation, kernel: Kernel, arguments: list[object], keywords: dict[str, object]) -> object:
    """Calls a kernel; its errors become errors of TensorFlow, with the node of `op` unless they name one."""
    checks.COLLECTOR.op = op
    try:
        return kernel(*arguments, **keywords)
    except errors.OpError as e:
        if e.op is not None:
            raise
        raise e.at_node(op.node_def, op) from None
    except MemoryError as e:
        raise errors.ResourceExhaustedError(op.node_def, op, f"OOM when allocating tensor: {e}") from None
    except checks.OF_TRACING:
        raise
    except checks.BAD_INPUT as e:
        raise checks.unfit(op, e) from e


def _call_outside(op: Operation, kernel: Kernel, arguments: list[object], keywords: dict[str, object]) -> object:
    with jax_threads.Waiting():
        return _call(op, kernel, arguments, keywords)


def _on_host(value: object) -> Any:
    return as_array(value) if isinstance(value, jax.Array) else value


def _as_arrays(op: Operation, results: list[object]) -> list[object]:
    """Converts NumPy scalars and Python numbers among the results to arrays of the outputs' dtypes. Leading results are new variable values."""
    outputs = value_outputs(op)
    offset = len(results) - len(outputs)
    converted = []
    for i, value in enumerate(results):
        kind = outputs[i - offset].dtype if i >= offset else None
        if kind is not None and kind.is_numpy_compatible and not kind._is_ref_dtype and not isinstance(value, (np.ndarray, DeviceArray, HostArray)):
            value = as_array(value, kind.as_numpy_dtype)
        converted.append(value)
    return converted
