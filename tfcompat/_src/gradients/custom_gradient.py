"""tf.custom_gradient: functions that bring their own gradient.

In a graph the results, arguments and variables pass through one IdentityN node whose gradient is the user's function, as in TensorFlow 1.15.
With eager execution the call is recorded on the tapes as one operation.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dtypes, nest, recorders
from tfcompat._src.base.export import export
from tfcompat._src.base.gradient_registry import RegisterGradient
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.gradients.gradients import gradients
from tfcompat._src.gradients.tape import GradientTape
from tfcompat._src.graph.eager_tensor import EagerOperation
from tfcompat._src.graph.op_selector import is_differentiable
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies, executing_eagerly, get_collection, get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import zeros_like
from tfcompat._src.platform import logging
from tfcompat._src.variables.resource_variable import is_resource_variable
from tfcompat._src.variables.scope import get_variable_scope
from tfcompat._src.variables.variable import Variable

_NUMBERS = itertools.count(1)
_READS = ("ReadVariableOp", "ResourceGather", "ResourceGatherNd")


def copy_handle_data(source_t: Tensor, target_t: Tensor) -> None:
    """Copies the handle data (dtype and shape behind a resource or variant) of `source_t`, where known, to `target_t`."""
    if target_t.dtype in (dtypes.resource, dtypes.variant) and source_t._handle_data is not None:
        target_t._handle_data = source_t._handle_data


@export("custom_gradient", "contrib.eager.custom_gradient")
def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a function that returns its result together with its gradient function.

    Args:
      f: function of tensors `(*x) -> (y, grad_fn)`. `grad_fn(*grad_ys)` returns one gradient per x. If f uses variables,
        `grad_fn(*grad_ys, variables=None)` returns the list of these and a list with one gradient per variable.

    Returns:
      a function `h(*x) -> y`.

    Raises (when h is called):
      ValueError: keyword arguments are given while a graph is built. TypeError: f uses variables and `grad_fn` takes no
        `variables`, or a variable that f creates is no resource variable.
    """

    @functools.wraps(f)
    def decorated(*args: object, **kwargs: object) -> Any:
        if executing_eagerly():
            return _call_now(f, args, kwargs)
        if kwargs:
            raise ValueError(
                "The custom_gradient decorator currently supports keywords arguments only when eager execution "
                "is enabled."
            )
        return _call(f, [convert_to_tensor(x) for x in args])

    return decorated


def gradient_of_tensors(f: Callable[..., Any]) -> Callable[..., Any]:
    """`custom_gradient` for a function that uses no variables; safe while other threads add nodes to the graph."""
    return lambda *args: _call_now(f, args, {}) if executing_eagerly() else _call(f, [convert_to_tensor(x) for x in args], uses_variables=False)


def _call(f: Callable[..., Any], args: list[Any], uses_variables: bool = True) -> Any:
    """Calls f while a graph is built, and routes the result through an IdentityN node with the user's gradient."""
    graph = get_default_graph()
    name = f"CustomGradient-{next(_NUMBERS)}"
    first_op = len(graph.get_operations())
    # Variables that exist already are not checked: f need not be the one that uses them.
    known = set(_scope_variables())
    result, grad_fn = f(*args)
    for variable in _scope_variables():
        if variable not in known and not is_resource_variable(variable):
            raise TypeError(
                "All variables used by a function wrapped with @custom_gradient must be `ResourceVariable`s. "
                "Ensure that no `variable_scope` is created with `use_resource=False`."
            )
    # The Identity nodes are in the graph of TensorFlow 1.15 too; names of later nodes depend on them.
    outputs = nest.flatten(result)
    ends = [raw.Identity(y) for y in outputs]
    variables = _variables_of(graph.get_operations()[first_op:], args, ends) if uses_variables else []
    _check_signature(grad_fn, bool(variables))

    @RegisterGradient(name)
    def gradient(op: Operation, *grads: Tensor) -> list[Any]:
        # IdentityN also forwards arguments and variables, so that gradients reach them; only the results have cotangents.
        grads = grads[: len(outputs)]
        if not variables:
            return [None] * len(outputs) + nest.flatten(grad_fn(*grads))
        input_grads, variable_grads = grad_fn(*grads, variables=variables)
        if len(variable_grads) != len(variables):
            raise ValueError("Must return gradient for each variable from @custom_gradient grad_fn.")
        return [None] * len(outputs) + nest.flatten(input_grads) + list(variable_grads)

    with graph.gradient_override_map({"IdentityN": name}):
        copies = raw.IdentityN([*outputs, *args, *variables])
    # IdentityN forwards tensors without handle data.
    for output, copy in zip(outputs, copies):
        copy_handle_data(output, copy)
    for variable in variables:
        convert_to_tensor(variable)
    return nest.pack_sequence_as(result, copies[: len(outputs)])


def _call_now(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[Any, Any]) -> Any:
    """Calls f eagerly and records it on the tapes as one operation with the user's gradient.

    Raises:
      TypeError: f reads trainable variables that are not arguments, and `grad_fn` takes no `variables`.
    """
    # The tapes see nothing of f itself. A recorder in their place collects the variables that f reads.
    read = _ReadVariables()
    with recorders.only(read):
        result, grad_fn = f(*args, **kwargs)
    flat = [convert_to_tensor(y) for y in nest.flatten(result)]
    inputs = [convert_to_tensor(x) for x in nest.flatten(args)]
    variables = [v for v in read.variables if all(v is not x for x in args)]
    _check_signature(grad_fn, bool(variables))
    graph = get_default_graph()
    # Copies: f may return an argument, which must stay distinct from the result of the recorded operation.
    with recorders.stopped():
        outputs = [raw.Identity(y) for y in flat]

    def gradient(op: Operation, *grads: Tensor) -> list[Any]:
        ready = [zeros_like(y) if g is None else g for y, g in zip(op.outputs, grads)]
        if not variables:
            return nest.flatten(grad_fn(*ready))
        input_grads, variable_grads = grad_fn(*ready, variables=variables)
        if len(variable_grads) != len(variables):
            raise ValueError("Must return gradient for each variable from @custom_gradient grad_fn.")
        return nest.flatten(input_grads) + list(variable_grads)

    recorders.record(EagerOperation.of_function(graph, [*inputs, *[v.handle for v in variables]], outputs, gradient))
    return nest.pack_sequence_as(result, outputs)


