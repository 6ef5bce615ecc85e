"""Lowering: operations become calls of their kernels on traced arrays."""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import checks, errors
from tfcompat._src.base.arrays import Array
from tfcompat._src.base.findings import Finding
from tfcompat._src.graph import constant_value, op_spec
from tfcompat._src.graph.op_spec import HOST, OpSpec
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control.guards import SELECT, SWITCH
from tfcompat._src.ops.flow.array_origin import handed_on
from tfcompat._src.ops.flow.array_value import DeviceArray
from tfcompat._src.runtime import differentiable, not_finite
from tfcompat._src.runtime.fold import can_fold
from tfcompat._src.runtime.gradient_rules import Values
from tfcompat._src.runtime.item import Item, OpItem
from tfcompat._src.runtime.variable_state import (
    NONE_CHOSEN,
    is_chosen,
    is_identity,
    is_ref_read,
    required_variable_op,
    variable_in,
    variable_key,
    variable_op,
)

T = TypeVar("T", bound=checks.Truth)


@dataclass(eq=False)
class Write:
    """What an operation leaves in a variable: entry `position` of what `kernel()` gives again.

    `is_guarded` says that it is `before` where one of the first `checks` checks of the run has failed.
    """

    value: object
    before: object
    kernel: Callable[[], list[object]]
    position: int
    checks: int
    is_guarded: bool


@dataclass(eq=False)
class Frame:
    """What is known at one point of a trace or of a host step.

    `values` by tensor, `state` by variable key, `rng` the row of each random operation, `reserves` how far each has moved on.
    `differentiated` says how many times gradients go through loops, which must be made for that; `lengths` gives bounds of how often they run,
    `counts` takes how often they ran; `differentiated_here` are loops whose gradients follow in the same trace, `pullbacks` these gradients.
    `through_updates` says whether gradients go through updates of variables too, `chosen` which variables a host step works on where the
    run chooses them, `dead` why tensors of branches that are not taken have no
    value here, of which only the other side of a conditional makes use.
    """

    values: dict[Tensor, Any]
    state: dict[str, Any]
    rng: dict[Operation, Any] = field(default_factory=dict)
    reserves: dict[Operation, Any] = field(default_factory=dict)
    differentiated: int = 0
    lengths: dict[Any, int] = field(default_factory=dict)
    counts: dict[Any, Any] | None = None
    differentiated_here: Collection[Item] = ()
    pullbacks: dict[Item, Any] = field(default_factory=dict)
    writes: dict[str, Write] = field(default_factory=dict)
    through_updates: bool = False
    chosen: Mapping[Tensor, Operation] = field(default_factory=dict)
    dead: dict[Tensor, Replan] = field(default_factory=dict)

    def branch(self) -> Frame:
        """A frame that starts with what is known here; what happens in it stays there."""
        return Frame(
            dict(self.values), dict(self.state), self.rng, {}, self.differentiated, self.lengths, through_updates=self.through_updates, dead=self.dead
        )

    def leave(self, tensor: Tensor) -> object:
        """What leaves the trace for a tensor. Replan where it is dead: another program could ask for it."""
        if tensor in self.dead:
            raise self.dead[tensor]
        return self.values.get(tensor)


class _Stopping(threading.local):
    """The array of a run_limits.StopFlag, which loops that are traced in this thread look at in each iteration; None without one."""

    flag: jax.Array | None = None


STOPPING = _Stopping()


class Replan(Exception):
    """What a trace has found makes another plan necessary."""

    def __init__(self, finding: Finding, why: str) -> None:
        super().__init__(why)
        self.finding = finding


@functools.singledispatch
def lower(item: Item, frame: Frame) -> None:
    """Traces an item: what it gives goes to `frame.values`, what it writes to `frame.state`. Each kind of item registers how."""
    raise NotImplementedError(f"there is no way to compile {item.name} ({item.type})")


@lower.register
def _lower_operation(item: OpItem, frame: Frame) -> None:
    run_device_op(item.op, frame)
    not_finite.look_behind(item.op, frame.values, frame.state)


