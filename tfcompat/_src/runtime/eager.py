"""Eager execution: an operation runs when it is made.

What runs is a graph of that one operation (`EagerProgram`), planned, compiled and kept as every graph is: one for each op type,
attributes, device, and dtypes and shapes of the inputs. A call of a tf.function is such an operation too. Small pure operations
on values that are in NumPy are computed by their NumPy twins.
"""

from __future__ import annotations

import collections
import contextlib
import itertools
import random
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np

from tfcompat._src.framework import (
    attr_values,
    constant_value,
    device_scope,
    dtypes,
    errors,
    jax_compat,
    op_spec,
    recorders,
    scopes,
)
from tfcompat._src.framework import device as device_lib
from tfcompat._src.framework.default_stack import EAGER_GRAPHS, GRAPHS
from tfcompat._src.framework.dtypes import cpp_name
from tfcompat._src.framework.eager_tensor import EagerOperation, EagerTensor
from tfcompat._src.framework.export import export
from tfcompat._src.framework.function_body import operations_within
from tfcompat._src.framework.graph import Graph
from tfcompat._src.framework.operation import Operation, output_dtypes
from tfcompat._src.framework.tensor import Tensor
from tfcompat._src.runtime import execution_callbacks
from tfcompat._src.runtime.config import process_config, session_config
from tfcompat._src.runtime.devices import session_devices
from tfcompat._src.runtime.execute import fetched_value
from tfcompat._src.runtime.fold import MAX_FOLDED_ELEMENTS, can_fold
from tfcompat._src.runtime.random_state import RandomState
from tfcompat._src.runtime.session import BaseSession, PreparedRun
from tfcompat._src.runtime.variable_state import VariableState, variable_key

_LARGEST_SEED = 2**31 - 1


class _EagerRandomState(RandomState):
    """Random operations of the same type and seeds draw from one sequence, whatever their shapes."""

    def __init__(self) -> None:
        super().__init__()
        self._first: dict[tuple, Operation] = {}
        self._shared: dict[Operation, Operation] = {}

    def same_as(self, op: Operation) -> None:
        """Lets `op` go on where operations of its type and attributes are."""
        key = (op.type, op._attrs["seed"], op._attrs["seed2"], str(op._attrs.get("dtype")))
        first = self._first.setdefault(key, op)
        if first is not op:
            self._shared[op] = first

    def row(self, op: Operation) -> np.ndarray:
        return super().row(self._counted(op))

    def _counted(self, op: Operation) -> Operation:
        return self._shared.get(op, op)


class EagerState:
    """What operations that run at once share: variables, random counters, resources, and the programs made so far.

    Args:
      config: the ConfigProto of the devices.
    """

    def __init__(self, config: Any) -> None:
        self.config, self.process = config, process_config()
        self.devices = session_devices(config)
        self.variable_state = VariableState()
        self.writes: dict[str, int] = collections.Counter()
        """How often each variable has been written."""
        self.resources: dict[str, Any] = {}
        self.random_state = _EagerRandomState()
        self.programs: dict[tuple, EagerProgram] = {}

    @property
    def variables(self) -> MutableMapping[str, np.ndarray | jax.Array]:
        """The values of all variables of the process, by the keys of their handles."""
        return self.variable_state.values

    def forget_programs(self) -> None:
        """Forgets where random operations stand, and the programs that have a state."""
        self.random_state = _EagerRandomState()
        self.programs = {k: p for k, p in self.programs.items() if not p.op.spec.effects.is_stateful}


class ProcessVariables(VariableState):
    """Variables of the process under the keys that a program has for them.

    Args:
      state: the variables. keys: of the program, to those of the process.
    """

    def __init__(self, state: VariableState, keys: dict[str, str]) -> None:
        self.lock, self.unfiled = state.lock, state.unfiled
        self._all, self._keys = state.held, keys
        self.held = _Renamed(state.held, keys)

    def entries(self, keys: list[str], values: Iterable[Any]) -> list[tuple[dict, dict]]:
        return [(self._all, dict(zip([self._keys[key] for key in keys], values)))]  # type: ignore[list-item]


