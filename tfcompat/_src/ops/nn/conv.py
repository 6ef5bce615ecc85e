"""The op types of convolution in two and three dimensions, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from tfcompat._src.base import checks, errors
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import COSTLY, NotDifferentiable, op
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.shape import shape, shape_n
from tfcompat._src.ops.nn import conv_kernels
from tfcompat._src.ops.nn.window_sizes import join, split, text_attr, window_counts, window_positions
from tfcompat._src.ops.nn.windows import channels_first, spatial

if TYPE_CHECKING:
    from tfcompat._src.graph.operation import Operation
    from tfcompat._src.graph.shape_inference import InferenceContext

_ATTRS_2D = (
    'strides: list(int), use_cudnn_on_gpu: bool = True, padding: {"SAME", "VALID", "EXPLICIT"}, '
    'explicit_paddings: list(int) = [], data_format: {"NHWC", "NCHW"} = "NHWC", dilations: list(int) = [1, 1, 1, 1]'
)
_ATTRS_3D_OLD = 'strides: list(int) >= 5, padding: {"SAME", "VALID"}, dilations: list(int) = [1, 1, 1, 1, 1]'
_ATTRS_3D = (
    'strides: list(int) >= 5, padding: {"SAME", "VALID"}, data_format: {"NDHWC", "NCDHW"} = "NDHWC", '
    "dilations: list(int) = [1, 1, 1, 1, 1]"
)


# ---- static shapes ----


def _optional(c: Any, name: str, default: Any) -> Any:
    return c.op.attrs.get(name, default)


def _data_format(c: object) -> str:
    return _optional(c, "data_format", b"NHWC").decode()


def _check_lengths(c: InferenceContext, what: str, rank: int) -> None:
    """ValueError where `strides` or `dilations` has not one entry per dimension, or paddings do not fit."""
    data_format = _data_format(c)
    if len(c.attr("strides")) != rank:
        where = f"{what} on data format {data_format}" if what == "Conv2D" else what
        raise ValueError(
            f"{where} requires the stride attribute to contain {rank} values, but got: {len(c.attr('strides'))}"
        )
    if len(c.attr("dilations")) != rank:
        raise ValueError(
            f"{what} requires the dilation attribute to contain {rank} values, but got: {len(c.attr('dilations'))}"
        )
    paddings = _optional(c, "explicit_paddings", [])
    explicit = c.attr("padding") == b"EXPLICIT"
    if explicit and len(paddings) != 2 * rank:
        raise ValueError(f"explicit_paddings attribute must contain {2 * rank} values, but got: {len(paddings)}")
    if not explicit and paddings:
        raise ValueError(
            f"explicit_paddings attribute must be empty if the padding attribute is not EXPLICIT. Got: {paddings}"
        )
    if any(p < 0 for p in paddings):
        raise ValueError("All elements of explicit_paddings must be nonnegative")
    if explicit and any(
        paddings[2 * i + j] for i in (0, 1 if channels_first(data_format) else rank - 1) for j in (0, 1)
    ):
        raise ValueError("Nonzero explicit padding in the batch or depth dimensions is not supported")


def _positions(c: InferenceContext, sizes: tuple, window: tuple) -> tuple:
    """The spatial sizes of the result."""
    data_format, padding = _data_format(c), text_attr(c, "padding")
    extra = _extra_padding(_optional(c, "explicit_paddings", ()), data_format, len(sizes))
    settings = zip(
        sizes, window, spatial(c.attr("strides"), data_format), spatial(c.attr("dilations"), data_format), extra
    )
    return tuple(window_positions(n, k, stride, padding, dilation, e) for n, k, stride, dilation, e in settings)


def _extra_padding(paddings: Any, data_format: str, count: int) -> tuple:
    """The padding elements per spatial dimension, before and after together."""
    if not paddings:
        return (0,) * count
    return spatial([a + b for a, b in zip(paddings[::2], paddings[1::2])], data_format)


def _check_channels(channels: int | None, filter_channels: int | None, out_channels: int | None) -> None:
    if channels is None or filter_channels is None or channels == filter_channels:
        return
    if filter_channels == 0:
        raise ValueError("Depth of filter must not be 0")
    if channels % filter_channels:
        raise ValueError(f"Depth of input ({channels}) is not a multiple of input depth of filter ({filter_channels})")
    groups = channels // filter_channels
    if groups == 0:
        raise ValueError("Number of groups must not be 0")
    if out_channels is not None and out_channels % groups:
        raise ValueError(f"Depth of output ({out_channels}) is not a multiple of the number of groups ({groups})")


def conv_shape(what: str, rank: int) -> Callable:
    def shape(c):
        x, filters = si.with_rank(c.inputs[0], rank), si.with_rank(c.inputs[1], rank)
        _check_lengths(c, what, rank)
        data_format = _data_format(c)
        batch, sizes, channels = split(x, data_format)
        _check_channels(channels, *filters[-2:])
        return [join(batch, _positions(c, sizes, filters[:-2]), filters[-1], data_format)]

    return shape


def shape_of_sizes(index: int, rank: int) -> Callable:
    return lambda c: [si.with_rank(c.shape_value(index), rank)]


def _shape_of_input(index: int, rank: int) -> Callable:
    return lambda c: [si.with_rank(c.inputs[index], rank)]


# ---- gradients: each of the three op types of a convolution is linear in both its tensors ----


def _shared_attrs(node: Operation) -> dict[str, Any]:
    names = ("strides", "padding", "explicit_paddings", "data_format", "dilations", "use_cudnn_on_gpu")
    return {n: node.get_attr(n) for n in names if n in node.attrs}


def bilinear_gradients(
    forward: str, to_input: str, to_filter: str, shapes: Callable = lambda tensors: map(shape, tensors)
) -> tuple[Callable, Callable, Callable]:
    """The gradients of the op types `forward`, `to_input` and `to_filter`, which share their attributes.

    `shapes` gives those of input and filter; by default each is computed where it is asked for.
    """
    conv, input_grad, filter_grad = raw.function(forward), raw.function(to_input), raw.function(to_filter)

    def of_forward(op, g):
        x, filters = op.inputs
        attrs = _shared_attrs(op)
        sizes = iter(shapes([x, filters]))
        return [input_grad(next(sizes), filters, g, **attrs), filter_grad(x, next(sizes), g, **attrs)]

    def of_input_grad(op, g):
        _, filters, out = op.inputs
        attrs = _shared_attrs(op)
        return [None, filter_grad(g, shape(filters), out, **attrs), conv(g, filters, **attrs)]

    def of_filter_grad(op, g):
        x, _, out = op.inputs
        attrs = _shared_attrs(op)
        return [input_grad(shape(x), g, out, **attrs), None, conv(x, g, **attrs)]

    return of_forward, of_input_grad, of_filter_grad


# ---- kernels ----


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


def _require_rank(what: str, x: Any, rank: int) -> None:
    if x.ndim != rank:
        raise _invalid(f"{what} must be {rank}-dimensional{shape_text(x.shape)}")


def _sizes_of(what: str, sizes: Any, rank: int) -> tuple[int, ...]:
    """The shape that an input tells, which must be one of `rank` dimensions."""
    if sizes.shape != (rank,):
        raise _invalid(f"{what} must be {rank}-dimensional")
    checks.sizes(sizes)
    return tuple(int(n) for n in sizes)


def _require_channels(op_type: str, channels: int, filter_channels: int) -> None:
    if filter_channels == 0 or channels % filter_channels:
        raise _invalid(f"input depth must be evenly divisible by filter depth: {channels} vs {filter_channels}")
    if channels != filter_channels:
        raise errors.UnimplementedError(
            None, None,
            f"The {op_type} op currently does not support grouped convolutions on the CPU. A grouped "
            "convolution was attempted to "
            f"be run because the input depth of {channels} does not match the filter input depth of {filter_channels}",
        )  # fmt: skip


def out_shape(
    sizes: tuple, filter_sizes: tuple, out_channels: int, *, strides, padding, data_format, dilations,
    explicit_paddings=(),
) -> tuple:  # fmt: skip
    """The shape of a convolution's result; InvalidArgumentError where the window cannot slide so."""
    for name, values in (("strides", strides), ("dilations", dilations)):
        if len(values) != len(sizes):
            raise _invalid(f"Sliding window {name} field must specify {len(sizes)} dimensions")
    if 0 in filter_sizes[:-2]:
        raise _invalid(f"filter must not be empty: {shape_text(filter_sizes)}")
    batch, inputs, _ = split(sizes, data_format)
    channel_axis = 1 if channels_first(data_format) else -1
    for name, values in (("strides", strides), ("dilations", dilations)):
        if values[0] != 1 or values[channel_axis] != 1:
            raise _invalid(f"Current implementation does not yet support {name} in the batch and depth dimensions.")
    steps, rates = spatial(strides, data_format), spatial(dilations, data_format)
    extra = _extra_padding(explicit_paddings, data_format, len(inputs))
    return join(
        batch, window_counts(inputs, filter_sizes[:-2], steps, padding, rates, extra), out_channels, data_format
    )