class _ReadVariables:
    """A recorder that takes the tapes' place while a function runs, and collects the trainable variables that it reads."""

    def __init__(self) -> None:
        self._found: dict[int, Any] = {}

    @property
    def variables(self) -> list[Any]:
        return list(self._found.values())

    def record(self, op: Operation) -> bool:
        for tensor in op.inputs:
            variable = tensor.variable() if tensor.variable is not None else None
            if variable is not None and variable.trainable:
                self._found[id(variable)] = variable
        return False

    def follows(self, tensors: object) -> int:
        return 0


def _scope_variables() -> list[Any]:
    """Returns the variables of the current variable scope."""
    scope = get_variable_scope()
    return scope.global_variables() + scope.local_variables()


def _variables_of(made: list[Operation], args: list[Tensor], ends: list[Tensor]) -> list[Any]:
    """Returns the trainable variables that the operations `made` read, or on which `ends` depend by a path that avoids `args`."""
    trainable = get_collection(GraphKeys.TRAINABLE_VARIABLES)
    # A variable that f creates comes with a node that reads it once; that does not count as a use.
    snapshots = {v._snapshot_tensor().op for v in trainable}
    read = {op.inputs[0] for op in made if op.type in _READS and op not in snapshots} | _sources(ends, args)
    return [v for v in trainable if v.op.outputs[0] in read]


def get_dependent_variables(input_ops: object, output_ops: object) -> list[Variable]:
    """Returns the trainable variables on which `output_ops` depend through differentiable operations, on paths that avoid `input_ops`.

    Args:
      input_ops, output_ops: nests of tensors.
    """
    found = _sources(nest.flatten(output_ops), nest.flatten(input_ops))
    return [v for v in get_collection(GraphKeys.TRAINABLE_VARIABLES) if v.op.outputs[0] in found]


def _sources(ends: list[Tensor], stops: list[Tensor]) -> set[Tensor]:
    """Returns the tensors on which `ends` depend through differentiable operations; the search does not pass `stops`."""
    found: set[Tensor] = set()
    pending = list(ends)
    while pending:
        tensor = pending.pop()
        if tensor not in found and tensor not in stops:
            found.add(tensor)
            pending.extend(tensor.op.inputs if is_differentiable(tensor.op) else ())
    return found


def _check_signature(grad_fn: Callable[..., Any], uses_variables: bool) -> None:
    """Raises TypeError, in TensorFlow's words, unless grad_fn takes `variables` where f uses variables."""
    spec = inspect.getfullargspec(inspect.unwrap(grad_fn))
    takes_variables = "variables" in spec.args or "variables" in spec.kwonlyargs or spec.varkw is not None
    if uses_variables and not takes_variables:
        raise TypeError(
            "If using @custom_gradient with a function that uses variables, then grad_fn must accept a keyword "
            "argument 'variables'."
        )
    # A graph function that announces variables and uses none is an error if they could be ref variables, and a warning otherwise.
    if takes_variables and not uses_variables and not get_default_graph().executes:
        if not get_variable_scope().use_resource:
            raise TypeError(
                "If using @custom_gradient with a function that uses variables, the enclosing variable scope "
                "must have use_resource=True."
            )
        logging.warn(
            "@custom_gradient grad_fn has 'variables' in signature, but no ResourceVariables were used on the "
            "forward pass."
        )


@export("recompute_grad")
def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a function so that its gradient recomputes the function, instead of keeping its intermediate values until then.

    Args:
      f: function of tensors that returns one tensor.

    Returns:
      a function with the same values and gradients.
    """

    @custom_gradient
    def inner(*args: object) -> tuple[Any, Callable[..., Any]]:
        def grad(dresult: Tensor, variables: Any = None) -> tuple[list[Any], list[Any]]:
            sources = [*args, *(variables or ())]
            if executing_eagerly():
                grads = _gradients_now(f, args, sources, dresult)
            else:
                # The control dependency keeps the second evaluation from running before the backward pass gets here.
                with control_dependencies([dresult]):
                    result = f(*args)
                grads = gradients(result, sources, grad_ys=[dresult], stop_gradients=list(args))
            return grads[: len(args)], grads[len(args) :]

        return f(*args), grad

    return inner


def _gradients_now(f: Callable[..., Any], args: tuple[Any, ...], sources: list[Any], dresult: object) -> list[Any]:
    """Evaluates f eagerly again and returns the gradients of `sources` for the cotangent `dresult`."""
    with GradientTape() as tape:
        tape.watch(list(args))
        result = f(*args)
    grads: list[Any] = tape.gradient(result, sources, output_gradients=dresult)
    return grads


@export("grad_pass_through")
def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a function so that its gradient is that of the identity: the gradient of each output becomes that of the input.

    Args:
      f: function of tensors.
    """

    @custom_gradient
    def inner(*args: Any) -> tuple[Any, Callable[..., Any]]:
        def grad(*grads: Any, **kwargs: Any) -> Any:
            variables = kwargs.get("variables")
            return grads if variables is None else (grads, [None] * len(variables))

        return f(*args), grad

    return functools.wraps(f)(inner)
