"""tf.contrib.image: projective transforms of images."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import checks, dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.op_spec import NotDifferentiable, op
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, to_tensor
from tfcompat._src.ops.array.fill import ones, zeros
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import reshape, shape
from tfcompat._src.ops.image.rounding import product, round_half_away
from tfcompat._src.ops.image.sizes import sized_image
from tfcompat._src.ops.linalg.solve import matrix_inverse
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.unary import cos, sin

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import Array, TensorLike

_DTYPES = "dtype: {uint8, int32, int64, float16, float32, float64}"
_IMAGE_DTYPES = frozenset(
    (dtypes.uint8, dtypes.int32, dtypes.int64, dtypes.float16, dtypes.float32, dtypes.float64)
)  # fmt: skip
_F = np.float32


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


# ---- ImageProjectiveTransform ----


def _gradient(op, g):
    images, transforms = op.inputs[:2]
    inverse = matrices_to_flat_transforms(matrix_inverse(flat_transforms_to_matrices(transforms)))
    found = raw.ImageProjectiveTransformV2(g, inverse, shape(images)[1:3], interpolation=op.get_attr("interpolation"))
    return [found, None, None]


def _sized_shape(c):
    images = si.with_rank(c.inputs[0], 4)
    return sized_image(c, images[0], 2, images[3])


def _read(images: Any, y: Any, x: Any) -> Array:
    """Pixels at whole coordinates [batch, rows, columns]; 0 outside."""
    height, width = images.shape[1:3]
    inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
    batch = np.arange(images.shape[0])[:, None, None]
    rows, columns = (jnp.clip(v, 0, n - 1).astype(np.int32) for v, n in ((y, height), (x, width)))
    return jnp.where(inside[..., None], images[batch, rows, columns], images.dtype.type(0))


def _bilinear(images: Any, y: Any, x: Any) -> Array:
    top, left = jnp.floor(y), jnp.floor(x)
    bottom, right = top + _F(1), left + _F(1)
    to_right, to_left = (right - x)[..., None], (x - left)[..., None]
    above, below = (
        product(to_right, _read(images, row, left).astype(np.float32))
        + product(to_left, _read(images, row, right).astype(np.float32))
        for row in (top, bottom)
    )
    return (product((bottom - y)[..., None], above) + product((y - top)[..., None], below)).astype(images.dtype)


def _transformed(images: Any, transforms: Any, height: int, width: int, interpolation: str) -> Array:
    if images.ndim != 4:
        raise _invalid("Input images must have rank 4")
    if transforms.ndim != 2 or transforms.shape[0] not in (1, images.shape[0]) or transforms.shape[1] != 8:
        raise _invalid("Input transform should be num_images x 8 or 1 x 8")
    if interpolation not in ("NEAREST", "BILINEAR"):
        raise _invalid(f"Invalid interpolation {interpolation}. Supported types: NEAREST, BILINEAR")
    if height <= 0 or width <= 0:
        raise _invalid("output dimensions must be positive")
    checks.require_room((images.shape[0], height, width, images.shape[3]), np.dtype(images.dtype))
    t = [transforms[:, i, None, None] for i in range(8)]
    x, y = np.arange(width, dtype=np.float32)[None, None], np.arange(height, dtype=np.float32)[None, :, None]
    depth = product(t[6], x) + product(t[7], y) + _F(1)
    sizes = (images.shape[0], height, width)
    at_x, at_y = (
        jnp.broadcast_to((product(t[i], x) + product(t[i + 1], y) + t[i + 2]) / depth, sizes) for i in (0, 3)
    )
    images = jnp.asarray(images)
    if interpolation == "NEAREST":
        found = _read(images, round_half_away(at_y), round_half_away(at_x))
    else:
        found = _bilinear(images, at_y, at_x)
    return jnp.where((depth == 0)[..., None], images.dtype.type(0), found)


@op(
    "ImageProjectiveTransform",
    f"(images: dtype, transforms: float32, *, {_DTYPES}, interpolation: string) -> (transformed_images: dtype)",
    shape=si.unchanged, gradient=NotDifferentiable("1.15 has no gradient of this one", raises=True),
)  # fmt: skip
def _image_projective_transform(images, transforms, *, interpolation):
    return _transformed(images, transforms, *images.shape[1:3], interpolation)


@op(
    "ImageProjectiveTransformV2",
    f"(images: dtype, transforms: float32, output_shape: int32, *, {_DTYPES}, interpolation: string) -> "
    "(transformed_images: dtype)",
    shape=_sized_shape, gradient=_gradient, constants=("output_shape",),
)  # fmt: skip
def _image_projective_transform_v2(images, transforms, output_shape, *, interpolation):
    if output_shape.shape != (2,):
        raise _invalid(f"output shape must have two elements{list(output_shape.shape)}")
    return _transformed(images, transforms, int(output_shape[0]), int(output_shape[1]), interpolation)


# ---- public functions ----


def _as_batch(images: Tensor) -> tuple[Tensor, Callable]:
    """`images` with four dimensions, and the function that takes the added ones away again."""
    ndims = images.shape.ndims
    if images.dtype.base_dtype not in _IMAGE_DTYPES:
        raise TypeError(f"Invalid dtype {images.dtype}.")
    if ndims is None:
        raise TypeError("image_or_images rank must be statically known")
    if ndims == 2:
        return images[None, :, :, None], lambda x: x[0, :, :, 0]
    if ndims == 3:
        return images[None, :, :, :], lambda x: x[0, :, :, :]
    if ndims == 4:
        return images, lambda x: x
    raise TypeError("Images should have rank between 2 and 4.")


@export("contrib.image.transform")
def transform(
    images: TensorLike, transforms: TensorLike, interpolation: str = "NEAREST", output_shape: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Applies projective transforms to images.

    Args:
      images: [height, width], [height, width, channels] or [batch, height, width, channels].
      transforms: float32 [8] or [batch, 8]; (a0, a1, a2, b0, b1, b2, c0, c1) takes the output point (x, y) from the
        input point ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k) with k = c0 x + c1 y + 1.
      interpolation: "NEAREST" or "BILINEAR".
      output_shape: int32 (height, width), that of the input by default.
      name: name scope.

    Returns:
      images of their dtype; points outside are 0.

    Raises:
      TypeError: the dtype or a rank is another. ValueError: `output_shape` has not two elements.
    """
    with name_scope(name, "transform"):
        images = to_tensor(images, name="images")
        transforms = to_tensor(transforms, dtypes.float32, "transforms")
        batch, restore = _as_batch(images)
        if output_shape is None:
            output_shape = shape(batch)[1:3]
            known = constant_value(output_shape)
            output_shape = output_shape if known is None else known
        output_shape = to_tensor(output_shape, dtypes.int32, "output_shape")
        if not output_shape.shape.is_compatible_with([2]):
            raise ValueError("output_shape must be a 1-D Tensor of 2 elements: new_height, new_width")
        if transforms.shape.ndims is None:
            raise TypeError("transform_or_transforms rank must be statically known")
        if transforms.shape.ndims not in (1, 2):
            raise TypeError("Transforms should have rank 1 or 2.")
        if transforms.shape.ndims == 1:
            transforms = transforms[None]
        return restore(
            raw.ImageProjectiveTransformV2(batch, transforms, output_shape, interpolation=interpolation.upper())
        )


