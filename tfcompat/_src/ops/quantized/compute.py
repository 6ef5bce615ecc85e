"""Arithmetic on quantized values: products, sums, activations, pooling, and moving them about."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.join import concat_shape, concatenated
from tfcompat._src.ops.array.shape import reshape_shape, reshaped_sizes
from tfcompat._src.ops.nn.bias import bias_add_shape
from tfcompat._src.ops.nn.conv import conv_shape
from tfcompat._src.ops.nn.conv import out_shape as conv_out_shape
from tfcompat._src.ops.nn.pool import out_shape as pool_out_shape
from tfcompat._src.ops.nn.pool import pool_shape
from tfcompat._src.ops.quantized.convert import with_range
from tfcompat._src.ops.quantized.values import (
    dequantized,
    integers,
    invalid,
    limits,
    number,
    product_range,
    quantized,
    requantized,
    sum_range,
    to_floats,
    to_integers,
    unclamped,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike

_F32 = np.float32
_NO_GRADIENT = NotDifferentiable("1.15 has no gradient of quantized values", raises=True)
_add = functools.partial(op, gradient=_NO_GRADIENT, side=HOST, depth=2)


def _centred(x: np.ndarray, low: np.float32, high: np.float32, dtype: object) -> np.ndarray:
    """Integers less the one that stands for 0."""
    return integers(x).astype(np.int64) - unclamped(0.0, low, high, dtype)


def _ranges(low_a: object, high_a: object, low_b: object, high_b: object, names: str = "ab") -> tuple[tuple, tuple]:
    a, b = names
    first = number(low_a, f"min_{a}"), number(high_a, f"max_{a}")
    second = number(low_b, f"min_{b}"), number(high_b, f"max_{b}")
    for (low, high), name in ((first, a), (second, b)):
        if not high > low:
            raise invalid(f"max_{name} must be larger than min_{name}.")
    return first, second


# ---- products ----


def _matmul_shape(c):
    a, b = si.with_rank(c.inputs[0], 2), si.with_rank(c.inputs[1], 2)
    for sizes in c.inputs[2:]:
        si.with_rank(sizes, 0)
    a, b = a[::-1] if c.attr("transpose_a") else a, b[::-1] if c.attr("transpose_b") else b
    si.merge_size(a[1], b[0])
    return [(a[0], b[1]), (), ()]


@op(
    "QuantizedMatMul",
    "(a: T1, b: T2, min_a: float32, max_a: float32, min_b: float32, max_b: float32, *, T1: QUANTIZED, T2: QUANTIZED, "
    "Toutput: QUANTIZED = qint32, transpose_a: bool = False, transpose_b: bool = False, Tactivation: QUANTIZED = quint8) -> "
    "(out: Toutput, min_out: float32, max_out: float32)",
    shape=_matmul_shape, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _matmul(a, b, min_a, max_a, min_b, max_b, *, T1, T2, Toutput, transpose_a, transpose_b):
    first, second = _ranges(min_a, max_a, min_b, max_b)
    for i, x in enumerate((a, b)):
        if x.ndim != 2:
            raise invalid(f"In[{i}] is not a matrix")
    left, right = _centred(a, *first, T1), _centred(b, *second, T2)
    left, right = left.T if transpose_a else left, right.T if transpose_b else right
    if left.shape[1] != right.shape[0]:
        raise invalid(f"Matrix size-incompatible: In[0]: {shape_text(a.shape)}, In[1]: {shape_text(b.shape)}")
    return quantized(left @ right, Toutput), *product_range((first, second), (T1, T2), Toutput)


def _and_range(shape: Callable, first: int) -> Callable:
    """`shape` for output 0 and scalars for its range; the inputs from number `first` on are scalars."""

    def with_scalars(c):
        found = shape(c)[0]
        for sizes in c.inputs[first:]:
            si.with_rank(sizes, 0)
        return [found, (), ()]

    return with_scalars


def _windows(x: np.ndarray, window: tuple, stride: tuple, counts: tuple, padding: str, fill: int) -> np.ndarray:
    """[batch, rows, columns, channels, height, width]: the windows over images, with `fill` around them.

    `counts` says how many there are in a column and in a row.
    """
    if 0 in counts:
        return np.zeros((x.shape[0], *counts, x.shape[3], *window), x.dtype)
    pads = []
    for size, length, step, count in zip(x.shape[1:3], window, stride, counts):
        missing = max((count - 1) * step + length - size, 0) if padding == "SAME" else 0
        pads.append((missing // 2, missing - missing // 2))
    padded = np.pad(x, [(0, 0), *pads, (0, 0)], constant_values=fill)
    return np.lib.stride_tricks.sliding_window_view(padded, window, (1, 2))[:, :: stride[0], :: stride[1]]


@op(
    "QuantizedConv2D",
    "(input: Tinput, filter: Tfilter, min_input: float32, max_input: float32, min_filter: float32, max_filter: float32, *, "
    'Tinput: QUANTIZED, Tfilter: QUANTIZED, out_type: QUANTIZED = qint32, strides: list(int), padding: {"SAME", "VALID"}, '
    "dilations: list(int) = [1, 1, 1, 1]) -> (output: out_type, min_output: float32, max_output: float32)",
    shape=_and_range(conv_shape("Conv2D", 4), 2), gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _conv(x, kernel, low_x, high_x, low_k, high_k, *, Tinput, Tfilter, out_type, strides, padding, dilations):
    if strides[1] != strides[2]:
        raise invalid("Current implementation only supports equal length strides in the row and column dimensions.")
    if strides[0] != 1 or strides[3] != 1:
        raise invalid("Current implementation does not yet support strides in the batch and depth dimensions.")
    if any(d != 1 for d in dilations):
        raise invalid("Current implementation only supports dilated rate as 1 in the row and column dimensions.")
    for name, array in (("input", x), ("filter", kernel)):
        if array.ndim != 4:
            raise invalid(f"{name} must be 4-dimensional: {shape_text(array.shape)}")
    if x.shape[3] != kernel.shape[2]:
        raise invalid(f"input and filter must have the same depth: {x.shape[3]} vs {kernel.shape[2]}")
    out = conv_out_shape(
        x.shape, kernel.shape, kernel.shape[3], strides=strides, padding=padding, data_format="NHWC", dilations=dilations
    )
    first = number(low_x, "min_input"), number(high_x, "max_input")
    second = number(low_k, "min_filter"), number(high_k, "max_filter")
    images, weights = _centred(x, *first, Tinput), _centred(kernel, *second, Tfilter)
    windows = _windows(images, weights.shape[:2], strides[1:3], out[1:3], padding, 0)
    found = np.tensordot(windows, weights, ((4, 5, 3), (0, 1, 2)))
    return quantized(found, out_type), *product_range((first, second), (Tinput, Tfilter), out_type)


# ---- sums and products element by element ----


def _binary_shape(c):
    return [*si.broadcast_inputs(c), (), ()]


_BINARY = (
    "(x: T1, y: T2, min_x: float32, max_x: float32, min_y: float32, max_y: float32, *, T1: QUANTIZED, T2: QUANTIZED, "
    "Toutput: QUANTIZED = qint32) -> (z: Toutput, min_z: float32, max_z: float32)"
)


def _broadcast(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    try:
        return np.broadcast_arrays(x, y)
    except ValueError:
        raise invalid(f"Incompatible shapes: {shape_text(x.shape)} vs. {shape_text(y.shape)}") from None


@op("QuantizedMul", _BINARY, shape=_binary_shape, gradient=_NO_GRADIENT, side=HOST)
def _mul(x, y, low_x, high_x, low_y, high_y, *, T1, T2, Toutput):
    first, second = _ranges(low_x, high_x, low_y, high_y, "xy")
    a, b = _broadcast(_centred(x, *first, T1), _centred(y, *second, T2))
    return quantized(a * b, Toutput), *product_range((first, second), (T1, T2), Toutput)


def _spread(x: np.ndarray, source: tuple, dtype: object, target: tuple, out_type: object) -> np.ndarray:
    """Integers in a much wider range: equal steps from the integer of 0."""
    ends = to_floats(np.array([0, 1]), *source, dtype)
    zero, one = (unclamped(float(v), *target, out_type) for v in ends)
    return np.clip(zero + integers(x).astype(np.int64) * (one - zero), *limits(out_type))


def _in_sum_range(x: np.ndarray, source: tuple, dtype: object, target: tuple, out_type: object) -> np.ndarray:
    """Integers in the range of a sum; one alone is rounded by itself."""
    if not x.ndim:
        return to_integers(to_floats(integers(x), *source, dtype), *target, out_type)
    return _spread(x, source, dtype, target, out_type)


@op("QuantizedAdd", _BINARY, shape=_and_range(si.broadcast_inputs, 2), gradient=_NO_GRADIENT, side=HOST)
def _sum(x, y, low_x, high_x, low_y, high_y, *, T1, T2, Toutput):
    first, second = _ranges(low_x, high_x, low_y, high_y, "xy")
    total = sum_range(14, min(first[0], second[0]), max(first[1], second[1]))
    a, b = _broadcast(_in_sum_range(x, first, T1, total, Toutput), _in_sum_range(y, second, T2, total, Toutput))
    return quantized(a + b, Toutput), *total


def _bias_shape(c):
    for other in c.inputs[2:]:
        si.with_rank(other, 0)
    return [*bias_add_shape(c), (), ()]


@op(
    "QuantizedBiasAdd",
    "(input: T1, bias: T2, min_input: float32, max_input: float32, min_bias: float32, max_bias: float32, *, T1: QUANTIZED, "
    "T2: QUANTIZED, out_type: QUANTIZED) -> (output: out_type, min_out: float32, max_out: float32)",
    shape=_bias_shape, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _bias_add(x, bias, low_x, high_x, low_b, high_b, *, T1, T2, out_type):
    if x.ndim < 2:
        raise invalid(f"Input tensor must be at least 2D: {shape_text(x.shape)}")
    if bias.ndim != 1:
        raise invalid(f"Biases must be 1D: {shape_text(bias.shape)}")
    if bias.shape[0] != x.shape[-1]:
        raise invalid(
            "Must provide as many biases as the last dimension of the input tensor: "
            f"{shape_text(bias.shape)} vs. {shape_text(x.shape)}"
        )
    first = number(low_x, "min_input"), number(high_x, "max_input")
    second = number(low_b, "min_bias"), number(high_b, "max_bias")
    total = sum_range(17, *first, *second)
    a = requantized(dequantized(integers(x), *first, T1), *total, out_type)
    b = requantized(dequantized(integers(bias), *second, T2), *total, out_type)
    return quantized(a + b + unclamped(0.0, *total, out_type), out_type), *total


# ---- activations ----

_ACTIVATION = (
    "*, Tinput: QUANTIZED, out_type: QUANTIZED = quint8) -> "
    "(activations: out_type, min_activations: float32, max_activations: float32)"
)


def _clamped(x: object, low: object, high: object, most: float | None, dtype: object) -> tuple:
    low, high = number(low, "min_features"), number(high, "max_features")
    bounds = [to_integers(np.array(v, _F32), low, high, dtype) for v in (0.0, most) if v is not None]
    found = np.maximum(integers(x), bounds[0])
    return quantized(np.minimum(found, bounds[1]) if most is not None else found, dtype), low, high


_add("QuantizedRelu", f"(features: Tinput, min_features: float32, max_features: float32, {_ACTIVATION}", shape=with_range,
     kernel=lambda x, low, high, *, Tinput: _clamped(x, low, high, None, Tinput))  # fmt: skip
_add("QuantizedRelu6", f"(features: Tinput, min_features: float32, max_features: float32, {_ACTIVATION}", shape=with_range,
     kernel=lambda x, low, high, *, Tinput: _clamped(x, low, high, 6.0, Tinput))  # fmt: skip
_add(
    "QuantizedReluX", f"(features: Tinput, max_value: float32, min_features: float32, max_features: float32, {_ACTIVATION}",
    shape=with_range,
    kernel=lambda x, most, low, high, *, Tinput: _clamped(x, low, high, float(number(most, "max_value")), Tinput),
)  # fmt: skip


@export("nn.quantized_relu_x")
def quantized_relu_x(
    features: TensorLike, max_value: TensorLike, min_features: TensorLike, max_features: TensorLike, out_type: DTypeLike = dtypes.quint8, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """min(max(features, 0), max_value) of quantized `features` in the range [min_features, max_features].

    Returns:
      the values and their range, two float32 scalars.
    """
    return raw.QuantizedReluX(features, max_value, min_features, max_features, out_type=out_type, name=name)


# ---- pooling and normalization ----


def _pool_windows(x: np.ndarray, ksize: tuple, strides: tuple, padding: str, fill: int) -> np.ndarray:
    counts = pool_out_shape(x.shape, ksize, strides, padding, "NHWC")[1:3]
    return _windows(x, ksize[1:3], strides[1:3], counts, padding, fill)


def _average(x, low, high, *, T, ksize, strides, padding):
    values = integers(x).astype(np.int64)
    total = _pool_windows(values, ksize, strides, padding, 0).sum((4, 5))
    count = _pool_windows(np.ones_like(values), ksize, strides, padding, 0).sum((4, 5))
    return quantized(np.trunc(total / count), T), number(low, "min_input"), number(high, "max_input")


def _maximum(x, low, high, *, T, ksize, strides, padding):
    values = integers(x).astype(np.int64)
    found = _pool_windows(values, ksize, strides, padding, limits(T)[0]).max((4, 5))
    return quantized(found, T), number(low, "min_input"), number(high, "max_input")


for _name, _kernel in (("AvgPool", _average), ("MaxPool", _maximum)):
    _add(
        "Quantized" + _name,
        "(input: T, min_input: float32, max_input: float32, *, T: QUANTIZED, ksize: list(int), strides: list(int), "
        'padding: {"SAME", "VALID"}) -> (output: T, min_output: float32, max_output: float32)',
        shape=_and_range(pool_shape(_name, 4), 1), kernel=_kernel,
    )  # fmt: skip


@export("nn.quantized_avg_pool")
def quantized_avg_pool(
    input: TensorLike, min_input: TensorLike, max_input: TensorLike, ksize: Sequence[int], strides: Sequence[int], padding: str, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Averages over windows of quantized images [batch, rows, columns, channels]; the values and their range."""
    return raw.QuantizedAvgPool(input, min_input, max_input, ksize=ksize, strides=strides, padding=padding, name=name)


