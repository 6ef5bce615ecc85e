"""Pooling and its gradients as functions of arrays, for two and three spatial dimensions.

`ksize`, `strides` and shapes have one entry per dimension, in the order of `data_format`. The lowering on all platforms
is slices, one per tap of the window, and elementwise arithmetic. Windows of more than 64 taps use `lax.reduce_window`.
Gradients of windows that share no elements, as those of global pooling, compare each element's tap with the window's maximum.

Speed against TensorFlow 1.15.5 (2 cores, float32; above 1 is faster) and XLA's window operations:

| window | max | max gradient | average | average gradient | XLA: the same four |
|---|---|---|---|---|---|
| 2x2 stride 2, 128x28x28x32 | 2.1 | 11 | 5.3 | 1.3 | 0.5, 0.3, 1.0, 5 |
| 3x3 stride 2, 64x32x32x64 | 0.8 to 1.5 | 6.8 | 2.9 | 2.9 | 0.35, 0.25, 1.0, 0.2 |
| 3x3 stride 1, 16x28x28x64 | 1.3 to 1.7 | 7.9 | 5.4 | 6 | 0.3, 0.4, 0.9, 0.9 |
"""

import dataclasses
import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tfcompat._src.ops.math.extremes import without_nan
from tfcompat._src.ops.nn.windows import (
    Window,
    channels_first,
    channels_last,
    first_valid_tap,
    from_channels_last,
    make_window,
    spatial,
    sum_over_windows,
    tap_of_element,
    tap_slices,
    valid_counts,
)

_MOST_TAPS = 64


def max_pool(x: jax.Array, *, ksize: Sequence[int], strides: Sequence[int], padding: str,
             data_format: str) -> jax.Array:
    """MaxPool and MaxPool3D: the largest element of each window.

    x: [batch, *spatial, channels] in data_format order. Returns the same with the spatial dimensions of the windows.
    NaN loses against every number, as on 1.15's CPU, and the result of two dimensions is never below the dtype's lowest
    finite number.
    Raises ValueError where the window spans the batch, or the channels together with spatial dimensions.
    """
    if _depth(ksize, data_format) > 1:
        return _max_pool_depth(x, ksize, strides, data_format)
    window = _pool_window(x.shape, ksize, strides, padding, data_format)
    lowest = _lowest(x.dtype) if x.ndim == 4 else _below_all(x.dtype)
    return from_channels_last(_max(channels_last(x, data_format), window, lowest), data_format)


def max_pool_grad(x: jax.Array, grad: jax.Array, *, ksize: Sequence[int], strides: Sequence[int], padding: str,
                  data_format: str) -> jax.Array:
    """MaxPoolGrad: each window's gradient goes to its first largest element in row-major order.

    x: the pooled input; grad: of the output's shape. 1.15 finds the maxima again and does not read orig_output; a NaN
    in a window's first place counts as its maximum (not in windows of more than 64 taps).
    """
    window = _pool_window(x.shape, ksize, strides, padding, data_format)
    x, grad = channels_last(x, data_format), channels_last(grad, data_format)
    if window.taps > _MOST_TAPS:
        _, transpose = jax.vjp(lambda x: _max_by_reduce_window(x, window), _at_least(x, _lowest(x.dtype)))
        return from_channels_last(transpose(grad)[0], data_format)
    zero, index, taps = jnp.zeros((), grad.dtype), _first_maximum(x, window), tap_of_element(window)
    if taps is not None:
        return from_channels_last(jnp.where(index == taps, grad, zero), data_format)
    y = sum_over_windows(lambda tap, index, g: jnp.where(index == tap, g, zero), [index, grad], [-1, 0], window)
    return from_channels_last(y, data_format)


def max_pool_grad_grad(x: jax.Array, y: jax.Array, grad: jax.Array, *, ksize: Sequence[int], strides: Sequence[int],
                       padding: str, data_format: str) -> jax.Array:
    """MaxPoolGradGrad: `grad` (of x's shape) at the first element of each window that equals the pooled output `y`.

    0 where none does.
    """
    window = _pool_window(x.shape, ksize, strides, padding, data_format)
    x, y, grad = (channels_last(a, data_format) for a in (x, y, grad))
    picked = jnp.zeros(y.shape, grad.dtype)
    taps = zip(tap_slices(x, window, _below_all(x.dtype)), tap_slices(grad, window, 0))
    for tap, g in reversed(list(taps)):
        picked = jnp.where(tap == y, g, picked)
    return from_channels_last(picked, data_format)


