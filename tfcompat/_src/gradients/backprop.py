"""The function transformations of tf.contrib.eager: gradients of Python functions, computed with a GradientTape."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.base.export import export
from tfcompat._src.gradients.tape import GradientTape
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.variables.resource_variable import is_resource_variable


@export("contrib.eager.implicit_value_and_gradients")
def implicit_val_and_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """Transforms `f` into a function that returns its value and its gradients with respect to the trainable variables that it reads.

    Args:
      f: function of any arguments that returns a scalar tensor.

    Returns:
      a function of the same arguments, to (value, list of (gradient, variable) pairs).

    Raises (when it is called):
      ValueError: `f` returns None, or reads no trainable variable.
    """

    def grad_fn(*args: object, **kwds: object) -> tuple[Any, list[tuple[Any, ...]]]:
        with GradientTape() as tape:
            result = f(*args, **kwds)
            if result is None:
                raise ValueError(_NONE.format(getattr(f, "__name__", f)))
            _watch_results(result)
        # Outside of the block: a tape inside would record its own gradient.
        variables = tape.watched_variables()
        if not variables:
            raise ValueError("No trainable variables were accessed while the function was being computed.")
        return result, list(zip(tape.gradient(result, list(variables)), variables))

    return grad_fn


_NONE = "Cannot differentiate a function that returns None; did you forget to return a value from {}?"


def _watch_results(result: object) -> None:
    """Converts the leaves of a result to tensors while the tape records, so that a returned variable counts as read."""
    for leaf in nest.flatten(result):
        if not isinstance(leaf, str):
            convert_to_tensor(leaf)


@export("contrib.eager.implicit_gradients")
def implicit_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """`implicit_value_and_gradients` that returns the list of (gradient, variable) pairs only."""
    return lambda *args, **kwds: implicit_val_and_grad(f)(*args, **kwds)[1]


@export("contrib.eager.value_and_gradients_function")
def val_and_grad_function(f: Callable[..., Any], params: Sequence[Any] | None = None) -> Callable[..., Any]:
    """Transforms `f` into a function that returns its value and its gradients with respect to arguments.

    Args:
      f: function of tensors. params: positions or names of the arguments; by default all.

    Returns:
      a function of the same positional arguments, to (value, list of gradients); its keyword `dy` is the cotangent of the value.

    Raises (when it is called):
      ValueError: a name in `params` is no argument of `f`, keyword arguments are given, or `f` returns None.
    """

    def decorated(*args: object, **kwds: object) -> tuple[Any, list[Any]]:
        dy = kwds.pop("dy", None)
        if kwds:
            raise ValueError("Functions to be differentiated cannot receive keyword arguments.")
        value, vjp = make_vjp(f, params)(*args)
        return value, vjp(dy)

    return decorated


@export("contrib.eager.gradients_function")
def gradients_function(f: Callable[..., Any], params: Sequence[Any] | None = None) -> Callable[..., Any]:
    """`value_and_gradients_function` that returns the list of gradients only."""
    return lambda *args, **kwds: val_and_grad_function(f, params)(*args, **kwds)[1]


def make_vjp(f: Callable[..., Any], params: Sequence[Any] | None = None, persistent: bool = True) -> Callable[..., Any]:
    """Transforms `f` into a function that returns its value and its vector-Jacobian product.

    Args:
      f: function of tensors. params: positions or names of the arguments; by default all.
      persistent: whether the vector-Jacobian product may be called more than once.

    Returns:
      a function of the same positional arguments, to (value, vjp); `vjp(dy)` returns the list of the arguments' gradients.

    Raises:
      ValueError: a name is no argument of `f`; or, when it is called, keyword arguments are given or `f` returns None.
    """
    positions = _positions(f, params)

    @functools.wraps(f)
    def decorated(*args: object, **kwds: object) -> tuple[Any, Callable[..., Any]]:
        if kwds:
            raise ValueError("Functions to be differentiated cannot receive keyword arguments.")
        chosen = range(len(args)) if positions is None else positions
        taken = list(args)
        tape = GradientTape(persistent=persistent)
        with tape:
            # The tape watches what f gets: tensors, and resource variables themselves, whose handles receive the gradients.
            sources = []
            for i in chosen:
                if not is_resource_variable(taken[i]):
                    taken[i] = convert_to_tensor(taken[i])
                sources.append(taken[i])
                tape.watch(taken[i])
            result = f(*taken)
            if result is None:
                raise ValueError(_NONE.format(getattr(f, "__name__", f)))
            flat = [convert_to_tensor(r) for r in nest.flatten(result)]
            result = nest.pack_sequence_as(result, flat)

        def vjp(dy: object = None) -> list[Any]:
            given = None if dy is None else [convert_to_tensor(d) for d in nest.flatten(dy)]
            grads: list[Any] = tape.gradient(flat, sources, output_gradients=given)
            return grads

        return result, vjp

    return decorated


def _positions(f: Callable[..., Any], params: Sequence[Any] | None) -> list[int] | None:
    """Returns the positions of the arguments `params`; None for all arguments.

    Raises:
      ValueError: f's arguments are unknown, or a name is none of them.
    """
    if params is None:
        return None
    try:
        names = list(inspect.signature(f).parameters)
    except (TypeError, ValueError):
        raise ValueError("Either callable provided is not a function or could not inspect its arguments by name") from None
    positions = []
    for param in params:
        if isinstance(param, str) and param not in names:
            raise ValueError(f"params must be all strings or all integers that name arguments of the function; got {params}.")
        positions.append(names.index(param) if isinstance(param, str) else param)
    return positions
