"""Programs of eager operations: graphs of one operation, planned and compiled as all graphs are.

A program serves all operations of the same type, attributes, device, and dtypes and shapes of inputs (`EagerGraph._program` caches them).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from tfcompat._src.base import errors, jax_compat
from tfcompat._src.eager.state import EagerState, ProcessVariables
from tfcompat._src.graph import constant_value, op_spec
from tfcompat._src.graph.eager_tensor import EagerTensor
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.function_body import operations_within
from tfcompat._src.runtime.host.fetched_value import fetched_value
from tfcompat._src.runtime.passes.fold import MAX_FOLDED_ELEMENTS, can_fold
from tfcompat._src.runtime.session.session import BaseSession, PreparedRun
from tfcompat._src.runtime.state.run_context import RunContext


class ProgramGraph(Graph):
    """The graph of one eager operation."""

    is_program = True


class EagerSession(BaseSession):
    """A session that shares random state and resources with all eager operations."""

    def __init__(self, state: EagerState, graph: Graph, config: object = None) -> None:
        self._state = state
        super().__init__(graph=graph, config=config)

    def _make_context(self) -> RunContext:
        return dataclasses.replace(super()._make_context(), random_state=self._state.random_state, resources=self._state.resources)


class EagerProgram:
    """A graph of one operation, run by a session of its own on the state of the process.

    Args:
      state: the state that eager operations share.
      functions: functions that the operation may call, by name.
      spec: its op spec.
      attrs: its attributes.
      inputs: tensors like those that it will get.
      device: where it runs.
      name: of the node.
    """

    _misfit = ""
    """Error message of the shape function for inputs like these; empty if they fit."""

    def __init__(
        self, state: EagerState, functions: dict[str, Any], spec: op_spec.OpSpec, attrs: dict[str, Any], inputs: Sequence[EagerTensor],
        device: str, name: str,
    ) -> None:
        self._state = state
        self._graph = ProgramGraph()
        self._graph._functions = functions
        self.device = device
        self._variables: dict[str, str] = {}
        self._fed: list[Tensor] = []
        self._fed_positions: list[int] = []
        with self._graph.as_default(), self._graph.device(device):
            tensors = [self._input(i, t) for i, t in enumerate(inputs)]
            # 1.15 infers no shapes in eager mode, its kernels check them: inputs that the shape function refuses still run, for the
            # kernel's own message. Operations with effects do not: they must not act on wrong inputs.
            try:
                self.op = self._graph.make_op(spec, name, tensors, dict(attrs))
            except ValueError as e:
                self._misfit = str(e)
                if spec.node_class is not None or spec.effects.external or spec.effects.creates or spec.effects.writes:
                    raise errors.InvalidArgumentError(None, None, self._misfit) from e
                self.op = self._graph.make_op(spec, name, tensors, dict(attrs), infer_shapes=False)
        # Whether the NumPy kernel can compute it: decided once, for all runs.
        self._folds = can_fold(self.op) and spec.node_class is None and bool(inputs) and not self._misfit
        self._writes = any(op.spec.effects.writes for op in operations_within(self.op))
        self._prepared: PreparedRun | None = None
        self._kept: tuple[dict[str, str], RunContext] | None = None

    def _input(self, index: int, tensor: EagerTensor) -> Tensor:
        """What stands for an input: the handle of a variable, or a placeholder."""
        if is_variable(tensor):
            # One node for each variable, even if it is the value of several inputs.
            key = handle_key(tensor)
            if key not in self._variables:
                self._variables[key] = f"/{index}"
                made_by = tensor._op
                attrs = {**made_by.attrs, "container": b"", "shared_name": str(index).encode()}
                node = self._graph.make_op(made_by.spec, f"variable_{index}", (), attrs)
                node.outputs[0]._handle_data = tensor._handle_data
            return self._graph.get_tensor_by_name(f"variable_{self._variables[key][1:]}:0")
        attrs = {"dtype": tensor.dtype, "shape": tensor.shape}
        found = self._graph.make_op(op_spec.get("Placeholder"), f"input_{index}", (), attrs).outputs[0]
        found._handle_data = tensor._handle_data
        self._fed.append(found)
        self._fed_positions.append(index)
        return found

    def __call__(self, inputs: Sequence[EagerTensor], attrs: dict[str, Any]) -> list[Any]:
        """Runs the operation and returns the values of its outputs.

        Args:
          inputs: the tensors that it takes.
          attrs: its attributes, whose seeds may differ from those that the program was made with.

        Raises:
          errors.OpError: the operation fails; with the kernel's message if it has one, else the shape function's.
        """
        if not self.op.spec.effects.random:
            return self._checked(inputs)
        with self._state.random_state.drawing(self.op, attrs):
            return self._checked(inputs)

    def _checked(self, inputs: Sequence[EagerTensor]) -> list[Any]:
        """Runs the operation; if the shape function refused its inputs, raises its error, or the kernel's own."""
        if not self._misfit:
            return self._run(inputs)
        try:
            self._run(inputs)
        except errors.OpError as e:
            # An error with a cause is a translation of NumPy's or JAX's: the shape function's message is closer to 1.15's.
            if e.__cause__ is None:
                raise
        raise errors.InvalidArgumentError(None, None, self._misfit)

    def _run(self, inputs: Sequence[EagerTensor]) -> list[Any]:
        """Runs the operation on the inputs' values."""
        values = [inputs[i]._value for i in self._fed_positions]
        # Small values on the host are computed by the NumPy kernel: dispatch to a compiled program would take longer.
        if self._folds and all(type(v) is np.ndarray and v.size <= MAX_FOLDED_ELEMENTS for v in values):
            return list(constant_value.call_numpy_kernel(self.op, values))
        # Shapes and dtypes are TensorFlow's: JAX must not narrow 64-bit types.
        with jax_compat.x64():
            if not self._variables:
                return self._compute(values)
            keys = dict(zip(self._variables.values(), dict.fromkeys(handle_key(t) for t in inputs if is_variable(t))))
            with self._state.variable_state.lock:
                # Writes are counted even if the run fails: it may have written some variables.
                try:
                    return self._compute(values, keys)
                finally:
                    if self._writes:
                        self._state.writes.update(keys.values())

    def _compute(self, values: list[Any], keys: dict[str, str] | None = None) -> list[Any]:
        """Runs the session; `keys` maps the program's variables to those of the process."""
        session, prepared = self._session_and_run()
        context = session.context if keys is None else self._context_with(keys)
        return session.compute(prepared, values, context, _as_it_is, lent=False)[1]

    def _context_with(self, keys: dict[str, str]) -> RunContext:
        """Returns a run context on variables of the process, cached for the next run on the same ones."""
        kept = self._kept
        if kept is None or kept[0] != keys:
            variables = ProcessVariables(self._state.variable_state, keys)
            kept = self._kept = keys, dataclasses.replace(self._session.context, variable_state=variables)
        return kept[1]

    def _session_and_run(self) -> tuple[BaseSession, PreparedRun]:
        """Returns the session and the prepared run, made on first use."""
        if self._prepared is None:
            op = self.op
            self._session = EagerSession(self._state, self._graph, self._state.config)
            wanted = SimpleNamespace(tensors=list(op.outputs), targets=[op])
            self._prepared = PreparedRun(wanted, self._fed, self._graph._changes)  # type: ignore[arg-type]  # nothing is put back into a structure
        return self._session, self._prepared


def _as_it_is(tensor: Tensor, values: dict[Tensor, Any], context: RunContext) -> Any:
    """Returns a result as the value of an eager tensor, without copying it from its device."""
    value = values.get(tensor)
    if value is None:
        return fetched_value(tensor, values, context)
    return np.asarray(value) if isinstance(value, np.generic) else value


class VariableHandle:
    """The value of a resource tensor that is a variable's handle: the variable's key in the process."""

    def __init__(self, key: str) -> None:
        self.key = key


def is_variable(tensor: EagerTensor) -> bool:
    """Returns whether a tensor is the handle of a variable."""
    return isinstance(tensor._value, VariableHandle)


def handle_key(tensor: EagerTensor) -> str:
    """Returns the key of the variable that a handle refers to."""
    key: str = tensor._value.key
    return key
