"""Lowering: traces the items of a plan by calling the kernels of their operations on JAX's tracers.

`lower` is a single-dispatch function over kinds of items; operations are here, other kinds register theirs (`lowering/cond.py`,
`lowering/towers.py`, `lowering/loop_vjp.py`). Values of tensors, variables, random state and checks are kept in a `Frame`.
"""

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
from tfcompat._src.ops.control.guards import SELECT
from tfcompat._src.ops.flow.array_value import DeviceArray
from tfcompat._src.runtime.debugging import not_finite
from tfcompat._src.runtime.ir.item import Item, MergeItem, OpItem
from tfcompat._src.runtime.latency import folded_numbers
from tfcompat._src.runtime.lowering import op_vjp as differentiable
from tfcompat._src.runtime.lowering.gradient_rules import Values
from tfcompat._src.runtime.passes.fold import can_fold
from tfcompat._src.runtime.state.variable_state import (
    NONE_CHOSEN,
    has_entered,
    is_chosen,
    is_identity,
    required_variable_op,
    shared_read,
    variable_in,
    variable_key,
    variable_op,
)

T = TypeVar("T", bound=checks.Truth)


@dataclass(eq=False)
class Write:
    """A write of a variable by one operation, kept so that it can be made again inside a conditional on the checks of the run.

    Attributes:
      value: the new value. before: the old one.
      kernel: computes the kernel's results again. position: which of them is the new value.
      checks: how many checks the run had when the write was made.
      is_guarded: whether `value` is already `before` if one of these checks has failed.
    """

    value: object
    before: object
    kernel: Callable[[], list[object]]
    position: int
    checks: int
    is_guarded: bool


