"""Convolutions and their gradients as functions of arrays.

Two and three spatial dimensions share each function: `strides`, `dilations` and shapes have one entry per dimension,
in the order of `data_format`. Filters are [*window, in, out], depthwise filters [height, width, in, multiplier].
`platform` is "cpu", "gpu" or "tpu"; None means `jax.default_backend()`.

Everywhere but on CPU `lax.conv_general_dilated` is used. On CPU, by static shape (speed against TensorFlow 1.15.5 on
2 cores, float32, compiled without YNNPACK convolutions; above 1 is faster):

| case | lowering | speed | plain lax |
|---|---|---|---|
| forward, more than 1 input channel | lax | 0.95 to 2 | |
| forward, 1 input channel (28x28, 5x5) | sum over taps | 5.3 | 1.3 |
| input gradient, more than 8 input channels | lax | 1.4 to 2 | |
| input gradient, at most 8 input channels (28x28x1, 5x5) | matmul, sum over windows | 0.8 to 0.9 | 0.6 |
| filter gradient | lax | 1.2 to 4 | |
| filter gradient, 1x1 | matmul | 1.0 | 0.3 to 0.8 |
| float64, all three | matmul per tap | | 20 times slower than per tap |
| depthwise 3x3, forward / input / filter | sums over taps | 6 / 3.8 / 1.2 | 0.08 / 0.04 / 0.3 |
| bias gradient | matmul with ones | 0.7 | 0.2 to 0.75 |
"""

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tfcompat._src.base.one_call import one_call
from tfcompat._src.ops.nn.windows import (
    Window,
    channels_first,
    channels_last,
    from_channels_last,
    make_window,
    sum_over_windows,
    tap_slices,
    windows_in_numpy,
)

_FEW_CHANNELS = 8
_MOST_TAPS = 64


def conv(x: jax.Array, filters: jax.Array, *, strides: Sequence[int], padding: str, data_format: str,
         explicit_paddings: Sequence[int] = (), dilations: Sequence[int] | None = None,
         platform: str | None = None) -> jax.Array:
    """Conv2D and Conv3D: cross-correlation of `x` with `filters`.

    x: [batch, *spatial, in] in data_format order; filters: [*window, in, out], same dtype.
    Returns [batch, *out_spatial, out] in data_format order.
    """
    window = make_window(x.shape, filters.shape[:-2], strides, padding, data_format,
                         explicit_paddings=explicit_paddings, dilations=dilations)
    if _spans_width(x.shape, window, data_format):
        return conv(_width_as_channels(x, -2), _width_as_channels(filters, -3), strides=strides, padding=padding,
                    data_format=data_format, explicit_paddings=explicit_paddings, platform=platform)
    if _by_taps(window, platform) and (filters.shape[-2] == 1 or x.dtype == jnp.float64):
        return from_channels_last(_conv_by_taps(channels_last(x, data_format), filters, window), data_format)
    return _lax_conv(x, filters, window, data_format)


def conv_backprop_input(input_sizes: Sequence[int], filters: jax.Array, out_backprop: jax.Array, *,
                        strides: Sequence[int], padding: str, data_format: str, explicit_paddings: Sequence[int] = (),
                        dilations: Sequence[int] | None = None, platform: str | None = None) -> jax.Array:
    """Conv2DBackpropInput and Conv3DBackpropInput: the gradient of `conv` to its input, of shape input_sizes."""
    window = make_window(input_sizes, filters.shape[:-2], strides, padding, data_format,
                         explicit_paddings=explicit_paddings, dilations=dilations)
    if _spans_width(input_sizes, window, data_format):
        sizes = (*input_sizes[:-2], 1, input_sizes[-2] * input_sizes[-1])
        return conv_backprop_input(sizes, _width_as_channels(filters, -3), out_backprop, strides=strides, padding=padding,
                                   data_format=data_format, explicit_paddings=explicit_paddings,
                                   platform=platform).reshape(input_sizes)
    few = filters.shape[-2] <= _FEW_CHANNELS
    if _by_taps(window, platform) and (few or filters.dtype == jnp.float64):
        return from_channels_last(_input_gradient_by_taps(filters, channels_last(out_backprop, data_format), window),
                                  data_format)
    x = jax.ShapeDtypeStruct(tuple(input_sizes), out_backprop.dtype)
    return jax.linear_transpose(lambda x: _lax_conv(x, filters, window, data_format), x)(out_backprop)[0]


