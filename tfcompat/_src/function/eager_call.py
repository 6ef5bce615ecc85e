"""Calls of functions in eager mode, and their gradients.

A call that a tape follows runs a forward function, which also returns the values that the gradient depends on; the gradient is a backward
function of these. If the function has control flow, whose intermediate values exist once per iteration, the backward function takes the
inputs instead and computes the function again (rematerialization).
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
    """Yields the nodes of a body and of the functions that it calls."""
    for op in body.get_operations():
        yield from operations_within(op)


class Derivative:
    """A function as a pair: `forward` returns the results and the values that `backward` needs.

    Args:
      name: of the function.
      body: its graph.
      outputs: its results, tensors of the body.
      programs: caches of compiled programs as of a Traced, for derivatives of this order.
      order: number of the derivative, from 0.
    """

    def __init__(
        self, name: str, body: FuncGraph, outputs: list[Tensor], programs: Mapping[str, Recent] | None, order: int
    ) -> None:  # fmt: skip
        self.outputs, self._name = outputs, name
        self._inputs = list(body.inputs)
        # As results, resources and variants have no gradients; as inputs, resources may be variables, which have.
        self._differentiated = [i for i, t in enumerate(outputs) if is_trainable(t) and t.dtype not in _OPAQUE]
        self._wanted = [i for i, t in enumerate(body.inputs) if is_trainable(t)]
        operations = list(_operations(body))
        # Values inside of loops and branches cannot be outputs of the forward function: it would have to stack them.
        self._computes_again = any(op.type in _CONTROL_FLOW for op in operations)
        self._body, self._programs, self._order = body, programs, order
        self._backward: dict[bool, Traced] = {}
        if self._computes_again:
            self._require_repeatable(operations)
            self._needed = list(body.inputs)
            self._writes = any(op.spec.effects.writes for op in operations)
            self._variables = [i for i, t in enumerate(body.inputs) if t.dtype == dtypes.resource and t._handle_data is not None]
            self._backward_of(self._writes)
        else:
            backward, grads = self._of_kept_values(body)
            self._needed, self._writes, self._variables = list(backward.captures), False, []
            self._add_backward(False, backward, grads)
        # Inputs and results are at hand after a call; only other values become extra outputs.
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

    def _add_backward(self, has_copies: bool, backward: FuncGraph, grads: list) -> Traced:
        """Registers a backward function and returns it."""
        name = f"__backward{'_of_copies' if has_copies else ''}{self._name}"
        made = self._backward[has_copies] = Traced.of(name, backward, grads)
        # Its captures are inputs now, given by each call.
        backward.captured_from, backward.outer_graph = {}, self._body.outer_graph
        if self._programs is not None:
            made.programs, made.role = self._programs, f"backward {self._order}{' of copies' if has_copies else ''}"
        return made

    def _of_kept_values(self, body: FuncGraph) -> tuple[FuncGraph, list]:
        """Returns the graph of a backward function that captures values of the function, and its results."""
        backward = FuncGraph(body)
        with backward.as_default():
            ys = [self.outputs[i] for i in self._differentiated]
            grads = [backward.add_input(y.dtype, y._sizes, "grad") for y in ys]
            results = gradients(ys, [body.inputs[i] for i in self._wanted], grads)
        return backward, results

    def _require_repeatable(self, acting: list[Operation]) -> None:
        """Checks that computing the function again repeats no side effect. Writes of variables are allowed: they happen on copies.

        Raises:
          NotImplementedError: it has other side effects, draws random numbers, or makes variables of its own (as a backward function does
            that computes on copies).
        """
        for op in acting:
            effects = op.spec.effects
            if effects.random or op.spec.facts.names_variable or (effects.external and not isinstance(op, CallOperation)):
                raise NotImplementedError(
                    f"The gradient of {self._name} in eager mode is not supported: its loops and branches are computed again for it, and "
                    f"{op.name} ({op.type}) would run twice. Move this operation out of the function, or compute the gradient in a graph."
                )

    def _backward_of(self, has_copies: bool) -> Traced:
        """Returns the backward function of a function with loops or branches: it computes these again from all inputs.

        Args:
          has_copies: whether variables have been written since the call. If so, the function takes their values before the call in place of
            their handles, and computes on variables of its own.
        """
        if has_copies in self._backward:
            return self._backward[has_copies]
        body = self._body
        backward = FuncGraph(body.outer_graph)
        backward._functions = dict(body._functions)
        with backward.as_default():
            grads = [backward.add_input(self.outputs[i].dtype, self.outputs[i]._sizes, "grad") for i in self._differentiated]
            copied = self._variables if has_copies else []
            # The backward function takes gradients of the results, then all inputs: handles, or values of the variables to copy.
            kinds = [t._handle_data if i in copied else (t.dtype, t._sizes) for i, t in enumerate(body.inputs)]
            inputs = [backward.add_input(*kind, "input") for kind in kinds]
            initialized = []
            for i, given in enumerate(body.inputs):
                # A copied variable lives in the backward function, and starts with the value that it is given.
                if i in copied:
                    dtype, sizes = kinds[i]
                    handle = raw.VarHandleOp(dtype=dtype, shape=TensorShape.of(sizes), shared_name=f"{self._name}_{i}")
                    initialized.append(raw.AssignVariableOp(handle, inputs[i]))
                    inputs[i] = handle
                inputs[i]._handle_data = given._handle_data
            with backward.control_dependencies(initialized):
                results = copy_into(backward, body, inputs)
            ys = [results[i] for i in self._differentiated]
            input_grads = gradients(ys, [inputs[i] for i in self._wanted], grads)
        return self._add_backward(has_copies, backward, input_grads)

    def call(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Runs the forward function, records the call on tapes, and returns the results."""
        graph = get_default_graph()
        # The graph's library is weak: this object keeps the functions, and adds them for each call.
        for each in self._library:
            graph._add_function(each)
        # The values of variables before the call, for the gradient in case they are written before it is taken.
        copies = {i: raw.ReadVariableOp(tensors[i], dtype=self._inputs[i]._handle_data[0]) for i in self._variables}
        with recorders.stopped():
            forward = run(self._forward, tensors)
        values = {**dict(zip(self._inputs, tensors)), **dict(zip([*self.outputs, *self.kept], forward))}
        before = graph.writes_of(tensors)

        def gradient(op: Operation, *grads: Any) -> list[Any]:
            # Variables that changed since the call must not be read again: the gradient is taken at their values before the call.
            has_copies = self._writes or (self._computes_again and graph.writes_of(tensors) != before)
            needed = [copies[i] if has_copies and i in copies else values[t] for i, t in enumerate(self._needed)]
            ready = [zeros_like(op.outputs[i]) if grads[i] is None else grads[i] for i in self._differentiated]
            backward = self._backward_of(has_copies)
            # Through `call`, so that tapes record the backward function too, for second derivatives.
            back = call(backward, [*ready, *needed])
            by_position = dict(zip(self._wanted, backward.packed(back)))
            return [by_position.get(i) for i in range(len(tensors))]

        results = forward[: len(self.outputs)]
        recorders.record(EagerOperation.of_function(graph, tensors, results, gradient))
        return results