def max_pool_3d_grad(x: jax.Array, y: jax.Array, grad: jax.Array, *, ksize: Sequence[int], strides: Sequence[int],
                     padding: str, data_format: str) -> jax.Array:
    """MaxPool3DGrad: each window's gradient goes to every element that is less than 1e-5 from the pooled output `y`."""
    window = _pool_window(x.shape, ksize, strides, padding, data_format)
    x, y, grad = (channels_last(a, data_format) for a in (x, y, grad))
    zero = jnp.zeros((), grad.dtype)
    close = np.asarray(1e-5, x.dtype)
    hits = jnp.stack([jnp.abs(tap - y) < close for tap in tap_slices(x, window, _below_all(x.dtype))], -2)
    result = sum_over_windows(lambda tap, hit, g: jnp.where(hit[..., tap, :], g, zero),
                              [hits, grad], [False, 0], window)
    return from_channels_last(result, data_format)


def avg_pool(x: jax.Array, *, ksize: Sequence[int], strides: Sequence[int], padding: str,
             data_format: str) -> jax.Array:
    """AvgPool and AvgPool3D: the mean of each window; padding is not counted."""
    window = _pool_window(x.shape, ksize, strides, padding, data_format)
    x = channels_last(x, data_format)
    dtype = _sum_dtype(x.dtype)
    if window.taps > _MOST_TAPS:
        total = _reduce_window(x.astype(dtype), 0, lax.add, window)
    else:
        total = sum(tap.astype(dtype) for tap in tap_slices(x, window, 0))
    return from_channels_last((total / valid_counts(window).astype(dtype)).astype(x.dtype), data_format)


def avg_pool_grad(input_shape: Sequence[int], grad: jax.Array, *, ksize: Sequence[int], strides: Sequence[int],
                  padding: str, data_format: str) -> jax.Array:
    """AvgPoolGrad and AvgPool3DGrad: each window's gradient in equal shares to its elements; of shape input_shape."""
    window = _pool_window(input_shape, ksize, strides, padding, data_format)
    grad = channels_last(grad, data_format)
    dtype = _sum_dtype(grad.dtype)
    share = grad.astype(dtype) / valid_counts(window).astype(dtype)
    taps = tap_of_element(window)
    if taps is not None:
        y = jnp.where(taps < 0, jnp.zeros((), dtype), share)
    elif window.taps > _MOST_TAPS:
        x = jax.ShapeDtypeStruct((grad.shape[0], *window.inputs, grad.shape[-1]), dtype)
        y = jax.linear_transpose(lambda x: _reduce_window(x, 0, lax.add, window), x)(share)[0]
    else:
        y = sum_over_windows(lambda tap, s: s, [share], [0], window)
    return from_channels_last(y.astype(grad.dtype), data_format)


def max_pool_with_argmax(x: jax.Array, *, ksize: Sequence[int], strides: Sequence[int], padding: str,
                         include_batch_in_index: bool = False, index_dtype=np.int64) -> tuple[jax.Array, jax.Array]:
    """MaxPoolWithArgmax: largest elements and their places in x, [batch, height, width, channels], flattened.

    Unlike `max_pool`, the value is the element itself, also where it is NaN or minus infinity. The place is
    ((b * height + h) * width + w) * channels + c, without the batch unless include_batch_in_index.
    """
    window = _pool_window(x.shape, ksize, strides, padding, "NHWC")
    tap = _first_maximum(x, window)
    height, width, channels = x.shape[1:]
    row = tap // window.size[1] + (np.arange(window.out[0]) * window.stride[0] - window.before[0])[:, None, None]
    column = tap % window.size[1] + (np.arange(window.out[1]) * window.stride[1] - window.before[1])[:, None]
    place = (row.astype(index_dtype) * width + column.astype(index_dtype)) * channels
    place = place + np.arange(channels, dtype=index_dtype)
    place_in_batch = place + _batch_starts(x.shape, index_dtype)
    return jnp.asarray(x).reshape(-1)[place_in_batch], place_in_batch if include_batch_in_index else place


def max_pool_grad_with_argmax(input_shape: Sequence[int], grad: jax.Array, argmax: jax.Array, *,
                              include_batch_in_index: bool = False) -> jax.Array:
    """MaxPoolGradWithArgmax: `grad` added up at the places that `max_pool_with_argmax` gave."""
    if not include_batch_in_index:
        argmax = argmax + _batch_starts(input_shape, argmax.dtype)
    flat = jnp.zeros(int(np.prod(input_shape)), grad.dtype).at[argmax.reshape(-1)].add(grad.reshape(-1))
    return flat.reshape(input_shape)