def conv_backprop_filter(x: jax.Array, filter_sizes: Sequence[int], out_backprop: jax.Array, *,
                         strides: Sequence[int], padding: str, data_format: str, explicit_paddings: Sequence[int] = (),
                         dilations: Sequence[int] | None = None, platform: str | None = None) -> jax.Array:
    """Conv2DBackpropFilter and Conv3DBackpropFilter: the gradient of `conv` to its filters, of shape filter_sizes."""
    window = make_window(x.shape, filter_sizes[:-2], strides, padding, data_format,
                         explicit_paddings=explicit_paddings, dilations=dilations)
    if _by_taps(window, platform) and (window.taps == 1 or x.dtype == jnp.float64):
        gradient = _filter_gradient_by_taps(channels_last(x, data_format), channels_last(out_backprop, data_format),
                                            window)
        return gradient.reshape(filter_sizes)
    filters = jax.ShapeDtypeStruct(tuple(filter_sizes), x.dtype)
    return jax.linear_transpose(lambda f: _lax_conv(x, f, window, data_format), filters)(out_backprop)[0]


def depthwise_conv(x: jax.Array, filters: jax.Array, *, strides: Sequence[int], padding: str, data_format: str,
                   dilations: Sequence[int] | None = None, platform: str | None = None) -> jax.Array:
    """DepthwiseConv2dNative: each input channel convolved with its own `multiplier` filters.

    x: [batch, *spatial, in] in data_format order; filters: [*window, in, multiplier].
    Returns [batch, *out_spatial, in * multiplier] in data_format order.
    """
    window = make_window(x.shape, filters.shape[:-2], strides, padding, data_format, dilations=dilations)
    if not _by_taps(window, platform):
        return _lax_depthwise(x, filters, window, data_format)
    weights = filters.reshape(window.taps, *filters.shape[-2:])
    taps = tap_slices(channels_last(x, data_format), window, 0)
    y = sum(tap[..., None] * weight for tap, weight in zip(taps, weights))
    return from_channels_last(y.reshape(*y.shape[:-2], -1), data_format)


def depthwise_conv_backprop_input(input_sizes: Sequence[int], filters: jax.Array, out_backprop: jax.Array, *,
                                  strides: Sequence[int], padding: str, data_format: str,
                                  dilations: Sequence[int] | None = None, platform: str | None = None) -> jax.Array:
    """DepthwiseConv2dNativeBackpropInput: the gradient of `depthwise_conv` to its input, of shape input_sizes."""
    window = make_window(input_sizes, filters.shape[:-2], strides, padding, data_format, dilations=dilations)
    if not _by_taps(window, platform):
        x = jax.ShapeDtypeStruct(tuple(input_sizes), out_backprop.dtype)
        return jax.linear_transpose(lambda x: _lax_depthwise(x, filters, window, data_format), x)(out_backprop)[0]
    weights = filters.reshape(window.taps, *filters.shape[-2:])
    gradient = _split_multiplier(channels_last(out_backprop, data_format), filters)
    y = sum_over_windows(lambda tap, g: (g * weights[tap]).sum(-1), [gradient], [0], window)
    return from_channels_last(y, data_format)


def depthwise_conv_backprop_filter(x: jax.Array, filter_sizes: Sequence[int], out_backprop: jax.Array, *,
                                   strides: Sequence[int], padding: str, data_format: str,
                                   dilations: Sequence[int] | None = None, platform: str | None = None) -> jax.Array:
    """DepthwiseConv2dNativeBackpropFilter: the gradient of `depthwise_conv` to its filters, of shape filter_sizes."""
    window = make_window(x.shape, filter_sizes[:-2], strides, padding, data_format, dilations=dilations)
    filters = jax.ShapeDtypeStruct(tuple(filter_sizes), x.dtype)
    if not _by_taps(window, platform):
        return jax.linear_transpose(lambda f: _lax_depthwise(x, f, window, data_format), filters)(out_backprop)[0]
    gradient = _split_multiplier(channels_last(out_backprop, data_format), filters).astype(_sum_dtype(x.dtype))
    products = [tap[..., None] * gradient for tap in tap_slices(channels_last(x, data_format), window, 0)]
    zeros = [np.zeros((), gradient.dtype)] * window.taps
    per_image = lax.reduce(products, zeros, lambda a, b: [p + q for p, q in zip(a, b)],
                           tuple(range(1, 1 + len(window.size))))
    sums = [s.sum(0) for s in lax.optimization_barrier(per_image)]
    return jnp.stack(sums).reshape(filter_sizes).astype(x.dtype)


def bias_add_grad(out_backprop: jax.Array, *, data_format: str = "NHWC", platform: str | None = None) -> jax.Array:
    """BiasAddGrad: the sum over all dimensions but the channel dimension (the last, or the second with NCHW)."""
    if data_format == "NCHW" and out_backprop.ndim > 2:
        return out_backprop.sum((0, *range(2, out_backprop.ndim)), dtype=out_backprop.dtype)
    rows = out_backprop.reshape(-1, out_backprop.shape[-1])
    if _is_cpu(platform) and out_backprop.dtype in (jnp.float32, jnp.float64):
        return jnp.dot(jnp.ones(rows.shape[0], rows.dtype), rows)
    return rows.sum(0, dtype=rows.dtype)