def run_device_op(op: Operation, frame: Frame) -> None:
    """Traces one operation: outputs go to `frame.values`, written variables to `frame.state`."""
    spec = op.spec
    if op.type in ROUTES:
        ROUTES[op.type](op, frame)
        return
    if is_identity(op) and op.outputs[0].dtype.name == "resource" and variable_op(op.outputs[0]) is not None:
        return
    inputs: Sequence[object] = gather_inputs(op, frame)
    if frame.differentiated:
        inputs = _with_numpy_values(op, inputs)
    effects = spec.effects
    if op.takes and _all_static(inputs, spec):
        if not can_fold(op):
            inputs = _hidden(op, inputs)
        elif _fold_traced(op, inputs, frame):
            return
    arguments, attrs = constant_value.kernel_arguments(op, inputs)
    keywords = {k: attrs[k] for k in spec.kernel_attrs}
    if effects.random:
        row = frame.rng[op]
        keywords["rng"] = (row[:2], row[2:])
    as_it_is = not frame.differentiated or (frame.through_updates and bool(effects.writes))
    kernel = spec.padded or spec.kernel if as_it_is else differentiable.kernel(op, _lowered)
    checks.COLLECTOR.op = op
    checks.COLLECTOR.guarded = []
    try:
        results = kernel(*arguments, **keywords)
        flat = flatten_results(results)
        _require_room(flat)
    except errors.OpError as e:
        raise _with_node(e, op) from None
    except MemoryError as e:
        raise errors.ResourceExhaustedError(op.node_def, op, f"OOM when allocating tensor: {e}") from None
    except checks.BAD_INPUT as e:
        raise checks.unfit(op, e) from e
    before = {k: frame.state.get(k) for k in _written_keys(op)} if effects.writes and not effects.random else {}
    store_results(op, flat, frame)
    if before:
        _note_writes(flat, before, lambda: flatten_results(kernel(*arguments, **keywords)), frame)
    if effects.random and spec.reserve is not None:
        frame.reserves[op] = spec.reserve(flat, *arguments, **{k: attrs[k] for k in _reserve_attrs(spec)})


def _lowered(ops: list[Operation], values: Values) -> Values:
    """Traces operations, sources first, where some tensors have values; these, and what the operations give."""
    frame = Frame(dict(values), {})
    for op in ops:
        run_device_op(op, frame)
    return frame.values


def _require_room(results: list[object]) -> None:
    """ResourceExhaustedError where the machine could not hold a result, whether or not the compiled program keeps it."""
    for result in results:
        if isinstance(result, jax.core.Tracer):
            checks.require_room(result.shape, result.dtype)


def _with_numpy_values(op: Operation, inputs: Sequence[object]) -> list[object]:
    """The inputs where iterations are differentiated one by one: what a kernel takes as NumPy values has a value then."""
    is_on_host, positions = op.spec.side == HOST, op.constant_positions()
    found = list(inputs)
    for i, value in enumerate(inputs):
        if isinstance(value, jax.core.Tracer) and is_on_host:
            raise NotImplementedError(f"the gradient through {op.name} (op type {op.type}), which runs on the host")
        if isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer) and (is_on_host or i in positions):
            found[i] = np.asarray(value)
    return found


def _fold_traced(op: Operation, inputs: Sequence[object], frame: Frame) -> bool:
    """Computes an operation in NumPy; False where its values are bad, which the kernel then reports when it runs."""
    try:
        with checks.at_once():
            results = constant_value.call_numpy_kernel(op, inputs)
    except errors.OpError:
        return False
    frame.values.update(zip(op.outputs, results))
    return True


def _hidden(op: Operation, inputs: Sequence[Array]) -> Sequence[object]:
    """Inputs that are all constants, as values that the compiler takes for unknown until it has optimized the program.

    It would else compute the operation while it compiles: in minutes where that is a convolution, or never, on a division by zero.
    """
    spec = op.spec
    if spec.side == HOST or spec.numpy_kernel is spec.kernel or not op.outputs:
        return inputs
    kept = op.constant_positions()
    return [
        v if i in kept or i in spec.shape_only_positions or v.dtype == object else jax.lax.optimization_barrier(v)
        for i, v in enumerate(inputs)
    ]


def _written_keys(op: Operation) -> list[str]:
    return [variable_key(v) for name in op.spec.effects.writes for v in _variables(op, name, NONE_CHOSEN)]


def _note_writes(flat: list[object], before: dict[str, object], kernel: Callable[[], list[object]], frame: Frame) -> None:
    made = len(checks.COLLECTOR.checks or ())
    for position, (key, old) in enumerate(before.items()):
        guarded = any(flat[position] is v for v in checks.COLLECTOR.guarded)
        frame.writes[key] = Write(flat[position], old, kernel, position, made, guarded)