@dataclass(eq=False)
class Frame:
    """The state of a trace, or of a host step, at one point.

    Attributes:
      values: by tensor: tracers, NumPy arrays that are known while tracing, TensorArrays. state: values of variables by key.
      rng: the key and counter (uint32[6]) of each random operation. reserves: how far each counter advances.
      differentiated: how many times JAX differentiates this trace (0, 1 or 2), so that loops are made differentiable.
      lengths: bounds of the trip counts of loops, for gradients. counts: takes the trip counts; None where nobody asks.
      differentiated_here: loops whose gradients are in the same trace. pullbacks: the pullbacks of these.
      writes: the last write of each variable key.
      through_updates: whether gradients go through updates of variables too, in any mode and any number of times.
      chosen: the variables behind handles that a host step chooses when it runs.
      dead: tensors of a branch not taken that have no value -> why; raised if they leave the trace.
      changing: the keys of the variables that the loops around write and have entered with a read of.
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
    changing: frozenset[str] = frozenset()

    def branch(self) -> Frame:
        """A copy for tracing a branch: changes of values and state in it do not show here."""
        return Frame(
            dict(self.values), dict(self.state), self.rng, {}, self.differentiated, self.lengths, through_updates=self.through_updates, dead=self.dead,
            changing=self.changing,
        )  # fmt: skip

    def leave(self, tensor: Tensor) -> object:
        """The value of a tensor that is an output of the trace. Raises Replan where it is dead: another program may take it."""
        if tensor in self.dead:
            raise self.dead[tensor]
        return self.values.get(tensor)


class _Stopping(threading.local):
    """The array of the run_limits.StopFlag that loops traced in this thread poll in each iteration, or None."""

    flag: jax.Array | None = None


STOPPING = _Stopping()


class Replan(Exception):
    """Raised by a trace that needs another plan; `finding` is kept with the graph, and plans made from then on heed it."""

    def __init__(self, finding: Finding, why: str) -> None:
        super().__init__(why)
        self.finding = finding


@functools.singledispatch
def lower(item: Item, frame: Frame) -> None:
    """Traces an item: its outputs go to `frame.values`, written variables to `frame.state`. Each kind of item registers its function."""
    raise NotImplementedError(f"{item.name} ({item.type}) cannot be compiled: no function is registered that lowers items of this kind.")


@lower.register
def _lower_operation(item: OpItem, frame: Frame) -> None:
    given = {t: frame.values[t] for t in item.fed if t in frame.values}
    run_device_op(item.op, frame)
    frame.values.update(given)
    not_finite.look_behind(item.op, frame.values, frame.state)


def run_device_op(op: Operation, frame: Frame) -> None:
    """Traces one operation: outputs go to `frame.values`, written variables to `frame.state`."""
    spec = op.spec
    if op.type in ROUTES:
        ROUTES[op.type](op, frame)
        return
    # A resource handle whose variable is known has no value in a trace.
    if is_identity(op) and op.outputs[0].dtype.name == "resource" and variable_op(op.outputs[0]) is not None:
        return
    inputs: Sequence[object] = gather_inputs(op, frame)
    if frame.differentiated:
        inputs = _with_numpy_values(op, inputs)
    effects = spec.effects
    # Constant folding: shapes and axes must stay NumPy values for the kernels that take them.
    if op.takes and _all_static(inputs, spec):
        if not can_fold(op):
            inputs = _hidden(op, inputs)
        elif _fold_traced(op, inputs, frame):
            return
    # Only the attributes that the kernel declares are passed; a random op also gets its Philox key and counter.
    arguments, attrs = constant_value.kernel_arguments(op, inputs)
    keywords = {k: attrs[k] for k in spec.kernel_attrs}
    if effects.random:
        row = frame.rng[op]
        keywords["rng"] = (row[:2], row[2:])
    # In a differentiated trace kernels come with TensorFlow's derivative, which differs from JAX's for some ops.
    as_it_is = not frame.differentiated or (frame.through_updates and bool(effects.writes))
    kernel = spec.padded or spec.kernel if as_it_is else _differentiable(op, frame)
    # Kernels report failed conditions on traced values to the collector; errors in shapes or static values are raised here, and get the node.
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
    except checks.OF_TRACING:
        raise
    except checks.BAD_INPUT as e:
        raise checks.unfit(op, e) from e
    # A random update is not noted in `frame.writes`: its kernel must not run twice.
    # `store_results` replaces the values of written variables.
    before = {k: frame.state.get(k) for k in _written_keys(op)} if effects.writes and not effects.random else {}
    folded_numbers.note(op, None, flat)
    store_results(op, flat, frame)
    if before:
        _note_writes(flat, before, lambda: flatten_results(kernel(*arguments, **keywords)), frame)
    # How many random numbers an op consumes can depend on its results (rejection sampling).
    if effects.random and spec.reserve is not None:
        frame.reserves[op] = spec.reserve(flat, *arguments, **{k: attrs[k] for k in _reserve_attrs(spec)})


def _differentiable(op: Operation, frame: Frame) -> Callable[..., object]:
    """The kernel of an operation that JAX differentiates: in reverse mode as often as the frame says, or in any mode as often as it likes."""
    is_free = frame.through_updates
    times = frame.differentiated - (not is_free)

    def lower_gradient(ops: list[Operation], values: Values, is_plain: bool) -> Values:
        inner = Frame(dict(values), {}, differentiated=0 if is_plain else times, through_updates=is_free)
        for node in ops:
            run_device_op(node, inner)
        return inner.values

    return differentiable.kernel(op, lower_gradient, is_free)


def _require_room(results: list[object]) -> None:
    """Raises ResourceExhaustedError if a result is larger than the machine's memory, even if fusion would never materialize it."""
    for result in results:
        if isinstance(result, jax.core.Tracer):
            checks.require_room(result.shape, result.dtype)


def _with_numpy_values(op: Operation, inputs: Sequence[object]) -> list[object]:
    """The inputs of a kernel in a differentiated trace, with concrete JAX arrays as NumPy where the kernel needs NumPy values.

    Inside a loop that the host drives, each iteration is traced with concrete values.
    """
    # A kernel on the host has no derivative that JAX could trace.
    is_on_host, positions = op.spec.side == HOST, op.constant_positions()
    converted = list(inputs)
    for i, value in enumerate(inputs):
        if isinstance(value, jax.core.Tracer) and is_on_host:
            raise NotImplementedError(
                f"The gradient of a loop cannot go through {op.name} (op type {op.type}), which runs on the host. Take it out of the loop's body."
            )
        if isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer) and (is_on_host or i in positions):
            converted[i] = np.asarray(value)
    return converted