@export("contrib.image.rotate")
def rotate(images: TensorLike, angles: TensorLike, interpolation: str = "NEAREST", name: str | None = None) -> Tensor:
    """Images turned counter-clockwise about their centre by `angles`, radians, one or one for each image."""
    with name_scope(name, "rotate"):
        images = to_tensor(images)
        batch, restore = _as_batch(images)
        height = cast(shape(batch)[1], dtypes.float32)[None]
        width = cast(shape(batch)[2], dtypes.float32)[None]
        transforms = angles_to_projective_transforms(angles, height, width)
        return restore(transform(batch, transforms, interpolation=interpolation))


@export("contrib.image.translate")
def translate(images: TensorLike, translations: TensorLike, interpolation: str = "NEAREST", name: str | None = None) -> Tensor:
    """Images moved by `translations`, [2] or [batch, 2], each (dx, dy) in pixels."""
    with name_scope(name, "translate"):
        return transform(images, translations_to_projective_transforms(translations), interpolation=interpolation)


@export("contrib.image.angles_to_projective_transforms")
def angles_to_projective_transforms(angles: object, image_height: Any, image_width: Any, name: str | None = None) -> Tensor:
    """The transforms, float32 [angles, 8], that turn images of a size about their centre by `angles`, radians."""
    with name_scope(name, "angles_to_projective_transforms"):
        angles = to_tensor(angles, dtypes.float32, "angles")
        if angles.shape.ndims not in (0, 1):
            raise TypeError("Angles should have rank 0 or 1.")
        if angles.shape.ndims == 0:
            angles = angles[None]
        x_offset = (image_width - 1 - (cos(angles) * (image_width - 1) - sin(angles) * (image_height - 1))) / 2.0
        y_offset = (image_height - 1 - (sin(angles) * (image_width - 1) + cos(angles) * (image_height - 1))) / 2.0
        count = shape(angles)[0]
        columns = [
            cos(angles)[:, None], -sin(angles)[:, None], x_offset[:, None], sin(angles)[:, None], cos(angles)[:, None],
            y_offset[:, None], zeros((count, 2), dtypes.float32),
        ]  # fmt: skip
        return concat(columns, axis=1)


