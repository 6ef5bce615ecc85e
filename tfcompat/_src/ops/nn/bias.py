"""Adding a vector along the channels, and layers made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jax import lax

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import op
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import to_tensor
from tfcompat._src.ops.array.fill import ones_like
from tfcompat._src.ops.array.join import concat, tile
from tfcompat._src.ops.array.shape import rank, shape
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.nn.conv_kernels import bias_add_grad

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_FORMAT = 'data_format: {"NHWC", "NCHW"} = "NHWC"'


def _is_nchw(c) -> bool:
    return "data_format" in c.op.attrs and c.attr("data_format") == b"NCHW"


def bias_add_shape(c):
    value = si.with_rank_at_least(c.inputs[0], 3 if _is_nchw(c) else 2)
    (size,) = si.with_rank(c.inputs[1], 1)
    if value is None:
        return [None]
    axis = 1 if _is_nchw(c) else len(value) - 1
    return [value[:axis] + (si.merge_size(value[axis], size),) + value[axis + 1 :]]


def _bias_add_grad_shape(c):
    value = si.with_rank_at_least(c.inputs[0], 3 if _is_nchw(c) else 2)
    return [(None,) if value is None else (value[1 if _is_nchw(c) else -1],)]


def _bias_add_gradient(op, g):
    return [g, raw.BiasAddGrad(g, data_format=op.get_attr("data_format"))]


def _bias_add_v1_gradient(op, g):
    return [g, raw.Sum(g, arange(rank(g) - 1))]


def _bias_add_grad_gradient(op, g):
    """`g` along the channels of every position."""
    sizes = shape(op.inputs[0])
    channels = shape(g)
    if op.get_attr("data_format") == b"NCHW":
        spread = concat([ones_like(sizes[:1]), channels, ones_like(sizes[2:])], 0)
        repetitions = concat([sizes[:1], [1], sizes[2:]], 0)
    else:
        spread = concat([ones_like(sizes[:-1]), channels], 0)
        repetitions = concat([sizes[:-1], [1]], 0)
    return [tile(raw.Reshape(g, spread), repetitions)]


def _reshaped(bias, value, axis: int):
    """The bias with the sizes that add it to `value` along `axis`; raises InvalidArgumentError if it does not fit."""
    if bias.ndim != 1 or value.ndim < 2 or value.shape[axis] != bias.shape[0]:
        raise errors.InvalidArgumentError(
            None, None,
            f"Must provide as many biases as the last dimension of the input tensor: {shape_text(bias.shape)} vs. "
            f"{shape_text(value.shape)}",
        )  # fmt: skip
    sizes = [1] * value.ndim
    sizes[axis] = bias.shape[0]
    return bias.reshape(sizes)


def _channels(value, data_format: str) -> int:
    return 1 if data_format == "NCHW" else value.ndim - 1


def _near_bias_add(value, bias, *, data_format):
    return value + _reshaped(bias, value, _channels(value, data_format))


def _near_bias_add_grad(out_backprop, *, data_format):
    _require_matrix(out_backprop)
    if data_format == "NCHW" and out_backprop.ndim > 2:
        return out_backprop.sum((0, *range(2, out_backprop.ndim)), dtype=out_backprop.dtype)
    rows = out_backprop.reshape(-1, out_backprop.shape[-1])
    return np.ones(len(rows), rows.dtype) @ rows


@op(
    "BiasAdd", f"(value: T, bias: T, *, T: NUMBER, {_FORMAT}) -> (output: T)", shape=bias_add_shape,
    exact=True, gradient=_bias_add_gradient, near=_near_bias_add,
)  # fmt: skip
def _bias_add(value, bias, *, data_format):
    return lax.add(value, _reshaped(bias, value, _channels(value, data_format)))


@op(
    "BiasAddV1",
    "(value: T, bias: T, *, T: NUMBER) -> (output: T)",
    shape=bias_add_shape,
    gradient=_bias_add_v1_gradient,
)
def _bias_add_v1(value, bias):
    return lax.add(value, _reshaped(bias, value, value.ndim - 1))


def _require_matrix(out_backprop) -> None:
    if out_backprop.ndim < 2:
        raise errors.InvalidArgumentError(None, None, f"Input tensor must be at least 2D: {shape_text(out_backprop.shape)}")


@op(
    "BiasAddGrad", f"(out_backprop: T, *, T: NUMBER, {_FORMAT}) -> (output: T)", shape=_bias_add_grad_shape,
    gradient=_bias_add_grad_gradient, near=_near_bias_add_grad,
)  # fmt: skip
def _bias_add_grad(out_backprop, *, data_format):
    _require_matrix(out_backprop)
    return bias_add_grad(out_backprop, data_format=data_format)


# ---- public functions ----


def short_data_format(data_format: str | None) -> str | None:
    """NHWC or NCHW for any format of channels last or first; ValueError for another."""
    if data_format is None:
        return None
    if data_format.startswith("NC"):
        return "NCHW"
    if data_format.startswith("N") and data_format.endswith("C"):
        return "NHWC"
    raise ValueError("data_format must be of the form `N...C` or `NC...`")


@export("nn.bias_add")
def bias_add(value: TensorLike, bias: TensorLike, data_format: str | None = None, name: str | None = None) -> Tensor:
    """Adds a vector along the channels.

    Args:
      value: numeric Tensor of at least two dimensions.
      bias: vector of its dtype, one element per channel.
      data_format: `N...C` (channels last, the default) or `NC...`.
      name: node name.

    Returns:
      a Tensor of the shape of `value`.

    Raises:
      ValueError: the sizes do not fit, or another data format.
    """
    with name_scope(name, "BiasAdd", [value, bias]) as name:
        data_format = short_data_format(data_format)
        value = to_tensor(value, name="input")
        bias = to_tensor(bias, value.dtype.base_dtype, "bias")
        return raw.BiasAdd(value, bias, data_format=data_format, name=name)


def _converted(x: TensorLike, weights: TensorLike, biases: TensorLike) -> tuple[Tensor, Tensor, Tensor]:
    return to_tensor(x, name="x"), to_tensor(weights, name="weights"), to_tensor(biases, name="biases")


@export("nn.xw_plus_b")
def xw_plus_b(x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None) -> Tensor:
    """matmul(x, weights) + biases for `x` [batch, in], `weights` [in, out] and `biases` [out]."""
    with name_scope(name, "xw_plus_b", [x, weights, biases]) as name:
        x, weights, biases = _converted(x, weights, biases)
        return bias_add(matmul(x, weights), biases, name=name)


@export("nn.relu_layer")
def relu_layer(x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None) -> Tensor:
    """relu(matmul(x, weights) + biases) for `x` [batch, in], `weights` [in, out] and `biases` [out]."""
    with name_scope(name, "relu_layer", [x, weights, biases]) as name:
        x, weights, biases = _converted(x, weights, biases)
        return raw.Relu(bias_add(matmul(x, weights), biases), name=name)
