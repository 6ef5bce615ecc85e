"""Jacobians of functions of tensors, by tf.gradients and by central differences (TensorFlow 2's form of the check)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfcompat._src.framework import dtypes
from tfcompat._src.framework.convert import convert_to_tensor
from tfcompat._src.framework.default_stack import SESSIONS
from tfcompat._src.framework.indexed_slices import IndexedSlicesValue
from tfcompat._src.framework.tensor import Tensor
from tfcompat._src.gradients.gradients import gradients
from tfcompat._src.ops.array.constant import placeholder
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.testing.gradient_checker import largest_difference, numeric_jacobian, theoretical_jacobian


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


def _to_numpy(value: Any) -> Any:
    """A Tensor's value in the default session, IndexedSlicesValue as the dense array that they are parts of, or anything else itself."""
    if isinstance(value, Tensor):
        return SESSIONS.top().run(value)
    if isinstance(value, IndexedSlicesValue):
        dense = np.zeros(value.dense_shape)
        np.add.at(dense, value.indices, value.values)
        return dense
    return value


def _backprop(run: Callable, slope: Any, feed: dict, dy: Tensor) -> Callable[[np.ndarray], Any]:
    return lambda dy_value: run(slope, {**feed, dy: dy_value})


def _at(run: Callable, y: Tensor, feed: dict, x: Tensor) -> Callable[[np.ndarray], Any]:
    return lambda value: run(y, {**feed, x: value})


def max_error(grad1: Sequence[np.ndarray], grad2: Sequence[np.ndarray]) -> Any:
    """The largest absolute difference of two lists of Jacobians."""
    return largest_difference(list(zip(grad1, grad2)))