def _fold_traced(op: Operation, inputs: Sequence[object], frame: Frame) -> bool:
    """Computes an operation in NumPy while tracing; False if the kernel rejects the values, so that the error is raised when it runs."""
    # `at_once` makes failed checks raise, as nothing collects them here.
    try:
        with checks.at_once():
            results = constant_value.call_numpy_kernel(op, inputs)
    except errors.OpError:
        return False
    folded_numbers.note(op, inputs, results)
    frame.values.update(zip(op.outputs, results))
    return True


def _hidden(op: Operation, inputs: Sequence[Array]) -> Sequence[object]:
    """Hides constant inputs from XLA's constant folding behind an optimization barrier.

    XLA would compute the operation while it compiles: for minutes if that is a convolution, and forever on an integer division by zero.
    """
    spec = op.spec
    if spec.side == HOST or spec.numpy_kernel is spec.kernel or not op.outputs:
        return inputs
    # Inputs that the kernel needs as NumPy values, or of which it takes the shape only, and arrays of strings stay as they are.
    kept = op.constant_positions()
    return [
        v if i in kept or i in spec.shape_only_positions or v.dtype == object else jax.lax.optimization_barrier(v)
        for i, v in enumerate(inputs)
    ]


def _written_keys(op: Operation) -> list[str]:
    """The keys of the variables that an operation writes."""
    return [variable_key(v) for name in op.spec.effects.writes for v in _variables(op, name, NONE_CHOSEN)]


def _note_writes(flat: list[object], before: dict[str, object], kernel: Callable[[], list[object]], frame: Frame) -> None:
    """Adds the writes of an operation to `frame.writes`; new variable values come first among kernel results."""
    # A failed check must leave all variables unchanged, so the end of the trace selects between old and new value (lowering/cluster_trace.py).
    # A kernel says by identity which of its results it has guarded by the checks so far (`checks.COLLECTOR.guarded`).
    made = len(checks.COLLECTOR.checks or ())
    for position, (key, old) in enumerate(before.items()):
        guarded = any(flat[position] is v for v in checks.COLLECTOR.guarded)
        frame.writes[key] = Write(flat[position], old, kernel, position, made, guarded)


def truth(predicate: Tensor, value: T) -> T:
    """Returns the value of a predicate; raises InvalidArgumentError where it is not a scalar."""
    if np.ndim(value):
        op = predicate.op
        raise errors.InvalidArgumentError(op.node_def, op, f"The second input must be a scalar, but it has shape {list(np.shape(value))}")
    return value


def _switch(op: Operation, frame: Frame) -> None:
    """Routes the input of a Switch whose predicate is known to the output of that side."""
    pass_switch(op, bool(truth(op.takes[1], np.asarray(read(op.takes[1], frame)))), frame)


def pass_switch(op: Operation, on: bool, frame: Frame) -> None:
    """Forwards the input of a Switch to the output of the side `on`. A ref or handle has no value, unless a run chooses its variable."""
    (taken, _), output = op.takes, op.outputs[on]
    if taken in frame.values:
        frame.values[output] = frame.values[taken]
    elif taken.dtype._is_ref_dtype and not output.dtype._is_ref_dtype:
        frame.values[output] = read(taken, frame)


@lower.register
def hand_on(item: MergeItem, frame: Frame) -> None:
    """Forwards the one input of a Merge that is alive, and its index. The value of a handle in a run is the operation of a variable that was chosen."""
    (taken,), (output, index) = item.takes, item.outputs
    frame.values[index] = np.array(item.index, np.int32)
    if is_chosen(output):
        frame.values[output] = variable_in(taken, frame.values)
    elif variable_op(output) is None or not (output.dtype._is_ref_dtype or output.dtype.name == "resource"):
        frame.values[output] = read(taken, frame)


