"""tf.contrib.layers.recompute_grad: a function's activations are computed again for its gradient."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.framework.arg_scope import arg_scope, current_arg_scope
from tfcompat._src.contrib.layers.rev_block import safe_wraps
from tfcompat._src.gradients.custom_gradient import custom_gradient
from tfcompat._src.gradients.gradients import gradients
from tfcompat._src.gradients.tape import GradientTape
from tfcompat._src.graph.scopes import control_dependencies, get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.constant import identity, stop_gradient
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.ops.array.slice import slice_
from tfcompat._src.ops.control.control_flow_util import GetContainingXLAContext
from tfcompat._src.ops.control.groups import tuple_
from tfcompat._src.ops.math.scan import add_n
from tfcompat._src.variables.scope import get_variable_scope, variable_scope
from tfcompat._src.variables.variable import Variable

FROM_CONTEXT = "__rev_block_lib_default"
_OTHER_VARIABLES = (
    "The variables used on recompute were different than the variables originally used: the function wrapped with "
    "@recompute_grad makes a variable scope with a default name, and has been called twice in the same enclosing scope. Give "
    "each call a variable scope of its own."
)


def enable_with_args(dec: Callable) -> Callable:
    """A decorator that may be written with arguments, or without and without parentheses."""

    @safe_wraps(dec)
    def decorator(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and callable(args[0]):
            return dec(args[0])
        return lambda function: dec(function, *args, **kwargs)

    return decorator


@export("contrib.layers.recompute_grad", "contrib.slim.recompute_grad")
@enable_with_args
def recompute_grad(fn: Callable, use_data_dep: bool | str = FROM_CONTEXT, tupleize_grads: bool = False) -> Callable:
    """Decorates a function so that its gradient calls it again in place of keeping what it computed.

    Args:
      fn: function of Tensors, by position, to a Tensor or a tuple of them; it uses resource variables only. Where it has an
        argument `is_recomputing`, that is False in the first call and True in the second.
      use_data_dep: whether the second call waits for the gradients by data, otherwise by control inputs; by default where XLA
        compiles the graph.
      tupleize_grads: whether all gradients are computed before any is used.

    Raises:
      ValueError: `fn` closes over a Tensor or a Variable, whose gradient would be missing; when called: an argument is
        no Tensor; in the gradient: the second call uses other variables.
    """
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or ()):
        if isinstance(cell.cell_contents, (Tensor, Variable)):
            raise ValueError(
                f"fn decorated with @recompute_grad closes over Tensor {cell.cell_contents.name} (local variable name: {name}). The "
                "decorated fn must not close over Tensors or Variables because gradients will NOT be computed for them "
                "through fn. To ensure correct gradients, make the Tensor an input to fn."
            )

    @safe_wraps(fn)
    def wrapped(*args: Any) -> Any:
        if not all(isinstance(each, Tensor) for each in args):
            raise ValueError("All inputs to function must be Tensors")
        return _Recomputed(fn, use_data_dep, tupleize_grads).outputs(args)

    return wrapped


class _Recomputed:
    """One call of a function whose gradient calls it again, in the scopes of the first call."""

    def __init__(self, function: Callable, by_data: bool | str, together: bool) -> None:
        self._function = function
        context = get_default_graph()._get_control_flow_context()
        self._by_data = GetContainingXLAContext(context) is not None if by_data == FROM_CONTEXT else by_data
        self._together = together
        self._says_so = "is_recomputing" in inspect.signature(function).parameters
        self._scope, self._arguments = get_variable_scope(), current_arg_scope()
        self._used: set[Any] = set()

    def outputs(self, args: Any) -> Any:
        @custom_gradient
        def call(*args: Tensor) -> tuple[Any, Callable]:
            outputs, self._used = self._call(args, recomputing=False)

            def of_variables(*grads: Any, **kwargs: Any) -> Any:
                return self._gradient(args, grads, kwargs["variables"])

            def of_none(*grads: Any) -> Any:
                return self._gradient(args, grads, [])

            return outputs, of_variables if self._used else of_none

        return call(*args)

    def _call(self, args: Any, recomputing: bool) -> tuple[Any, set[Any]]:
        with GradientTape() as tape:
            outputs = self._function(*args, **({"is_recomputing": recomputing} if self._says_so else {}))
        return outputs, set(tape.watched_variables())

    def _gradient(self, args: Any, grads: Any, variables: list[Any]) -> tuple[list[Any], list[Any]]:
        if set(variables) != self._used:
            raise ValueError(_OTHER_VARIABLES)
        inputs = [identity(each) for each in args]
        with control_dependencies([each for each in grads if each is not None]):
            if self._by_data:
                inputs = _waiting(grads, inputs)
            with arg_scope(self._arguments), variable_scope(self._scope, reuse=True):
                outputs, used = self._call(inputs, recomputing=True)
        if used != self._used:
            raise ValueError(_OTHER_VARIABLES)
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        found = gradients(outputs, inputs + variables, grads)
        if self._together:
            found = _waiting(found, found) if self._by_data else tuple_(found)
        return found[: len(inputs)], found[len(inputs) :]


def _waiting(first: Any, then: Any) -> list[Any]:
    """The tensors `then` plus a zero that is made of all of `first`."""
    total = add_n([_first_element(each) for each in first if each is not None])
    if not total.dtype.is_floating:
        raise ValueError("_force_data_dependency only supports floating dtypes.")
    zero = stop_gradient(np.finfo(total.dtype.as_numpy_dtype).tiny * total)
    return [each if each is None else identity(each) + zero for each in then]


def _first_element(x: Tensor) -> Tensor:
    if x.shape.ndims is None:
        raise ValueError(f"Rank of Tensor {x} must be known")
    begin, size = (convert_to_tensor([n] * x.shape.ndims, dtype=dtypes.int32) for n in (0, 1))
    return reshape(slice_(x, begin, size), [])
