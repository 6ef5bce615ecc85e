"""Functions of arrays made of a graph, gradients, and choices of tf.keras.backend."""

from __future__ import annotations

import inspect
import itertools
import sys
from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes, nest, tf2
from tfcompat._src.base.composite_tensor import CompositeTensor
from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.function import eager_call
from tfcompat._src.function.tracing import Traced
from tfcompat._src.gradients.gradients import gradients as graph_gradients
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import (
    control_dependencies,
    executing_eagerly_outside_functions,
    get_default_graph,
    init_scope,
)
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.graph.tensor_like import is_tensor
from tfcompat._src.keras.backend.session import get_graph, get_session, learning_phase
from tfcompat._src.keras.backend.values import cast_variables_to_tensor, ndim
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.function_body import FuncGraph, spec_of
from tfcompat._src.ops.array import constant as array_constants
from tfcompat._src.ops.array.fill import ones_like
from tfcompat._src.ops.array.join import concat, tile
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.control.printing import print_v2
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.runtime.session.fetches import AnyShape
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.train.moving_averages import assign_moving_average
from tfcompat._src.variables import assign, functional

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.operation import Operation


class GraphExecutionFunction:
    """A function of the values of `inputs` that computes `outputs` and runs `updates`, in Keras' session.

    Args:
      inputs: a nest of placeholders.
      outputs: a nest of tensors.
      updates: list of operations or pairs (variable, new value).
      feed_dict: dict from a tensor to the value that it always gets.
      fetches: what is computed besides, handed to `fetch_callbacks`, a dict from it to a function of its value.
      options, run_metadata: as in Session.run.

    Raises:
      TypeError: `updates` is no list. ValueError: another keyword is given.
    """

    def __init__(
        self, inputs: Any, outputs: Any, updates: Any = None, name: str | None = None, feed_dict: dict | None = None,
        fetches: object = (), options: Any = None, run_metadata: Any = None, **session_kwargs: Any,
    ) -> None:  # fmt: skip
        if not isinstance(updates or [], (list, tuple)):
            raise TypeError("`updates` in a Keras backend function should be a list or tuple.")
        if session_kwargs:
            raise ValueError(f"Some keys in session_kwargs are not supported at this time: {session_kwargs.keys()}")
        self.name, self.feed_dict, self.run_options, self.run_metadata = name, feed_dict, options, run_metadata
        self._outputs_structure = outputs
        self.inputs = nest.flatten(inputs, expand_composites=True)
        self.outputs = cast_variables_to_tensor(nest.flatten(outputs, expand_composites=True))
        with control_dependencies([self.outputs[0]]):
            self.updates_op = group(*(assign.assign(*u) if isinstance(u, tuple) else u for u in updates or []))
        self.fetches = [array_constants.identity(x) for x in (fetches if isinstance(fetches, (list, tuple)) else [fetches])]
        self.fetch_callbacks: dict[Any, Callable] = {}
        self._made: tuple[Any, ...] = ()
        self._call: Callable | None = None

    def _callable(self, session: SessionLike, fed: list[Tensor]) -> Callable:
        """The session's function for feeding `fed`, kept until what is fed or fetched changes."""
        wanted = (session, *fed, None, *self.fetches)
        if len(wanted) != len(self._made) or any(a is not b for a, b in zip(wanted, self._made)):
            fetches = [*self.outputs, *self.fetches, self.updates_op]
            self._call = session.make_callable(fetches, [*fed, *(self.feed_dict or {})], accept_options=True)
            self._made = wanted
        return self._call

    def __call__(self, inputs: object) -> Any:
        """The values of the outputs, nested as they are.

        Args:
          inputs: nest of arrays; a tensor in it is computed first; None leaves out a placeholder with a default.
        """
        values = nest.flatten(inputs, expand_composites=True)
        session = get_session(values)
        given = [(x, value) for x, value in zip(self.inputs, values) if value is not None]
        tensors = [value for _, value in given if is_tensor(value)]
        computed = iter(session.run(tensors) if tensors else ())
        arrays = [
            np.asarray(next(computed) if is_tensor(value) else value, dtype=x.dtype.as_numpy_dtype) for x, value in given
        ]
        always = [np.asarray(v, dtype=x.dtype.base_dtype.as_numpy_dtype) for x, v in (self.feed_dict or {}).items()]
        call = self._callable(session, [x for x, _ in given])
        found = call(*map(AnyShape, (*arrays, *always)), options=self.run_options, run_metadata=self.run_metadata)
        for fetch, value in zip(self.fetches, found[len(self.outputs) :]):
            if fetch in self.fetch_callbacks:
                self.fetch_callbacks[fetch](value)
        packed = nest.pack_sequence_as(self._outputs_structure, found[: len(self.outputs)], expand_composites=True)
        return nest.map_structure(lambda x: session.run(x) if isinstance(x, CompositeTensor) else x, packed)


