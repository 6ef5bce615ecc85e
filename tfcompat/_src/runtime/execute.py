"""Execution: the steps of a plan, one after another, on real values."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import jax
import numpy as np
from jax.sharding import NamedSharding

from tfcompat._src.base import array_memory, checks, errors, jax_compat, jax_threads, run_limits, signal_watch, this_run
from tfcompat._src.base.arrays import Array, NDArray, as_array, new_array
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.graph import constant_value, op_spec
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.flow.array_value import FIRST_CAPACITY, ArrayHandle, ArrayOverflow, DeviceArray, HostArray
from tfcompat._src.proto import messages
from tfcompat._src.runtime import failure, trace
from tfcompat._src.runtime.cluster_trace import Arrays, Shapes, input_shapes
from tfcompat._src.runtime.cond_item import CondItem
from tfcompat._src.runtime.driven_by_host import HostCond, HostLoop, run_backwards
from tfcompat._src.runtime.fold import near_kernel
from tfcompat._src.runtime.item import Item
from tfcompat._src.runtime.loop_program import LoopGradientItem, LoopItem
from tfcompat._src.runtime.lower import (
    ROUTES,
    Frame,
    Replan,
    flatten_results,
    gather_inputs,
    store_results,
    value_outputs,
)
from tfcompat._src.runtime.plan import Cluster, HostStep, NamingStep, Plan, Step
from tfcompat._src.runtime.postpone import run_apart
from tfcompat._src.runtime.program import Program
from tfcompat._src.runtime.program_call import ProgramCall
from tfcompat._src.runtime.run_context import RunContext
from tfcompat._src.runtime.shape_arithmetic import ShapeArithmetic
from tfcompat._src.runtime.variable_state import (
    NONE_CHOSEN,
    Place,
    accesses,
    is_chosen,
    is_identity,
    is_ref_read,
    required_variable_op,
    uninitialized,
    variable_in,
    variable_key,
    variable_op,
)

Values: TypeAlias = dict[Tensor, Any]
Runner: TypeAlias = Callable[[Values, RunContext], None]
"""Runs an item of a host step, given the values so far and the context."""
Kernel: TypeAlias = Callable[..., object]
KernelCall: TypeAlias = Callable[[Operation, Kernel, list[object], dict[str, object]], object]


def execute(
    plan: Plan, feeds: Sequence[object], context: RunContext, result: Callable[[Tensor, Values, RunContext], object], lent: bool = False
) -> list[object]:  # fmt: skip
    """Runs a plan; what `result` makes of `plan.fetched` in order, given each tensor, all values and the context.

    `lent` feeds may be changed when this has returned: nothing keeps them, or reads them later.

    Raises:
      errors.OpError: a variable has no value, a check failed, or a host operation raised. Variables are then as before the
      step that failed.
    """
    state = context.variable_state
    there = state.values
    for key, op in plan.required_keys:
        if key not in there:
            raise uninitialized(op, plan.first_reader(op))
    try:
        values = _run_single(plan, feeds, context, lent)
        if values is None:
            values = _run_all(plan, feeds, context, lent)
        return [result(t, values, context) for t in plan.fetched]
    except jax.errors.JaxRuntimeError as e:
        state.forget_lost()
        raise failure.of_jax(e, next(op for op in plan.operations())) from None


def _run_single(plan: Plan, feeds: Sequence[object], context: RunContext, lent: bool) -> dict[Tensor, Any] | None:
    """What a plan gives that is one compiled call, made before for feeds like these; None where it must be run step by step."""
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
    if lent and not cluster.outputs:  # else a fetch waits for it
        jax.block_until_ready(outputs)
    return dict(zip(cluster.outputs, outputs))


def _run_all(plan: Plan, feeds: Sequence[object], context: RunContext, lent: bool) -> dict[Tensor, Any]:
    """Runs the steps of a plan one after another; all values."""
    values: dict[Any, Any] = {**plan.known, **dict(zip(plan.feeds, feeds))}
    if lent:
        values.update({plan.feeds[i]: array_memory.frozen(feeds, i) for i in plan.kept})
    outer = this_run.begin()
    try:
        run_steps(plan, values, context)
    finally:
        this_run.end(outer)
        if lent and plan.reading:
            jax.block_until_ready([values.get(t) for t in plan.reading])
    if plan.sizes and not plan.is_stale:
        plan.note_sizes(input_shapes(feeds), values)
    for tensor, guard in plan.guarded.items():
        if any(bool(values[p]) != wanted for p, wanted in guard):
            raise _without_value(tensor)
    return values


def run_steps(plan: Plan, values: dict[Tensor, Any], context: RunContext) -> None:
    """Runs the steps of a plan; where a trace finds that it must be another plan, what has not run yet is planned anew."""
    recorder = trace.current()
    run_one = run_step if recorder is None else recorder.timed(run_step)
    steps, done = plan.steps_apart or plan.steps, []

    def run(step: Step) -> None:
        run_one(step, plan, values, context)
        done.append(step)

    try:
        if plan.steps_apart is not None:
            run_apart(steps, plan.sources, plan.beside, run)
        else:
            for step in steps:
                run(step)
    except Replan as change:
        if plan.is_rest and change.finding in plan.findings:
            raise
        plan.findings.add(change.finding)
        plan.is_stale = True
        run_steps(context.planner.rest(plan, [step for step in steps if step not in done], values), values, context)


def run_step(step: Step, plan: Plan, values: dict[Tensor, Any], context: RunContext) -> None:
    """Runs one step of a plan; `values` takes what it gives."""
    if isinstance(step, Cluster):
        run_cluster(step, plan.known, values, context)
    elif isinstance(step, NamingStep):
        _run_naming_step(step, plan.known, values, context)
    else:
        run_host_step(step, plan.known, values, context)


_ARRAYS = {np.ndarray, jax_compat.ArrayImpl}
"""The types that nearly all values have (quicker than by `isinstance`, which tells tracers too)."""


def fetched_value(tensor: Tensor, values: dict[Tensor, Any], context: RunContext) -> Any:
    """A fetched tensor as NumPy, a quantized one as integers; a ref shows its variable's value at the end of the run."""
    value = values.get(tensor)
    if tensor.dtype._is_ref_dtype and (value is None or isinstance(value, Operation)):
        op = variable_in(tensor, values) or required_variable_op(tensor)
        value = context.variable_state.read(op, variable_key(op))
        values = {tensor: value}
    if type(value) in _ARRAYS or isinstance(value, (np.ndarray, jax.Array)):
        del value  # which `private` looks at the holders of
        array = array_memory.private(values, tensor)
        if array.dtype.names:
            array = array[array.dtype.names[0]]
        return array if array.ndim else array[()]
    variable = variable_in(tensor, values) if tensor.dtype.name == "resource" and (value is None or isinstance(value, Operation)) else None
    if variable is not None:
        return _handle_value(variable, context)
    if value is None:
        raise _without_value(tensor)
    if isinstance(value, (DeviceArray, HostArray)):
        return np.float32(0)
    return value