class _Renamed(MutableMapping):
    """A mapping under other keys."""

    def __init__(self, mapping: MutableMapping[str, Any], keys: dict[str, str]) -> None:
        self._mapping, self._keys = mapping, keys

    def __getitem__(self, key: str) -> Any:
        return self._mapping[self._keys[key]]

    def __setitem__(self, key: str, value: Any) -> None:
        self._mapping[self._keys[key]] = value

    def __delitem__(self, key: str) -> None:
        del self._mapping[self._keys[key]]

    def __iter__(self) -> Iterator[str]:
        return (mine for mine, key in self._keys.items() if key in self._mapping)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class ProgramGraph(Graph):
    """The graph of an operation that runs at once."""

    is_program = True


class EagerProgram:
    """A graph of one operation, run by a session of its own on the state of the process.

    Args:
      graph: the EagerGraph. spec, attrs: of the operation. inputs: tensors like those that it will get. device: where it runs.
      name: of the node.
    """

    _misfit = ""
    """What the shape function says of inputs that do not fit."""

    def __init__(
        self, graph: EagerGraph, spec: op_spec.OpSpec, attrs: dict[str, Any], inputs: list[EagerTensor], device: str, name: str
    ) -> None:
        self._state = graph.state
        self._graph = ProgramGraph()
        self._graph._functions = graph.library_of(attrs)
        self.device = device
        self._variables: dict[str, str] = {}
        self._fed: list[Tensor] = []
        self._fed_positions: list[int] = []
        with self._graph.as_default(), self._graph.device(device):
            tensors = [self._input(i, t) for i, t in enumerate(inputs)]
            try:
                self.op = self._graph.make_op(spec, name, tensors, dict(attrs))
            except ValueError as e:
                self._misfit = str(e)
                if spec.node_class is not None or spec.effects.external or spec.effects.creates or spec.effects.writes:
                    raise errors.InvalidArgumentError(None, None, self._misfit) from e
                self.op = self._graph.make_op(spec, name, tensors, dict(attrs), infer_shapes=False)
        self._folds = can_fold(self.op) and spec.node_class is None and bool(inputs) and not self._misfit
        self._writes = any(op.spec.effects.writes for op in operations_within(self.op))
        if spec.effects.random:
            self._state.random_state.same_as(self.op)
        self._prepared: PreparedRun | None = None

    def _input(self, index: int, tensor: EagerTensor) -> Tensor:
        """What stands for an input: the handle of a variable, or a placeholder."""
        if is_variable(tensor):
            key = _key(tensor)
            if key not in self._variables:
                self._variables[key] = f"/{index}"
                made_by = tensor._op
                attrs = {**made_by._attrs, "container": b"", "shared_name": str(index).encode()}
                node = self._graph.make_op(made_by.spec, f"variable_{index}", (), attrs)
                node._outputs[0]._handle_data = tensor._handle_data
            return self._graph.get_tensor_by_name(f"variable_{self._variables[key][1:]}:0")
        attrs = {"dtype": tensor._dtype, "shape": tensor.shape}
        found = self._graph.make_op(op_spec.get("Placeholder"), f"input_{index}", (), attrs)._outputs[0]
        found._handle_data = tensor._handle_data
        self._fed.append(found)
        self._fed_positions.append(index)
        return found

    def __call__(self, inputs: list[EagerTensor]) -> list[Any]:
        """The values of the outputs; errors.OpError where the operation fails: as its kernel says, else as its shape function does."""
        if not self._misfit:
            return self._run(inputs)
        try:
            self._run(inputs)
        except errors.OpError as e:
            if e.__cause__ is None:
                raise
        raise errors.InvalidArgumentError(None, None, self._misfit)

    def _run(self, inputs: list[EagerTensor]) -> list[Any]:
        values = [inputs[i]._value for i in self._fed_positions]
        if self._folds and all(type(v) is np.ndarray and v.size <= MAX_FOLDED_ELEMENTS for v in values):
            return list(constant_value.call_numpy_kernel(self.op, values))
        with jax_compat.x64():
            if not self._variables:
                return self._compute(values)
            keys = dict(zip(self._variables.values(), dict.fromkeys(_key(t) for t in inputs if is_variable(t))))
            with self._state.variable_state.lock, self._using(keys):
                return self._compute(values)

    def _compute(self, values: list[Any]) -> list[Any]:
        session, prepared = self._session_and_run()
        return session.compute(prepared, values, _as_it_is)[1]

    def _session_and_run(self) -> tuple[BaseSession, PreparedRun]:
        if self._prepared is None:
            op = self.op
            self._session = BaseSession(graph=self._graph, config=self._state.config)
            self._session.random_state, self._session.resources = self._state.random_state, self._state.resources
            wanted = SimpleNamespace(tensors=list(op._outputs), targets=[op])
            self._prepared = PreparedRun(wanted, self._fed, self._graph._changes)
        return self._session, self._prepared

    @contextlib.contextmanager
    def _using(self, keys: dict[str, str]) -> Iterator[None]:
        """A block in which the session has variables of the process, `keys` of the session to those of the process."""
        session = self._session_and_run()[0]
        outer = session.variable_state
        session.variable_state = session.lent = ProcessVariables(self._state.variable_state, keys)
        try:
            yield
        finally:
            session.variable_state = outer
            if self._writes:
                self._state.writes.update(keys.values())


