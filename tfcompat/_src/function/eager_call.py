"""Calls of functions where operations run at once, and their derivatives.

A call that a tape follows runs a function that also gives what the derivative needs; the derivative is a second function.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tfcompat._src.base import dtypes, recorders
from tfcompat._src.base.recent import Recent
from tfcompat._src.base.tensor_shape import TensorShape
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
        self._body, self._programs, self._order = body, programs, order
        self._backward: dict[bool, Traced] = {}
        if self._computes_again:
            self._require_repeatable(acting)
            self._needed = list(body.inputs)
            self._writes = any(op.spec.effects.writes for op in acting)
            self._variables = [i for i, t in enumerate(body.inputs) if t.dtype == dtypes.resource and t._handle_data is not None]
            self._backward_of(self._writes)
        else:
            backward, found = self._of_kept_values(body)
            self._needed, self._writes, self._variables = list(backward.captures), False, []
            self._add_backward(False, backward, found)
        known = {*outputs, *body.inputs}
        self.kept = [t for t in self._needed if t not in known]
        self._forward = GraphFunction(
            f"__forward{name}", body, argument_names(body.inputs), argument_names([*outputs, *self.kept]), {}
        )
        if programs is not None:
            self._forward.programs = programs[f"forward {order}"]
        self._forward.extra_outputs = (*outputs[len(body.outputs) :], *self.kept)
        held = [each for backward in self._backward.values() for each in backward.body._functions.values()]
        self._library = [*body._functions.values(), *held, self._forward]

    def _add_backward(self, has_copies: bool, backward: FuncGraph, found: list) -> Traced:
        name = f"__backward{'_of_copies' if has_copies else ''}{self._name}"
        made = self._backward[has_copies] = Traced.of(name, backward, found)
        backward.captured_from, backward.outer_graph = {}, self._body.outer_graph
        if self._programs is not None:
            made.programs, made.role = self._programs, f"backward {self._order}{' of copies' if has_copies else ''}"
        return made

    def _of_kept_values(self, body: FuncGraph) -> tuple[FuncGraph, list]:
        """The derivative from values of the function, which it captures: its graph, and its results."""
        backward = FuncGraph(body)
        with backward.as_default():
            ys = [self.outputs[i] for i in self._differentiated]
            grads = [backward.add_input(y.dtype, y._sizes, "grad") for y in ys]
            found = gradients(ys, [body.inputs[i] for i in self._wanted], grads)
        return backward, found

    def _require_repeatable(self, acting: list[Operation]) -> None:
        """Checks that the function may be computed again, with variables of its own where it writes them.

        Raises:
          NotImplementedError: something in it acts outside of it or draws random numbers; or it is the derivative of a function that
            writes variables, and so has variables of its own.
        """
        for op in acting:
            effects = op.spec.effects
            if effects.random or op.spec.facts.names_variable or (effects.external and not isinstance(op, CallOperation)):
                raise NotImplementedError(
                    f"tfcompat does not differentiate {self._name} in eager mode: it has control flow, which is computed again for that, and "
                    f"{op.name} ({op.type}) would run twice"
                )

    def _backward_of(self, has_copies: bool) -> Traced:
        """The derivative of a function with loops or branches, which computes these again, after the gradients from all of its inputs.

        With copies, it takes the values that variables had before the call in place of their handles, and computes on variables of its own.
        """
        if has_copies in self._backward:
            return self._backward[has_copies]
        body = self._body
        backward = FuncGraph(body.outer_graph)
        backward._functions = dict(body._functions)
        with backward.as_default():
            grads = [backward.add_input(self.outputs[i].dtype, self.outputs[i]._sizes, "grad") for i in self._differentiated]
            copied = self._variables if has_copies else []
            kinds = [t._handle_data if i in copied else (t.dtype, t._sizes) for i, t in enumerate(body.inputs)]
            inputs = [backward.add_input(*kind, "input") for kind in kinds]
            begun = []
            for i, given in enumerate(body.inputs):
                if i in copied:
                    dtype, sizes = kinds[i]
                    handle = raw.VarHandleOp(dtype=dtype, shape=TensorShape.of(sizes), shared_name=f"{self._name}_{i}")
                    begun.append(raw.AssignVariableOp(handle, inputs[i]))
                    inputs[i] = handle
                inputs[i]._handle_data = given._handle_data
            with backward.control_dependencies(begun):
                results = copy_into(backward, body, inputs)
            ys = [results[i] for i in self._differentiated]
            found = gradients(ys, [inputs[i] for i in self._wanted], grads)
        return self._add_backward(has_copies, backward, found)

    def call(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Runs the function and tells the tapes; its results."""
        graph = get_default_graph()
        for each in self._library:
            graph._add_function(each)
        copies = {i: raw.ReadVariableOp(tensors[i], dtype=self._inputs[i]._handle_data[0]) for i in self._variables}
        with recorders.stopped():
            found = run(self._forward, tensors)
        values = {**dict(zip(self._inputs, tensors)), **dict(zip([*self.outputs, *self.kept], found))}
        before = graph.writes_of(tensors)

        def gradient(op: Operation, *grads: Any) -> list[Any]:
            has_copies = self._writes or (self._computes_again and graph.writes_of(tensors) != before)
            needed = [copies[i] if has_copies and i in copies else values[t] for i, t in enumerate(self._needed)]
            ready = [zeros_like(op.outputs[i]) if grads[i] is None else grads[i] for i in self._differentiated]
            backward = self._backward_of(has_copies)
            back = call(backward, [*ready, *needed])
            by_position = dict(zip(self._wanted, backward.packed(back)))
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