def _require_gradient_shape(op_type: str, gradient: Any, wanted: tuple) -> None:
    if gradient.shape != wanted:
        raise _invalid(
            f"{op_type}: Size of out_backprop doesn't match computed: actual = {shape_text(gradient.shape)}, "
            f"computed = {shape_text(wanted)}"
        )


def _conv(op_type: str, rank: int) -> Callable:
    def apply(x, filters, **window):
        _require_rank("input", x, rank)
        _require_rank("filter", filters, rank)
        _require_channels(op_type, x.shape[1 if channels_first(window["data_format"]) else -1], filters.shape[-2])
        out = out_shape(x.shape, filters.shape, filters.shape[-1], **window)
        if 0 in out + x.shape + filters.shape:
            return jnp.zeros(out, x.dtype)
        return conv_kernels.conv(x, filters, **window)

    return apply


def _input_grad(op_type: str, rank: int) -> Callable:
    def apply(input_sizes, filters, out_backprop, **window):
        sizes = _sizes_of("input", input_sizes, rank)
        _require_rank("filter", filters, rank)
        _require_rank("out_backprop", out_backprop, rank)
        out = out_shape(sizes, filters.shape, filters.shape[-1], **window)
        _require_gradient_shape(op_type, out_backprop, out)
        _require_channels(op_type, sizes[1 if channels_first(window["data_format"]) else -1], filters.shape[-2])
        if 0 in out + sizes + filters.shape:
            return jnp.zeros(sizes, filters.dtype)
        return conv_kernels.conv_backprop_input(sizes, filters, out_backprop, **window)

    return apply