def _as_it_is(tensor: Tensor, values: dict[Tensor, Any], session: Any) -> Any:
    """A result as the value of an eager tensor: arrays stay on their device."""
    value = values.get(tensor)
    if value is None:
        return fetched_value(tensor, values, session)
    return np.asarray(value) if isinstance(value, np.generic) else value


class VariableHandle:
    """The value of a resource tensor that stands for a variable: its key among the variables of the process."""

    def __init__(self, key: str) -> None:
        self.key = key


def is_variable(tensor: EagerTensor) -> bool:
    return isinstance(tensor._value, VariableHandle)


def _key(tensor: EagerTensor) -> str:
    return tensor._value.key


class EagerGraph(Graph):
    """The default graph where operations run when they are made: it has scopes, but keeps no nodes."""

    executes = True

    def __init__(self, state: EagerState) -> None:
        super().__init__()
        self.state = state
        self._functions = weakref.WeakValueDictionary()  # type: ignore[assignment]
        self._numbers = itertools.count()
        self._seeds = random.Random()
        self._full_names: dict[str, str] = {}

    # ---- scopes ----

    @property
    def seed(self) -> int | None:
        return self._seed

    @seed.setter
    def seed(self, seed: int | None) -> None:
        self._seed = seed
        self._seeds = random.Random(seed)
        self.state.forget_programs()

    @property
    def has_run(self) -> bool:
        """Whether an operation has run."""
        return bool(self._full_names)

    def next_number(self) -> int:
        """A number for an operation: later ones have larger ones."""
        return next(self._numbers)

    def next_operation_seed(self) -> int:
        return self._seeds.randint(0, _LARGEST_SEED)

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """`name` in the current scope: nothing here has a name that could be taken."""
        return f"{self._name_stack}/{name}" if self._name_stack else name

    def control_dependencies(self, control_inputs: Iterable[Any] | None) -> contextlib.AbstractContextManager[None]:
        """Nothing: what is to run before has run."""
        return contextlib.nullcontext()

    def colocate_with(self, op: Any, ignore_existing: bool = False) -> contextlib.AbstractContextManager[None]:
        """Nothing: tensors are where they were made."""
        return contextlib.nullcontext()

    def device_of(self, op_type: str) -> str:
        """The full name of the device that an operation made now runs on; InvalidArgumentError where there is none such."""
        asked = self.device_asked(op_type)
        found = self._full_names.get(asked)
        if found is None:
            found = self._full_names[asked] = self.found(asked)
        return found

    def device_asked(self, op_type: str = "NoOp") -> str:
        """What the device scopes say of an operation of that type: a device string, perhaps empty."""
        if not self._devices:
            return ""
        node = SimpleNamespace(_device="", name=op_type, type=op_type)
        device_scope.apply(self._devices, node)
        return node._device

    def found(self, text: str) -> str:
        """The full name of the device that a device string means; RuntimeError where there is none such."""
        names = [d.name for d in self.state.devices]
        wanted = device_lib.DeviceSpec.from_string(device_lib.canonical_name(text))
        for name in [*[d.name for d in self.state.devices if d.kind != "CPU"], *names]:
            if wanted.make_merged_spec(device_lib.DeviceSpec.from_string(name)).to_string() == name and _agree(wanted, name):
                return name
        raise RuntimeError(f"{text} unknown device. Available devices: {names}")

    # ---- operations ----

    def make_op(
        self, spec: op_spec.OpSpec, name: str, inputs: Iterable[Tensor], attrs: dict[str, Any],
        dtypes_out: list[dtypes.DType] | None = None, infer_shapes: bool = True, skip_frames: int = 2,
    ) -> Operation:  # fmt: skip
        """Runs an operation of type `spec`.

        Raises:
          TypeError: an input is a tensor of a graph. errors.OpError: the operation fails.
        """
        inputs = list(inputs)
        for tensor in inputs:
            if not isinstance(tensor, EagerTensor):
                raise TypeError(
                    'An op outside of the function building code is being passed a "Graph" tensor. It is possible to have Graph tensors '
                    "leak out of the function building context by including a tf.init_scope in your function building code. "
                    f"The graph tensor has name: {tensor.name}"
                )
        op = EagerOperation(self, spec, inputs, attrs, self.next_number())
        device = self.device_of(spec.name)
        if self.state.process.log_device_placement or self.state.config.log_device_placement:
            sys.stderr.write(f"Executing op {spec.name} in device {device}\n")
        if op.type in DIRECT:
            values = DIRECT[op.type](self, op)
        elif op.type == "Identity" and inputs[0]._dtype in (dtypes.resource, dtypes.variant):
            op._outputs = [inputs[0]]
            return op
        else:
            values = self._program(op, name, device)(inputs)
        kinds = output_dtypes(spec.signature, attrs) if dtypes_out is None else dtypes_out
        keeps_op = op if spec.effects.creates and not inputs else None
        op._outputs = [EagerTensor.of(v, kind, self, device, keeps_op) for v, kind in zip(values, kinds)]
        if recorders.ACTIVE.recorders and inputs:
            recorders.record(op)
        if execution_callbacks.ACTIVE:
            execution_callbacks.call_all(op, name)
        return op

    def _program(self, op: EagerOperation, name: str, device: str) -> EagerProgram:
        spec, inputs = op.spec, list(op._inputs)
        if spec.effects.creates:
            return EagerProgram(self, spec, op._attrs, inputs, device, op.name)
        first_use: dict[str, int] = {}
        kinds = [
            (first_use.setdefault(_key(t), i), *_handle_kind(t)) if is_variable(t) else (t._dtype, t._sizes) for i, t in enumerate(inputs)
        ]
        key = (spec.name, _hashable(op._attrs), tuple(kinds), device)
        called = self._called(op._attrs)
        programs = called[0].programs if called else self.state.programs
        found = programs.get(key)
        if found is None:
            found = programs[key] = EagerProgram(self, spec, op._attrs, inputs, device, spec.name)
        return found

    def _called(self, attrs: dict[str, Any]) -> list[Any]:
        """The functions that attributes name."""
        values = [v for value in attrs.values() for v in (value if isinstance(value, list) else [value])]
        found = [self._functions.get(v.name) for v in values if isinstance(v, attr_values.FunctionRef)]
        return [f for f in found if f is not None]

    def library_of(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """The functions that attributes name, and those that these call, by name."""
        found: dict[str, Any] = {}
        pending = self._called(attrs)
        while pending:
            function = pending.pop()
            if function.name not in found:
                found[function.name] = function
                pending.extend(function.held.values())
                for op in function.body.get_operations():
                    pending.extend(self._called(op._attrs))
                    pending.extend(f for f in [self._functions.get(op.type)] if f is not None)
        return found

    def writes_of(self, tensors: Iterable[Tensor]) -> list[int]:
        """How often each variable among some tensors has been written."""
        return [self.state.writes[_key(t)] for t in tensors if isinstance(t, EagerTensor) and is_variable(t)]

    def copied(self, tensor: EagerTensor, device_name: str | None) -> EagerTensor:
        """A tensor on a device of this process; RuntimeError where there is none of that name."""
        device = self.found(device_name or "")
        target = next(d.jax_device for d in self.state.devices if d.name == device)
        value = tensor._value
        if isinstance(value, jax.Array):
            value = jax.device_put(value, target)
        found = EagerTensor.of(value, tensor._dtype, self, device)
        found._handle_data = tensor._handle_data
        return found


def _agree(wanted: Any, name: str) -> bool:
    there = device_lib.DeviceSpec.from_string(name)
    parts = ("job", "replica", "task", "device_type", "device_index")
    return all(getattr(wanted, p) in (None, getattr(there, p)) for p in parts)


def _handle_kind(tensor: EagerTensor) -> tuple:
    attrs = tensor._op._attrs
    return attrs["dtype"], attrs["shape"].sizes


def _hashable(value: Any) -> Any:
    """An inside attribute value, or a dict of them, as part of a key."""
    if isinstance(value, dict):
        return tuple([(k, _hashable(v)) for k, v in value.items()])
    if isinstance(value, (list, tuple)):
        return tuple([_hashable(v) for v in value])
    if isinstance(value, np.ndarray):
        return value.shape, str(value.dtype), value.tobytes() if value.dtype != object else tuple(value.ravel().tolist())
    if isinstance(value, attr_values.FunctionRef):
        return value.name, _hashable(value.attrs)
    sizes = getattr(value, "sizes", value)
    return type(value), sizes


# ---- variables ----


def _make_handle(graph: EagerGraph, op: EagerOperation) -> list[Any]:
    if not op._attrs["shared_name"]:
        op._attrs = {**op._attrs, "shared_name": op.name.encode()}
    handle = VariableHandle(variable_key(op))
    weakref.finalize(handle, _forget, graph.state, handle.key)
    return [handle]


def _forget(state: EagerState, key: str) -> None:
    state.variables.pop(key, None)
    state.writes.pop(key, None)


def _read(graph: EagerGraph, op: EagerOperation) -> list[Any]:
    """The value of a variable as it is now; what the array was is not donated while this refers to it."""
    value = _value_of(graph, op)
    return [value if isinstance(value, np.ndarray) else np.asarray(value)]


def _value_of(graph: EagerGraph, op: EagerOperation) -> Any:
    handle = op._inputs[0]._value
    value = graph.state.variables.get(handle.key) if isinstance(handle, VariableHandle) else None
    wanted = op._attrs["dtype"]
    if value is not None and op._inputs[0]._op._attrs["dtype"] is not wanted:
        held = op._inputs[0]._op._attrs["dtype"]
        raise errors.InvalidArgumentError(
            None, None, f"Trying to read variable with wrong dtype. Expected {cpp_name(wanted.name)} got {cpp_name(held.name)}."
        )
    if value is None:
        name = getattr(handle, "key", str(handle)).lstrip("/")
        raise errors.FailedPreconditionError(
            None, None,
            f"Error while reading resource variable {name} from Container: localhost. This could mean that the variable was "
            f"uninitialized. Not found: Resource localhost/{name}/N10tensorflow3VarE does not exist.",
        )  # fmt: skip
    return value


def _assign(graph: EagerGraph, op: EagerOperation) -> list[Any]:
    handle, value = op._inputs[0], op._inputs[1]
    wanted = handle._op._attrs["dtype"]
    if value._dtype is not wanted:
        raise errors.InvalidArgumentError(
            None, None,
            f"Trying to assign variable with wrong dtype. Expected {cpp_name(wanted.name)} got {cpp_name(value._dtype.name)}.",
        )  # fmt: skip
    graph.state.writes[_key(handle)] += 1
    graph.state.variables[_key(handle)] = np.array(value._value) if isinstance(value._value, np.ndarray) else np.asarray(value._value)
    return []


def _destroy(graph: EagerGraph, op: EagerOperation) -> list[Any]:
    handle = op._inputs[0]._value
    if isinstance(handle, VariableHandle) and graph.state.variables.pop(handle.key, None) is not None:
        return []
    if not op._attrs["ignore_lookup_error"]:
        name = getattr(handle, "key", str(handle)).lstrip("/")
        raise errors.NotFoundError(None, None, f"Resource localhost/{name}/N10tensorflow3VarE does not exist.")
    return []


DIRECT: dict[str, Callable[[EagerGraph, EagerOperation], list[Any]]] = {
    "VarHandleOp": _make_handle,
    "ReadVariableOp": _read,
    "AssignVariableOp": _assign,
    "DestroyResourceOp": _destroy,
}
"""What needs no program: making, reading and replacing variables."""


# ---- the mode ----


class _Mode:
    """The one EagerGraph of the process, made when it is first wanted."""

    graph: EagerGraph | None = None
    lock = threading.Lock()


def eager_graph(config: Any = None) -> EagerGraph:
    """The graph whose operations run when they are made; where it is made now, on the devices of a ConfigProto."""
    with _Mode.lock:
        if _Mode.graph is None:
            _Mode.graph = EagerGraph(EagerState(session_config() if config is None else config))
        return _Mode.graph


def eager_mode() -> contextlib.AbstractContextManager[Any]:
    """A block in which operations run when they are called; where they do not do that around it, with scopes of its own."""
    if scopes.executing_eagerly():
        return contextlib.nullcontext()
    return GRAPHS.entered(EagerGraph(eager_graph().state))


@contextlib.contextmanager
def graph_mode() -> Iterator[None]:
    """A block in which operations are added to the default graph."""
    with GRAPHS.entered(_plain_graph()) if scopes.executing_eagerly() else contextlib.nullcontext():
        yield


def _plain_graph() -> Graph:
    """The innermost default graph to which nodes are added."""
    return next((g for g in reversed(GRAPHS.stack) if not g.executes), None) or scopes.global_graph()


@export("enable_eager_execution", "contrib.eager.enable_eager_execution")
def enable_eager_execution(config: Any = None, device_policy: Any = None, execution_mode: Any = None) -> None:
    """Lets operations run when they are called, in the whole process from now on.

    Args:
      config: a ConfigProto for the devices.
      device_policy: what to do with inputs on other devices: they are copied, with all policies but EXPLICIT.
      execution_mode: SYNC or ASYNC; JAX computes asynchronously in both.

    Raises:
      TypeError: `config` is no ConfigProto. NotImplementedError: the policy EXPLICIT, which refuses to copy.
      ValueError: a graph has been used already, operations have run eagerly on other devices, or the modes are unknown.
    """
    if config is not None and type(config).__name__ != "ConfigProto":
        raise TypeError(f"config must be a tf.ConfigProto, but got {type(config)}")
    if device_policy not in (None, 0, 1, 2, 3):
        raise ValueError("device_policy must be one of None, tf.contrib.eager.DEVICE_PLACEMENT_*")
    if device_policy == 0:
        raise NotImplementedError("tfcompat has no DEVICE_PLACEMENT_EXPLICIT: inputs on other devices are copied.")
    if execution_mode not in (None, 0, 1):
        raise ValueError("execution_mode must be one of None, tf.contrib.eager.SYNC, tf.contrib.eager.ASYNC")
    if scopes.executing_eagerly():
        return
    if scopes.global_graph().get_operations():
        raise ValueError("tf.enable_eager_execution must be called at program startup.")
    graph = eager_graph(config)
    if config is not None and graph.state.config is not config:
        raise ValueError("Trying to change the actual config of an active eager execution.")
    scopes.set_global_default(graph)


@export("disable_eager_execution")
def disable_eager_execution() -> None:
    """Lets operations be added to graphs again, as they are unless eager execution was enabled."""
    scopes.set_global_default(None)


EAGER_GRAPHS.append(eager_graph)
