"""The op types of pooling over windows in two and three dimensions, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import NotDifferentiable, op
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.constant import stop_gradient
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.nn import pool_kernels
from tfcompat._src.ops.nn.window_sizes import join, split, text_attr, window_counts, window_positions
from tfcompat._src.ops.nn.windows import spatial

if TYPE_CHECKING:
    from tfcompat._src.graph.operation import Operation
    from tfcompat._src.graph.shape_inference import InferenceContext

_PADDING = 'padding: {"SAME", "VALID"}'
_WINDOW_2D = f"ksize: list(int) >= 4, strides: list(int) >= 4, {_PADDING}"
_FORMAT_2D = 'data_format: {"NHWC", "NCHW"} = "NHWC"'
_FORMAT_MAX = 'data_format: {"NHWC", "NCHW", "NCHW_VECT_C"} = "NHWC"'
_ATTRS_3D = f'ksize: list(int) >= 5, strides: list(int) >= 5, {_PADDING}, data_format: {{"NDHWC", "NCDHW"}} = "NDHWC"'
_MAX_TYPES = "{float16, bfloat16, float32, float64, int32, int64, uint8, int16, int8, uint16, qint8} = float32"
_THIRD = NotDifferentiable("1.15 has no gradient of this one", raises=True)


# ---- static shapes ----


def _data_format(c: Any) -> str:
    found = text_attr(c, "data_format") if "data_format" in c.op.attrs else "NHWC"
    if found == "NCHW_VECT_C":
        raise NotImplementedError("tfcompat has no pooling in data_format NCHW_VECT_C.")
    return found


def _pooled(c: Any, what: str, rank: int, ksize: Any, strides: Any, over_channels: bool = False) -> tuple:
    """The shape of input 0 pooled."""
    x, data_format, padding = si.with_rank(c.inputs[0], rank), _data_format(c), text_attr(c, "padding")
    for name, values in (("stride", strides), ("ksize", ksize)):
        if len(values) != rank:
            raise ValueError(f"{what} requires the {name} attribute to contain {rank} values, but got: {len(values)}")
    batch, sizes, channels = split(x, data_format)
    geometry = zip(sizes, spatial(ksize, data_format), spatial(strides, data_format))
    positions = [window_positions(n, k, s, padding) for n, k, s in geometry]
    if over_channels:
        _, _, depth = split(ksize, data_format)
        channels = window_positions(channels, depth, split(strides, data_format)[2], padding)
    return join(batch, positions, channels, data_format)


def pool_shape(what: str, rank: int, over_channels: bool = False) -> Callable:
    return lambda c: [_pooled(c, what, rank, c.attr("ksize"), c.attr("strides"), over_channels)] * len(c.op.outputs)


def _window_inputs_shape(c: InferenceContext) -> list:
    """Pooling whose window and strides are the last two inputs."""
    si.with_rank(c.inputs[0], 4)
    for sizes in c.inputs[-2:]:
        si.merge_size(si.with_rank(sizes, 1)[0], 4)
    count = len(c.inputs)
    ksize, strides = c.value(count - 2), c.value(count - 1)
    if ksize is None or strides is None:
        return [None]
    return [_pooled(c, "MaxPool", 4, ksize.tolist(), strides.tolist(), True)]


def _checked(shape: Callable, like_input: int, like_output: int) -> Callable:
    """As `shape`, where input `like_input` has the shape of input 0 and `like_output` that of the result."""

    def checked(c):
        found = shape(c)
        si.merge(c.inputs[0], c.inputs[like_input])
        si.merge(c.inputs[like_output], found[0])
        return found

    return checked


def _same_rank(rank: int) -> Callable:
    return lambda c: [si.with_rank(c.inputs[0], rank)]


def _shape_of_sizes(rank: int) -> Callable:
    return lambda c: [si.with_rank(c.shape_value(0), rank)]


# ---- gradients ----


def _attrs(node: Operation, *names: str) -> dict[str, Any]:
    names = names or ("ksize", "strides", "padding", "data_format")
    return {n: node.get_attr(n) for n in names}


def _average_gradient(grad_op: str) -> Callable:
    return lambda op, g: [raw.function(grad_op)(shape(op.inputs[0]), g, **_attrs(op))]


def _average_second(pool_op: str) -> Callable:
    return lambda op, g: [stop_gradient(op.inputs[0]), raw.function(pool_op)(g, **_attrs(op))]


def _max_gradient(grad_op: str) -> Callable:
    return lambda op, g: [raw.function(grad_op)(op.inputs[0], op.outputs[0], g, **_attrs(op))]


def _max_second(grad_op: str) -> Callable:
    """Of an op that picks elements of its third input by the first two: `grad_op` picks back."""

    def gradient(op, g):
        x, y = op.inputs[:2]
        return [*_zeros(x, y), raw.function(grad_op)(x, y, g, **_attrs(op))]

    return gradient


def _zeros(*tensors: Any) -> list:
    return [zeros(shape(t), dtype=t.dtype) for t in tensors]


def _max_v2_gradient(op, g):
    x, ksize, strides = op.inputs
    return [raw.MaxPoolGradV2(x, op.outputs[0], g, ksize, strides, **_attrs(op, "padding", "data_format")), None, None]


def _max_v2_second(op, g):
    x, y, _, ksize, strides = op.inputs
    return [*_zeros(x, y), raw.MaxPoolGradGradV2(x, y, g, ksize, strides, **_attrs(op, "padding", "data_format")), None, None]


def _argmax_gradient(op, g, _):
    attrs = _attrs(op, "ksize", "strides", "padding", "include_batch_in_index")
    return [raw.MaxPoolGradWithArgmax(op.inputs[0], g, op.outputs[1], **attrs)]


# ---- kernels ----


def _unimplemented(text: str) -> errors.UnimplementedError:
    return errors.UnimplementedError(None, None, text)


def _require_strides(strides: Any) -> None:
    for stride in strides:
        if stride <= 0:
            raise errors.InvalidArgumentError(None, None, f"Stride must be > 0, but got {stride}")


def out_shape(
    sizes: tuple, ksize: Any, strides: Any, padding: str, data_format: str, over_channels: bool = False
) -> tuple:
    """The shape of the pooled tensor; errors of 1.15 where the window cannot slide so."""
    rank = 5 if "D" in data_format else 4
    for name, values in (("ksize", ksize), ("strides", strides)):
        if len(values) != rank:
            raise errors.InvalidArgumentError(None, None, f"Sliding window {name} field must specify {rank} dimensions")
    if ksize[0] != 1 or strides[0] != 1:
        raise _unimplemented("Pooling is not yet supported on the batch dimension.")
    if len(sizes) != rank:
        text = f"tensor_in must be {rank}-dimensional: {shape_text(sizes)}"
        raise errors.InvalidArgumentError(None, None, text)
    batch, inputs, channels = split(sizes, data_format)
    depth, depth_stride = split(ksize, data_format)[2], split(strides, data_format)[2]
    if (depth != 1 or depth_stride != 1) and not over_channels:
        raise _unimplemented("Pooling is not yet supported on the depth dimension.")
    for dimension, size in enumerate(ksize):
        if size <= 0:
            text = f"Sliding window ksize for dimension {dimension} was zero."
            raise errors.InvalidArgumentError(None, None, text)
    _require_strides(strides)
    if depth != 1 or depth_stride != 1:
        _check_depth_pooling(channels, depth, depth_stride, spatial(ksize, data_format))
        return join(batch, inputs, channels // depth, data_format)
    ones = (1,) * len(inputs)
    window, steps = spatial(ksize, data_format), spatial(strides, data_format)
    counts = window_counts(inputs, window, steps, padding, ones, (0,) * len(inputs))
    return join(batch, counts, channels, data_format)


def _check_depth_pooling(channels: int, depth: int, stride: int, window: tuple) -> None:
    if set(window) != {1}:
        raise _unimplemented("MaxPooling supports exactly one of pooling across depth or pooling across width/height.")
    if channels % depth:
        raise _unimplemented("Depthwise max pooling requires the depth window to evenly divide the input depth")
    if depth != stride:
        raise _unimplemented("Depthwise max pooling requires the depth window to equal the depth stride")


def _require_shape(x: Any, wanted: tuple, what: str) -> None:
    if x.shape != wanted:
        text = f"Expected {what} shape to be {shape_text(wanted)}, but got {shape_text(x.shape)}"
        raise errors.InvalidArgumentError(None, None, text)


def _pool(apply: Callable, over_channels: bool = False) -> Callable:
    def kernel(x, *, ksize, strides, padding, data_format):
        out = out_shape(x.shape, ksize, strides, padding, data_format, over_channels)
        if 0 in out:
            return jnp.zeros(out, x.dtype)
        return apply(x, ksize=ksize, strides=strides, padding=padding, data_format=data_format)

    return kernel


def _average_grad(sizes, grad, *, ksize, strides, padding, data_format):
    sizes = tuple(int(n) for n in sizes)
    out = out_shape(sizes, ksize, strides, padding, data_format)
    _require_shape(grad, out, "grad")
    if 0 in out:
        return jnp.zeros(sizes, grad.dtype)
    return pool_kernels.avg_pool_grad(
        sizes, grad, ksize=ksize, strides=strides, padding=padding, data_format=data_format
    )


def _max_grad(apply: Callable) -> Callable:
    """`apply(x, y, grad, **window)`, after checks of shapes."""

    def kernel(x, y, grad, *, ksize, strides, padding, data_format):
        out = out_shape(x.shape, ksize, strides, padding, data_format)
        _require_shape(y, out, "orig_output")
        _require_shape(grad, out, "grad")
        if 0 in out:
            return jnp.zeros(x.shape, grad.dtype)
        return apply(x, y, grad, ksize=ksize, strides=strides, padding=padding, data_format=data_format)

    return kernel


def _max_pick(x, y, grad, *, ksize, strides, padding, data_format):
    out = out_shape(x.shape, ksize, strides, padding, data_format)
    _require_shape(y, out, "orig_output")
    _require_shape(grad, x.shape, "grad")
    if 0 in out:
        return jnp.zeros(out, grad.dtype)
    return pool_kernels.max_pool_grad_grad(
        x, y, grad, ksize=ksize, strides=strides, padding=padding, data_format=data_format
    )


def _first_maxima(x, y, grad, **window):
    return pool_kernels.max_pool_grad(x, grad, **window)


_max_2d = _pool(pool_kernels.max_pool, over_channels=True)
_max_grad_2d = _max_grad(_first_maxima)


def _max_v2(x, ksize, strides, *, padding, data_format):
    return _max_2d(x, ksize=ksize.tolist(), strides=strides.tolist(), padding=padding, data_format=data_format)


def _max_grad_v2(x, y, grad, ksize, strides, *, padding, data_format):
    return _max_grad_2d(
        x, y, grad, ksize=ksize.tolist(), strides=strides.tolist(), padding=padding, data_format=data_format
    )


def _max_pick_v2(x, y, grad, ksize, strides, *, padding, data_format):
    return _max_pick(
        x, y, grad, ksize=ksize.tolist(), strides=strides.tolist(), padding=padding, data_format=data_format
    )


# ---- rows ----

_MAX_SHAPE, _MAX_3D_SHAPE = pool_shape("MaxPool", 4, True), pool_shape("Pool3D", 5)
_V2_INPUTS = ("ksize", "strides")
_THREE_TENSORS = "orig_input: T, orig_output: T, grad: T"

op(
    "AvgPool", f"(value: T, *, {_WINDOW_2D}, {_FORMAT_2D}, T: FLOAT) -> (output: T)", shape=pool_shape("AvgPool", 4),
    gradient=_average_gradient("AvgPoolGrad"), kernel=_pool(pool_kernels.avg_pool),
)  # fmt: skip
op(
    "AvgPoolGrad", f"(orig_input_shape: int32, grad: T, *, {_WINDOW_2D}, {_FORMAT_2D}, T: FLOAT) -> (output: T)",
    shape=_shape_of_sizes(4), gradient=_average_second("AvgPool"), kernel=_average_grad,
    constants=("orig_input_shape",),
)  # fmt: skip
op(
    "AvgPool3D", f"(input: T, *, {_ATTRS_3D}, T: FLOAT) -> (output: T)", shape=pool_shape("Pool3D", 5),
    gradient=_average_gradient("AvgPool3DGrad"), kernel=_pool(pool_kernels.avg_pool),
)  # fmt: skip
op(
    "AvgPool3DGrad", f"(orig_input_shape: int32, grad: T, *, {_ATTRS_3D}, T: FLOAT) -> (output: T)",
    shape=_shape_of_sizes(5), gradient=_average_second("AvgPool3D"), kernel=_average_grad,
    constants=("orig_input_shape",),
)  # fmt: skip
op(
    "MaxPool", f"(input: T, *, T: {_MAX_TYPES}, {_WINDOW_2D}, {_FORMAT_MAX}) -> (output: T)", shape=_MAX_SHAPE,
    gradient=_max_gradient("MaxPoolGrad"), kernel=_max_2d,
)  # fmt: skip
op(
    "MaxPoolV2", f"(input: T, ksize: int32, strides: int32, *, T: {_MAX_TYPES}, {_PADDING}, "
    f"{_FORMAT_MAX}) -> (output: T)",
    shape=_window_inputs_shape, gradient=_max_v2_gradient, kernel=_max_v2, constants=_V2_INPUTS,
)  # fmt: skip
op(
    "MaxPoolGrad", f"({_THREE_TENSORS}, *, {_WINDOW_2D}, {_FORMAT_2D}, T: REAL = float32) -> (output: T)",
    shape=_same_rank(4), gradient=_max_second("MaxPoolGradGrad"), kernel=_max_grad_2d,
)  # fmt: skip
op(
    "MaxPoolGradV2",
    f"({_THREE_TENSORS}, ksize: int32, strides: int32, *, {_PADDING}, {_FORMAT_2D}, T: REAL = float32) -> (output: T)",
    shape=_same_rank(4), gradient=_max_v2_second, kernel=_max_grad_v2, constants=_V2_INPUTS,
)  # fmt: skip
op(
    "MaxPoolGradGrad", f"({_THREE_TENSORS}, *, {_WINDOW_2D}, {_FORMAT_2D}, T: REAL) -> (output: T)",
    shape=_checked(_MAX_SHAPE, 2, 1), gradient=_max_second("MaxPoolGrad"), kernel=_max_pick,
)  # fmt: skip
op(
    "MaxPoolGradGradV2", f"({_THREE_TENSORS}, ksize: int32, strides: int32, *, {_PADDING}, "
    f"{_FORMAT_2D}, T: REAL) -> (output: T)",
    shape=_checked(_window_inputs_shape, 2, 1), gradient=_THIRD, kernel=_max_pick_v2, constants=_V2_INPUTS,
)  # fmt: skip
op(
    "MaxPool3D", f"(input: T, *, {_ATTRS_3D}, T: {{float16, bfloat16, float32}}) -> (output: T)", shape=_MAX_3D_SHAPE,
    gradient=_max_gradient("MaxPool3DGrad"), kernel=_pool(pool_kernels.max_pool),
)  # fmt: skip
op(
    "MaxPool3DGrad",
    f"(orig_input: TInput, orig_output: TInput, grad: T, *, {_ATTRS_3D}, T: {{float16, bfloat16, float32}} = float32, "
    "TInput: {float16, bfloat16, float32} = float32) -> (output: T)",
    shape=_same_rank(5), gradient=_max_second("MaxPool3DGradGrad"), kernel=_max_grad(pool_kernels.max_pool_3d_grad),
)  # fmt: skip
op(
    "MaxPool3DGradGrad", f"({_THREE_TENSORS}, *, {_ATTRS_3D}, T: REAL) -> (output: T)",
    shape=_checked(_MAX_3D_SHAPE, 2, 1), gradient=_max_second("MaxPool3DGrad"), kernel=_max_pick,
)  # fmt: skip


# ---- the places of the maxima ----

_ARGMAX = "include_batch_in_index: bool = False"


@op(
    "MaxPoolWithArgmax",
    "(input: T, *, ksize: list(int) >= 4, strides: list(int) >= 4, Targmax: INDEX = int64, "
    f"{_PADDING}, {_ARGMAX}, T: REAL) -> (output: T, argmax: Targmax)",
    shape=_MAX_SHAPE, gradient=_argmax_gradient,
)  # fmt: skip
def _max_with_argmax(x, *, ksize, strides, padding, include_batch_in_index, Targmax):
    out = out_shape(x.shape, ksize, strides, padding, "NHWC")
    if 0 in out:
        return jnp.zeros(out, x.dtype), jnp.zeros(out, Targmax)
    return pool_kernels.max_pool_with_argmax(
        x,
        ksize=ksize,
        strides=strides,
        padding=padding,
        include_batch_in_index=include_batch_in_index,
        index_dtype=Targmax,
    )


@op(
    "MaxPoolGradWithArgmax",
    f"(input: T, grad: T, argmax: Targmax, *, {_WINDOW_2D}, {_ARGMAX}, Targmax: INDEX, T: REAL) -> (output: T)",
    shape=_same_rank(4), gradient=_THIRD,
)  # fmt: skip
def _max_grad_with_argmax(x, grad, argmax, *, ksize, strides, padding, include_batch_in_index):
    out = out_shape(x.shape, ksize, strides, padding, "NHWC")
    _require_shape(grad, out, "grad")
    _require_shape(argmax, out, "argmax")
    return pool_kernels.max_pool_grad_with_argmax(x.shape, grad, argmax, include_batch_in_index=include_batch_in_index)


@op(
    "MaxPoolGradGradWithArgmax",
    f"(input: T, grad: T, argmax: Targmax, *, {_WINDOW_2D}, {_ARGMAX}, Targmax: INDEX, T: REAL) -> (output: T)",
    shape=_checked(_MAX_SHAPE, 1, 2), gradient=_THIRD,
)  # fmt: skip
def _max_pick_with_argmax(x, grad, argmax, *, include_batch_in_index):
    if not include_batch_in_index:
        starts = np.arange(x.shape[0], dtype=argmax.dtype) * int(np.prod(x.shape[1:]))
        argmax = argmax + starts.reshape(-1, 1, 1, 1)
    return jnp.asarray(grad).reshape(-1)[argmax]