_NUMBERS = itertools.count()


class EagerExecutionFunction:
    """A function of the values of `inputs` that computes `outputs` and runs `updates`, of the graph that Keras has of its own.

    Args:
      inputs: a nest of placeholders.
      outputs: a nest of tensors.
      updates: list of operations or pairs (variable, new value).

    Raises:
      TypeError: `updates` is no list.
    """

    def __init__(self, inputs: Any, outputs: Any, updates: Any = None, name: str | None = None) -> None:
        if not isinstance(updates or [], (list, tuple)):
            raise TypeError("`updates` in a Keras backend function should be a list or tuple.")
        self.name, self._outputs_structure = name or "keras_function", outputs
        self.inputs = nest.flatten(inputs, expand_composites=True)
        with get_graph().as_default():
            self.outputs = cast_variables_to_tensor(nest.flatten(outputs, expand_composites=True))
            self._updates = [assign.assign(*u) if isinstance(u, tuple) else u for u in updates or []]
        self._traced = self._lifted()

    def _lifted(self) -> Traced:
        """The nodes between inputs and outputs as a function."""
        with init_scope():
            body = FuncGraph(get_default_graph())
        known = {x: body.add_input(x.dtype, x._sizes, x.op.name) for x in self.inputs}
        with body.as_default():
            for op in _operations_between(known, [x.op for x in self.outputs] + [getattr(u, "op", u) for u in self._updates]):
                _copy(op, body, known)
        return Traced.of(f"__{self.name}_{next(_NUMBERS)}", body, [known[x] for x in self.outputs])

    def __call__(self, inputs: object) -> Any:
        """The values of the outputs, nested as they are.

        Args:
          inputs: nest of arrays or tensors; None for a placeholder stands for its default.

        Raises:
          ValueError: None for a placeholder without a default.
        """
        fed = [_fed(x, value) for x, value in zip(self.inputs, nest.flatten(inputs, expand_composites=True))]
        captured = [self._traced.body.captured_from[t] for t in self._traced.body.inputs[len(self.inputs) :]]
        found = [x.numpy() for x in eager_call.call(self._traced, [*fed, *captured])]
        return nest.pack_sequence_as(self._outputs_structure, found, expand_composites=True)


def _fed(placeholder: Tensor, value: TensorLike) -> Tensor:
    if value is not None:
        value = convert_to_tensor(value)
        return value if value.dtype == placeholder.dtype else cast(value, placeholder.dtype)
    if placeholder.op.type != "PlaceholderWithDefault":
        raise ValueError(f"You must feed a value for placeholder {placeholder}")
    return convert_to_tensor(constant_value(placeholder.op.inputs[0]))


def _operations_between(known: Container[Tensor], wanted: list[Any]) -> list[Any]:
    """The operations that `wanted` need, without those that make `known` tensors, in the order in which they were made."""
    needed, waiting = set(), list(wanted)
    while waiting:
        op = waiting.pop()
        if op not in needed and not (op.outputs and all(x in known for x in op.outputs)):
            needed.add(op)
            waiting += [x.op for x in op.inputs if x not in known] + list(op.control_inputs)
    return sorted(needed, key=lambda op: op._id)


def _copy(op: Operation, body: FuncGraph, known: dict[Tensor, Tensor]) -> None:
    """Makes an operation again in `body`; what its graph has captured is captured there."""
    captured_from = op.graph.captured_from
    if op.outputs and op.outputs[0] in captured_from:
        known[op.outputs[0]] = body.capture(captured_from[op.outputs[0]])
        return
    if op.type == "Placeholder":
        raise ValueError(f"You must feed a value for placeholder {op.outputs[0]}")
    for name, function in op.graph._functions.items():
        body._functions.setdefault(name, function)
    with body.device(op.device):
        made = body.make_op(
            spec_of(op), body.unique_name(op.name), [known[x] for x in op.inputs], dict(op.attrs), [x.dtype for x in op.outputs]
        )
    for old, new in zip(op.outputs, made.outputs):
        known[old] = new
        new._handle_data = old._handle_data


@export("keras.backend.function")
def function(inputs: Any, outputs: Any, updates: Any = None, name: str | None = None, **kwargs: Any) -> Any:
    """A function of arrays that computes tensors; arguments as in GraphExecutionFunction.

    Raises:
      ValueError: a keyword that Session.run does not take, or any where operations run when they are called.
    """
    if executing_eagerly_outside_functions():
        if kwargs:
            raise ValueError(f"Session keyword arguments are not support during eager execution. You passed: {kwargs}")
        return EagerExecutionFunction(inputs, outputs, updates=updates, name=name)
    for key in kwargs:
        if key not in inspect.signature(Session.run).parameters:
            raise ValueError(f'Invalid argument "{key}" passed to K.function with TensorFlow backend')
    return GraphExecutionFunction(inputs, outputs, updates=updates, name=name, **kwargs)


