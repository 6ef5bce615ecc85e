"""Jacobians of functions of tensors, by tf.gradients and by central differences (TensorFlow 2's form of the check)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.default_stack import SESSIONS
from tfcompat._src.base.export import export
from tfcompat._src.gradients.gradients import gradients
from tfcompat._src.gradients.tape import GradientTape
from tfcompat._src.graph.eager_tensor import EagerTensor
from tfcompat._src.graph.scopes import executing_eagerly
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.indexed_slices import IndexedSlices, IndexedSlicesValue
from tfcompat._src.ops.array.constant import placeholder
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.testing.gradient_checker import largest_difference, numeric_jacobian, theoretical_jacobian

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("compat.v2.test.compute_gradient")
def compute_gradient(
    f: Callable, x: list[Any], delta: float = 1e-3
) -> tuple[Sequence[np.ndarray], Sequence[np.ndarray]]:
    """The Jacobians of `f(*x)` with respect to each of `x`, in the default session.

    Args:
      f: function of tensors that gives one tensor.
      x: list of tensors or what converts to them.
      delta: half the distance of the two points of a difference.

    Returns:
      a pair: the Jacobians by tf.gradients and those by differences, one of shape [elements of x[i], elements of
        y] for each i.

    Raises:
      ValueError: `x` is no list, or a gradient has a wrong shape.
    """
    if not isinstance(x, list):
        raise ValueError(f"`x` must be a list of Tensors (arguments to `f`), not a {type(x)}")
    if executing_eagerly():
        return _eager_jacobians(f, [convert_to_tensor(v).numpy() for v in x], delta)
    run = SESSIONS.top().run
    values = [run(convert_to_tensor(v)) for v in x]
    inputs = [placeholder(dtypes.as_dtype(v.dtype), v.shape) for v in values]
    y = convert_to_tensor(f(*inputs))
    feed = dict(zip(inputs, values))
    y_shape = run(y, feed).shape
    dy = placeholder(y.dtype, y_shape)
    slopes = gradients(y, inputs, grad_ys=dy)
    out = cast(y, dtypes.float32) if y.dtype == dtypes.bfloat16 else y
    pairs = []
    for tensor, value, slope in zip(inputs, values, slopes):
        by_rule = theoretical_jacobian(_backprop(run, slope, feed, dy), value.shape, tensor.dtype, y_shape, y.dtype)
        at = _at(run, out, feed, tensor)
        pairs.append((by_rule, numeric_jacobian(at, value, tensor.dtype, y_shape, out.dtype, delta)))
    by_rules, by_differences = zip(*pairs)
    return by_rules, by_differences


def _eager_jacobians(f: Callable, values: list[Any], delta: float) -> tuple[Sequence[np.ndarray], Sequence[np.ndarray]]:
    y = convert_to_tensor(f(*map(convert_to_tensor, values)))
    y_shape = np.shape(y.numpy())
    out_dtype = dtypes.float32 if y.dtype == dtypes.bfloat16 else y.dtype

    def slope(dy: np.ndarray, i: int) -> Any:
        inputs = [convert_to_tensor(v) for v in values]
        with GradientTape() as tape:
            tape.watch(inputs[i])
            result = convert_to_tensor(f(*inputs))
        found = tape.gradient(result, inputs[i], output_gradients=convert_to_tensor(dy.astype(y.dtype.as_numpy_dtype)))
        return np.zeros_like(values[i]) if found is None else _to_numpy(found)

    def at(value: np.ndarray, i: int) -> np.ndarray:
        result = f(*[convert_to_tensor(value if k == i else v) for k, v in enumerate(values)])
        return cast(convert_to_tensor(result), out_dtype).numpy()

    by_rules, by_differences = [], []
    for i, value in enumerate(values):
        dtype = dtypes.as_dtype(value.dtype)
        by_rules.append(theoretical_jacobian(functools.partial(slope, i=i), value.shape, dtype, y_shape, y.dtype))
        by_differences.append(numeric_jacobian(functools.partial(at, i=i), value, dtype, y_shape, out_dtype, delta))
    return by_rules, by_differences


def _to_numpy(value: TensorLike) -> Any:
    """A Tensor's value in the default session, IndexedSlicesValue as the dense array that they are parts of, or anything else itself."""
    if isinstance(value, EagerTensor):
        return value.numpy()
    if isinstance(value, IndexedSlices) and executing_eagerly():
        return convert_to_tensor(value).numpy()
    if isinstance(value, Tensor):
        return SESSIONS.top().run(value)
    if isinstance(value, IndexedSlicesValue):
        dense = np.zeros(value.dense_shape)
        np.add.at(dense, value.indices, value.values)
        return dense
    return value


def _backprop(run: Callable, slope: object, feed: dict, dy: Tensor) -> Callable[[np.ndarray], Any]:
    return lambda dy_value: run(slope, {**feed, dy: dy_value})


def _at(run: Callable, y: Tensor, feed: dict, x: Tensor) -> Callable[[np.ndarray], Any]:
    return lambda value: run(y, {**feed, x: value})


def max_error(grad1: Sequence[np.ndarray], grad2: Sequence[np.ndarray]) -> Any:
    """The largest absolute difference of two lists of Jacobians."""
    return largest_difference(list(zip(grad1, grad2)))
