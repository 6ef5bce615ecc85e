"""Variables that a tf.function makes of tensors of its body: the initial value is computed again in the graph around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import get_default_graph, init_scope
from tfcompat._src.graph.tensor import Tensor


class UnliftableError(Exception):
    """A tensor hangs on an argument or placeholder that has no value where it is wanted."""


class LiftingCreator:
    """A variable creator for the body of a function that is called with `arguments`.

    Attributes: `has_made` says whether it has made a variable.
    """

    def __init__(self, arguments: Sequence[Tensor]) -> None:
        self._arguments, self.has_made = arguments, False

    def __call__(self, next_creator: Callable, initial_value: object = None, **kwargs: Any) -> Any:
        self.has_made = True
        if isinstance(initial_value, Tensor) and initial_value.graph.building_function:
            with init_scope():
                initial_value = _Lift(initial_value, self._arguments).tensor(initial_value)
        return next_creator(initial_value=initial_value, **kwargs)


class _Lift:
    """Copies what a tensor is computed of into the default graph, which encloses all functions around it."""

    def __init__(self, wanted: Tensor, arguments: Sequence[Tensor]) -> None:
        self._wanted, self._arguments = wanted, arguments
        self._graph = get_default_graph()
        self._copies: dict[Operation, Operation] = {}

    def tensor(self, tensor: Tensor) -> Tensor:
        """The copy of a tensor; one of the graph around is its own.

        Raises:
          UnliftableError: it hangs on an argument of the function whose value is not known.
        """
        graph = tensor.graph
        if not graph.building_function:
            return tensor
        if tensor in graph.captured_from:
            return self.tensor(graph.captured_from[tensor])
        if tensor.op.type == "Placeholder":
            return self._argument(tensor)
        return self._copy(tensor.op).outputs[tensor.value_index]

    def _argument(self, placeholder: Tensor) -> Tensor:
        position = placeholder.graph.inputs.index(placeholder)
        is_called_with_values = self._graph.executes and placeholder.graph.outer_graph is self._graph
        if not is_called_with_values or position >= len(self._arguments):
            raise UnliftableError(
                f"Unable to lift tensor {self._wanted!r} because it depends transitively on placeholder {placeholder.op!r} via at least "
                f"one path."
            )
        return self._arguments[position]

    def _copy(self, op: Operation) -> Operation:
        if op not in self._copies:
            controls = [self._copy(c) for c in op.control_inputs if c.graph.building_function]
            inputs = [self.tensor(t) for t in op.inputs]
            kinds = [t.dtype for t in op.outputs]
            with self._graph.control_dependencies(controls):
                name = self._graph.unique_name(op.name)
                self._copies[op] = self._graph.make_op(op.spec, name, inputs, dict(op.attrs), kinds)
        return self._copies[op]
