"""tf.image functions that change the size of images."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.constant_value import constant_value_as_shape
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import to_tensor
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.shape import expand_dims, shape, squeeze
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.image.geometry import pad_to_bounding_box
from tfcompat._src.ops.image.shape_checks import as_batch, check_at_least_3d, demand, dimensions, larger
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.unary import round_half_to_even

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("image.ResizeMethod")
class ResizeMethodV1:
    """Names of the ways to resize."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


@export("compat.v2.image.ResizeMethod")
class ResizeMethod:
    """Names of the ways to resize of `resize_images_v2`."""

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


_RESIZE_OPS = {
    0: "ResizeBilinear", "bilinear": "ResizeBilinear", 1: "ResizeNearestNeighbor", "nearest": "ResizeNearestNeighbor",
    2: "ResizeBicubic", "bicubic": "ResizeBicubic", 3: "ResizeArea", "area": "ResizeArea",
}  # fmt: skip
_ANTIALIAS_KERNELS = {"bilinear": "triangle", "bicubic": "keyscubic"}
_SAMPLING_KERNELS = ("lanczos3", "lanczos5", "gaussian", "mitchellcubic")


def _size_tensor(size: TensorLike) -> Tensor:
    try:
        size = to_tensor(size, dtypes.int32, "size")
    except (TypeError, ValueError):
        raise ValueError("'size' must be a 1-D int32 Tensor") from None
    if not size.shape.is_compatible_with([2]):
        raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
    return size


def _keeping_aspect_ratio(images: Tensor, wanted: list) -> Tensor:
    """The largest size inside the wanted one with the sides of `images` in proportion."""
    _, height, width, _ = dimensions(images, 4)
    by_height = cast(wanted[0], dtypes.float32) / cast(height, dtypes.float32)
    by_width = cast(wanted[1], dtypes.float32) / cast(width, dtypes.float32)
    factor = raw.Minimum(by_height, by_width)
    sizes = [
        cast(round_half_to_even(factor * cast(side, dtypes.float32)), dtypes.int32) for side in (height, width)
    ]
    return to_tensor(sizes, dtypes.int32, "size")


def _resize(
    images: TensorLike, resize: Callable, size: TensorLike, preserve_aspect_ratio: bool, name: str | None, skips_same_size: bool
) -> Tensor:
    with name_scope(name, "resize", [images, size]):
        images = to_tensor(images, name="images")
        ndims = images.shape.ndims
        if ndims is None:
            raise ValueError("'images' contains no shape.")
        if ndims == 3:
            images = expand_dims(images, 0)
        elif ndims != 4:
            raise ValueError("'images' must have either 3 or 4 dimensions.")
        height, width = images.shape.as_list()[1:3]
        size = _size_tensor(size)
        wanted = constant_value_as_shape(size).as_list()
        if preserve_aspect_ratio:
            size = _keeping_aspect_ratio(images, wanted)
            wanted = constant_value_as_shape(size).as_list()
        if not skips_same_size or None in wanted or wanted != [height, width]:
            images = resize(images, size)
            images.set_shape([None, *wanted, None])
        return squeeze(images, axis=[0]) if ndims == 3 else images