def _filter_grad(op_type: str, rank: int) -> Callable:
    def apply(x, filter_sizes, out_backprop, **window):
        sizes = _sizes_of("filter", filter_sizes, rank)
        _require_rank("input", x, rank)
        _require_rank("out_backprop", out_backprop, rank)
        out = out_shape(x.shape, sizes, sizes[-1], **window)
        _require_gradient_shape(op_type, out_backprop, out)
        _require_channels(op_type, x.shape[1 if channels_first(window["data_format"]) else -1], sizes[-2])
        if 0 in out + x.shape + sizes:
            return jnp.zeros(sizes, x.dtype)
        return conv_kernels.conv_backprop_filter(x, sizes, out_backprop, **window)

    return apply


def _takes_2d(apply: Callable) -> Callable:
    def kernel(a, b, *rest, strides, padding, explicit_paddings, data_format, dilations):
        return apply(
            a, b, *rest, strides=strides, padding=padding, explicit_paddings=explicit_paddings, data_format=data_format,
            dilations=dilations,
        )  # fmt: skip

    return kernel


def _takes_3d(apply: Callable) -> Callable:
    def kernel(a, b, *rest, strides, padding, data_format, dilations):
        return apply(a, b, *rest, strides=strides, padding=padding, data_format=data_format, dilations=dilations)

    return kernel