def truth(predicate: Tensor, value: T) -> T:
    """The value of a predicate; InvalidArgumentError where it is no scalar."""
    if np.ndim(value):
        op = predicate.op
        raise errors.InvalidArgumentError(op.node_def, op, f"The second input must be a scalar, but it has shape {list(np.shape(value))}")
    return value


def _switch(op: Operation, frame: Frame) -> None:
    """A Switch whose predicate is decided: its input goes out on that side."""
    side = int(bool(truth(op.inputs[1], frame.values[op.inputs[1]])))
    if op.inputs[0] in frame.values:
        frame.values[op.outputs[side]] = frame.values[op.inputs[0]]


def _merge(op: Operation, frame: Frame) -> None:
    """A Merge whose branch is decided: the one input that is there goes out; a ref is there where no value is."""
    for index, tensor in enumerate(op.inputs):
        if tensor in frame.values:
            return _put_merged(op, index, frame.values[tensor], frame)
    if op.type == "RefMerge" or op.outputs[0].dtype.name == "resource":
        for index, tensor in enumerate(op.inputs):
            if _is_taken(tensor, frame.values):
                frame.values[op.outputs[1]] = np.array(index, np.int32)
                if is_chosen(op.outputs[0]):
                    frame.values[op.outputs[0]] = variable_in(tensor, frame.values)
                return None
        return None
    for index, tensor in enumerate(op.inputs):
        if tensor.dtype._is_ref_dtype:
            return _put_merged(op, index, frame.state[variable_key(required_variable_op(tensor))], frame)
    raise RuntimeError(f"no input of {op.name} has a value")


def _is_taken(tensor: Tensor, values: Values) -> bool:
    """Whether a ref or handle comes from the side of a Switch that is taken."""
    source: Tensor | None = tensor
    while source is not None and source.op.type not in SWITCH:
        source = handed_on(source)
    if source is None or source.op.inputs[1] not in values:
        return False
    return source.value_index == int(values[source.op.inputs[1]])


def _put_merged(op: Operation, index: int, value: object, frame: Frame) -> None:
    frame.values[op.outputs[0]] = value
    frame.values[op.outputs[1]] = np.array(index, np.int32)


def _pass_ref(op: Operation, frame: Frame) -> None:
    """Nothing to compute: the output is the same variable, of which only a run knows which it is where the run chooses it."""
    if is_chosen(op.outputs[0]):
        frame.values[op.outputs[0]] = frame.values[op.takes[0]]


def _select_ref(op: Operation, frame: Frame) -> None:
    """The variable that an index says."""
    index, refs = int(frame.values[op.takes[0]]), op.takes[1:]
    if not 0 <= index < len(refs):
        raise errors.InvalidArgumentError(op.node_def, op, f"Index must be in the range [0, {len(refs)}) but got {index}")
    frame.values[op.outputs[0]] = variable_in(refs[index], frame.values)


ROUTES = {"Switch": _switch, "RefSwitch": _switch, "Merge": _merge, "RefMerge": _merge, "RefIdentity": _pass_ref, SELECT: _select_ref}


def gather_inputs(op: Operation, frame: Frame) -> list[object]:
    """Input values in order; refs and variable handles that the op reads or writes are their current values."""
    args = op.spec.signature.inputs
    plain = not any(a.is_list for a in args)
    accessed = set(op.spec.effects.reads + op.spec.effects.writes)
    found = []
    for i, tensor in enumerate(op.takes):
        kind = tensor.dtype
        if kind._is_ref_dtype or (plain and args[i].name in accessed):
            variable = frame.chosen.get(tensor) or variable_op(tensor) if tensor not in frame.values else None
            if variable is not None:
                found.append(frame.state.get(variable_key(variable)))
                continue
        found.append(frame.values.get(tensor) if kind.name == "resource" else _current(tensor, frame))
    return found


