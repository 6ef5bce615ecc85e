"""tf.image functions that move pixels: flips, turns, crops and pads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import to_tensor
from tfcompat._src.ops.array.join import stack
from tfcompat._src.ops.array.pad import pad
from tfcompat._src.ops.array.reorder import reverse
from tfcompat._src.ops.array.reorder import transpose as transpose_dimensions
from tfcompat._src.ops.array.shape import reshape, shape, squeeze
from tfcompat._src.ops.array.slice import slice_
from tfcompat._src.ops.control.cond import case, cond
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.image.shape_checks import (
    as_batch,
    assert_at_least_3d,
    by_rank,
    check_at_least_3d,
    demand,
    dimensions,
    is_tensor,
    known_sizes,
    larger,
    same,
    smaller,
)  # fmt: skip
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.unary import round_half_to_even
from tfcompat._src.ops.random.stateful import random_uniform

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

# ---- flips ----


def fix_image_flip_shape(image: Tensor, result: Tensor) -> Tensor:
    """Gives `result` the static shape of `image`, rank 3 where that is unknown."""
    result.set_shape([None, None, None] if image.shape.ndims is None else image.shape)
    return result


def _flip(image: TensorLike, axis: int, scope: str) -> Tensor:
    with name_scope(None, scope, [image]):
        image = assert_at_least_3d(to_tensor(image, name="image"))
        return by_rank(
            image, lambda: fix_image_flip_shape(image, reverse(image, [axis])), lambda: reverse(image, [axis + 1])
        )


@export("image.flip_left_right")
def flip_left_right(image: TensorLike) -> Tensor:
    """An image [height, width, channels], or a batch of images, with its columns in reverse order."""
    return _flip(image, 1, "flip_left_right")


@export("image.flip_up_down")
def flip_up_down(image: TensorLike) -> Tensor:
    """An image [height, width, channels], or a batch of images, with its rows in reverse order."""
    return _flip(image, 0, "flip_up_down")


def _random_flip(image: TensorLike, axis: int, seed: int | None, scope_name: str) -> Tensor:
    with name_scope(None, scope_name, [image]) as scope:
        image = assert_at_least_3d(to_tensor(image, name="image"))

        def one() -> Tensor:
            is_mirrored = raw.Less(random_uniform([], 0, 1.0, seed=seed), 0.5)
            result = cond(is_mirrored, lambda: reverse(image, [axis]), lambda: image, name=scope)
            return fix_image_flip_shape(image, result)

        def batch() -> Tensor:
            count = shape(image)[0]
            chance = random_uniform([count], 0, 1.0, seed=seed)
            flips = cast(round_half_to_even(reshape(chance, [count, 1, 1, 1])), image.dtype)
            flipped = reverse(image, [axis + 1])
            return flips * flipped + (1 - flips) * image

        return by_rank(image, one, batch)


@export("image.random_flip_left_right")
def random_flip_left_right(image: TensorLike, seed: int | None = None) -> Tensor:
    """`flip_left_right` with probability 1/2, for each image of a batch by itself.

    Args:
      image: [height, width, channels] or [batch, height, width, channels].
      seed: seed of the operation.

    Raises:
      ValueError: the rank is neither 3 nor 4.
    """
    return _random_flip(image, 1, seed, "random_flip_left_right")


@export("image.random_flip_up_down")
def random_flip_up_down(image: TensorLike, seed: int | None = None) -> Tensor:
    """`flip_up_down` with probability 1/2, for each image of a batch by itself; arguments as `random_flip_left_right`."""
    return _random_flip(image, 0, seed, "random_flip_up_down")


# ---- turns ----


def _turned(image: Tensor, k: Tensor, first: int, name: str) -> Tensor:
    """`image`, whose rows are dimension `first`, turned by `k` quarters."""
    order = [1, 0, 2] if first == 0 else [0, 2, 1, 3]
    columns = first + 1
    quarters: list[Callable] = [
        lambda: transpose_dimensions(reverse(image, [columns]), order),
        lambda: reverse(image, [first, columns]),
        lambda: reverse(transpose_dimensions(image, order), [columns]),
    ]
    cases = [(raw.Equal(k, n), turn) for n, turn in enumerate(quarters, 1)]
    return case(cases, default=lambda: image, exclusive=True, name=name)


@export("image.rot90")
def rot90(image: TensorLike, k: TensorLike = 1, name: str | None = None) -> Tensor:
    """Images turned by quarters, counter-clockwise.

    Args:
      image: [height, width, channels] or [batch, height, width, channels].
      k: integer scalar, how many quarters.
      name: name scope.

    Raises:
      ValueError: the rank is neither 3 nor 4.
    """
    with name_scope(name, "rot90", [image, k]) as scope:
        image = assert_at_least_3d(to_tensor(image, name="image"))
        k = to_tensor(k, dtypes.int32, "k")
        k.shape.assert_has_rank(0)
        k = raw.FloorMod(k, 4)

        def one() -> Tensor:
            result = _turned(image, k, 0, scope)
            result.set_shape([None, None, image.shape[2]])
            return result

        def batch() -> Tensor:
            result = _turned(image, k, 1, scope)
            result.set_shape([result.shape[0], None, None, result.shape[3]])
            return result

        return by_rank(image, one, batch)


@export("image.transpose", "image.transpose_image")
def transpose(image: TensorLike, name: str | None = None) -> Tensor:
    """An image [height, width, channels], or a batch of images, with rows and columns exchanged."""
    with name_scope(name, "transpose", [image]):
        image = assert_at_least_3d(to_tensor(image, name="image"))
        return by_rank(
            image, lambda: transpose_dimensions(image, [1, 0, 2], name=name),
            lambda: transpose_dimensions(image, [0, 2, 1, 3], name=name),
        )  # fmt: skip


# ---- crops and pads ----


@export("image.central_crop")
def central_crop(image: TensorLike, central_fraction: float) -> Tensor:
    """The middle part of images.

    Args:
      image: [height, width, channels] or [batch, height, width, channels].
      central_fraction: of height and width, in (0, 1].

    Raises:
      ValueError: the fraction or the rank is out of range.
    """
    with name_scope(None, "central_crop", [image]):
        image = to_tensor(image, name="image")
        if central_fraction <= 0.0 or central_fraction > 1.0:
            raise ValueError("central_fraction must be within (0, 1]")
        if central_fraction == 1.0:
            return image
        assert_at_least_3d(image)
        ndims = image.shape.ndims
        if ndims not in (3, 4):
            raise ValueError(f"`image` should either be a Tensor with rank = 3 or rank = 4. Had rank = {ndims}.")
        sides = []
        for axis in (ndims - 3, ndims - 2):
            known = image.shape.as_list()[axis]
            sides.append(shape(image)[axis] if known is None else known)
        starts = [_central_start(n, central_fraction) for n in sides]
        sizes = [n - start * 2 for n, start in zip(sides, starts)]
        batch = [] if ndims == 3 else [0]
        begin = stack([*batch, *starts, 0])
        size = stack([*(-1 for _ in batch), *sizes, -1])
        known_batch, known_depth = image.shape.as_list()[: ndims - 3], image.shape.as_list()[-1]
        cropped = slice_(image, begin, size)
        cropped.set_shape([*known_batch, *known_sizes(*sizes), known_depth])
        return cropped


def _central_start(size: Any, fraction: float) -> Any:
    if is_tensor(size):
        wide = cast(size, dtypes.float64)
        return cast((wide - wide * fraction) / 2, dtypes.int32)
    return int((float(size) - float(size) * fraction) / 2)


@export("image.pad_to_bounding_box")
def pad_to_bounding_box(
    image: object, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """Images with zeros around them.

    Args:
      image: [height, width, channels] or [batch, height, width, channels].
      offset_height, offset_width: how many zeros stand above and to the left.
      target_height, target_width: size of the result.

    Raises:
      ValueError: a number is negative, or the image is too large.
    """
    with name_scope(None, "pad_to_bounding_box", [image]):
        image, is_batch = as_batch(to_tensor(image, name="image"))
        checks = check_at_least_3d(image)
        batch, height, width, depth = dimensions(image, 4)
        after_width = target_width - offset_width - width
        after_height = target_height - offset_height - height
        checks += demand(offset_height >= 0, ValueError, "offset_height must be >= 0")
        checks += demand(offset_width >= 0, ValueError, "offset_width must be >= 0")
        checks += demand(after_width >= 0, ValueError, "width must be <= target - offset")
        checks += demand(after_height >= 0, ValueError, "height must be <= target - offset")
        image = with_dependencies(checks, image)
        paddings = reshape(stack([0, 0, offset_height, after_height, offset_width, after_width, 0, 0]), [4, 2])
        padded = pad(image, paddings)
        padded.set_shape(known_sizes(batch, target_height, target_width, depth))
        return padded if is_batch else squeeze(padded, axis=[0])


@export("image.crop_to_bounding_box")
def crop_to_bounding_box(
    image: object, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """A rectangle out of images.

    Args:
      image: [height, width, channels] or [batch, height, width, channels].
      offset_height, offset_width: the upper left corner.
      target_height, target_width: size of the result.

    Raises:
      ValueError: the rectangle is empty, or not inside the image.
    """
    with name_scope(None, "crop_to_bounding_box", [image]):
        image, is_batch = as_batch(to_tensor(image, name="image"))
        checks = check_at_least_3d(image)
        batch, height, width, depth = dimensions(image, 4)
        checks += demand(offset_width >= 0, ValueError, "offset_width must be >= 0.")
        checks += demand(offset_height >= 0, ValueError, "offset_height must be >= 0.")
        checks += demand(target_width > 0, ValueError, "target_width must be > 0.")
        checks += demand(target_height > 0, ValueError, "target_height must be > 0.")
        checks += demand(width >= (target_width + offset_width), ValueError, "width must be >= target + offset.")
        checks += demand(height >= (target_height + offset_height), ValueError, "height must be >= target + offset.")
        image = with_dependencies(checks, image)
        begin = stack([0, offset_height, offset_width, 0])
        cropped = slice_(image, begin, stack([-1, target_height, target_width, -1]))
        cropped.set_shape(known_sizes(batch, target_height, target_width, depth))
        return cropped if is_batch else squeeze(cropped, axis=[0])


@export("image.resize_with_crop_or_pad", "image.resize_image_with_crop_or_pad")
def resize_image_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Tensor:
    """Images cut to a size around their middle, or filled up to it with zeros.

    Args:
      image: [height, width, channels] or [batch, height, width, channels].
      target_height, target_width: size of the result.

    Raises:
      ValueError: a target is not positive.
    """
    with name_scope(None, "resize_image_with_crop_or_pad", [image]):
        image, is_batch = as_batch(to_tensor(image, name="image"))
        checks = check_at_least_3d(image)
        checks += demand(target_width > 0, ValueError, "target_width must be > 0.")
        checks += demand(target_height > 0, ValueError, "target_height must be > 0.")
        image = with_dependencies(checks, image)
        if is_tensor(target_height):
            target_height = with_dependencies(checks, target_height)
        if is_tensor(target_width):
            target_width = with_dependencies(checks, target_width)
        _, height, width, _ = dimensions(image, 4)
        width_diff = target_width - width
        crop_width, pad_width = larger(-width_diff // 2, 0), larger(width_diff // 2, 0)
        height_diff = target_height - height
        crop_height, pad_height = larger(-height_diff // 2, 0), larger(height_diff // 2, 0)
        cropped = crop_to_bounding_box(
            image, crop_height, crop_width, smaller(target_height, height), smaller(target_width, width)
        )
        resized = pad_to_bounding_box(cropped, pad_height, pad_width, target_height, target_width)
        if resized.shape.ndims is None:
            raise ValueError("resized contains no shape.")
        _, height, width, _ = dimensions(resized, 4)
        checks = demand(same(height, target_height), ValueError, "resized height is not correct.")
        checks += demand(same(width, target_width), ValueError, "resized width is not correct.")
        resized = with_dependencies(checks, resized)
        return resized if is_batch else squeeze(resized, axis=[0])