@export("keras.backend.gradients")
def gradients(loss: object, variables: object) -> list[Any]:
    """The gradients of `loss` with respect to `variables`."""
    return graph_gradients(loss, variables, colocate_gradients_with_ops=True)


@export("keras.backend.stop_gradient")
def stop_gradient(variables: TensorLike) -> Any:
    """`variables`, a tensor or a list of them, through which no gradient flows."""
    if isinstance(variables, (list, tuple)):
        return map(array_constants.stop_gradient, variables)
    return array_constants.stop_gradient(variables)


@export("keras.backend.print_tensor")
def print_tensor(x: TensorLike, message: str = "") -> Tensor:
    """`x`; computing it prints `message` and its value."""
    with control_dependencies([print_v2(message, x, output_stream=sys.stdout)]):
        return array_constants.identity(x)


# ---- updates ----


@export("keras.backend.update")
def update(x: TensorLike, new_x: TensorLike) -> Any:
    """Sets the variable `x`."""
    return assign.assign(x, new_x)


@export("keras.backend.update_add")
def update_add(x: TensorLike, increment: TensorLike) -> Any:
    """Adds to the variable `x`."""
    return assign.assign_add(x, increment)


@export("keras.backend.update_sub")
def update_sub(x: TensorLike, decrement: TensorLike) -> Any:
    """Subtracts from the variable `x`."""
    return assign.assign_sub(x, decrement)


@export("keras.backend.moving_average_update")
def moving_average_update(x: TensorLike, value: object, momentum: object) -> Any:
    """Moves the variable `x` towards `value`, corrected for its start at zero."""
    return assign_moving_average(x, value, momentum, zero_debias=not tf2.enabled())


# ---- choices ----


def _as_function(expression: object) -> Callable:
    return expression if callable(expression) else lambda: expression


@export("keras.backend.switch")
def switch(condition: Any, then_expression: object, else_expression: object) -> Any:
    """One of two tensors, or functions that make one.

    Args:
      condition: a scalar, or a tensor whose rank is at most that of the expressions and whose elements choose.

    Raises:
      ValueError: the rank of `condition` is larger.
    """
    if condition.dtype != dtypes.bool:
        condition = cast(condition, "bool")
    rank = ndim(condition)
    if not rank:
        return cond(condition, _as_function(then_expression), _as_function(else_expression))
    chosen, other = _as_function(then_expression)(), _as_function(else_expression)()
    if rank > ndim(chosen):
        raise ValueError(
            "Rank of `condition` should be less than or equal to rank of `then_expression` and `else_expression`. "
            f"ndim(condition)={rank}, ndim(then_expression)={ndim(chosen)}"
        )
    if rank > 1:
        small = concat([shape_of(condition), [1] * (ndim(chosen) - rank)], axis=0)
        condition = reshape(condition, small)
        wanted = shape_of(chosen)
        missing = wanted - small
        condition = tile(condition, where(missing > 0, wanted, ones_like(wanted)))
    return where(condition, chosen, other)


@export("keras.backend.in_train_phase")
def in_train_phase(x: object, alt: object, training: TensorLike | None = None) -> Any:
    """`x` where the layers train, else `alt`; tensors, or functions that make one.

    Args:
      training: a bool, 0 or 1, or a scalar tensor; the learning phase by default.
    """
    training = learning_phase() if training is None else training
    if not is_tensor(training) and training in (0, 1):
        return _as_function(x if training else alt)()
    return switch(training, x, alt)


@export("keras.backend.in_test_phase")
def in_test_phase(x: object, alt: object, training: TensorLike | None = None) -> Any:
    """`x` where the layers infer, else `alt`; arguments as in `in_train_phase`."""
    return in_train_phase(alt, x, training=training)


# ---- functions of elements ----


@export("keras.backend.map_fn")
def map_fn(fn: Callable, elems: object, name: str | None = None, dtype: object = None) -> Any:
    """`fn` of each element along the first dimension, stacked."""
    return functional.map_fn(fn, elems, name=name, dtype=dtype)


@export("keras.backend.foldl")
def foldl(fn: Callable, elems: object, initializer: object = None, name: str | None = None) -> Any:
    """`fn(accumulated, element)` over the first dimension, from its beginning."""
    return functional.foldl(fn, elems, initializer=initializer, name=name)


@export("keras.backend.foldr")
def foldr(fn: Callable, elems: object, initializer: object = None, name: str | None = None) -> Any:
    """`fn(accumulated, element)` over the first dimension, from its end."""
    return functional.foldr(fn, elems, initializer=initializer, name=name)