def _batch_starts(shape, dtype) -> np.ndarray:
    return (np.arange(shape[0], dtype=dtype) * int(np.prod(shape[1:]))).reshape(-1, 1, 1, 1)


def _pool_window(shape, ksize, strides, padding, data_format) -> Window:
    if ksize[0] != 1 or strides[0] != 1:
        raise ValueError(f"pooling over the batch dimension is not supported: ksize {list(ksize)}, "
                         f"strides {list(strides)}")
    if _depth(ksize, data_format) != 1 or _depth(strides, data_format) != 1:
        raise ValueError(f"only max pooling spans the channel dimension, and only alone: ksize {list(ksize)}, "
                         f"strides {list(strides)}")
    return _within_reach(make_window(shape, spatial(ksize, data_format), strides, padding, data_format))


def _within_reach(window: Window) -> Window:
    """The window no longer than it must be in dimensions where each of its positions covers the input."""
    size, before = list(window.size), list(window.before)
    for axis, (k, s, b, n, o) in enumerate(zip(window.size, window.stride, window.before, window.inputs, window.out)):
        reach = (o - 1) * s
        if b > reach and k - b > n:
            size[axis], before[axis] = reach + n, reach
    return dataclasses.replace(window, size=tuple(size), before=tuple(before))


def _depth(values, data_format: str) -> int:
    return values[1] if channels_first(data_format) else values[-1]


def _max_pool_depth(x, ksize, strides, data_format):
    depth = _depth(ksize, data_format)
    x = channels_last(x, data_format)
    if set(spatial(ksize, data_format)) | set(spatial(strides, data_format)) | {ksize[0], strides[0]} != {1}:
        raise ValueError(f"max pooling over channels cannot also span other dimensions: ksize {list(ksize)}, "
                         f"strides {list(strides)}")
    if _depth(strides, data_format) != depth or x.shape[-1] % depth:
        raise ValueError(f"max pooling over channels wants a window that divides the {x.shape[-1]} channels and "
                         f"equals its stride: ksize {list(ksize)}, strides {list(strides)}")
    x = without_nan(x, -np.inf)
    return from_channels_last(x.reshape(*x.shape[:-1], -1, depth).max(-1), data_format)


def _lowest(dtype) -> np.generic:
    info = jnp.finfo(dtype) if jnp.issubdtype(dtype, jnp.floating) else jnp.iinfo(dtype)
    return np.asarray(info.min, dtype)[()]


def _below_all(dtype) -> np.generic:
    """What padding holds where it must not equal a maximum: minus infinity, for integers the lowest number."""
    return np.asarray(-np.inf, dtype)[()] if jnp.issubdtype(dtype, jnp.floating) else _lowest(dtype)


def _sum_dtype(dtype):
    return jnp.float32 if dtype in (jnp.float16, jnp.bfloat16) else dtype


def _at_least(x, lowest):
    """`x` with `lowest` in the place of what is not above it, NaN too."""
    return jnp.where(x > lowest, x, lowest)


def _reduce_window(x, initial, operation, window: Window):
    return lax.reduce_window(x, np.asarray(initial, x.dtype)[()], operation, (1, *window.size, 1),
                             (1, *window.stride, 1), [(0, 0), *window.padding, (0, 0)])


def _max_by_reduce_window(x, window: Window):
    """`x` must hold no NaN."""
    return _reduce_window(x, _below_all(x.dtype), lax.max, window)


def _max(x, window: Window, lowest):
    x = _at_least(x, lowest)
    if window.taps > _MOST_TAPS:
        return _max_by_reduce_window(x, window)
    return functools.reduce(lax.max, tap_slices(x, window, lowest))


def _first_maximum(x, window: Window):
    """Number of the tap that holds each window's first maximum, int32; a NaN in the first place is never exceeded."""
    largest = lax.optimization_barrier(_max(x, window, _lowest(x.dtype)))
    first = first_valid_tap(window)
    index = jnp.zeros(largest.shape, jnp.int32)
    for number, tap in reversed(list(enumerate(tap_slices(x, window, _below_all(x.dtype))))):
        hit = tap == largest
        if (first == number).any() and jnp.issubdtype(x.dtype, jnp.floating):
            hit |= (tap != tap) & (first == number)
        index = jnp.where(hit, np.int32(number), index)
    return jnp.maximum(index, first)
