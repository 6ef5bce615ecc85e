"""Execution: runs the steps of a plan in order, on concrete values.

A cluster is one call of a compiled or interpreted program; host/step.py runs host steps. A trace that raises `Replan` leads to a new plan for the steps that have not run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding

from tfcompat._src.base import array_memory, checks, errors, jax_compat, run_limits, signal_watch, this_run
from tfcompat._src.base.arrays import Array, NDArray, as_array, content_key
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.flow.array_value import FIRST_CAPACITY, ArrayHandle, ArrayOverflow, DeviceArray
from tfcompat._src.runtime.debugging import cache_checks
from tfcompat._src.runtime.engines.choice import Computer
from tfcompat._src.runtime.engines.program import Program
from tfcompat._src.runtime.engines.transaction import ProgramCall
from tfcompat._src.runtime.host import node_by_node
from tfcompat._src.runtime.host.control_flow import holds
from tfcompat._src.runtime.host.postpone import run_apart
from tfcompat._src.runtime.host.step import Values, as_now, run_host_step, run_naming_step
from tfcompat._src.runtime.ir.plan import Cluster, NamingStep, Plan, Step
from tfcompat._src.runtime.ir.routed_item import DEAD
from tfcompat._src.runtime.lowering import failure
from tfcompat._src.runtime.lowering.cluster_trace import Arrays, Shapes, input_shapes
from tfcompat._src.runtime.lowering.lower import (
    Replan,
)
from tfcompat._src.runtime.session import run_metadata as trace
from tfcompat._src.runtime.state.run_context import RunContext
from tfcompat._src.runtime.state.variable_state import (
    Place,
    uninitialized,
)


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


def _run_single(plan: Plan, feeds: Sequence[object], context: RunContext, lent: bool) -> Values | None:
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


def _run_all(plan: Plan, feeds: Sequence[object], context: RunContext, lent: bool) -> Values:
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


def run_steps(plan: Plan, values: Values, context: RunContext) -> None:
    """Runs the steps of a plan; `values` takes their outputs. If a trace raises `Replan`, makes and runs a new plan for the remaining steps.

    Raises:
      Replan: the plan of the remaining steps needs a finding that it was already made with.
    """
    recorder = trace.current()
    run_one = run_step if recorder is None else recorder.timed(run_step)
    steps, done = plan.steps_apart or plan.steps, []
    by_node = recorder is None and node_by_node.is_considered(plan)

    def run(step: Step) -> None:
        if step in done:
            return
        if by_node and isinstance(step, Cluster) and _ran_by_node([s for s in steps if s not in done], plan, values, context):
            done.extend(steps)
            return
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


def _ran_by_node(steps: Sequence[Step], plan: Plan, values: Values, context: RunContext) -> bool:
    """Runs the rest of a plan node by node if that is cheaper than to trace its first step; returns whether it did."""
    first = steps[0]
    if not isinstance(first, Cluster):
        return False
    form = node_by_node.form_of(plan, steps, values)
    if form is None:
        return False
    shapes = input_shapes([values[t] for t in (*first.inputs, *first.statics)])
    if form.decided(shapes).computer is not Computer.NODES:
        return False
    return form.run(shapes, values, context)


def run_step(step: Step, plan: Plan, values: Values, context: RunContext) -> None:
    """Runs one step of a plan; `values` takes its outputs."""
    if isinstance(step, Cluster):
        run_cluster(step, plan.known, values, context)
    elif isinstance(step, NamingStep):
        run_naming_step(step, plan.known, values, context, run_steps)
    else:
        run_host_step(step, plan.known, values, context, run_steps)


def run_cluster(cluster: Cluster, known: dict[Tensor, NDArray], values: dict[Any, Any], context: RunContext) -> None:
    """Runs a cluster: gathers its inputs, calls its program on them and the session's state, and stores outputs and new state."""
    # An earlier step may have written a variable since a loop or a branch was entered with a read of it.
    for t, variable, key in cluster.shared_inputs:
        values[t] = as_now(values[t], context, variable, key)
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
    program: Program, cluster: Cluster, inputs: Arrays, shapes: Shapes, known: dict[Tensor, NDArray], context: RunContext
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


def program_for(cluster: Cluster, known: dict[Tensor, NDArray], values: Values, capacity: int) -> Program:
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