def _without_value(tensor: Tensor) -> errors.InvalidArgumentError:
    op = tensor.op
    return errors.InvalidArgumentError(op.node_def, op, f"Retval[0] does not have value: {tensor.name} is on a side not taken")


def _handle_value(variable: Operation, context: RunContext) -> NDArray:
    """The handle of a variable as a fetch shows it: the bytes of a ResourceHandleProto."""
    container, _, name = variable_key(variable).partition("/")
    handle = messages.ResourceHandleProto(
        device=context.placer.device_of(variable).name, container=container or "localhost", name=name, maybe_type_name="N10tensorflow3VarE"
    )
    return np.frombuffer(bytearray(handle.SerializeToString()), np.dtype([("resource", np.uint8)]))


def run_cluster(cluster: Cluster, known: dict[Tensor, Any], values: dict[Any, Any], context: RunContext) -> None:
    """One compiled call: gathers inputs and state, calls, files outputs and new state."""
    inputs = tuple([_device_input(_filled_up(values[t]) if t in cluster.counted else values[t], cluster.place) for t in cluster.inputs])
    program = program_for(cluster, known, values, FIRST_CAPACITY)
    shapes = input_shapes(inputs)
    while (outputs := _call_program(program, cluster, inputs, shapes, known, context)) is None:
        program = program_for(cluster, known, values, program.capacity * 4)
    values.update(zip(cluster.results, outputs))


