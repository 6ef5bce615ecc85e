"""Depthwise and separable convolution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from tfcompat._src.base import errors
from tfcompat._src.base.deprecation import deprecated_argument_lookup
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import COSTLY, op
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import to_tensor
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.nn import conv_kernels
from tfcompat._src.ops.nn.conv import bilinear_gradients, shape_of_sizes
from tfcompat._src.ops.nn.conv_functions import conv2d
from tfcompat._src.ops.nn.dilated import with_space_to_batch
from tfcompat._src.ops.nn.window_sizes import join, split, text_attr, window_counts, window_positions
from tfcompat._src.ops.nn.windows import channels_first, spatial

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfcompat._src.base.arrays import TensorLike

_ATTRS = (
    'strides: list(int), padding: {"SAME", "VALID"}, data_format: {"NHWC", "NCHW"} = "NHWC", '
    "dilations: list(int) = [1, 1, 1, 1]"
)
_NATIVE = "DepthwiseConv2dNative"
_FORWARD, _TO_INPUT, _TO_FILTER = bilinear_gradients(_NATIVE, _NATIVE + "BackpropInput", _NATIVE + "BackpropFilter")


# ---- op types; as on 1.15's CPU, `dilations` is kept in the graph and not used ----


def _depthwise_shape(c):
    x, filters = si.with_rank(c.inputs[0], 4), si.with_rank(c.inputs[1], 4)
    data_format, padding = text_attr(c, "data_format"), text_attr(c, "padding")
    if len(c.attr("strides")) != 4:
        raise ValueError(
            f"DepthwiseConv2D requires the stride attribute to contain 4 values, but got: {len(c.attr('strides'))}"
        )
    batch, sizes, channels = split(x, data_format)
    channels = si.merge_size(channels, filters[2])
    out = None if channels is None or filters[3] is None else channels * filters[3]
    geometry = zip(sizes, filters[:2], spatial(c.attr("strides"), data_format))
    return [join(batch, [window_positions(n, k, s, padding) for n, k, s in geometry], out, data_format)]


def _out_shape(sizes: tuple, filter_sizes: tuple, strides: Any, padding: str, data_format: str) -> tuple:
    """The shape of the result; InvalidArgumentError where the input does not fit the filter."""
    for what, found in (("input", sizes), ("filter", filter_sizes)):
        if len(found) != 4:
            raise errors.InvalidArgumentError(None, None, f"{what} must be 4-dimensional{shape_text(found)}")
    batch, inputs, channels = split(sizes, data_format)
    if channels != filter_sizes[2]:
        text = f"input and filter must have the same depth: {channels} vs {filter_sizes[2]}"
        raise errors.InvalidArgumentError(None, None, text)
    if strides[0] != 1 or strides[1 if channels_first(data_format) else 3] != 1:
        text = "Current implementation does not yet support strides in the batch and depth dimensions."
        raise errors.InvalidArgumentError(None, None, text)
    steps = spatial(strides, data_format)
    if steps[0] != steps[1]:
        text = "Current implementation only supports equal length strides in the row and column dimensions."
        raise errors.InvalidArgumentError(None, None, text)
    counts = window_counts(inputs, filter_sizes[:2], steps, padding, (1, 1), (0, 0))
    return join(batch, counts, channels * filter_sizes[3], data_format)


def _require_gradient_shape(gradient: Any, wanted: tuple) -> None:
    if gradient.shape != wanted:
        raise errors.InvalidArgumentError(
            None, None, f"out_backprop must have shape {shape_text(wanted)}, but has {shape_text(gradient.shape)}"
        )


@op(_NATIVE, f"(input: T, filter: T, *, T: FLOAT, {_ATTRS}) -> (output: T)", shape=_depthwise_shape, gradient=_FORWARD, facts=COSTLY)
def _depthwise(x, filters, *, strides, padding, data_format):
    out = _out_shape(x.shape, filters.shape, strides, padding, data_format)
    if 0 in out + x.shape + filters.shape:
        return jnp.zeros(out, x.dtype)
    return conv_kernels.depthwise_conv(x, filters, strides=strides, padding=padding, data_format=data_format)


@op(
    _NATIVE + "BackpropInput",
    f"(input_sizes: int32, filter: T, out_backprop: T, *, T: FLOAT, {_ATTRS}) -> (output: T)",
    shape=shape_of_sizes(0, 4), gradient=_TO_INPUT, constants=("input_sizes",),
)  # fmt: skip
def _depthwise_input_grad(input_sizes, filters, out_backprop, *, strides, padding, data_format):
    sizes = tuple(int(n) for n in input_sizes)
    out = _out_shape(sizes, filters.shape, strides, padding, data_format)
    _require_gradient_shape(out_backprop, out)
    if 0 in out + sizes + filters.shape:
        return jnp.zeros(sizes, filters.dtype)
    return conv_kernels.depthwise_conv_backprop_input(
        sizes, filters, out_backprop, strides=strides, padding=padding, data_format=data_format
    )


@op(
    _NATIVE + "BackpropFilter",
    f"(input: T, filter_sizes: int32, out_backprop: T, *, T: FLOAT, {_ATTRS}) -> (output: T)",
    shape=shape_of_sizes(1, 4), gradient=_TO_FILTER, constants=("filter_sizes",),
)  # fmt: skip
def _depthwise_filter_grad(x, filter_sizes, out_backprop, *, strides, padding, data_format):
    sizes = tuple(int(n) for n in filter_sizes)
    out = _out_shape(x.shape, sizes, strides, padding, data_format)
    _require_gradient_shape(out_backprop, out)
    if 0 in out + x.shape + sizes:
        return jnp.zeros(sizes, x.dtype)
    return conv_kernels.depthwise_conv_backprop_filter(
        x, sizes, out_backprop, strides=strides, padding=padding, data_format=data_format
    )


# ---- public functions ----

_ONES = (1, 1, 1, 1)


@export("nn.depthwise_conv2d_native")
def depthwise_conv2d_native(
    input: TensorLike, filter: TensorLike, strides: Sequence[int], padding: str, data_format: str | None = "NHWC", dilations: Sequence[int] = _ONES,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Convolves every channel with its own filters.

    Args:
      input: floating Tensor [batch, height, width, in] in `data_format` order.
      filter: Tensor [height, width, in, multiplier] of its dtype.
      strides: four ints.
      padding: "SAME" or "VALID".
      data_format: "NHWC" or "NCHW".
      dilations: kept in the graph and not used, as on 1.15's CPU; `tf.nn.depthwise_conv2d` has `rate`.
      name: node name.

    Returns:
      a Tensor [batch, out height, out width, in * multiplier] in `data_format` order.
    """
    return raw.DepthwiseConv2dNative(input, filter, strides, padding, data_format, dilations, name=name)