def _pass_ref(op: Operation, frame: Frame) -> None:
    """Forwards a ref. Most refs have no value; one of a variable that is chosen when the run executes has the handle operation."""
    if is_chosen(op.outputs[0]):
        frame.values[op.outputs[0]] = frame.values[op.takes[0]]


def _select_ref(op: Operation, frame: Frame) -> None:
    """RefSelect: forwards the ref at an index. Raises InvalidArgumentError where the index is out of range."""
    index, refs = int(frame.values[op.takes[0]]), op.takes[1:]
    # The index is known here: operations on refs chosen at run time are placed on the host.
    if not 0 <= index < len(refs):
        raise errors.InvalidArgumentError(op.node_def, op, f"Index must be in the range [0, {len(refs)}) but got {index}")
    frame.values[op.outputs[0]] = variable_in(refs[index], frame.values)


# Ops that route values instead of computing any: their kernels are these functions of the frame.
ROUTES = {"Switch": _switch, "RefSwitch": _switch, "RefIdentity": _pass_ref, SELECT: _select_ref}


def gather_inputs(op: Operation, frame: Frame) -> list[object]:
    """The values of an operation's inputs, in order; for a ref or a variable handle that it reads or writes, the variable's current value."""
    args = op.spec.signature.inputs
    plain = not any(a.is_list for a in args)
    accessed = set(op.spec.effects.reads + op.spec.effects.writes)
    inputs = []
    for i, tensor in enumerate(op.takes):
        kind = tensor.dtype
        # The position of a tensor is that of its argument only where no argument is a list.
        if kind._is_ref_dtype or (plain and args[i].name in accessed):
            variable = frame.chosen.get(tensor) or variable_op(tensor) if tensor not in frame.values else None
            if variable is not None:
                inputs.append(frame.state.get(variable_key(variable)))
                continue
        inputs.append(frame.values.get(tensor) if kind.name == "resource" else _current(tensor, frame))
    return inputs


def _current(tensor: Tensor, frame: Frame) -> Any:
    """The value of a tensor; for a read of a ref variable, what the variable holds now.

    In 1.15 an Identity of a ref shares the variable's buffer, and a consumer that runs after an assignment sees the new value. An
    assignment of another shape allocates a new buffer, so that the earlier read keeps the old value.
    """
    read = shared_read(tensor)
    variable = variable_op(read.takes[0]) if read is not None and read.takes[0] not in frame.values else None
    # Items are traced in the order in which they access a variable, so that the frame has its value as of this consumer. A loop that does
    # not write the variable keeps the value that it was entered with: it may be differentiated with respect to it.
    if variable is not None and ((key := variable_key(variable)) in frame.changing or not has_entered(tensor)):
        now = frame.state.get(key)
        if now is not None and np.shape(now) == np.shape(frame.values.get(tensor, now)):
            return now
    return frame.values[tensor]


def _all_static(inputs: Sequence[object], spec: OpSpec) -> TypeGuard[Sequence[Array]]:
    """Whether all inputs are NumPy values, but for those of which the kernel takes only the shape."""
    shape_only = spec.shape_only_positions
    return all(isinstance(v, (np.ndarray, np.generic)) or i in shape_only for i, v in enumerate(inputs))


def flatten_results(results: object) -> list[object]:
    """Kernel results (None, one value, or a sequence whose entries may be lists) as a flat list."""
    if results is None:
        return []
    if not isinstance(results, (tuple, list)):
        return [results]
    return [v for r in results for v in (r if isinstance(r, (tuple, list)) else (r,))]


MOST_ELEMENTS = 2**59
"""More elements of 16 bytes (complex128) have no 64-bit address; XLA aborts the process on such a shape."""