@export("image.resize_images", "image.resize")
def resize_images(
    images: TensorLike, size: TensorLike, method: object = ResizeMethodV1.BILINEAR, align_corners: bool = False,
    preserve_aspect_ratio: bool = False, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Images in another size.

    Args:
      images: [height, width, channels] or [batch, height, width, channels].
      size: int32 (height, width).
      method: a `ResizeMethod`.
      align_corners: whether the centres of corner pixels stay where they are.
      preserve_aspect_ratio: whether the result is the largest one inside `size` in proportion.
      name: name scope.

    Returns:
      a float32 Tensor; of the dtype of `images` for the nearest neighbour, and where the size is the same.

    Raises:
      ValueError: the rank, `size` or `method` cannot be.
    """

    def resize(x: Tensor, new_size: Tensor) -> Tensor:
        if method not in _RESIZE_OPS:
            raise ValueError("Resize method is not implemented.")
        return raw.function(_RESIZE_OPS[method])(x, new_size, align_corners=align_corners)

    return _resize(images, resize, size, preserve_aspect_ratio, name, True)


@export("compat.v2.image.resize")
def resize_images_v2(
    images: TensorLike, size: TensorLike, method: str = ResizeMethod.BILINEAR, preserve_aspect_ratio: bool = False,
    antialias: bool = False, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Images in another size, with half-pixel centres.

    Args:
      images: [height, width, channels] or [batch, height, width, channels].
      size: int32 (height, width).
      method: one of `ResizeMethod`'s names.
      preserve_aspect_ratio: whether the result is the largest one inside `size` in proportion.
      antialias: whether a smaller image takes in all pixels.
      name: name scope.

    Raises:
      ValueError: the rank, `size` or `method` cannot be.
    """

    def sampled(x: Tensor, new_size: Tensor, kernel_type: str) -> Tensor:
        scale = cast(new_size, dtypes.float32) / cast(shape(x)[1:3], dtypes.float32)
        return raw.ScaleAndTranslate(x, new_size, scale, zeros([2]), kernel_type=kernel_type, antialias=antialias)

    def resize(x: Tensor, new_size: Tensor) -> Tensor:
        if method in _SAMPLING_KERNELS:
            return sampled(x, new_size, method)
        if antialias and method in _ANTIALIAS_KERNELS:
            return sampled(x, new_size, _ANTIALIAS_KERNELS[method])
        if not isinstance(method, str) or method not in _RESIZE_OPS:
            raise ValueError("Resize method is not implemented.")
        centers = {} if method == ResizeMethod.AREA else {"half_pixel_centers": True}
        return raw.function(_RESIZE_OPS[method])(x, new_size, **centers)

    return _resize(images, resize, size, preserve_aspect_ratio, name, False)


def _resize_with_pad(image: object, target_height: Any, target_width: Any, resize: Callable) -> Tensor:
    with name_scope(None, "resize_image_with_pad", [image]):
        image, is_batch = as_batch(to_tensor(image, name="image"))
        checks = check_at_least_3d(image)
        checks += demand(target_width > 0, ValueError, "target_width must be > 0.")
        checks += demand(target_height > 0, ValueError, "target_height must be > 0.")
        image = with_dependencies(checks, image)
        _, height, width, _ = dimensions(image, 4)
        sides = [cast(n, dtypes.float64) for n in (height, width)]
        targets = [cast(n, dtypes.float64) for n in (target_height, target_width)]
        by_width = sides[1] / targets[1]
        ratio = larger(by_width, sides[0] / targets[0])
        resized_sides = [side / ratio for side in sides]
        sizes = [cast(raw.Floor(side), dtypes.int32) for side in resized_sides]
        paddings = [(target - side) / 2 for target, side in zip(targets, resized_sides)]
        floors = [raw.Floor(padding) for padding in paddings]
        offsets = [larger(0, cast(n, dtypes.int32)) for n in floors]
        padded = pad_to_bounding_box(resize(image, sizes), *offsets, target_height, target_width)
        if padded.shape.ndims is None:
            raise ValueError("padded contains no shape.")
        dimensions(padded, 4)
        return padded if is_batch else squeeze(padded, axis=[0])


@export("image.resize_image_with_pad")
def resize_image_with_pad(
    image: TensorLike, target_height: object, target_width: object, method: object = ResizeMethodV1.BILINEAR, align_corners: bool = False
) -> Tensor:
    """Images resized in proportion, with zeros around them.

    Args:
      image: [height, width, channels] or [batch, height, width, channels].
      target_height, target_width: size of the result.
      method, align_corners: as in `resize_images`.

    Raises:
      ValueError: a target is not positive.
    """
    return _resize_with_pad(
        image, target_height, target_width, lambda x, size: resize_images(x, size, method, align_corners=align_corners)
    )



@export("compat.v2.image.resize_with_pad")
def resize_image_with_pad_v2(
    image: TensorLike, target_height: object, target_width: object, method: str = ResizeMethod.BILINEAR, antialias: bool = False
) -> Tensor:
    """`resize_image_with_pad` by `resize_images_v2`."""
    return _resize_with_pad(
        image, target_height, target_width, lambda x, size: resize_images_v2(x, size, method, antialias=antialias)
    )


@export("image.resize_bilinear")
def resize_bilinear(
    images: TensorLike, size: TensorLike, align_corners: bool = False, name: str | None = None, half_pixel_centers: bool = False
) -> Tensor:
    """Images [batch, height, width, channels] resized to `size` by linear interpolation; float32."""
    return raw.ResizeBilinear(
        images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name
    )


@export("image.resize_bicubic")
def resize_bicubic(
    images: TensorLike, size: TensorLike, align_corners: bool = False, name: str | None = None, half_pixel_centers: bool = False
) -> Tensor:
    """Images [batch, height, width, channels] resized to `size` by cubic convolution; float32.

    Definition: R. Keys, "Cubic convolution interpolation for digital image processing", 1981, with a = -0.75, and
    -0.5 for half-pixel centres.
    """
    return raw.ResizeBicubic(images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name)


@export("image.resize_nearest_neighbor")
def resize_nearest_neighbor(
    images: TensorLike, size: TensorLike, align_corners: bool = False, name: str | None = None, half_pixel_centers: bool = False
) -> Tensor:
    """Images [batch, height, width, channels] resized to `size` by taking the nearest pixel."""
    return raw.ResizeNearestNeighbor(
        images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name
    )


@export("image.resize_area")
def resize_area(images: TensorLike, size: TensorLike, align_corners: bool = False, name: str | None = None) -> Tensor:
    """Images [batch, height, width, channels] resized to `size`; each pixel is the mean of the area it covers; float32."""
    return raw.ResizeArea(images, size, align_corners=align_corners, name=name)
