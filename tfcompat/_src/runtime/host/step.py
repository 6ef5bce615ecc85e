"""Host steps: runs operations one by one in NumPy, by closures (`Runner`) that are made in the first run of a step and kept with it.

Branches and loops that the host drives run other plans: `run_steps` of the caller says how.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import jax
import numpy as np

from tfcompat._src.base.arrays import NDArray, as_array, new_array
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.graph import constant_value, op_spec
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.flow.array_value import DeviceArray, HostArray
from tfcompat._src.runtime.host.control_flow import HostCond, HostLoop, HostRouting, RunSteps, run_backwards
from tfcompat._src.runtime.host.fetched_value import fetched_value
from tfcompat._src.runtime.host.kernels import caller, numpy_kernel
from tfcompat._src.runtime.host.shape_arithmetic import ShapeArithmetic
from tfcompat._src.runtime.ir.cond_item import CondItem
from tfcompat._src.runtime.ir.item import Item, MergeItem, OpItem
from tfcompat._src.runtime.ir.loop_item import LoopGradientItem, LoopItem
from tfcompat._src.runtime.ir.plan import HostStep, NamingStep
from tfcompat._src.runtime.ir.routed_item import RoutedItem
from tfcompat._src.runtime.lowering.lower import (
    ROUTES,
    Frame,
    flatten_results,
    gather_inputs,
    hand_on,
    store_results,
    value_outputs,
)
from tfcompat._src.runtime.state.run_context import RunContext
from tfcompat._src.runtime.state.variable_state import (
    NONE_CHOSEN,
    accesses,
    is_chosen,
    is_identity,
    is_ref_read,
    required_variable_op,
    shared_read,
    uninitialized,
    variable_key,
    variable_op,
)

Values: TypeAlias = dict[Tensor, Any]
Runner: TypeAlias = Callable[[Values, RunContext], None]
"""Runs an item of a host step: reads its inputs from the values, and stores its outputs there."""


def run_naming_step(step: NamingStep, known: dict[Tensor, NDArray], values: Values, context: RunContext, run_steps: RunSteps) -> None:
    """Runs operations that name resources once in a context; later runs take the handles of the first from a cache."""
    found = step.found
    if found is None or found[0] is not context:
        run_host_step(step, known, values, context, run_steps)
        step.found = context, {t: values[t] for item in step.items for t in item.outputs}
    else:
        values.update(found[1])


def run_host_step(step: HostStep, known: dict[Tensor, NDArray], values: Values, context: RunContext, run_steps: RunSteps) -> None:
    """Runs the items of a host step in order; `values` takes their outputs. The first run makes the runners; `run_steps` runs plans inside of items."""
    if step.runners is None:
        step.runners = _runners(step, known, run_steps)
    context.tally.add(len(step.runners))
    for run in step.runners:
        run(values, context)


def _runners(step: HostStep, known: dict[Tensor, NDArray], run_steps: RunSteps) -> list[Runner]:
    """Returns the runners of a host step, in order."""
    items = [item for item in step.items if not item.facts.does_nothing]
    if step.kept is None:
        return [_runner(item, known, run_steps) for item in items]
    # Shape arithmetic is evaluated symbolically, in Python integers: its operations need no NumPy kernels.
    shapes = ShapeArithmetic(step.items, step.kept, known)
    runners: list[Runner] = []
    for item in items:
        runners += shapes.makers(item.outputs) if shapes.understands(item) else [_runner(item, known, run_steps)]
    return runners


def _runner(item: Item, known: Mapping[Tensor, NDArray], run_steps: RunSteps) -> Runner:
    """Returns a function that runs an item of a host step. Everything that does not depend on values is decided here, once."""
    if not isinstance(item, OpItem) or not item.fed:
        return _runner_of_all(item, known, run_steps)
    fed, run_all = item.fed, _runner_of_all(item, known, run_steps)

    def run(values: Values, context: RunContext) -> None:
        given = {t: values[t] for t in fed}
        run_all(values, context)
        values.update(given)

    return run


def _runner_of_all(item: Item, known: Mapping[Tensor, NDArray], run_steps: RunSteps) -> Runner:
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
    kernel, names, needs_context = *numpy_kernel(op), op.spec.context
    groups = constant_value.argument_groups(op)
    attrs = constant_value.kernel_arguments(op, inputs)[1]
    keywords = {k: attrs[k] for k in names}
    kinds = [np.dtype(t.dtype.as_numpy_dtype) if t.dtype.is_numpy_compatible else None for t in outputs]
    is_one, is_opaque, call = len(outputs) == 1, kinds == [None], caller(op)
    variables, shared = _read_variables(op), _shared_reads(op)

    def run(values: Values, context: RunContext) -> None:
        arguments = [v if type(v := values.get(t)) is np.ndarray else _on_host(v) for t in inputs]
        for position, variable, key in variables:
            if arguments[position] is None:
                arguments[position] = context.variable_state.view(variable, key)
        for position, source, variable, key in shared:
            if source not in values:
                arguments[position] = as_now(arguments[position], context, variable, key)
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


def _shared_reads(op: Operation) -> list[tuple[int, Tensor, Operation, str]]:
    """Returns the inputs that share the buffer of a ref variable: position, ref, handle operation and variable key of each."""
    reads = [(i, read.takes[0]) for i, t in enumerate(op.takes) if (read := shared_read(t)) is not None]
    return [(i, ref, v, variable_key(v)) for i, ref in reads if (v := variable_op(ref)) is not None]


def as_now(value: NDArray, context: RunContext, variable: Operation, key: str) -> NDArray:
    """Returns what a variable holds now in place of what a read has given, unless it has another shape: then it has another buffer."""
    now = context.variable_state.view(variable, key) if key in context.variable_state.values else value
    return now if now.shape == value.shape else value


def _read_variables(op: Operation) -> list[tuple[int, Operation, str]]:
    """Returns the inputs that are handles of variables which an operation reads: position, handle operation and variable key of each."""
    read = accesses(op)[0]
    handles = [(i, variable_op(t)) for i, t in enumerate(op.takes) if t.dtype.name == "resource"] if read else []
    return [(i, v, variable_key(v)) for i, v in handles if v in read]


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
    keys, shared = [variable_key(v) for v in writes], _shared_reads(op)

    def run(values: Values, context: RunContext) -> None:
        # A ref with a value of its own (a fed one) is not a read of its variable, which may be uninitialized.
        read = accesses(op, values)[0] if refs and any(t in values and t not in chosen for t in refs) else reads
        if is_random:
            context.random_state.await_turn([op])
        with context.variable_state.lock if keys or is_random else contextlib.nullcontext():
            frame = Frame({t: _on_host(values[t]) for t in op.takes if t in values and t not in chosen}, {}, chosen=chosen)
            for position, source, variable, key in shared:
                if source not in values and (t := op.takes[position]) in frame.values:
                    frame.values[t] = as_now(frame.values[t], context, variable, key)
            frame.state = {variable_key(v): _current(context, v, op if v in read else None) for v in (*read, *writes)}
            compute(frame, context)
            values.update(frame.values)
            # The kernel has succeeded: all new values are stored in one call, so that a signal sees all of them or none.
            if keys:
                context.variable_state.store(keys, [_owned(frame.state[key]) for key in keys])

    return run


def _stateful_kernel(op: Operation) -> Callable[[Frame, RunContext], None]:
    """Returns a function that computes an operation on a frame: outputs replace the frame's values, and its random counter advances."""
    spec, call, groups = op.spec, caller(op), constant_value.argument_groups(op)
    kernel, names = numpy_kernel(op)
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