def store_results(op: Operation, flat: list[object], frame: Frame) -> None:
    """Stores kernel results in the frame.

    Args:
      flat: the new values of written variables, then the outputs. A ref output counts only if the op creates the handle.

    Raises:
      RuntimeError: the kernel returned another number of values, or another dtype, than its op declares.
      errors.InvalidArgumentError: an output has more than `MOST_ELEMENTS` elements.
    """
    # In the order of the op's declaration of its effects.
    writes = [h for name in op.spec.effects.writes for h in _variables(op, name, frame.chosen)]
    for variable, value in zip(writes, flat):
        frame.state[variable_key(variable)] = value
    outputs = value_outputs(op)
    values = flat[len(writes) :]
    if len(values) != len(outputs):
        raise RuntimeError(
            f"The kernel of {op.type} returned {len(flat)} values for {op.name}, "
            f"which writes {len(writes)} variables and has {len(outputs)} outputs."
        )
    # Values of strings, resources and variants are Python objects, whose dtype is not checked.
    for tensor, value in zip(outputs, values):
        # A dtype other than the declared one is a defect of the kernel, and would show as wrong results far from here.
        wanted = tensor.dtype.as_numpy_dtype if tensor.dtype.is_numpy_compatible else object
        if getattr(value, "dtype", None) != wanted and wanted is not object and isinstance(value, (jax.Array, np.ndarray, np.generic, int, float, bool)):
            raise RuntimeError(
                f"The kernel of {op.type} returned {getattr(value, 'dtype', type(value))} for {tensor.name}, which is {np.dtype(wanted)}."
            )
        sizes = getattr(value, "shape", ())
        if math.prod(sizes) > MOST_ELEMENTS:
            raise errors.InvalidArgumentError(
                op.node_def, op, f"{tensor.name} would have the shape {list(sizes)}, which is more than the greatest number of elements, 2**59"
            )
        frame.values[tensor] = value


def value_outputs(op: Operation) -> list[Tensor]:
    """The outputs that a kernel returns: all but ref outputs that forward an input."""
    return [t for t in op.outputs if op.spec.effects.creates or not t.dtype._is_ref_dtype]


def _variables(op: Operation, name: str, chosen: Mapping[Tensor, Operation]) -> list[Operation]:
    """The handle operations of the variables that are an operation's input (or list of inputs) `name`."""
    tensors = op.input_named(name)
    return [chosen.get(t) or required_variable_op(t) for t in (tensors if isinstance(tensors, list) else [tensors])]


def _reserve_attrs(spec: OpSpec) -> tuple[str, ...]:
    """The attributes that the function takes which computes how many random numbers an op reserves."""
    return op_spec.keyword_names(spec.reserve)


def _with_node(error: errors.OpError, op: Operation) -> errors.OpError:
    """The error, at a node: `op` unless it has one."""
    return error if error.op is not None else error.at_node(op.node_def, op)


def read(tensor: Tensor, frame: Frame) -> object:
    """The value of a tensor; for a ref without one, the current value of its variable."""
    return frame.values[tensor] if tensor in frame.values else frame.state[variable_key(required_variable_op(tensor))]


def primal(tensor: Tensor, frame: Frame) -> jax.Array:
    """The array to differentiate with respect to for a tensor: its value, the buffer of a TensorArray, or the value of a variable."""
    return leaf(read(tensor, frame))


def leaf(value: object) -> jax.Array:
    """The array in a value: the buffer of a TensorArray (empty if it has none yet), else the value itself."""
    # A TensorArray has no buffer until its element shape is known, from the first write.
    if isinstance(value, DeviceArray):
        return jnp.zeros(0, value.meta.dtype) if value.buffer is None else jnp.asarray(value.buffer)
    return jnp.asarray(value)


class collecting:
    """Context manager: collects the checks that kernels make inside the block into the list that it returns."""

    def __enter__(self) -> list[checks.Check]:
        collector = checks.COLLECTOR
        self._outer = (collector.checks, collector.guarded)
        collector.checks, collector.guarded = [], []
        return collector.checks

    def __exit__(self, *exc_info: object) -> None:
        checks.COLLECTOR.checks, checks.COLLECTOR.guarded = self._outer
