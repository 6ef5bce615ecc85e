"""Ops that run functions of the graph: calls, branches and loops.

A run sees each node as an inlined function, which implements it by flat nodes: Switch and Merge for branches, Enter to Exit for loops.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dtypes, errors
from tfcompat._src.graph import op_spec
from tfcompat._src.graph.constant_value import known_value
from tfcompat._src.graph.function_def import argument_names
from tfcompat._src.graph.op_spec import op
from tfcompat._src.graph.scopes import control_dependencies, get_default_graph
from tfcompat._src.graph.shape_inference import InferenceContext
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.nodes.function_body import (
    FUNCTION_OF,
    CallOperation,
    FuncGraph,
    GraphFunction,
    acting_nodes,
    body_nodes,
    copied,
    copier_into,
    results_spec,
)
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.control.while_loop import while_loop


class InlinedOperation(CallOperation):
    """A node that runs functions; its gradient is that of the nodes that it is lowered to."""

    differentiates_inlined = True
    results_spec = results_spec(lambda node, *grads: list(grads))

    @functools.cached_property
    def function(self) -> GraphFunction:  # type: ignore[override]
        """The function that implements this node."""
        return FUNCTION_OF[self.type](self)


def _declared_shapes(c: InferenceContext) -> list:
    """Shape function: the shapes that the node states; of a loop that states none, those of its inputs."""
    shapes = c.op.attrs.get("output_shapes") or c.op.attrs.get("_output_shapes") or ()
    if not shapes and c.op.type in ("While", "StatelessWhile"):
        return list(c.inputs)
    return [s.sizes for s in shapes] or [None] * len(c.op.outputs)


def _never_called(*arguments: Any) -> Any:
    raise RuntimeError("The kernel of an op that runs functions was called: such ops are inlined before they run.")


def _functional(name: str, signature: str, stateful: bool) -> None:
    """Registers an op whose nodes are InlinedOperations."""
    op(
        name, signature, shape=_declared_shapes, kernel=_never_called, gradient=InlinedOperation.results_spec.gradient,
        effects=op_spec.Effects(external=stateful), node_class=InlinedOperation, depth=2,
    )  # fmt: skip


_IF = (
    "(cond: Tcond, input: Tin, *, Tcond: type, Tin: list(type) >= 0, Tout: list(type) >= 0, then_branch: func, "
    "else_branch: func, output_shapes: list(shape) = []) -> (output: Tout)"
)
_WHILE = (
    "(input: T, *, T: list(type) >= 0, cond: func, body: func, output_shapes: list(shape) = [], "
    "parallel_iterations: int = 10) -> (output: T)"
)
_CALL = (
    '(args: Tin, *, Tin: list(type) >= 0, Tout: list(type) >= 0, f: func, config: string = "", config_proto: string = "", '
    'executor_type: string = "") -> (output: Tout)'
)
_functional("If", _IF, True)
_functional("StatelessIf", _IF, False)
_functional("While", _WHILE, True)
_functional("StatelessWhile", _WHILE, False)
_functional("PartitionedCall", _CALL, False)
_functional("StatefulPartitionedCall", _CALL, True)
_CASE = (
    "(branch_index: int32, input: Tin, *, Tin: list(type) >= 0, Tout: list(type) >= 0, branches: list(func) >= 1, "
    "output_shapes: list(shape) = []) -> (output: Tout)"
)
_functional("Case", _CASE, True)
_functional("StatelessCase", _CASE, False)

_functional("For", "(start: int32, limit: int32, delta: int32, input: T, *, T: list(type) >= 0, body: func) -> (output: T)", False)
_functional(
    "RemoteCall", "(target: string, args: Tin, *, Tin: list(type) >= 1, Tout: list(type) >= 1, f: func) -> (output: Tout)", True
)


# ---- the functions that implement them ----


def _called(call: CallOperation) -> GraphFunction:
    """Returns the function that a call names.

    Raises:
      errors.InternalError: its results differ from the outputs that the node states.
    """
    function = _function(call, call.attrs["f"].name)
    kinds = [t.dtype.base_dtype for t in function.outputs]
    for i, output in enumerate(call.outputs):
        if i >= len(kinds):
            raise errors.InternalError(call.node_def, call, f"Missing {i}-th output from node {call.name}")
        if kinds[i] != output.dtype.base_dtype:
            raise errors.InternalError(
                call.node_def, call, f"Output {i} of type {kinds[i].name} does not match declared output type "
                f"{output.dtype.base_dtype.name} for node {call.name}",
            )  # fmt: skip
    return function


def _called_elsewhere(call: CallOperation) -> GraphFunction:
    """Implements RemoteCall: the function's nodes on the device that the first argument names, or a call at run time if it is computed."""
    function, target = _function(call, call.attrs["f"].name), known_value(call.inputs[0])

    def build(arguments: list[Tensor]) -> list[Tensor]:
        graph = get_default_graph()
        with graph.device(None), graph.device(call._device):
            if target is None:
                # A name that is computed in the run cannot decide the placement of nodes.
                name, *args = arguments
                called = raw.RemoteCallAtRun(name, args, Tout=call.attrs["Tout"], f=call.attrs["f"])
                return list(called) if isinstance(called, (list, tuple)) else [called]
            with graph.device(target.item().decode()):
                return _run(function, arguments[1:])

    return _replacing(call, build)


