"""SymbolicGradient: the gradient of a function, as a function of its arguments and the gradients of its results."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.gradients.gradients import gradients
from tfcompat._src.graph.function_def import argument_names
from tfcompat._src.graph.op_spec import NotDifferentiable, op
from tfcompat._src.graph.shape_inference import InferenceContext
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.function_body import FUNCTION_OF, CallOperation, FuncGraph, GraphFunction, copy_into


def _shapes_of_arguments(c: InferenceContext) -> list:
    """Shape function: a gradient has the shape of its argument."""
    return c.inputs[: len(c.op.outputs)]


def _never_called(*arguments: Any) -> Any:
    raise RuntimeError("The kernel of SymbolicGradient was called: such nodes are inlined before they run.")


op(
    "SymbolicGradient", "(input: Tin, *, Tin: list(type) >= 1, Tout: list(type) >= 1, f: func) -> (output: Tout)",
    shape=_shapes_of_arguments, kernel=_never_called, node_class=CallOperation,
    gradient=NotDifferentiable("second derivatives of functions are not registered in 1.15", raises=True),
)  # fmt: skip


def gradient_function(call: CallOperation) -> GraphFunction:
    """Returns the function that a SymbolicGradient node computes: the registered gradient function, or the derivative of the body.

    Raises:
      errors.NotFoundError: the graph has no function of that name.
      errors.InvalidArgumentError: the gradient function has a wrong number of results.
    """
    name = call.attrs["f"].name
    function = call.graph._get_function(name)
    if function is None:
        raise errors.NotFoundError(call.node_def, call, f"No gradient defined for op: {name}")
    if function.grad_func_name:
        # The gradient that the program registered takes precedence over differentiation.
        given = call.graph._get_function(function.grad_func_name)
        if len(given.body.outputs) != len(call.outputs):
            raise errors.InvalidArgumentError(
                call.node_def, call,
                f"SymGrad expects to return {len(call.outputs)} tensor(s), but get {len(given.body.outputs)} tensor(s) instead.",
            )  # fmt: skip
        return given
    # One derivative serves all calls of the function.
    cached = getattr(function, "derivative", None)
    if cached is None:
        cached = function.derivative = derivative(function, call.graph)
    return cached


def derivative(function: GraphFunction, graph: Any) -> GraphFunction:
    """Returns the function (arguments, gradients of the results) -> gradients of the arguments, with zeros for independent arguments."""
    body = FuncGraph(graph)
    with body.as_default():
        arguments = [body.add_input(t.dtype, t._sizes, n) for t, n in zip(function.body.inputs, function.arg_names)]
        results = copy_into(body, function.body, arguments)
        grads = [body.add_input(t.dtype, t._sizes, f"d_{n}") for t, n in zip(results, function.out_names)]
        argument_grads = gradients(results, arguments, grads)
        body.outputs = [raw.ZerosLike(a) if g is None else raw.Identity(g) for g, a in zip(argument_grads, arguments)]
    return GraphFunction(f"{function.name}_grad", body, argument_names(body.inputs), argument_names(body.outputs), {})


FUNCTION_OF["SymbolicGradient"] = gradient_function