# ---- rows ----

_TWO = bilinear_gradients("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter", shape_n)
_THREE = bilinear_gradients("Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2")
_OLD = NotDifferentiable("1.15 has no second derivative of the deprecated form", raises=True)

op(
    "Conv2D", f"(input: T, filter: T, *, T: FLOAT, {_ATTRS_2D}) -> (output: T)", shape=conv_shape("Conv2D", 4),
    gradient=_TWO[0], kernel=_takes_2d(_conv("Conv2D", 4)), facts=COSTLY,
)  # fmt: skip
op(
    "Conv2DBackpropInput", f"(input_sizes: int32, filter: T, out_backprop: T, *, T: FLOAT, {_ATTRS_2D}) -> (output: T)",
    shape=shape_of_sizes(0, 4), gradient=_TWO[1], constants=("input_sizes",),
    kernel=_takes_2d(_input_grad("Conv2DCustomBackpropInput", 4)), facts=COSTLY,
)  # fmt: skip
op(
    "Conv2DBackpropFilter", "(input: T, filter_sizes: int32, out_backprop: T, *, T: FLOAT, "
    f"{_ATTRS_2D}) -> (output: T)",
    shape=shape_of_sizes(1, 4), gradient=_TWO[2], constants=("filter_sizes",),
    kernel=_takes_2d(_filter_grad("Conv2DCustomBackpropFilter", 4)), facts=COSTLY,
)  # fmt: skip
op(
    "Conv3D", f"(input: T, filter: T, *, T: FLOAT, {_ATTRS_3D}) -> (output: T)", shape=conv_shape("Conv3D", 5),
    gradient=_THREE[0], kernel=_takes_3d(_conv("Conv3D", 5)), facts=COSTLY,
)  # fmt: skip
op(
    "Conv3DBackpropInputV2",
    f"(input_sizes: Tshape, filter: T, out_backprop: T, *, T: FLOAT, {_ATTRS_3D}, Tshape: INDEX = "
    "int32) -> (output: T)",
    shape=shape_of_sizes(0, 5), gradient=_THREE[1], constants=("input_sizes",),
    kernel=_takes_3d(_input_grad("Conv3DBackpropInput", 5)), facts=COSTLY,
)  # fmt: skip
op(
    "Conv3DBackpropFilterV2", "(input: T, filter_sizes: int32, out_backprop: T, *, T: FLOAT, "
    f"{_ATTRS_3D}) -> (output: T)",
    shape=shape_of_sizes(1, 5), gradient=_THREE[2], constants=("filter_sizes",),
    kernel=_takes_3d(_filter_grad("Conv3DBackpropFilter", 5)), facts=COSTLY,
)  # fmt: skip


@op(
    "Conv3DBackpropInput",
    f"(input: T, filter: T, out_backprop: T, *, T: {{float16, float32, float64}}, {_ATTRS_3D_OLD}) -> (output: T)",
    shape=_shape_of_input(0, 5), gradient=_OLD,
)  # fmt: skip
def _conv3d_input_grad(x, filters, out_backprop, *, strides, padding, dilations):
    return _input_grad("Conv3DBackpropInput", 5)(
        x.shape, filters, out_backprop, strides=strides, padding=padding, dilations=dilations, data_format="NDHWC"
    )


@op(
    "Conv3DBackpropFilter",
    f"(input: T, filter: T, out_backprop: T, *, T: {{float16, float32, float64}}, {_ATTRS_3D_OLD}) -> (output: T)",
    shape=_shape_of_input(1, 5), gradient=_OLD,
)  # fmt: skip
def _conv3d_filter_grad(x, filters, out_backprop, *, strides, padding, dilations):
    return _filter_grad("Conv3DBackpropFilter", 5)(
        x, filters.shape, out_backprop, strides=strides, padding=padding, dilations=dilations, data_format="NDHWC"
    )