@export("nn.quantized_max_pool")
def quantized_max_pool(
    input: TensorLike, min_input: TensorLike, max_input: TensorLike, ksize: Sequence[int], strides: Sequence[int], padding: str, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Largest values of windows of quantized images [batch, rows, columns, channels]; the values and their range."""
    return raw.QuantizedMaxPool(input, min_input, max_input, ksize=ksize, strides=strides, padding=padding, name=name)


@export("nn.quantized_conv2d")
def quantized_conv2d(
    input: TensorLike, filter: TensorLike, min_input: TensorLike, max_input: TensorLike, min_filter: TensorLike, max_filter: TensorLike, strides: Sequence[int], padding: str,
    out_type: DTypeLike = dtypes.qint32, dilations: Sequence[int] = [1, 1, 1, 1], name: str | None = None,  # noqa: B006
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """A 2-D convolution of quantized images [batch, rows, columns, depth] and filters [rows, columns, depth, out].

    Args:
      input, filter: quantized Tensors. min_input, max_input, min_filter, max_filter: their ranges, float32 scalars.
      strides: [1, stride, stride, 1]. padding: "SAME" or "VALID".
      out_type: dtype of the sums; qint32 by default. dilations: all 1.
      name: node name.

    Returns:
      the sums and their range.

    Raises:
      InvalidArgumentError: in a run with other strides or dilations.
    """
    return raw.QuantizedConv2D(
        input, filter, min_input, max_input, min_filter, max_filter, strides=strides, padding=padding,
        dilations=dilations, out_type=out_type, name=name,
    )  # fmt: skip


def _images_shape(c):
    si.with_rank(c.inputs[0], 4)
    return [c.inputs[0]]


@op(
    "QuantizedInstanceNorm",
    "(x: T, x_min: float32, x_max: float32, *, T: QUANTIZED, output_range_given: bool = False, given_y_min: float = 0, "
    "given_y_max: float = 0, variance_epsilon: float = 1e-05, min_separation: float = 0.001) -> "
    "(y: T, y_min: float32, y_max: float32)",
    shape=_and_range(_images_shape, 1), gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _instance_norm(x, low, high, *, T, output_range_given, given_y_min, given_y_max, variance_epsilon, min_separation):
    if x.ndim != 4:
        raise invalid(f"x must be 4-dimensional: {shape_text(x.shape)}")
    low, high = number(low, "x_min"), number(high, "x_max")
    if not low < high:
        raise invalid(f"input_min must be less than input_max : {low:g} >= {high:g}")
    if output_range_given and not given_y_min < given_y_max:
        raise invalid(f"given_y_min must be less than given_y_max : {given_y_min:g} >= {given_y_max:g}")
    scale, values = (high - low) / _F32(255), integers(x).astype(_F32)
    centred = scale * (values - values.mean((1, 2), dtype=_F32, keepdims=True))
    variance = np.square(centred).mean((1, 2), dtype=_F32, keepdims=True)
    found = centred * (_F32(1) / np.sqrt(variance + _F32(variance_epsilon)))
    least, most = (given_y_min, given_y_max) if output_range_given else (found.min(initial=np.inf), found.max(initial=-np.inf))
    least, most = _F32(least), _F32(most)
    if most - least < _F32(min_separation):
        most = least + _F32(min_separation)
    return quantized(requantized(found, least, most, T), T), least, most


_BATCH_LIMIT = 1 << 20


def _batch_norm_shape(c):
    si.with_rank(c.inputs[0], 4)
    for place in range(1, len(c.inputs)):
        si.with_rank(c.inputs[place], 1 if place % 3 == 0 else 0)
    return [c.inputs[0], (), ()]


@op(
    "QuantizedBatchNormWithGlobalNormalization",
    "(t: Tinput, t_min: float32, t_max: float32, m: Tinput, m_min: float32, m_max: float32, v: Tinput, v_min: float32, v_max: float32, "
    "beta: Tinput, beta_min: float32, beta_max: float32, gamma: Tinput, gamma_min: float32, gamma_max: float32, *, Tinput: QUANTIZED, "
    "out_type: QUANTIZED, variance_epsilon: float, scale_after_normalization: bool) -> "
    "(result: out_type, result_min: float32, result_max: float32)",
    shape=_batch_norm_shape, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _batch_norm(
    t, t_min, t_max, m, m_min, m_max, v, v_min, v_max, beta, beta_min, beta_max, gamma, gamma_min, gamma_max,
    *, Tinput, out_type, variance_epsilon, scale_after_normalization,
):  # fmt: skip
    least, most = _F32(-_BATCH_LIMIT), _F32(_BATCH_LIMIT)

    def floats(x, low, high):
        return to_floats(integers(x), number(low, "range"), number(high, "range"), Tinput)

    def fixed(x):
        return to_integers(np.asarray(x, _F32), least, most, out_type).astype(np.int32)

    scale = _F32(1) / np.sqrt(floats(v, v_min, v_max) + _F32(variance_epsilon))
    if scale_after_normalization:
        scale = scale * floats(gamma, gamma_min, gamma_max)
    offset = -floats(m, m_min, m_max) * scale + floats(beta, beta_min, beta_max)
    products = fixed(floats(t, t_min, t_max)) * fixed(scale)
    found = np.trunc(products / np.float64(fixed(1.0))).astype(np.int32) + fixed(offset)
    return quantized(found, out_type), least, most


# ---- moving ----


@op(
    "QuantizedReshape",
    "(tensor: T, shape: Tshape, input_min: float32, input_max: float32, *, T: type, Tshape: INDEX = int32) -> "
    "(output: T, output_min: float32, output_max: float32)",
    shape=_and_range(reshape_shape, 2), gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _reshape(x, shape, low, high):
    return x.reshape(reshaped_sizes(x, shape)), number(low, "input_min"), number(high, "input_max")


def _concat_shape(c):
    count = c.attr("N")
    for sizes in c.inputs[count + 1 :]:
        si.with_rank(sizes, 0)
    return [*concat_shape(c, c.inputs[1 : count + 1], 0), (), ()]


@op(
    "QuantizedConcat",
    "(concat_dim: int32, values: N*T, input_mins: N*float32, input_maxes: N*float32, *, N: int >= 2, T: type) -> "
    "(output: T, output_min: float32, output_max: float32)",
    shape=_concat_shape, gradient=NotDifferentiable("1.15 has no gradient of quantized values", raises=True), side=HOST,
)  # fmt: skip
def _concat(axis, values, lows, highs, *, T):
    ranges = [(number(low, "input_mins"), number(high, "input_maxes")) for low, high in zip(lows, highs)]
    low, high = _F32(min(0, *(r[0] for r in ranges))), _F32(max(r[1] for r in ranges))
    if limits(T)[0]:
        high = max(abs(low), abs(high))
        low = -high
    parts = [
        integers(x) if r == (low, high) else requantized(dequantized(integers(x), *r, T), low, high, T)
        for x, r in zip(values, ranges)
    ]
    if np.ndim(axis) == 0 and axis < 0:
        raise invalid(f"ConcatOp : Expected concatenating dimensions in the range [0, {values[0].ndim}), but got {axis}")
    return quantized(concatenated(np, parts, axis), T), low, high


@export("quantization.quantized_concat", "quantized_concat", "contrib.quantization.quantized_concat")
def quantized_concat(
    concat_dim: TensorLike, values: Sequence[TensorLike], input_mins: Sequence[TensorLike], input_maxes: Sequence[TensorLike], name: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Quantized Tensors joined along a dimension, in one range that holds all of theirs.

    Args:
      concat_dim: int32 scalar. values: Tensors of one dtype. input_mins, input_maxes: their ranges, float32 scalars.
      name: node name.

    Returns:
      the values and their range.
    """
    return raw.QuantizedConcat(concat_dim, values, input_mins, input_maxes, name=name)