@export("nn.depthwise_conv2d_native_backprop_input", "nn.depthwise_conv2d_backprop_input")
def depthwise_conv2d_native_backprop_input(
    input_sizes: TensorLike, filter: TensorLike, out_backprop: TensorLike, strides: Sequence[int], padding: str, data_format: str = "NHWC",
    dilations: Sequence[int] = _ONES, name: str | None = None,
) -> Tensor:  # fmt: skip
    """The gradient of `tf.nn.depthwise_conv2d_native` to its input, of shape `input_sizes`."""
    return raw.DepthwiseConv2dNativeBackpropInput(
        input_sizes, filter, out_backprop, strides, padding, data_format, dilations, name=name
    )


@export("nn.depthwise_conv2d_native_backprop_filter", "nn.depthwise_conv2d_backprop_filter")
def depthwise_conv2d_native_backprop_filter(
    input: TensorLike, filter_sizes: TensorLike, out_backprop: TensorLike, strides: Sequence[int], padding: str, data_format: str = "NHWC",
    dilations: Sequence[int] = _ONES, name: str | None = None,
) -> Tensor:  # fmt: skip
    """The gradient of `tf.nn.depthwise_conv2d_native` to its filter, of shape `filter_sizes`."""
    return raw.DepthwiseConv2dNativeBackpropFilter(
        input, filter_sizes, out_backprop, strides, padding, data_format, dilations, name=name
    )


def _dilated_depthwise(
    input: Tensor, filter: Tensor, strides: Sequence[int], padding: str, rate: object, data_format: str | None, name: str | None
) -> Tensor:
    def apply(converted: Tensor, _: int, padding: str) -> Tensor:
        return depthwise_conv2d_native(converted, filter, strides, padding, data_format, name=name)

    rate = [1, 1] if rate is None else rate
    return with_space_to_batch(input, rate, padding, apply, filter_shape=shape(filter), data_format=data_format)


@export("nn.depthwise_conv2d")
def depthwise_conv2d(
    input: object, filter: object, strides: Any, padding: str, rate: Any = None, name: str | None = None,
    data_format: str | None = None, dilations: object = None,
) -> Tensor:  # fmt: skip
    """Convolves every channel with its own filters.

    Args:
      input: floating Tensor [batch, height, width, in] in `data_format` order.
      filter: Tensor [height, width, in, multiplier] of its dtype.
      strides: four ints.
      padding: "SAME" or "VALID".
      rate, dilations: spacing of the window's elements, two ints.
      name: node name.
      data_format: "NHWC" or "NCHW".

    Returns:
      a Tensor [batch, out height, out width, in * multiplier] in `data_format` order.
    """
    rate = deprecated_argument_lookup("dilations", dilations, "rate", rate)
    with name_scope(name, "depthwise", [input, filter]) as name:
        input, filter = to_tensor(input, name="tensor_in"), to_tensor(filter, name="filter_in")
        return _dilated_depthwise(input, filter, strides, padding, rate, data_format, name)


@export("nn.separable_conv2d")
def separable_conv2d(
    input: object, depthwise_filter: object, pointwise_filter: TensorLike, strides: Any, padding: str, rate: Any = None,
    name: str | None = None, data_format: str | None = None, dilations: object = None,
) -> Tensor:  # fmt: skip
    """A depthwise convolution followed by a 1x1 convolution.

    Args:
      input: floating Tensor [batch, height, width, in] in `data_format` order.
      depthwise_filter: Tensor [height, width, in, multiplier].
      pointwise_filter: Tensor [1, 1, in * multiplier, out].
      strides: four ints, of the depthwise convolution.
      padding: "SAME" or "VALID".
      rate, dilations: spacing of the window's elements, two ints.
      name: node name.
      data_format: "NHWC" or "NCHW".

    Returns:
      a Tensor [batch, out height, out width, out] in `data_format` order.

    Raises:
      ValueError: shapes that do not fit.
    """
    rate = deprecated_argument_lookup("dilations", dilations, "rate", rate)
    with name_scope(name, "separable_conv2d", [input, depthwise_filter, pointwise_filter]) as name:
        input = to_tensor(input, name="tensor_in")
        depthwise_filter = to_tensor(depthwise_filter, name="depthwise_filter")
        pointwise_filter = to_tensor(pointwise_filter, name="pointwise_filter")
        sizes = pointwise_filter.shape.with_rank(4)
        sizes.dims[0].assert_is_compatible_with(1)
        sizes.dims[1].assert_is_compatible_with(1)
        depthwise = _dilated_depthwise(input, depthwise_filter, strides, padding, rate, data_format, "depthwise")
        return conv2d(depthwise, pointwise_filter, _ONES, "VALID", data_format=data_format, name=name)