def _truth(value: Tensor) -> Tensor:
    """Returns a bool: a number is true if it is not zero; a string, or a tensor of rank 1 or more, if it is not empty."""
    if value.shape.ndims:
        return raw.Greater(raw.Size(value), 0)
    if value.dtype == dtypes.bool:
        return raw.Reshape(value, [])
    return raw.Reshape(raw.NotEqual(value, constant(b"" if value.dtype == dtypes.string else 0, value.dtype)), [])


def _branches(call: CallOperation) -> GraphFunction:
    """Implements If by `cond`."""
    then, other = (_function(call, call.attrs[name].name) for name in ("then_branch", "else_branch"))

    def build(arguments: list[Tensor]) -> list[Tensor]:
        predicate, *inputs = arguments
        return _joined(cond(_truth(predicate), lambda: _run(then, inputs), lambda: _run(other, inputs), strict=True), call)

    return _replacing(call, build)


def _cases(call: CallOperation) -> GraphFunction:
    """Implements Case by nested `cond`: the branch with the index, or the last one for any other index."""
    functions = [_function(call, ref.name) for ref in call.attrs["branches"]]

    def build(arguments: list[Tensor]) -> list[Tensor]:
        index, *inputs = arguments

        def chosen(i: int) -> list[Tensor]:
            if i == len(functions) - 1:
                return _run(functions[i], inputs)
            # A chain of conditionals: branch i, or the choice among those after it.
            return cond(raw.Equal(index, i), lambda: _run(functions[i], inputs), lambda: chosen(i + 1), strict=True)

        return _joined(chosen(0), call)

    return _replacing(call, build)


def _loop(call: CallOperation) -> GraphFunction:
    """Implements While by `while_loop`, with the shapes of the body's arguments as invariants."""
    test, step = (_function(call, call.attrs[name].name) for name in ("cond", "body"))

    def build(arguments: list[Tensor]) -> list[Tensor]:
        if len(test.body.outputs) != 1:
            raise errors.InvalidArgumentError(
                call.node_def, call, f"Expected a single scalar return value from WhileOp cond, got {len(test.body.outputs)} tensors."
            )
        if len(step.body.outputs) != len(arguments):
            raise errors.InvalidArgumentError(
                call.node_def, call, f"While loop body returned {len(step.body.outputs)} arguments. Expected: {len(arguments)}"
            )
        # The body was traced for these shapes: every iteration has them.
        invariants = [t.shape for t in step.body.inputs]
        for argument, shape in zip(arguments, invariants):
            argument.set_shape(shape)
        results = while_loop(
            lambda *values: _truth(_run(test, list(values))[0]), lambda *values: _run(step, list(values)), arguments,
            invariants, call.attrs["parallel_iterations"], return_same_structure=True,
        )  # fmt: skip
        return list(results)

    return _replacing(call, build)


