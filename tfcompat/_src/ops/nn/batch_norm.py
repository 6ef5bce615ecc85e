"""Batch normalisation as one op, and the op types of its gradients."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import NotDifferentiable, op
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, to_tensor
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.nn.conv_kernels import bias_add_grad

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.operation import Operation

_LEAST_EPSILON = 1.001e-5
_ATTRS = 'epsilon: float = 0.0001, data_format: {"NHWC", "NCHW"} = "NHWC", is_training: bool = True'
_ATTRS_3D = (
    'epsilon: float = 0.0001, data_format: {"NHWC", "NCHW", "NDHWC", "NCDHW"} = "NHWC", is_training: bool = True'
)
_HALF = "{float16, bfloat16, float32}"


# ---- static shapes ----


def _layout(data_format: str) -> tuple[int, int]:
    """(rank, channel axis)."""
    return len(data_format), data_format.index("C")


def _with_channels(sizes: tuple, axis: int, channels: int | None) -> tuple:
    return sizes[:axis] + (channels,) + sizes[axis + 1 :]


def _merged_channels(c, channels: int | None, first: int, last: int) -> int | None:
    for sizes in c.inputs[first:last]:
        channels = si.merge_size(channels, si.with_rank(sizes, 1)[0])
    return channels


def _norm_shape(c):
    rank, axis = _layout(c.attr("data_format").decode())
    x = si.with_rank(c.inputs[0], rank)
    channels = _merged_channels(c, x[axis], 1, 3 if c.attr("is_training") else 5)
    return [_with_channels(x, axis, channels), *[(channels,)] * 4, None][: len(c.op.outputs)]


def _grad_shape(c):
    rank, axis = _layout(c.attr("data_format").decode())
    g, x = si.with_rank(c.inputs[0], rank), si.with_rank(c.inputs[1], rank)
    channels = _merged_channels(c, si.merge_size(g[axis], x[axis]), 2, 5)
    unused = (0,) if c.attr("is_training") else (channels,)
    return [_with_channels(g, axis, channels), (channels,), (channels,), unused, unused]


# ---- kernels: statistics are float32 ----


def _require(ok: bool, text: str) -> None:
    if not ok:
        raise errors.InvalidArgumentError(None, None, text)


def _check(x: Any, vectors: dict[str, Any], data_format: str) -> None:
    rank, axis = _layout(data_format)
    _require(x.ndim == rank, f"input must be {rank}-dimensional{shape_text(x.shape)}")
    for name, vector in vectors.items():
        _require(vector.ndim == 1, f"{name} must be 1-dimensional{shape_text(vector.shape)}")
        _require(
            vector.shape[0] == x.shape[axis],
            f"{name} must have the same number of elements as the channels of x, got "
            f"{vector.shape[0]} and {x.shape[axis]}",
        )


def _channel_sums(x, data_format: str):
    return bias_add_grad(x, data_format="NCHW" if data_format[1] == "C" else "NHWC")


def _spread(vector, data_format: str):
    """`vector` with dimensions of size 1, so that it broadcasts along the channels."""
    rank, axis = _layout(data_format)
    return lax.expand_dims(vector, [i for i in range(rank) if i != axis])


def _count(x: Any, data_format: str) -> int:
    """The number of elements of each channel."""
    return math.prod(x.shape) // max(x.shape[_layout(data_format)[1]], 1)


def _normalize(x, scale, offset, mean, variance, *, epsilon, data_format, is_training):
    statistics = {} if is_training else {"mean": mean, "variance": variance}
    _check(x, {"scale": scale, "offset": offset, **statistics}, data_format)
    for name, vector in (("estimated_mean", mean), ("estimated_variance", variance)):
        _require(vector.ndim == 1, f"{name} must be 1-dimensional{shape_text(vector.shape)}")
    precise = lax.convert_element_type(x, scale.dtype)
    number = scale.dtype.type
    if is_training:
        count = _count(x, data_format)
        mean = lax.div(_channel_sums(precise, data_format), number(count))
        centred = lax.sub(precise, _spread(mean, data_format))
        squares = _channel_sums(lax.mul(centred, centred), data_format)
        variance = lax.div(squares, number(count))
        unbiased = lax.div(squares, number(max(count - 1, 1) if count else 0))
    else:
        centred = lax.sub(precise, _spread(mean, data_format))
        unbiased = variance
    factor = lax.mul(lax.rsqrt(lax.add(variance, number(epsilon))), scale)
    y = lax.add(lax.mul(centred, _spread(factor, data_format)), _spread(offset, data_format))
    return lax.convert_element_type(y, x.dtype), mean, unbiased, mean, variance


def _normalize_v3(x, scale, offset, mean, variance, *, epsilon, data_format, is_training):
    found = _normalize(
        x, scale, offset, mean, variance, epsilon=epsilon, data_format=data_format, is_training=is_training
    )
    return *found, np.zeros((), scale.dtype)


def _normalize_grad(dy, x, scale, mean, variance, *, epsilon, data_format, is_training):
    _check(x, {"scale": scale, "reserve_space_1": mean, "reserve_space_2": variance}, data_format)
    _require(
        dy.shape == x.shape,
        f"x and y_backprop must have same shape, got {shape_text(x.shape)} and {shape_text(dy.shape)}",
    )
    number, dtype = scale.dtype.type, scale.dtype
    precise, g = lax.convert_element_type(x, dtype), lax.convert_element_type(dy, dtype)
    root = lax.rsqrt(lax.add(variance, number(epsilon)))
    centred = lax.sub(precise, _spread(mean, data_format))
    offset_grad = _channel_sums(g, data_format)
    products = _channel_sums(lax.mul(g, centred), data_format)
    factor = _spread(lax.mul(scale, root), data_format)
    if is_training:
        count = number(_count(x, data_format))
        slope = lax.div(lax.mul(products, lax.mul(root, root)), count)
        shift = _spread(lax.div(offset_grad, count), data_format)
        g = lax.sub(lax.sub(g, shift), lax.mul(centred, _spread(slope, data_format)))
    unused = np.zeros((), dtype)
    # the statistics of an empty batch are NaN, but no example changes the scale
    scale_grad = lax.mul(products, root) if _count(x, data_format) else products
    return lax.convert_element_type(lax.mul(factor, g), x.dtype), scale_grad, offset_grad, unused, unused


def _normalize_grad_v3(dy, x, scale, mean, variance, _, *, epsilon, data_format, is_training):
    return _normalize_grad(
        dy, x, scale, mean, variance, epsilon=epsilon, data_format=data_format, is_training=is_training
    )


# ---- gradients ----


def _attrs(node: Operation) -> dict[str, Any]:
    return {n: node.get_attr(n) for n in ("epsilon", "data_format", "is_training")}


def _gradient(version: str, reserved: int) -> Any:
    """The gradient that the op type FusedBatchNormGrad`version` computes; batch statistics get none, as in 1.15."""

    def gradient(op, g, *_):
        x, scale = op.inputs[:2]
        attrs = _attrs(op)
        function = raw.function("FusedBatchNormGrad" + version)
        if op.get_attr("is_training"):
            return list(function(g, x, scale, *op.outputs[3 : 3 + reserved], **attrs))
        nchw = attrs["data_format"] == b"NCHW"
        if nchw:
            attrs["data_format"] = "NHWC"
            x, g = transpose(x, [0, 2, 3, 1]), transpose(g, [0, 2, 3, 1])
        to_x, to_scale, to_offset, _, _ = function(g, x, scale, *op.inputs[3:5], *op.outputs[5:], **attrs)
        return [transpose(to_x, [0, 3, 1, 2]) if nchw else to_x, to_scale, to_offset, None, None]

    return gradient


def _second_gradient(op, gx, gscale, goffset, *_):
    """The derivative of (x_backprop, scale_backprop, offset_backprop) with respect to y_backprop, x and scale.

    With r = 1 / sqrt(variance + epsilon), n = (x - mean) * r and P(u) = u - mean(u) - n * mean(u * n):
    x_backprop = scale * r * P(dy), scale_backprop = sum(dy * n); P is its own adjoint, and r * P is that of x -> n.
    """
    dy, x, scale, mean, variance = op.inputs[:5]
    rank, axis = _layout(op.get_attr("data_format").decode())
    others = np.array([i for i in range(rank) if i != axis], np.int32)
    along = np.array([-1 if i == axis else 1 for i in range(rank)], np.int32)

    def spread(vector: Tensor) -> Tensor:
        return raw.Reshape(vector, along)

    def average(tensor: Tensor) -> Tensor:
        return raw.Mean(tensor, others, keep_dims=True)

    def total(tensor: Tensor) -> Tensor:
        return raw.Sum(tensor, others)

    half = x.dtype != scale.dtype
    if half:
        gx, dy, x = (raw.Cast(t, DstT=scale.dtype) for t in (gx, dy, x))
    weight, gscale, goffset = spread(scale), spread(gscale), spread(goffset)
    training = op.get_attr("is_training")
    if training:
        centre = average(x)
        spread_variance = average(raw.SquaredDifference(x, centre))
    else:
        centre, spread_variance = spread(mean), spread(variance)
    root = raw.Rsqrt(spread_variance + op.get_attr("epsilon"))
    normal = (x - centre) * root

    def project(tensor: Tensor) -> Tensor:
        return tensor - average(tensor) - normal * average(tensor * normal) if training else tensor

    to_dy = weight * root * project(gx) + gscale * normal + goffset
    to_scale = total(gx * project(dy) * root)
    to_x = gscale * dy * root
    if training:
        a, b = average(gx * normal), average(dy * normal)
        rest = average(gx * dy) - average(gx) * average(dy) - a * b
        to_x = root * project(gscale * dy - weight * root * (b * gx + a * dy)) - weight * root * root * normal * rest
    if half:
        to_dy, to_x = (raw.Cast(t, DstT=op.inputs[1].dtype) for t in (to_dy, to_x))
    return [to_dy, to_x, to_scale, *[None] * (len(op.inputs) - 3)]


# ---- rows ----

for _version, _types, _name, _attr_text, _last in (
    ("", "T: {float32}", "T", _ATTRS, ""),
    ("V2", f"T: {_HALF}, U: {{float32}}", "U", _ATTRS, ""),
    ("V3", f"T: {_HALF}, U: {{float32}}", "U", _ATTRS_3D, ", reserve_space_3: U"),
):
    op(
        "FusedBatchNorm" + _version,
        f"(x: T, scale: {_name}, offset: {_name}, mean: {_name}, variance: {_name}, *, {_types}, {_attr_text}) -> "
        f"(y: T, batch_mean: {_name}, batch_variance: {_name}, reserve_space_1: {_name}, "
        f"reserve_space_2: {_name}{_last})",
        shape=_norm_shape, gradient=_gradient(_version, 3 if _last else 2),
        kernel=_normalize_v3 if _last else _normalize,
    )  # fmt: skip
    _numbers = (4, 5) if _last else (3, 4)
    op(
        "FusedBatchNormGrad" + _version,
        f"(y_backprop: T, x: T, scale: {'float32' if _version else 'T'}, reserve_space_1: {_name}, "
        f"reserve_space_2: {_name}{_last}, *, {_types}, {_attr_text}) -> (x_backprop: T, scale_backprop: {_name}, "
        f"offset_backprop: {_name}, reserve_space_{_numbers[0]}: {_name}, reserve_space_{_numbers[1]}: {_name})",
        shape=_grad_shape, gradient=_second_gradient, kernel=_normalize_grad_v3 if _last else _normalize_grad,
    )  # fmt: skip


# ---- the op types that came before ----


def _global_shape(c):
    sizes = si.with_rank(c.inputs[0], 4)
    return [_with_channels(sizes, 3, _merged_channels(c, sizes[3], 1, 5))]


def _global_grad_shape(c):
    sizes = si.merge(si.with_rank(c.inputs[0], 4), c.inputs[4])
    channels = _merged_channels(c, sizes[3], 1, 4)
    return [_with_channels(sizes, 3, channels), *[(channels,)] * 4]


def _global_gradient(op, g):
    t, m, v, _, gamma = op.inputs
    attrs = {n: op.get_attr(n) for n in ("variance_epsilon", "scale_after_normalization")}
    return list(raw.BatchNormWithGlobalNormalizationGrad(t, m, v, gamma, g, **attrs))


_GLOBAL = "T: NUMBER, variance_epsilon: float, scale_after_normalization: bool"


@op(
    "BatchNormWithGlobalNormalization", f"(t: T, m: T, v: T, beta: T, gamma: T, *, {_GLOBAL}) -> (result: T)",
    shape=_global_shape, gradient=_global_gradient,
)  # fmt: skip
def _batch_norm_global(t, m, v, beta, gamma, *, variance_epsilon, scale_after_normalization):
    factor = lax.rsqrt(v + v.dtype.type(variance_epsilon))
    return (t - m) * (factor * gamma if scale_after_normalization else factor) + beta


@op(
    "BatchNormWithGlobalNormalizationGrad",
    f"(t: T, m: T, v: T, gamma: T, backprop: T, *, {_GLOBAL}) -> (dx: T, dm: T, dv: T, db: T, dg: T)",
    shape=_global_grad_shape, gradient=NotDifferentiable("1.15 has no second derivative of it", raises=True),
)  # fmt: skip
def _batch_norm_global_grad(t, m, v, gamma, backprop, *, variance_epsilon, scale_after_normalization):
    root = lax.rsqrt(v + v.dtype.type(variance_epsilon))
    factor = root * gamma if scale_after_normalization else root
    offset_grad = bias_add_grad(backprop)
    products = bias_add_grad(backprop * (t - m))
    weighted = products * gamma if scale_after_normalization else products
    scale_grad = products * root if scale_after_normalization else jnp.zeros_like(gamma)
    to_variance = weighted * root * root * root * v.dtype.type(-0.5)
    return backprop * factor, -offset_grad * factor, to_variance, offset_grad, scale_grad


# ---- public functions ----


@export("nn.fused_batch_norm")
def fused_batch_norm(
    x: TensorLike, scale: TensorLike, offset: TensorLike, mean: TensorLike | None = None, variance: TensorLike | None = None, epsilon: float = 0.001,
    data_format: str = "NHWC", is_training: bool = True, name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Batch normalisation (Ioffe and Szegedy, 2015) as one op.

    Args:
      x: Tensor [batch, *sizes, channels] in `data_format` order.
      scale, offset: float32 vectors, one element per channel.
      mean, variance: float32 vectors to use where `is_training` is false.
      epsilon: added to the variance; at least 1.001e-5.
      data_format: "NHWC", "NCHW", "NDHWC" or "NCDHW".
      is_training: whether mean and variance are those of `x`.
      name: node name.

    Returns:
      the normalised `x`, and mean and unbiased variance of `x` (where `is_training` is false, those given).

    Raises:
      ValueError: `mean` or `variance` is given and `is_training` is true.
    """
    x = to_tensor(x, name="input")
    scale, offset = to_tensor(scale, name="scale"), to_tensor(offset, name="offset")
    if is_training and (mean is not None or variance is not None):
        raise ValueError("Both 'mean' and 'variance' must be None if is_training is True.")
    mean = constant([]) if mean is None else mean
    variance = constant([]) if variance is None else variance
    found = raw.FusedBatchNormV3(
        x, scale, offset, mean, variance, epsilon=max(epsilon, _LEAST_EPSILON), data_format=data_format,
        is_training=is_training, name=name,
    )  # fmt: skip
    return found[0], found[1], found[2]
