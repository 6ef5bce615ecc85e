"""Calls of functions where operations run at once, and their derivatives.

A call that a tape follows runs a function that also gives what the derivative needs; the derivative is a second function.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tfcompat._src.base import dtypes, recorders
from tfcompat._src.base.recent import Recent
from tfcompat._src.function.first_runs import FIRST_RUNS
from tfcompat._src.function.tracing import Traced
from tfcompat._src.gradients.gradients import gradients, is_trainable
from tfcompat._src.graph.attr_values import FunctionRef
from tfcompat._src.graph.eager_tensor import EagerOperation
from tfcompat._src.graph.function_def import argument_names
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.function_body import CallOperation, FuncGraph, GraphFunction, copy_into, operations_within
from tfcompat._src.ops.array.fill import zeros_like

_OPAQUE = (dtypes.resource, dtypes.variant)
_CONTROL_FLOW = (
    "Enter", "RefEnter", "Switch", "RefSwitch", "While", "StatelessWhile", "For", "If", "StatelessIf", "Case", "StatelessCase",
)  # fmt: skip


def _operations(body: FuncGraph) -> Iterator[Operation]:
    """The nodes of a body, and of the functions that it calls."""
    for op in body.get_operations():
        yield from operations_within(op)


class Derivative:
    """A function as two: `forward` gives its results and what `backward` needs of its values.

    Args:
      name: of the function. body: its graph. outputs: its results, tensors of the body.
      programs: as of a Traced, for derivatives of that order.
    """

    def __init__(
        self, name: str, body: FuncGraph, outputs: list[Tensor], programs: Mapping[str, Recent] | None, order: int
    ) -> None:  # fmt: skip
        self.outputs, self._name = outputs, name
        self._inputs = list(body.inputs)
        self._differentiated = [i for i, t in enumerate(outputs) if is_trainable(t) and t.dtype not in _OPAQUE]
        self._wanted = [i for i, t in enumerate(body.inputs) if is_trainable(t)]
        acting = list(_operations(body))
        self._computes_again = any(op.type in _CONTROL_FLOW for op in acting)
        if self._computes_again:
            backward, found, self._needed = self._computed_again(name, body, acting)
        else:
            backward, found, self._needed = self._of_kept_values(body)
        self._backward = Traced.of(f"__backward{name}", backward, found)
        backward.captured_from, backward.outer_graph = {}, body.outer_graph
        known = {*outputs, *body.inputs}
        self.kept = [t for t in self._needed if t not in known]
        self._forward = GraphFunction(
            f"__forward{name}", body, argument_names(body.inputs), argument_names([*outputs, *self.kept]), {}
        )
        if programs is not None:
            self._backward.programs, self._backward.role = programs, f"backward {order}"
            self._forward.programs = programs[f"forward {order}"]
        self._forward.extra_outputs = (*outputs[len(body.outputs) :], *self.kept)
        self._library = [*body._functions.values(), *backward._functions.values(), self._forward]

    def _of_kept_values(self, body: FuncGraph) -> tuple[FuncGraph, list, list[Tensor]]:
        """The derivative from values of the function: its graph, its results, and the values after the gradients that it takes."""
        backward = FuncGraph(body)
        with backward.as_default():
            ys = [self.outputs[i] for i in self._differentiated]
            grads = [backward.add_input(y.dtype, y._sizes, "grad") for y in ys]
            found = gradients(ys, [body.inputs[i] for i in self._wanted], grads)
        return backward, found, list(backward.captures)

    def _computed_again(self, name: str, body: FuncGraph, acting: list[Operation]) -> tuple[FuncGraph, list, list[Tensor]]:
        """The derivative of a function with loops or branches, which computes these again.

        Raises:
          NotImplementedError: something in it would act, or draw random numbers, a second time.
        """
        for op in acting:
            effects = op.spec.effects
            if effects.writes or effects.random or (effects.external and not isinstance(op, CallOperation)):
                raise NotImplementedError(
                    f"tfcompat does not differentiate {name} in eager mode: it has control flow, which is computed again for that, and "
                    f"{op.name} ({op.type}) would run twice"
                )
        backward = FuncGraph(body.outer_graph)
        backward._functions = dict(body._functions)
        with backward.as_default():
            grads = [backward.add_input(self.outputs[i].dtype, self.outputs[i]._sizes, "grad") for i in self._differentiated]
            inputs = [backward.add_input(t.dtype, t._sizes, "input") for t in body.inputs]
            for mine, given in zip(inputs, body.inputs):
                mine._handle_data = given._handle_data
            results = copy_into(backward, body, inputs)
            ys = [results[i] for i in self._differentiated]
            found = gradients(ys, [inputs[i] for i in self._wanted], grads)
        return backward, found, list(body.inputs)

    def call(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Runs the function and tells the tapes; its results."""
        graph = get_default_graph()
        for each in self._library:
            graph._add_function(each)
        with recorders.stopped():
            found = run(self._forward, tensors)
        values = {**dict(zip(self._inputs, tensors)), **dict(zip([*self.outputs, *self.kept], found))}
        needed = [values[t] for t in self._needed]
        before = graph.writes_of(tensors)

        def gradient(op: Operation, *grads: Any) -> list[Any]:
            if self._computes_again and graph.writes_of(tensors) != before:
                raise RuntimeError(
                    f"A variable that {self._name} reads has changed since it was called. It has control flow, which tfcompat computes again "
                    "for the derivative: ask for the gradient before variables change."
                )
            ready = [zeros_like(op.outputs[i]) if grads[i] is None else grads[i] for i in self._differentiated]
            back = call(self._backward, [*ready, *needed])
            by_position = dict(zip(self._wanted, self._backward.packed(back)))
            return [by_position.get(i) for i in range(len(tensors))]

        results = found[: len(self.outputs)]
        recorders.record(EagerOperation.of_function(graph, tensors, results, gradient))
        return results


def call(traced: Traced, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Runs a traced function on its arguments and captured tensors; its results, in order."""
    order = recorders.order(tensors)
    if not order:
        return run(traced.add_to(get_default_graph()), tensors)
    return _derivative(traced, order).call(tensors)[: len(traced.body.outputs)]


def _derivative(traced: Traced, order: int) -> Derivative:
    """What makes derivatives of that order possible: the second goes through what the first has kept."""
    while (count := len(traced.derivatives)) < order:
        last = traced.derivatives[-1] if traced.derivatives else None
        outputs = list(traced.body.outputs) if last is None else [*last.outputs, *last.kept]
        traced.derivatives.append(Derivative(f"{traced.name}_{count}", traced.body, outputs, traced.programs, count))
    return traced.derivatives[order - 1]


def run(function: GraphFunction, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Runs a function that the default graph holds."""
    FIRST_RUNS.ran(function)
    make = raw.StatefulPartitionedCall if function.is_stateful else raw.PartitionedCall
    outputs = function.outputs
    found = make(list(tensors), [t.dtype.base_dtype for t in outputs], FunctionRef(function.name))
    found = [] if found is None else found if isinstance(found, list) else [found]
    for tensor, inner in zip(found, outputs):
        tensor._handle_data = inner._handle_data
    return found
