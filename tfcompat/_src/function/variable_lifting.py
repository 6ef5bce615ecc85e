"""Lifts initial values of variables out of a tf.function: what a value depends on is copied into the outer graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import get_default_graph, init_scope
from tfcompat._src.graph.tensor import Tensor


class UnliftableError(Exception):
    """A tensor depends on an argument or placeholder that has no value in the target graph."""


class LiftingCreator:
    """A variable creator for the body of a function that is called with `arguments`.

    Attributes:
      has_made: whether it has made a variable.
    """

    def __init__(self, arguments: Sequence[Tensor]) -> None:
        self._arguments, self.has_made = arguments, False

    def __call__(self, next_creator: Callable, initial_value: object = None, **kwargs: Any) -> Any:
        self.has_made = True
        if isinstance(initial_value, Tensor) and initial_value.graph.building_function:
            # init_scope leaves all functions: the copy must not depend on the trace.
            with init_scope():
                initial_value = _Lift(initial_value, self._arguments).tensor(initial_value)
        return next_creator(initial_value=initial_value, **kwargs)


class _Lift:
    """Copies what a tensor depends on into the default graph, which encloses all functions in question."""

    def __init__(self, wanted: Tensor, arguments: Sequence[Tensor]) -> None:
        self._wanted, self._arguments = wanted, arguments
        self._graph = get_default_graph()
        self._copies: dict[Operation, Operation] = {}

    def tensor(self, tensor: Tensor) -> Tensor:
        """Returns the copy of a tensor; a tensor that is not in a function is its own copy.

        Raises:
          UnliftableError: it depends on an argument whose value is unknown.
        """
        graph = tensor.graph
        if not graph.building_function:
            return tensor
        # A captured tensor is followed outwards, function by function.
        if tensor in graph.captured_from:
            return self.tensor(graph.captured_from[tensor])
        if tensor.op.type == "Placeholder":
            return self._argument(tensor)
        return self._copy(tensor.op).outputs[tensor.value_index]

    def _argument(self, placeholder: Tensor) -> Tensor:
        """Returns the value of an argument; it is known if the function is called in eager mode."""
        position = placeholder.graph.inputs.index(placeholder)
        is_called_with_values = self._graph.executes and placeholder.graph.outer_graph is self._graph
        if not is_called_with_values or position >= len(self._arguments):
            raise UnliftableError(
                f"Unable to lift tensor {self._wanted!r} because it depends transitively on placeholder {placeholder.op!r} via at least "
                f"one path."
            )
        return self._arguments[position]

    def _copy(self, op: Operation) -> Operation:
        """Returns the copy of an operation, made after those that it depends on."""
        if op not in self._copies:
            # Side effects that the value waits for are repeated outside.
            controls = [self._copy(c) for c in op.control_inputs if c.graph.building_function]
            inputs = [self.tensor(t) for t in op.inputs]
            kinds = [t.dtype for t in op.outputs]
            with self._graph.control_dependencies(controls):
                name = self._graph.unique_name(op.name)
                self._copies[op] = self._graph.make_op(op.spec, name, inputs, dict(op.attrs), kinds)
        return self._copies[op]
