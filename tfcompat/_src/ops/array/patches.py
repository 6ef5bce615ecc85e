"""Sliding patches of images and volumes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from tfcompat._src.base import checks, errors
from tfcompat._src.base.deprecation import deprecated_argument_lookup
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import FROM_KERNEL, op
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.shape import invalid
from tfcompat._src.ops.nn.windows import make_window, tap_slices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfcompat._src.base.arrays import Array, TensorLike


def _windows(size: int, window: int, stride: int, rate: int, padding: str) -> int:
    """How many windows there are."""
    if padding == "VALID":
        return max(-(-(size - (window - 1) * rate) // stride), 0)
    return -(-size // stride)


def _patches_shape(spatial: int):
    def sizes(c):
        source = si.with_rank(c.inputs[0], spatial + 2)
        windows, strides = c.attr("ksizes"), c.attr("strides")
        rates = c.attr("rates") if spatial == 2 else [1] * 5
        for name, values in (("ksizes", windows), ("strides", strides), ("rates", rates)):
            if len(values) != spatial + 2:
                raise ValueError(f"{name} must contain {spatial + 2} values, but got: {len(values)}")
        for stride in strides[1:-1]:
            if stride <= 0:
                raise ValueError(f"Stride must be > 0, but got {stride}")
        padding, taps = c.attr("padding").decode(), math.prod(windows[1:-1])
        depth = 0 if taps == 0 else None if source[-1] is None else source[-1] * taps
        if None in source[1:-1]:
            return [(source[0], *[None] * spatial, depth)]
        inner = [
            None if min(k, r) <= 0 else _windows(s, k, t, r, padding)
            for s, k, t, r in zip(source[1:-1], windows[1:-1], strides[1:-1], rates[1:-1])
        ]
        return [(source[0], *inner, depth)]

    return sizes


def _extract(x: Any, ksizes: tuple, strides: tuple, rates: tuple, padding: str) -> Array:
    if x.ndim != len(ksizes):
        raise invalid(f"input must be {len(ksizes)}-dimensional")
    if {ksizes[0], ksizes[-1], strides[0], strides[-1], rates[0], rates[-1]} != {1}:
        raise errors.UnimplementedError(None, None, "Only support ksizes, strides and rates across space.")
    for name, values in (("ksizes", ksizes), ("strides", strides), ("rates", rates)):
        if min(values) <= 0:
            raise errors.OutOfRangeError(None, None, f"{name} is out of range.")
    inner = [_windows(*v, padding) for v in zip(x.shape[1:-1], ksizes[1:-1], strides[1:-1], rates[1:-1])]
    found = (x.shape[0], *inner, x.shape[-1] * math.prod(ksizes))
    checks.require_room(found, x.dtype)
    if 0 in found:
        return jnp.zeros(found, x.dtype)
    data_format = "NHWC" if x.ndim == 4 else "NDHWC"
    window = make_window(x.shape, ksizes[1:-1], strides, padding, data_format, dilations=rates)
    return jnp.concatenate(tap_slices(jnp.asarray(x), window, 0), -1)


@op(
    "ExtractImagePatches",
    '(images: T, *, ksizes: list(int) >= 4, strides: list(int) >= 4, rates: list(int) >= 4, T: REAL, padding: '
    '{"SAME", "VALID"}) '
    "-> (patches: T)",
    shape=_patches_shape(2), gradient=FROM_KERNEL,
)  # fmt: skip
def _extract_image_patches(x, *, ksizes, strides, rates, padding):
    return _extract(x, ksizes, strides, rates, padding)


@op(
    "ExtractVolumePatches",
    '(input: T, *, ksizes: list(int) >= 5, strides: list(int) >= 5, T: REAL, padding: {"SAME", "VALID"}) -> '
    '(patches: T)',
    shape=_patches_shape(3), gradient=FROM_KERNEL,
)  # fmt: skip
def _extract_volume_patches(x, *, ksizes, strides, padding):
    return _extract(x, ksizes, strides, (1,) * 5, padding)


@export("image.extract_image_patches", "extract_image_patches")
def extract_image_patches(
    images: TensorLike, ksizes: object = None, strides: Sequence[int] | None = None, rates: Sequence[int] | None = None, padding: str | None = None,
    name: str | None = None, sizes: object = None,
) -> Tensor:  # fmt: skip
    """Puts the elements of sliding windows of images into the depth dimension.

    Args:
      images: [batch, height, width, depth].
      ksizes: window [1, rows, columns, 1] (`sizes` is its new name).
      strides: distance of windows [1, rows, columns, 1].
      rates: distance of elements in a window [1, rows, columns, 1].
      padding: "SAME" or "VALID".
      name: node name.

    Returns:
      [batch, windows in height, windows in width, rows * columns * depth].
    """
    window = deprecated_argument_lookup("sizes", sizes, "ksizes", ksizes)
    return raw.ExtractImagePatches(images, ksizes=window, strides=strides, rates=rates, padding=padding, name=name)


@export("image.extract_patches")
def extract_patches(images: TensorLike, sizes: Sequence[int], strides: Sequence[int], rates: Sequence[int], padding: str, name: str | None = None) -> Tensor:
    """`extract_image_patches` under its new name."""
    return raw.ExtractImagePatches(images, ksizes=sizes, strides=strides, rates=rates, padding=padding, name=name)


@export("extract_volume_patches")
def extract_volume_patches(input: TensorLike, ksizes: Sequence[int], strides: Sequence[int], padding: str, name: str | None = None) -> Tensor:
    """Puts the elements of windows of volumes [batch, planes, rows, columns, depth] into the depth dimension."""
    return raw.ExtractVolumePatches(input, ksizes=ksizes, strides=strides, padding=padding, name=name)
