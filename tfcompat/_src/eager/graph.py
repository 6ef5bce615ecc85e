"""The default graph of eager execution. Its `make_op` runs the operation, so that all code that builds graphs works unchanged."""

from __future__ import annotations

import contextlib
import itertools
import random
import sys
import weakref
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np

from tfcompat._src.base import device as device_lib
from tfcompat._src.base import dtypes, recorders
from tfcompat._src.base.recent import Recent
from tfcompat._src.eager import execution_callbacks
from tfcompat._src.eager.program import EagerProgram, handle_key, is_variable
from tfcompat._src.eager.state import EagerState
from tfcompat._src.eager.variables import DIRECT
from tfcompat._src.graph import attr_values, device_scope, op_spec
from tfcompat._src.graph.eager_tensor import EagerOperation, EagerTensor
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation, output_dtypes
from tfcompat._src.graph.tensor import Tensor

_LARGEST_SEED = 2**31 - 1


class EagerGraph(Graph):
    """The default graph in eager mode: it has scopes and devices, but keeps no nodes."""

    executes = True

    def __init__(self, state: EagerState) -> None:
        super().__init__()
        self.state = state
        self._functions = weakref.WeakValueDictionary()  # type: ignore[assignment]  # a function lives as long as something holds it
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
        # As in 1.15, setting the seed restarts all random sequences.
        self._seeds = random.Random(seed)
        self.state.forget_programs()

    @property
    def has_run(self) -> bool:
        """Whether an operation has run."""
        return bool(self._full_names)

    def next_number(self) -> int:
        """Returns a number for an operation; later operations have larger ones."""
        return next(self._numbers)

    def next_operation_seed(self) -> int:
        return self._seeds.randint(0, _LARGEST_SEED)

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Returns `name` below the current scope, without a number: there are no nodes whose names could clash."""
        return f"{self._name_stack}/{name}" if self._name_stack else name

    def control_dependencies(  # type: ignore[override]  # no generator
        self, control_inputs: Iterable[Any] | None
    ) -> contextlib.AbstractContextManager[None]:
        """A block without effect: operations have already run, in the order of their calls."""
        return contextlib.nullcontext()

    def colocate_with(  # type: ignore[override]  # no generator
        self, op: object, ignore_existing: bool = False
    ) -> contextlib.AbstractContextManager[None]:
        """A block without effect: tensors are already on their devices."""
        return contextlib.nullcontext()

    def device_of(self, op_type: str) -> str:
        """Returns the full name of the device for an operation made now; raises RuntimeError if the requested device does not exist."""
        requested = self.device_asked(op_type)
        full_name = self._full_names.get(requested)
        if full_name is None:
            full_name = self._full_names[requested] = self.found(requested)
        return full_name

    def device_asked(self, op_type: str = "NoOp") -> str:
        """Returns the device string that the device scopes request for an operation of this type, possibly empty."""
        if not self._devices:
            return ""
        # Device functions get an object with the attributes that they read of a node.
        node = SimpleNamespace(_device="", name=op_type, type=op_type)
        device_scope.apply(self._devices, node)  # type: ignore[arg-type]  # all of an operation that it asks for
        requested: str = node._device
        return requested

    def found(self, text: str) -> str:
        """Returns the full name of the device that a device string means; raises RuntimeError if there is none."""
        names = [d.name for d in self.state.devices]
        wanted = device_lib.DeviceSpec.from_string(device_lib.canonical_name(text))
        # Accelerators come first: a string without a device type means one of them if there is any, as in 1.15.
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
        # Three ways to run: directly on the variables of the process, by passing a handle on, or by a program.
        if op.type in DIRECT:
            values = DIRECT[op.type](self.state, op)
        elif op.type == "Identity" and inputs[0].dtype in (dtypes.resource, dtypes.variant):
            op.outputs = [inputs[0]]
            return op
        else:
            values = self._program(op, name, device)(op.takes, attrs)
        kinds = output_dtypes(spec.signature, attrs) if dtypes_out is None else dtypes_out
        # The handle of a new resource knows the operation that made it, for its attributes.
        keeps_op = op if spec.effects.creates and not inputs else None
        op.outputs = [EagerTensor.of(v, kind, self, device, keeps_op) for v, kind in zip(values, kinds)]
        if recorders.ACTIVE.recorders and inputs:
            recorders.record(op)
        if execution_callbacks.ACTIVE:
            execution_callbacks.call_all(op, name)
        return op

    def _program(self, op: EagerOperation, name: str, device: str) -> EagerProgram:
        """Returns the program for an operation, made and cached for op type, attributes, device, and kinds of the inputs."""
        spec, inputs = op.spec, op.takes
        # An operation that makes a resource has a program of its own, named like it: resources are found by name.
        if spec.effects.creates:
            return EagerProgram(self.state, self.library_of(op.attrs), spec, op.attrs, inputs, device, op.name)
        # Variables enter the key by the position of their first use: two inputs that are one variable need another program than two variables.
        first_use: dict[str, int] = {}
        kinds = [
            (first_use.setdefault(handle_key(t), i), *_handle_kind(t)) if is_variable(t) else (t.dtype, t._sizes) for i, t in enumerate(inputs)
        ]
        # Programs of a tf.function's calls are kept by the function, and die with it.
        kind, called = (spec.name, _hashable(_without_seeds(op)), device), self._called(op.attrs)
        programs = called[0].programs if called else self.state.programs.get(kind)
        if programs is None:
            programs = self.state.programs.setdefault(kind, Recent())
        key = (*kind, *kinds)
        program = programs.get(key)
        if program is None:
            program = programs[key] = EagerProgram(self.state, self.library_of(op.attrs), spec, op.attrs, inputs, device, spec.name)
        return program

    def _called(self, attrs: dict[str, Any]) -> list[Any]:
        """Returns the functions that attributes name."""
        values = [v for value in attrs.values() for v in (value if isinstance(value, list) else [value])]
        named = [self._functions.get(v.name) for v in values if isinstance(v, attr_values.FunctionRef)]
        return [f for f in named if f is not None]

    def library_of(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Returns the functions that attributes name, and all functions that those may call, by name."""
        library: dict[str, Any] = {}
        pending = self._called(attrs)
        while pending:
            function = pending.pop()
            if function.name not in library:
                library[function.name] = function
                pending.extend(function.held.values())
                # Nodes may call functions by an attribute or by their op type.
                for op in function.body.get_operations():
                    pending.extend(self._called(op.attrs))
                    pending.extend(f for f in [self._functions.get(op.type)] if f is not None)
        return library

    def writes_of(self, tensors: Iterable[Tensor]) -> list[int]:
        """Returns, for each variable handle among the tensors, how often the variable has been written."""
        return [self.state.writes[handle_key(t)] for t in tensors if isinstance(t, EagerTensor) and is_variable(t)]

    def copied(self, tensor: EagerTensor, device_name: str | None) -> EagerTensor:
        """Returns a tensor's copy on a device of this process; raises RuntimeError if there is no device of that name."""
        device = self.found(device_name or "")
        target = next(d.jax_device for d in self.state.devices if d.name == device)
        value = tensor._value
        if isinstance(value, jax.Array):
            value = jax.device_put(value, target)
        copy = EagerTensor.of(value, tensor.dtype, self, device)
        copy._handle_data = tensor._handle_data
        return copy


def _agree(wanted: object, name: str) -> bool:
    """Returns whether a device name has all parts that a device spec states."""
    actual = device_lib.DeviceSpec.from_string(name)
    parts = ("job", "replica", "task", "device_type", "device_index")
    return all(getattr(wanted, p) in (None, getattr(actual, p)) for p in parts)


def _without_seeds(op: EagerOperation) -> dict[str, Any]:
    """Returns the attributes that a program depends on. Seeds are not among them: they only select the random sequence of a call."""
    if not op.spec.effects.random:
        return op.attrs
    return {name: value for name, value in op.attrs.items() if name not in ("seed", "seed2")}


def _handle_kind(tensor: EagerTensor) -> tuple[dtypes.DType, tuple[int | None, ...] | None]:
    """Returns dtype and sizes of the variable behind a handle."""
    attrs = tensor._op.attrs
    return attrs["dtype"], attrs["shape"].sizes


def _hashable(value: object) -> Any:
    """Returns an attribute's value in internal form, or a dict of them, as a part of a key."""
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