def _current(tensor: Tensor, frame: Frame) -> Any:
    """The value of a tensor; a read of a ref shares the variable's memory, so it is what the variable holds by now.

    An assignment of another shape gives the variable other memory.
    """
    producer = tensor.op
    while producer.type == "Switch":
        producer = producer.inputs[0].op
    if is_ref_read(producer) and producer.takes[0] not in frame.values:
        variable = variable_op(producer.inputs[0])
        now = None if variable is None else frame.state.get(variable_key(variable))
        if now is not None and np.shape(now) == np.shape(frame.values.get(tensor, now)):
            return now
    return frame.values[tensor]


def _all_static(inputs: Sequence[object], spec: OpSpec) -> TypeGuard[Sequence[Array]]:
    shape_only = spec.shape_only_positions
    return all(isinstance(v, (np.ndarray, np.generic)) or i in shape_only for i, v in enumerate(inputs))


def flatten_results(results: object) -> list[object]:
    """Kernel results as a flat list."""
    if results is None:
        return []
    if not isinstance(results, (tuple, list)):
        return [results]
    return [v for r in results for v in (r if isinstance(r, (tuple, list)) else (r,))]


MOST_ELEMENTS = 2**59
"""Elements of 16 bytes beyond this number have no 64-bit address; the compiler ends the process on such a shape."""


def store_results(op: Operation, flat: list[object], frame: Frame) -> None:
    """Files kernel results: new variable values first, then the outputs (refs only where they are handles that the op makes)."""
    writes = [h for name in op.spec.effects.writes for h in _variables(op, name, frame.chosen)]
    for variable, value in zip(writes, flat):
        frame.state[variable_key(variable)] = value
    outputs = value_outputs(op)
    values = flat[len(writes) :]
    if len(values) != len(outputs):
        raise RuntimeError(f"the kernel of {op.type} gave {len(flat)} values for {len(writes)} variables and {len(outputs)} outputs")
    for tensor, value in zip(outputs, values):
        wanted = tensor.dtype.as_numpy_dtype if tensor.dtype.is_numpy_compatible else object
        if getattr(value, "dtype", None) != wanted and wanted is not object and isinstance(value, (jax.Array, np.ndarray, np.generic, int, float, bool)):
            raise RuntimeError(f"the kernel of {op.type} gave {getattr(value, 'dtype', type(value))} for {tensor.name}, not {np.dtype(wanted)}")
        sizes = getattr(value, "shape", ())
        if math.prod(sizes) > MOST_ELEMENTS:
            raise errors.InvalidArgumentError(
                op.node_def, op, f"{tensor.name} would have the shape {list(sizes)}: that is more elements than can be counted"
            )
        frame.values[tensor] = value


def value_outputs(op: Operation) -> list[Tensor]:
    """The outputs that a kernel returns: a ref output is another name of an input, unless the op makes the handle."""
    return [t for t in op.outputs if op.spec.effects.creates or not t.dtype._is_ref_dtype]


def _variables(op: Operation, name: str, chosen: Mapping[Tensor, Operation]) -> list[Operation]:
    tensors = op.input_named(name)
    return [chosen.get(t) or required_variable_op(t) for t in (tensors if isinstance(tensors, list) else [tensors])]


def _reserve_attrs(spec: OpSpec) -> tuple[str, ...]:
    return op_spec.keyword_names(spec.reserve)


def _with_node(error: errors.OpError, op: Operation) -> errors.OpError:
    return error if error.op is not None else error.at_node(op.node_def, op)


def read(tensor: Tensor, frame: Frame) -> object:
    """The value of a tensor; of a ref that of its variable by now."""
    return frame.values[tensor] if tensor in frame.values else frame.state[variable_key(required_variable_op(tensor))]


def primal(tensor: Tensor, frame: Frame) -> jax.Array:
    """The differentiable part of a tensor's value: the buffer of a TensorArray, the value of a variable."""
    return leaf(read(tensor, frame))


def leaf(value: object) -> jax.Array:
    """The array in a value."""
    if isinstance(value, DeviceArray):
        return jnp.zeros(0, value.meta.dtype) if value.buffer is None else jnp.asarray(value.buffer)
    return jnp.asarray(value)


class collecting:
    """Collects the checks that kernels demand inside the block."""

    def __enter__(self) -> list[checks.Check]:
        collector = checks.COLLECTOR
        self._outer = (collector.checks, collector.guarded)
        collector.checks, collector.guarded = [], []
        return collector.checks

    def __exit__(self, *exc_info: object) -> None:
        checks.COLLECTOR.checks, checks.COLLECTOR.guarded = self._outer