def call(traced: Traced, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Runs a traced function on its arguments and captured tensors; returns its results in order."""
    order = recorders.order(tensors)
    if not order:
        return run(traced.add_to(get_default_graph()), tensors)
    return _derivative(traced, order).call(tensors)[: len(traced.body.outputs)]


def _derivative(traced: Traced, order: int) -> Derivative:
    """Returns the Derivative for gradients up to an order. Each one differentiates the outputs of the last, extra ones included."""
    while (count := len(traced.derivatives)) < order:
        # The extra outputs of the last derivative are differentiated as well: its gradient depends on them.
        last = traced.derivatives[-1] if traced.derivatives else None
        outputs = list(traced.body.outputs) if last is None else [*last.outputs, *last.kept]
        traced.derivatives.append(Derivative(f"{traced.name}_{count}", traced.body, outputs, traced.programs, count))
    return traced.derivatives[order - 1]


def run(function: GraphFunction, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Runs a function of the default graph's library and returns its results."""
    FIRST_RUNS.ran(function)
    # A stateless call is a pure operation, which a run may prune.
    make = raw.StatefulPartitionedCall if function.is_stateful else raw.PartitionedCall
    outputs = function.outputs
    results = make(list(tensors), [t.dtype.base_dtype for t in outputs], FunctionRef(function.name))
    results = [] if results is None else results if isinstance(results, list) else [results]
    for tensor, inner in zip(results, outputs):
        tensor._handle_data = inner._handle_data
    return results
