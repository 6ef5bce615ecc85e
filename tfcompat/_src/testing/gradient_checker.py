"""tf.test.compute_gradient: Jacobians by tf.gradients and by central differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.default_stack import SESSIONS
from tfcompat._src.base.export import export
from tfcompat._src.gradients.gradients import gradients
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.math.cast import cast

_ALLOWED = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128)


@export("test.compute_gradient")
def compute_gradient(
    x: Any, x_shape: Any, y: Tensor, y_shape: Any, x_init_value: Any = None, delta: float = 1e-3,
    init_targets: object = None,
    extra_feed_dict: dict | None = None,
) -> Any:  # fmt: skip
    """The Jacobian of `y` with respect to `x`, by tf.gradients and by central differences, in the default session.

    Args:
      x: a tensor, or a list of them.
      x_shape: its shape, or a list of shapes.
      y: a tensor.
      y_shape: its shape.
      x_init_value: an array, or a list of them, where the derivative is taken; by default random numbers in [0, 1).
      delta: half the distance of the two points of a difference.
      init_targets: operations to run first.
      extra_feed_dict: what else is fed.

    Returns:
      two arrays of shape [elements of x, elements of y], or a list of such pairs; a complex number counts as two
      elements.

    Raises:
      AssertionError: a dtype is not floating, or `x_init_value` has another shape. ValueError: a gradient has a
        wrong shape.
    """
    if not isinstance(init_targets, (list, tuple, type(None))):
        raise AssertionError(f"init_targets must be a list or tuple of operations, not {init_targets!r}")
    is_list = isinstance(x, list)
    xs, x_shapes = (x, x_shape) if is_list else ([x], [x_shape])
    values = [None] * len(xs) if x_init_value is None else x_init_value if is_list else [x_init_value]
    slopes = [_compute_dx_and_dy(xi, y, y_shape) for xi in xs]
    for target in init_targets or ():
        target.run()
    feed = extra_feed_dict or {}
    found = [
        _jacobians(xi, shape, y, y_shape, dx, dy, value, delta, feed)
        for xi, shape, (dx, dy), value in zip(xs, x_shapes, slopes, values)
    ]
    return found if is_list else found[0]


@export("test.compute_gradient_error")
def compute_gradient_error(
    x: object, x_shape: object, y: Tensor, y_shape: object, x_init_value: object = None, delta: float = 1e-3,
    init_targets: object = None,
    extra_feed_dict: dict | None = None,
) -> Any:  # fmt: skip
    """The largest absolute difference of the two Jacobians of `compute_gradient`, which see."""
    found = compute_gradient(x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict)
    return largest_difference(found if isinstance(found, list) else [found])


def largest_difference(pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> Any:
    """The largest absolute difference of two arrays of a pair, 0 where they are empty."""
    return max((np.fabs(a - b).max() for a, b in pairs if a.size or b.size), default=0)


def _compute_dx_and_dy(x: Tensor, y: Tensor, y_shape: object) -> tuple[Any, Tensor]:
    """The gradient of y by x for a gradient of y that can be fed."""
    with x.graph.as_default():
        dy = constant(1.0, shape=y_shape, dtype=y.dtype)
        dx = gradients(y, x, identity(dy))[0]
        if dx is None:
            raise AssertionError(f"{y} does not depend on {x}")
        return dx, dy


def _jacobians(x, x_shape, y, y_shape, dx, dy, value, delta, feed) -> tuple[np.ndarray, np.ndarray]:
    for tensor, label in ((x, "x"), (y, "y")):
        if tensor.dtype.base_dtype not in _ALLOWED:
            raise AssertionError(f"Don't support type {tensor.dtype.name} for {label}")
    if value is None:
        value = random_values(x_shape, x.dtype)
    if list(x_shape) != list(value.shape):
        raise AssertionError(f"x_shape = {x_shape}, init_data shape = {value.shape}")
    by_rule = _compute_theoretical_jacobian(x, value.shape, value, dy, y_shape, dx, feed)
    return by_rule, _compute_numeric_jacobian(x, value.shape, value, y, y_shape, delta, feed)


def _compute_theoretical_jacobian(
    x: Tensor, x_shape: Any, x_data: np.ndarray, dy: Tensor, dy_shape: Any, dx: Any, extra_feed_dict: dict | None
) -> np.ndarray:
    """Returns the Jacobian by gradients: `dx`, a Tensor or IndexedSlices, for each `dy` with a single 1."""
    run, feed = SESSIONS.top().run, extra_feed_dict or {}
    return theoretical_jacobian(lambda value: run(dx, {**feed, x: x_data, dy: value}), x_shape, x.dtype, dy_shape, dy.dtype)


def _compute_numeric_jacobian(
    x: Tensor, x_shape: Any, x_data: np.ndarray, y: Tensor, y_shape: Any, delta: float, extra_feed_dict: dict | None
) -> np.ndarray:
    """Returns the Jacobian by central differences of `y` with the step `delta`."""
    run, feed = SESSIONS.top().run, extra_feed_dict or {}
    out = cast(y, dtypes.float32) if y.dtype == dtypes.bfloat16 else y
    value = np.reshape(x_data, x_shape)
    return numeric_jacobian(lambda at: run(out, {**feed, x: at}), value, x.dtype, y_shape, out.dtype, delta)


def random_values(shape: Any, dtype: dtypes.DType) -> np.ndarray:
    """Numbers in [0, 1); complex ones have both parts in it."""
    value = np.random.random_sample(shape).astype(dtype.as_numpy_dtype)
    if dtype.is_complex:
        value.imag = np.random.random_sample(shape)
    return value


def _parts(shape: Any, dtype: dtypes.DType) -> int:
    """How many real numbers a tensor holds."""
    return int(np.prod(shape, dtype=np.int64)) * (2 if dtype.is_complex else 1)


def theoretical_jacobian(
    backprop: Callable[[np.ndarray], Any], x_shape: Any, x_dtype: dtypes.DType, y_shape: Any, y_dtype: dtypes.DType
) -> np.ndarray:
    """The Jacobian column by column: `backprop(dy)` is an array, or IndexedSlices of arrays, for a dy with a
    single 1.
    """
    real = x_dtype.real_dtype.as_numpy_dtype
    jacobian = np.zeros((_parts(x_shape, x_dtype), _parts(y_shape, y_dtype)), real)
    dy = np.zeros(y_shape, y_dtype.as_numpy_dtype)
    flat = dy.reshape(-1).view(y_dtype.real_dtype.as_numpy_dtype)
    for column in range(jacobian.shape[1]):
        flat[column] = 1
        jacobian[:, column] = _whole(backprop(dy), x_shape, x_dtype).reshape(-1).view(real)
        flat[column] = 0
    if not jacobian.shape[1]:
        found = _whole(backprop(dy), x_shape, x_dtype)
        if found.shape != tuple(x_shape):
            raise ValueError(f"Empty gradient has wrong shape: expected {tuple(x_shape)}, got {found.shape}")
        if np.any(found):
            raise ValueError("Empty tensor with nonzero gradients")
    return jacobian


def _whole(grad: Any, shape: Any, dtype: dtypes.DType) -> np.ndarray:
    if not hasattr(grad, "indices"):
        return np.array(grad, order="C")
    total = np.zeros(shape, dtype.as_numpy_dtype)
    np.add.at(total, grad.indices, grad.values)
    return total


def numeric_jacobian(
    f: Callable[[np.ndarray], Any],
    value: np.ndarray,
    x_dtype: dtypes.DType,
    y_shape: object,
    y_dtype: dtypes.DType,
    delta: float,
) -> np.ndarray:
    """The Jacobian row by row: `(f(x + delta) - f(x - delta)) / (2 * delta)` for each element of x."""
    step_dtype = np.float32 if x_dtype == dtypes.bfloat16 else x_dtype.as_numpy_dtype
    x_real = np.zeros(0, step_dtype).real.dtype
    y_real = y_dtype.real_dtype.as_numpy_dtype
    value = np.array(value, step_dtype, order="C")
    scale = np.asarray(2 * delta, y_real)[()]
    jacobian = np.zeros((_parts(value.shape, x_dtype), _parts(y_shape, y_dtype)), x_real)
    for row in range(jacobian.shape[0]):
        ends = []
        for sign in (1, -1):
            at = value.copy()
            at.reshape(-1).view(x_real)[row] += sign * delta
            ends.append(np.asarray(f(at.astype(x_dtype.as_numpy_dtype, copy=False))))
        jacobian[row] = ((ends[0] - ends[1]) / scale).reshape(-1).view(y_real)
    return jacobian