def _call_program(
    program: Program, cluster: Cluster, inputs: Arrays, shapes: Shapes, known: dict[Tensor, Any], context: RunContext
) -> Sequence[Any] | None:  # fmt: skip
    """Calls a program; its outputs, or None where it must run again with more room for growing arrays."""
    large = tuple([context.large_constant(t, known[t], cluster.place) for t in cluster.large]) if cluster.large else ()
    if cluster.randoms:
        context.random_state.await_turn(cluster.randoms)
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
    """`_called`, with a flag that ends the loops of the call.

    A signal sets the flag, since its handler waits for the end of the call. If the handler raises nothing, the call is made once more,
    in a helper thread, where no signal ends it: the loops that were ended have changed no variable.
    """
    with run_limits.stoppable(context.life) as flag, signal_watch.watching(flag.set_by_signal):
        outputs, error = _called(program, cluster, inputs, shapes, (*large, flag.array_on(cluster.place)), context)
    if not (isinstance(error, errors.CancelledError) and flag.was_set_by_signal):
        if isinstance(error, errors.CancelledError):
            run_limits.require_time()
        return outputs, error
    with run_limits.stoppable(context.life) as flag:
        return _called(program, cluster, inputs, shapes, (*large, flag.array_on(cluster.place)), context, is_apart=True)


def _called(
    program: Program, cluster: Cluster, inputs: Arrays, shapes: Shapes, large: Arrays, context: RunContext,
    is_apart: bool = False,
) -> tuple[Sequence[Any], Exception | None]:  # fmt: skip
    """Calls a program, in a helper thread if `is_apart`; its outputs and its first failed check.

    The new state is filed, or will be when it is wanted.
    """
    state = context.variable_state
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
    """The program for the present values of the cluster's compile-time inputs, with at least `capacity` for growing arrays."""
    statics = [as_array(values[t]) for t in cluster.statics] if cluster.statics else []
    key = tuple([(s.shape, s.tobytes()) for s in statics]) if statics else ()
    program = cluster.programs.get(key)
    if program is None or program.capacity < capacity:
        program = cluster.programs[key] = Program(cluster, known, statics, capacity)
    return program


def _device_input(value: object, place: Place) -> Any:
    if not isinstance(value, (jax.Array, np.ndarray, np.generic, DeviceArray, ArrayHandle)):
        value = as_array(value)
    return value if place is None else jax.tree.map(lambda x: jax.device_put(x, place), value)