@export("contrib.image.translations_to_projective_transforms")
def translations_to_projective_transforms(translations: TensorLike, name: str | None = None) -> Tensor:
    """The transforms, float32 [translations, 8], that move images by `translations`, [2] or [translations, 2]."""
    with name_scope(name, "translations_to_projective_transforms"):
        translations = to_tensor(translations, dtypes.float32, "translations")
        if translations.shape.ndims is None:
            raise TypeError("translation_or_translations rank must be statically known")
        if translations.shape.ndims not in (1, 2):
            raise TypeError("Translations should have rank 1 or 2.")
        if translations.shape.ndims == 1:
            translations = translations[None]
        count = shape(translations)[0]
        columns = [
            ones((count, 1), dtypes.float32), zeros((count, 1), dtypes.float32), -translations[:, 0, None],
            zeros((count, 1), dtypes.float32), ones((count, 1), dtypes.float32), -translations[:, 1, None],
            zeros((count, 2), dtypes.float32),
        ]  # fmt: skip
        return concat(columns, axis=1)


@export("contrib.image.compose_transforms")
def compose_transforms(*transforms: object) -> Tensor:
    """One transform [count, 8] that has the effect of several, each [8] or [count, 8], applied one after another."""
    if not transforms:
        raise AssertionError("transforms cannot be empty")
    with name_scope("compose_transforms"):
        composed = flat_transforms_to_matrices(transforms[0])
        for other in transforms[1:]:
            composed = matmul(composed, flat_transforms_to_matrices(other))
        return matrices_to_flat_transforms(composed)


@export("contrib.image.flat_transforms_to_matrices")
def flat_transforms_to_matrices(transforms: TensorLike) -> Tensor:
    """Transforms [8] or [count, 8] as matrices [count, 3, 3]."""
    with name_scope("flat_transforms_to_matrices"):
        transforms = to_tensor(transforms, name="transforms")
        if transforms.shape.ndims not in (1, 2):
            raise ValueError(f"Transforms should be 1D or 2D, got: {transforms}")
        transforms = reshape(transforms, constant([-1, 8]))
        count = shape(transforms)[0]
        return reshape(concat([transforms, ones([count, 1])], axis=1), constant([-1, 3, 3]))


@export("contrib.image.matrices_to_flat_transforms")
def matrices_to_flat_transforms(transform_matrices: TensorLike) -> Tensor:
    """Matrices [3, 3] or [count, 3, 3] as transforms [count, 8], divided by their last element."""
    with name_scope("matrices_to_flat_transforms"):
        matrices = to_tensor(transform_matrices, name="transform_matrices")
        if matrices.shape.ndims not in (2, 3):
            raise ValueError(f"Matrices should be 2D or 3D, got: {matrices}")
        transforms = reshape(matrices, constant([-1, 9]))
        transforms /= transforms[:, 8:9]
        return transforms[:, :8]