def _is_cpu(platform: str | None) -> bool:
    return (platform or jax.default_backend()) == "cpu"


def _by_taps(window: Window, platform: str | None) -> bool:
    """Whether each tap is a step of its own: on a CPU, where there are not so many that the program becomes too large to compile."""
    return _is_cpu(platform) and window.taps <= _MOST_TAPS


def _spans_width(sizes: Sequence[int], window: Window, data_format: str) -> bool:
    """Whether the window is as wide as the input (a text with its embedding), so that width and channels are one dimension."""
    return (not channels_first(data_format) and window.size[-1] == sizes[-2] > 1
            and all(d == 1 for d in window.dilation) and tuple(window.padding[-1]) == (0, 0))


def _width_as_channels(x: jax.Array, axis: int) -> jax.Array:
    """Joins the dimensions `axis` (width) and `axis` + 1 (channels)."""
    axis %= x.ndim
    return x.reshape(*x.shape[:axis], 1, x.shape[axis] * x.shape[axis + 1], *x.shape[axis + 2 :])


def _sum_dtype(dtype):
    return jnp.float32 if dtype in (jnp.float16, jnp.bfloat16) else dtype


def _lax_conv(x, filters, window: Window, data_format: str, groups: int = 1) -> jax.Array:
    letters = "DHW"[-len(window.size):]
    layout = f"NC{letters}" if channels_first(data_format) else f"N{letters}C"
    return lax.conv_general_dilated(x, filters, window.stride, window.padding, rhs_dilation=window.dilation,
                                    dimension_numbers=(layout, f"{letters}IO", layout), feature_group_count=groups)


def _lax_depthwise(x, filters, window: Window, data_format: str) -> jax.Array:
    channels, multiplier = filters.shape[-2:]
    return _lax_conv(x, filters.reshape(*window.size, 1, channels * multiplier), window, data_format, channels)


def _split_multiplier(gradient, filters):
    return gradient.reshape(*gradient.shape[:-1], *filters.shape[-2:])


def _taps(x, filters, window: Window) -> jax.Array:
    channels, out_channels = filters.shape[-2:]
    weights = filters.reshape(window.taps, channels, out_channels)
    y = sum(jnp.dot(tap.reshape(-1, channels), weight) for tap, weight in zip(tap_slices(x, window, 0), weights))
    return y.reshape(x.shape[0], *window.out, out_channels)


_BLOCK = 2**19
"""Elements of windows that NumPy lays side by side at a time."""


def _taps_in_numpy(x: np.ndarray, filters: np.ndarray, window: Window) -> np.ndarray:
    """`_taps` as a product of matrices: the windows, side by side, times the filters."""
    places, out_channels = math.prod(window.out), filters.shape[-1]
    weights = filters.reshape(-1, out_channels)
    result = np.empty((x.shape[0], *window.out, out_channels), x.dtype)
    step = max(1, _BLOCK // max(1, places * len(weights)))
    for i in range(0, x.shape[0], step):
        windows = windows_in_numpy(x[i : i + step], window)
        np.matmul(windows.reshape(-1, len(weights)), weights, out=result[i : i + step].reshape(-1, out_channels))
    return result


_taps_as_a_call = one_call(_taps, _taps_in_numpy, [2])


def _conv_by_taps(x, filters, window: Window) -> jax.Array:
    has_numpy_form = x.dtype in (jnp.float32, jnp.float64) and x.dtype == filters.dtype
    return (_taps_as_a_call if has_numpy_form else _taps)(x, filters, window)


def _input_gradient_by_taps(filters, gradient, window: Window) -> jax.Array:
    channels, out_channels = filters.shape[-2:]
    weights = lax.optimization_barrier(filters.reshape(-1, out_channels).T)
    columns = jnp.dot(gradient.reshape(-1, out_channels), weights)
    columns = columns.reshape(gradient.shape[0], *window.out, window.taps, channels)
    return sum_over_windows(lambda tap, c: c[..., tap, :], [columns], [0], window)


def _filter_gradient_by_taps(x, gradient, window: Window) -> jax.Array:
    gradient = gradient.reshape(-1, gradient.shape[-1])
    return jnp.stack([lax.dot_general(tap.reshape(-1, x.shape[-1]), gradient, (((0,), (0,)), ((), ())))
                      for tap in tap_slices(x, window, 0)])
