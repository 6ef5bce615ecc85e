"""The op types that resize images, and their gradients."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tfcompat._src.base import checks, errors
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import NotDifferentiable, op
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.image import taps
from tfcompat._src.ops.image.sizes import sized_image

if TYPE_CHECKING:
    from tfcompat._src.graph.operation import Operation

_TYPES = "{int8, uint8, int16, uint16, int32, int64, float16, float32, float64}"
_WIDE_TYPES = "{int8, uint8, int16, uint16, int32, int64, bfloat16, float16, float32, float64}"
_ALIGN = "align_corners: bool = False"
_CENTERS = f"{_ALIGN}, half_pixel_centers: bool = False"
_SAMPLING = 'kernel_type: string = "lanczos3", antialias: bool = True'
_NONE = NotDifferentiable("1.15 has no gradient of this one", raises=True)
_MOST_UNROLLED = 6


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


# ---- static shapes ----


def _resized_shape(c):
    image = si.with_rank(c.inputs[0], 4)
    return sized_image(c, image[0], 1, image[3])


def _quantized_shape(c):
    for i in (2, 3):
        si.with_rank(c.inputs[i], 0)
    return [*_resized_shape(c), (), ()]


# ---- rows of an axis ----


def _rows(x: Any, indices: np.ndarray, axis: int) -> Any:
    """`x` at `indices` of an axis: whole, each element repeated, or gathered."""
    size = x.shape[axis]
    times = len(indices) // size
    if np.array_equal(indices, np.repeat(np.arange(size), times)):
        return x if times == 1 else jnp.repeat(x, times, axis, total_repeat_length=len(indices))
    return jnp.take(x, indices, axis, mode="clip")


def _add_rows(grad: Any, indices: np.ndarray, size: int, axis: int) -> Any:
    """The transpose of `_rows`."""
    times = len(indices) // size
    if np.array_equal(indices, np.repeat(np.arange(size), times)):
        if times == 1:
            return grad
        return grad.reshape(*grad.shape[:axis], size, times, *grad.shape[axis + 1 :]).sum(axis + 1, dtype=grad.dtype)
    target = jnp.zeros((*grad.shape[:axis], size, *grad.shape[axis + 1 :]), grad.dtype)
    return target.at[(slice(None),) * axis + (indices,)].add(grad)


def _along(values: np.ndarray, axis: int) -> np.ndarray:
    """A vector in the form that multiplies `axis` of a 4-D array."""
    return values.reshape([-1 if i == axis else 1 for i in range(4)])


def _weighted(x: Any, found: taps.Taps, axis: int) -> Any:
    """Sums of the rows of an axis, tap by tap, or as a matrix product where there are many taps."""
    count = found.indices.shape[1]
    if count > _MOST_UNROLLED:
        matrix = jnp.asarray(found.matrix())
        product = jnp.tensordot(matrix, x, ((1,), (axis,)), precision=lax.Precision.HIGHEST)
        return jnp.moveaxis(product, 0, axis)
    parts = [_rows(x, found.indices[:, t], axis) * _along(found.weights[:, t], axis) for t in range(count)]
    return functools.reduce(jnp.add, parts)


# ---- checks ----


def _require_rank(x: Any, what: str) -> None:
    if x.ndim != 4:
        raise _invalid(f"{what} must be 4-dimensional{shape_text(x.shape)}")


def _require_size(images: Any, size: Any) -> tuple[int, int]:
    if size.ndim != 1:
        raise _invalid(f"shape_t must be 1-dimensional{shape_text(size.shape)}")
    if len(size) != 2:
        raise _invalid(f"shape_t must have two elements{shape_text(size.shape)}")
    height, width = (int(n) for n in size)
    if height <= 0 or width <= 0:
        raise _invalid("output dimensions must be positive")
    if math.prod((images.shape[0], height, width, images.shape[3])) >= 2**63:
        raise _invalid(f"an image of {height} by {width} pixels is too large")
    checks.require_room((images.shape[0], height, width, images.shape[3]), images.dtype)
    return height, width


def _checked_size(images: Any, size: object, align_corners: bool, half_pixel_centers: bool = False) -> tuple[int, int]:
    if align_corners and half_pixel_centers:
        raise _invalid("If half_pixel_centers is True, align_corners must be False.")
    _require_rank(images, "input")
    found = _require_size(images, size)
    if images.shape[3] <= 0:
        raise _invalid("image must have at least one channel")
    if 0 in images.shape[1:3]:
        raise _invalid("input image must be of non-zero size")
    return found


def _check_grad(grads: object, image: object, align_corners: bool = False, half_pixel_centers: bool = False) -> None:
    if align_corners and half_pixel_centers:
        raise _invalid("If half_pixel_centers is True, align_corners must be False.")
    _require_rank(grads, "input_grad")
    _require_rank(image, "original_image")


# ---- bilinear, bicubic ----


def _bilinear_gradient(op, g):
    return [raw.ResizeBilinearGrad(g, op.inputs[0], **_geometry(op)), None]


def _bicubic_gradient(op, g):
    image = op.inputs[0]
    if image.dtype.base_dtype.name not in ("float32", "float64"):
        return [None, None]
    return [raw.ResizeBicubicGrad(g, image, **_geometry(op)), None]


def _geometry(op: Operation) -> dict[str, bool]:
    return {n: op.get_attr(n) for n in ("align_corners", "half_pixel_centers")}


def _interpolated(images: Any, height: int, width: int, align_corners: bool, half_pixel_centers: bool) -> Any:
    """Linear interpolation along the width, then along the height."""
    x = images.astype(np.float32)
    for axis, out in ((2, width), (1, height)):
        found = taps.bilinear(x.shape[axis], out, align_corners, half_pixel_centers)
        low, high = (_rows(x, found.indices[:, t], axis) for t in (0, 1))
        x = low + (high - low) * _along(found.weights[:, 1], axis)
    return x


@op(
    "ResizeBilinear", f"(images: T, size: int32, *, T: {_WIDE_TYPES}, {_CENTERS}) -> (resized_images: float32)",
    shape=_resized_shape, gradient=_bilinear_gradient, constants=("size",),
)  # fmt: skip
def _resize_bilinear(images, size, *, align_corners, half_pixel_centers):
    height, width = _checked_size(images, size, align_corners, half_pixel_centers)
    if (height, width) == images.shape[1:3]:
        return images.astype(np.float32)
    return _interpolated(images, height, width, align_corners, half_pixel_centers)


def _spread(grads: Any, rows: taps.Taps, columns: taps.Taps, dtype: Any) -> Any:
    """The transpose of taking `rows` and `columns`: products in the dtype of `grads`, sums in `dtype`."""
    total = jnp.zeros((grads.shape[0], rows.size, columns.size, grads.shape[3]), dtype)
    for column in range(columns.indices.shape[1]):
        for row in range(rows.indices.shape[1]):
            part = grads * _along(rows.weights[:, row], 1) * _along(columns.weights[:, column], 2)
            part = _add_rows(part.astype(dtype), rows.indices[:, row], rows.size, 1)
            total = total + _add_rows(part, columns.indices[:, column], columns.size, 2)
    return total


def _spread_image(grads: Any, image: Any, find: Any, align_corners: bool, half_pixel_centers: bool) -> Any:
    _check_grad(grads, image, align_corners, half_pixel_centers)
    rows, columns = (
        find(image.shape[axis], grads.shape[axis], align_corners, half_pixel_centers) for axis in (1, 2)
    )
    return _spread(grads, rows, columns, image.dtype)


@op(
    "ResizeBilinearGrad", f"(grads: float32, original_image: T, *, T: FLOAT, {_CENTERS}) -> (output: T)",
    shape=si.unchanged_from(1), gradient=_NONE,
)  # fmt: skip
def _resize_bilinear_grad(grads, image, *, align_corners, half_pixel_centers):
    return _spread_image(grads, image, taps.bilinear, align_corners, half_pixel_centers)


@op(
    "QuantizedResizeBilinear",
    f"(images: T, size: int32, min: float32, max: float32, *, T: {{quint8, qint32, float32}}, {_CENTERS}) -> "
    "(resized_images: T, out_min: float32, out_max: float32)",
    shape=_quantized_shape, gradient=_NONE, constants=("size",),
)  # fmt: skip
def _quantized_resize_bilinear(images, size, low, high, *, align_corners, half_pixel_centers):
    if images.dtype != np.float32:
        raise NotImplementedError("tfcompat has no QuantizedResizeBilinear of quantized types.")
    height, width = _checked_size(images, size, align_corners, half_pixel_centers)
    return _interpolated(images, height, width, align_corners, half_pixel_centers), low, high


@op(
    "ResizeBicubic", f"(images: T, size: int32, *, T: {_TYPES}, {_CENTERS}) -> (resized_images: float32)",
    shape=_resized_shape, gradient=_bicubic_gradient, constants=("size",),
)  # fmt: skip
def _resize_bicubic(images, size, *, align_corners, half_pixel_centers):
    height, width = _checked_size(images, size, align_corners, half_pixel_centers)
    x = images.astype(np.float32)
    for axis, out in ((1, height), (2, width)):
        x = _weighted(x, taps.bicubic(x.shape[axis], out, align_corners, half_pixel_centers), axis)
    return x


@op(
    "ResizeBicubicGrad", f"(grads: float32, original_image: T, *, T: {{float32, float64}}, {_CENTERS}) -> (output: T)",
    shape=si.unchanged_from(1), gradient=_NONE,
)  # fmt: skip
def _resize_bicubic_grad(grads, image, *, align_corners, half_pixel_centers):
    return _spread_image(grads.astype(image.dtype), image, taps.bicubic, align_corners, half_pixel_centers)


# ---- nearest, area ----


def _nearest_gradient(op, g):
    image = op.inputs[0]
    sizes = image.shape[1:3]
    sizes = sizes.as_list() if sizes.is_fully_defined() else shape(image)[1:3]
    return [raw.ResizeNearestNeighborGrad(g, sizes, **_geometry(op)), None]


@op(
    "ResizeNearestNeighbor", f"(images: T, size: int32, *, T: {_TYPES}, {_CENTERS}) -> (resized_images: T)",
    shape=_resized_shape, gradient=_nearest_gradient, constants=("size",),
)  # fmt: skip
def _resize_nearest_neighbor(images, size, *, align_corners, half_pixel_centers):
    x = images
    for axis, out in zip((1, 2), _checked_size(images, size, align_corners, half_pixel_centers)):
        x = _rows(x, taps.nearest(x.shape[axis], out, align_corners, half_pixel_centers), axis)
    return jnp.asarray(x)




@op(
    "ResizeNearestNeighborGrad",
    f"(grads: T, size: int32, *, T: {{uint8, int8, int32, float16, float32, float64}}, {_CENTERS}) -> (output: T)",
    shape=_resized_shape, gradient=_NONE, constants=("size",),
)  # fmt: skip
def _resize_nearest_neighbor_grad(grads, size, *, align_corners, half_pixel_centers):
    _require_rank(grads, "input")
    sizes = tuple(int(n) for n in size)
    if len(sizes) != 2 or min(sizes) <= 0:
        raise _invalid("shape_t's elements must be positive")
    checks.require_room((grads.shape[0], *sizes, grads.shape[3]), grads.dtype)
    x = jnp.asarray(grads)
    for axis, original in zip((1, 2), sizes):
        x = _add_rows(x, taps.nearest(original, x.shape[axis], align_corners, half_pixel_centers), original, axis)
    return x


@op(
    "ResizeArea", f"(images: T, size: int32, *, T: {_TYPES}, {_ALIGN}) -> (resized_images: float32)",
    shape=_resized_shape, gradient=_NONE, constants=("size",),
)  # fmt: skip
def _resize_area(images, size, *, align_corners):
    height, width = _checked_size(images, size, align_corners)
    scales = [taps.scale_of(n, out, align_corners) for n, out in zip(images.shape[1:3], (height, width))]
    x = images.astype(np.float32)
    for axis, out in ((2, width), (1, height)):
        x = _weighted(x, taps.area(x.shape[axis], out, align_corners), axis)
    with np.errstate(divide="ignore"):
        return x * np.float32(1.0 / np.float64(scales[0] * scales[1]))


# ---- ScaleAndTranslate ----


def _scale_and_translate_gradient(op, g):
    attrs = {n: op.get_attr(n) for n in ("kernel_type", "antialias")}
    return [raw.ScaleAndTranslateGrad(g, op.inputs[0], op.inputs[2], op.inputs[3], **attrs), None, None, None]


def _check_sampling(kernel_type: str, scale: Any, translation: Any) -> None:
    if kernel_type not in taps.KERNELS:
        raise _invalid(f"Unrecognized kernel type: {kernel_type}")
    for values in (scale, translation):
        if values.ndim != 1:
            raise _invalid(f"t must be 1-dimensional{shape_text(values.shape)}")
        if len(values) != 2:
            raise _invalid(f"t must have two elements{shape_text(values.shape)}")
    if not (scale > 0).all():
        raise _invalid("Scale must be greater than zero.")


@op(
    "ScaleAndTranslate",
    f"(images: T, size: int32, scale: float32, translation: float32, *, T: {_WIDE_TYPES}, {_SAMPLING}) -> "
    "(resized_images: float32)",
    shape=_resized_shape, gradient=_scale_and_translate_gradient, constants=("size", "scale", "translation"),
)  # fmt: skip
def _scale_and_translate(images, size, scale, translation, *, kernel_type, antialias):
    _require_rank(images, "input")
    height, width = _require_size(images, size)
    _check_sampling(kernel_type, scale, translation)
    if 0 in images.shape[1:3]:
        raise _invalid("input image must be of non-zero size")
    if images.shape[3] <= 0:
        raise _invalid("image must have at least one channel")
    x = images.astype(np.float32)
    for axis, out in ((1, height), (2, width)):
        found = taps.spans(kernel_type, x.shape[axis], out, scale[axis - 1], translation[axis - 1], antialias)
        x = _weighted(x, found, axis)
    return x


@op(
    "ScaleAndTranslateGrad",
    f"(grads: T, original_image: T, scale: float32, translation: float32, *, T: {{float32}}, {_SAMPLING}) -> (output: T)",
    shape=si.unchanged_from(1), gradient=_NONE, constants=("scale", "translation"),
)  # fmt: skip
def _scale_and_translate_grad(grads, image, scale, translation, *, kernel_type, antialias):
    _check_grad(grads, image)
    _check_sampling(kernel_type, scale, translation)
    x = grads
    for axis in (1, 2):
        original, out = image.shape[axis], grads.shape[axis]
        found = taps.spans(kernel_type, original, out, scale[axis - 1], translation[axis - 1], antialias)
        matrix = jnp.asarray(found.matrix())
        product = jnp.tensordot(matrix, x, ((0,), (axis,)), precision=lax.Precision.HIGHEST)
        x = jnp.moveaxis(product, 0, axis)
    return x
