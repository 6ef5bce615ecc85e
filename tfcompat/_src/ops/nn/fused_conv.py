"""FusedPadConv2D and FusedResizeAndPadConv2D: mirrored padding, and resizing before it, in one node with a convolution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.graph import op_spec
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import NotDifferentiable, op
from tfcompat._src.ops.nn import conv_kernels
from tfcompat._src.ops.nn.window_sizes import text_attr, window_positions

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import Array
    from tfcompat._src.graph.shape_inference import InferenceContext

_ATTRS = 'mode: {"REFLECT", "SYMMETRIC"}, strides: list(int), padding: {"SAME", "VALID"}'
_TYPES = "T: {float16, float32, float64}"
_NONE = NotDifferentiable("1.15 has no gradient of this one", raises=True)


def _fused_shape(c: InferenceContext, sizes: tuple, paddings_input: int) -> list:
    """The shape of the convolution of `sizes`, padded."""
    table, known = si.with_rank(c.inputs[paddings_input], 2), c.value(paddings_input)
    si.merge(table, (4, 2))
    if known is None:
        sizes = (None,) * 4
    else:
        if (known < 0).any():
            raise ValueError("Paddings must be non-negative")
        sizes = tuple(si.add_sizes(n, int(sum(pair))) for n, pair in zip(sizes, known))
    filters = si.with_rank(c.inputs[paddings_input + 1], 4)
    strides, padding = c.attr("strides"), text_attr(c, "padding")
    if len(strides) != 4:
        raise ValueError(f"Operation requires the stride attribute to contain 4 values, but got: {len(strides)}")
    si.merge_size(sizes[3], filters[2])
    rows, columns = (window_positions(sizes[i], filters[i - 1], strides[i], padding) for i in (1, 2))
    return [(sizes[0], rows, columns, filters[3])]


def _resized_shape(c):
    sizes, size = si.with_rank(c.inputs[0], 4), c.value(1)
    si.merge(c.inputs[1], (2,))
    height, width = (None, None) if size is None else (int(n) for n in size)
    return _fused_shape(c, (sizes[0], height, width, sizes[3]), 2)


def _convolved(x: Any, paddings: Any, filters: Any, mode: str, strides: tuple, padding: str) -> Array:
    if strides[0] != 1 or strides[3] != 1:
        text = "Current implementation does not yet support strides in the batch and depth dimensions."
        raise errors.InvalidArgumentError(None, None, text)
    padded = op_spec.get("MirrorPad").kernel(x, paddings, mode=mode)
    if 0 in filters.shape:
        raise errors.InvalidArgumentError(None, None, "Output tensor can't be empty")
    return conv_kernels.conv(padded, filters, strides=strides, padding=padding, data_format="NHWC")


@op(
    "FusedPadConv2D", f"(input: T, paddings: int32, filter: T, *, {_TYPES}, {_ATTRS}) -> (output: T)",
    shape=lambda c: _fused_shape(c, si.with_rank(c.inputs[0], 4), 1), gradient=_NONE, constants=("paddings",),
)  # fmt: skip
def _fused_pad_conv(x, paddings, filters, *, mode, strides, padding):
    return _convolved(x, paddings, filters, mode, strides, padding)


@op(
    "FusedResizeAndPadConv2D",
    f"(input: T, size: int32, paddings: int32, filter: T, *, {_TYPES}, resize_align_corners: bool = False, {_ATTRS}) -> "
    "(output: T)",
    shape=_resized_shape, gradient=_NONE, constants=("size", "paddings"),
)  # fmt: skip
def _fused_resize_and_pad_conv(x, size, paddings, filters, *, resize_align_corners, mode, strides, padding):
    resize = op_spec.get("ResizeBilinear").kernel
    resized = resize(x, size, align_corners=resize_align_corners, half_pixel_centers=False)
    return _convolved(resized.astype(np.dtype(x.dtype)), paddings, filters, mode, strides, padding)