def _filled_up(entries: Array) -> NDArray:
    """Entries of which a kernel takes more than there are: 16 or an eighth more at most, so that few lengths are compiled."""
    entries = as_array(entries)
    count = max(len(entries), 1)
    step = 1 << max(4, (count - 1).bit_length() - 3)
    filler = checks.no_row(entries.dtype) if entries.dtype.kind == "i" else 0
    found = np.full((-(-count // step) * step, *entries.shape[1:]), filler, entries.dtype)
    found[: len(entries)] = entries
    return found


def _run_naming_step(step: NamingStep, known: dict[Tensor, NDArray], values: Values, context: RunContext) -> None:
    """Files the handles of a step, whose operations run once in a context: later runs would find the same resources."""
    found = step.found
    if found is None or found[0] is not context:
        run_host_step(step, known, values, context)
        step.found = context, {t: values[t] for item in step.items for t in item.outputs}
    else:
        values.update(found[1])


def run_host_step(step: HostStep, known: dict[Tensor, NDArray], values: Values, context: RunContext) -> None:
    if step.runners is None:
        step.runners = _runners(step, known)
    for run in step.runners:
        run(values, context)


def _runners(step: HostStep, known: dict[Tensor, NDArray]) -> list[Runner]:
    """What runs the items of a host step, in order."""
    if step.kept is None:
        return [_runner(item) for item in step.items]
    shapes = ShapeArithmetic(step.items, step.kept, known)
    found: list[Runner] = []
    for item in step.items:
        found += shapes.makers(item.outputs) if shapes.understands(item) else [_runner(item)]
    return found


def _runner(item: Item) -> Runner:
    """What runs an item of a host step, given the values so far and the context."""
    if isinstance(item, CondItem):
        return HostCond(item, run_steps, fetched_value)
    if isinstance(item, LoopItem):
        return HostLoop(item, run_steps, fetched_value)
    if isinstance(item, LoopGradientItem):
        return lambda values, context: run_backwards(item, values)
    op = item.operations[0]
    if is_identity(op) and op.outputs[0].dtype.name == "resource" and variable_op(op.outputs[0]) is not None:
        return lambda values, context: None
    if op.type in ROUTES:
        return lambda values, context: ROUTES[op.type](op, Frame(values, {}))
    if op.type == "Identity" and _is_stateless(op):
        return _handing_on(*op.takes, *op.outputs)
    if any(map(is_chosen, op.takes)) and any(accesses(op)):
        return _chosen_runner(op)
    if op.type == "Identity" and is_ref_read(op) and variable_op(op.takes[0]) is not None:
        return _ref_reader(op)
    return _stateful_runner(op) if _changes_state(op) else _value_runner(op)


def _is_stateless(op: Operation) -> bool:
    """Whether an operation has to do neither with variables nor with a random state."""
    return not (_changes_state(op) or op.spec.effects.reads)


def _changes_state(op: Operation) -> bool:
    """Whether an operation writes variables, takes refs of them, or draws random numbers."""
    effects = op.spec.effects
    return bool(effects.random or effects.writes) or any(t.dtype._is_ref_dtype for t in (*op.takes, *op.outputs))


def _handing_on(source: Tensor, target: Tensor) -> Runner:
    def run(values: Values, context: RunContext) -> None:
        values[target] = _on_host(values.get(source))

    return run


def _ref_reader(op: Operation) -> Runner:
    """Hands on what the variable behind a ref is, or the value that is there for the ref, as of a fed one."""
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
    """Runs an operation that computes values of values, and of variables that it reads by their handles."""
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
        found = call(op, kernel, arguments, keywords)
        if is_one and (type(found) is np.ndarray and found.dtype == kinds[0] or is_opaque and type(found) not in (tuple, list)):
            values[outputs[0]] = found
            return
        if is_one and isinstance(found, np.generic) and found.dtype == kinds[0]:
            values[outputs[0]] = as_array(found)
            return
        results = flatten_results(found)
        if len(results) == len(outputs) and all([type(r) is np.ndarray and r.dtype == k for r, k in zip(results, kinds)]):
            values.update(zip(outputs, results))
        else:
            store_results(op, _as_arrays(op, results), Frame(values, {}))

    return run


def _read_variables(op: Operation) -> list[tuple[int, Operation, str]]:
    """The inputs by which an operation reads variables: position, handle operation and key of each."""
    read = accesses(op)[0]
    handles = [(i, variable_op(t)) for i, t in enumerate(op.takes) if t.dtype.name == "resource"] if read else []
    return [(i, v, variable_key(v)) for i, v in handles if v in read]


def _numpy_kernel(op: Operation) -> tuple[Kernel, tuple[str, ...]]:
    """The kernel for NumPy values, and the attributes that it takes."""
    spec = op.spec
    if spec.numpy_kernel is None and (found := near_kernel(op)) is not None:
        return found, op_spec.keyword_names(found)
    if spec.side == op_spec.HOST or spec.numpy_kernel is None or spec.numpy_kernel is spec.kernel:
        return spec.kernel, spec.kernel_attrs
    return spec.numpy_kernel, spec.fold_attrs


def _chosen_runner(op: Operation) -> Runner:
    """Runs an operation on variables that the run has chosen, by a runner for these."""
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
    """Runs an operation in NumPy and files its outputs; no other thread uses its variables or its random numbers meanwhile."""
    reads, writes = accesses(op, chosen=chosen)
    refs = [t for t in op.takes if t.dtype._is_ref_dtype]
    is_random, compute = op.spec.effects.random, _stateful_kernel(op)
    keys = [variable_key(v) for v in writes]

    def run(values: Values, context: RunContext) -> None:
        read = accesses(op, values)[0] if refs and any(t in values and t not in chosen for t in refs) else reads
        if is_random:
            context.random_state.await_turn([op])
        with context.variable_state.lock if keys or is_random else contextlib.nullcontext():
            frame = Frame({t: _on_host(values[t]) for t in op.takes if t in values and t not in chosen}, {}, chosen=chosen)
            frame.state = {variable_key(v): _current(context, v, op if v in read else None) for v in (*read, *writes)}
            compute(frame, context)
            values.update(frame.values)
            if keys:
                context.variable_state.store(keys, [_owned(frame.state[key]) for key in keys])

    return run


def _stateful_kernel(op: Operation) -> Callable[[Frame, RunContext], None]:
    """Computes an operation of the values of a frame, in which its outputs take their place, and moves its random counter on."""
    spec, call, groups = op.spec, _caller(op), constant_value.argument_groups(op)
    kernel, names = _numpy_kernel(op)
    attrs = constant_value.kernel_arguments(op, list(op.takes))[1]
    keywords: dict[str, object] = {k: attrs[k] for k in names}
    reserved = {k: attrs[k] for k in op_spec.keyword_names(spec.reserve)} if spec.effects.random and spec.reserve is not None else {}

    def compute(frame: Frame, context: RunContext) -> None:
        arguments, given = constant_value.grouped(gather_inputs(op, frame), groups), keywords
        if spec.effects.random:
            row = context.random_state.row(op)
            given = {**keywords, "rng": (row[:2], row[2:])}
        if spec.context:
            arguments = [HostContext(context, op), *arguments]
        results = flatten_results(call(op, kernel, arguments, given))
        frame.values = {}
        store_results(op, _as_arrays(op, results), frame)
        if spec.effects.random and spec.reserve is not None:
            context.random_state.advance(op, spec.reserve(results, *arguments, **reserved))

    return compute


def _owned(value: Any) -> NDArray:
    """A value that nothing else will change: the array itself where it is read-only and owns its memory, else a copy."""
    frozen = isinstance(value, np.ndarray) and not value.flags.writeable and value.flags.owndata
    return value if frozen else new_array(value)


def _current(context: RunContext, variable: Operation, reader: Operation | None) -> NDArray | None:
    """The value of a variable. Where it has none, what its `reader` raises, or None if nothing reads it."""
    key = variable_key(variable)
    if key in context.variable_state.values:
        return context.variable_state.view(variable, key)
    if reader is not None:
        raise uninitialized(variable, reader)
    return None


def _caller(op: Operation) -> KernelCall:
    """What calls the kernel of an operation: one that may wait or run Python code of the program counts as outside of JAX."""
    return _call_outside if op.spec.context or op.spec.effects.external else _call


def _call(op: Operation, kernel: Kernel, arguments: list[object], keywords: dict[str, object]) -> object:
    checks.COLLECTOR.op = op
    try:
        return kernel(*arguments, **keywords)
    except errors.OpError as e:
        if e.op is not None:
            raise
        raise e.at_node(op.node_def, op) from None
    except MemoryError as e:
        raise errors.ResourceExhaustedError(op.node_def, op, f"OOM when allocating tensor: {e}") from None
    except checks.BAD_INPUT as e:
        raise checks.unfit(op, e) from e


def _call_outside(op: Operation, kernel: Kernel, arguments: list[object], keywords: dict[str, object]) -> object:
    with jax_threads.Waiting():
        return _call(op, kernel, arguments, keywords)


def _on_host(value: object) -> Any:
    return as_array(value) if isinstance(value, jax.Array) else value


def _as_arrays(op: Operation, results: list[object]) -> list[object]:
    """NumPy scalars and Python numbers of the outputs become arrays of the output's dtype."""
    outputs = value_outputs(op)
    offset = len(results) - len(outputs)
    converted = []
    for i, value in enumerate(results):
        kind = outputs[i - offset].dtype if i >= offset else None
        if kind is not None and kind.is_numpy_compatible and not kind._is_ref_dtype and not isinstance(value, (np.ndarray, DeviceArray, HostArray)):
            value = as_array(value, kind.as_numpy_dtype)
        converted.append(value)
    return converted