def _counted_loop(call: CallOperation) -> GraphFunction:
    """Implements For by `while_loop` over the loop's index."""
    step = _function(call, call.attrs["body"].name)

    def build(arguments: list[Tensor]) -> list[Tensor]:
        start, limit, delta, *values = arguments
        # A delta of zero, or one that leads away from the limit, is an error in a run, as in 1.15.
        ends = raw.LessEqual(raw.Mul(raw.Sign(delta), raw.Sub(start, limit)), 0)
        leads = raw.LogicalOr(raw.Equal(start, limit), raw.LogicalAnd(ends, raw.NotEqual(delta, 0)))
        message = ["Invalid start/limit/delta: ", start, limit, delta]
        with control_dependencies([raw.Assert(leads, [convert_to_tensor(each) for each in message])]):
            start = raw.Identity(start)
        for value, inner in zip(values, step.body.inputs[1:]):
            value.set_shape(inner.shape)
        results = while_loop(
            lambda i, *values: raw.Less(raw.Mul(raw.Sign(delta), raw.Sub(i, limit)), 0),
            lambda i, *values: [raw.AddV2(i, delta), *_run(step, [i, *values])[: len(values)]], [start, *values],
            [start.shape, *(t.shape for t in step.body.inputs[1:])], return_same_structure=True,
        )  # fmt: skip
        return list(results)[1:]

    return _replacing(call, build)


_PARTITIONED = ("PartitionedCall", "StatefulPartitionedCall")
FUNCTION_OF.update(
    dict.fromkeys(_PARTITIONED, _called) | dict.fromkeys(("If", "StatelessIf"), _branches)
    | dict.fromkeys(("While", "StatelessWhile"), _loop) | dict.fromkeys(("Case", "StatelessCase"), _cases)
    | {"For": _counted_loop, "RemoteCall": _called_elsewhere}
)  # fmt: skip


def _function(call: CallOperation, name: str) -> GraphFunction:
    """Returns the function of this name in the graph of a call; raises 1.15's errors if there is none."""
    function = call.graph._get_function(name)
    if function is None and call.type in _PARTITIONED:
        raise errors.InvalidArgumentError(call.node_def, call, f'Failed to find function "{name}" in function library')
    if function is None:
        raise errors.NotFoundError(call.node_def, call, f"Function {name} is not defined.")
    return function


def _replacing(call: CallOperation, build: Callable[[list[Tensor]], list[Tensor]]) -> GraphFunction:
    """Returns a function of a node's inputs whose body `build` makes from flat nodes."""
    # The body depends on the node (its shapes and attributes), so each node has its own.
    body = FuncGraph(call.graph)
    # Inside, `cond` and `while_loop` must not make functional nodes again.
    body.functional_control_flow = False
    with body.as_default():
        arguments = [body.add_input(t.dtype, t._sizes, f"arg_{i}") for i, t in enumerate(call.inputs)]
        # Handle data tell what is behind resources and variants, for shape inference inside.
        for inner, outer in zip(arguments, call.inputs):
            inner._handle_data = outer._handle_data
        try:
            body.outputs = build(arguments)
        except ValueError as e:
            raise errors.InvalidArgumentError(call.node_def, call, str(e)) from e
    return GraphFunction(call.type, body, argument_names(body.inputs), argument_names(body.outputs), {})


def _run(function: GraphFunction, arguments: list[Tensor]) -> list[Tensor]:
    """Adds copies of a function's nodes to the default graph; returns its results, which wait for its side effects."""
    graph, count = get_default_graph(), len(function.body.inputs)
    if len(arguments) != count:
        raise errors.InvalidArgumentError(None, None, f"{function.name}: Expects {count} arguments, but {len(arguments)} is provided")
    for i, (given, inner) in enumerate(zip(arguments, function.body.inputs)):
        if given.dtype.base_dtype != inner.dtype.base_dtype:
            expected, actual = (dtypes.cpp_name(t.dtype.base_dtype.name) for t in (inner, given))
            raise errors.InvalidArgumentError(None, None, f"{function.name}: Expects arg[{i}] to be {expected} but {actual} is provided")

    made, values = copied(function.body, arguments, copier_into(graph))
    acting = [made[node] for node in acting_nodes(body_nodes(function.body))]
    # Shapes known in the function also hold for its copy.
    results = [values[t] for t in function.body.outputs]
    for result, inner in zip(results, function.body.outputs):
        result.set_shape(inner.shape)
    if not acting and results:
        return results
    # A branch must return something for the conditional to wait for: without results, a constant.
    with graph.control_dependencies(acting):
        return [t if t.dtype.base_dtype == dtypes.resource else raw.Identity(t) for t in results] or [constant(0)]


def _joined(results: Any, call: CallOperation) -> list[Tensor]:
    """Returns the results of a conditional, without the constant that a branch without results returns."""
    return list(results)[: len(call.outputs)]
