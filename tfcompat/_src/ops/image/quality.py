"""tf.image functions that measure images: PSNR, SSIM, total variation, gradients, edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, to_tensor
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.join import concat, stack, tile, unstack
from tfcompat._src.ops.array.pad import pad
from tfcompat._src.ops.array.shape import expand_dims, reshape, shape, shape_n, size
from tfcompat._src.ops.control.cond import Assert, cond
from tfcompat._src.ops.image.adjust import convert_image_dtype
from tfcompat._src.ops.math.binary import power
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import reduce_all, reduce_any, reduce_mean, reduce_prod, reduce_sum
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.math.unary import absolute
from tfcompat._src.ops.nn.depthwise import depthwise_conv2d
from tfcompat._src.ops.nn.pool_functions import avg_pool
from tfcompat._src.ops.nn.softmax import softmax

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_SCALE_WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


def verify_compatible_image_shapes(img1: Tensor, img2: Tensor) -> tuple[Tensor, Tensor, list]:
    """The shapes of two images, and nodes that assert that they can be compared."""
    known1, known2 = img1.shape.with_rank_at_least(3), img2.shape.with_rank_at_least(3)
    known1[-3:].assert_is_compatible_with(known2[-3:])
    if known1.ndims is not None and known2.ndims is not None:
        for a, b in zip(reversed(known1.as_list()[:-3]), reversed(known2.as_list()[:-3])):
            if a is not None and b is not None and 1 not in (a, b) and a != b:
                raise ValueError(f"Two images are not compatible: {known1} and {known2}")
    shape1, shape2 = shape_n([img1, img2])
    checks = [
        Assert(raw.GreaterEqual(size(shape1), 3), [shape1, shape2], summarize=10),
        Assert(reduce_all(raw.Equal(shape1[-3:], shape2[-3:])), [shape1, shape2], summarize=10),
    ]
    return shape1, shape2, checks


def _as_single(max_val: object, *images: Tensor) -> list[Tensor]:
    """The largest value and the images as float32."""
    max_val = cast(max_val, images[0].dtype)
    return [convert_image_dtype(x, dtypes.float32) for x in (max_val, *images)]


@export("image.psnr")
def psnr(a: Any, b: Any, max_val: Any, name: str | None = None) -> Tensor:
    """The peak signal-to-noise ratio of images [..., height, width, channels], in decibels.

    Args:
      a, b: images of one dtype.
      max_val: the largest value that they can have.
      name: name scope.

    Returns:
      float32 [...]: 10 log10(max_val^2 / mean squared difference).
    """
    with name_scope(name, "PSNR", [a, b]):
        max_val, a, b = _as_single(max_val, a, b)
        error = reduce_mean(raw.SquaredDifference(a, b), [-3, -2, -1])
        peak = 20 * raw.Log(max_val) / raw.Log(10.0)
        found = raw.Sub(peak, np.float32(10 / np.log(10)) * raw.Log(error), name="psnr")
        _, _, checks = verify_compatible_image_shapes(a, b)
        with control_dependencies(checks):
            return raw.Identity(found)


# ---- structural similarity ----


def _gaussian_window(window: Tensor, sigma: Tensor) -> Tensor:
    window, sigma = to_tensor(window, dtypes.int32), to_tensor(sigma)
    places = cast(arange(window), sigma.dtype)
    places -= cast(window - 1, sigma.dtype) / 2.0
    squares = raw.Square(places)
    squares *= -0.5 / raw.Square(sigma)
    grid = reshape(squares, shape=[1, -1]) + reshape(squares, shape=[-1, 1])
    return reshape(softmax(reshape(grid, shape=[1, -1])), shape=[window, window, 1, 1])


def _similarity(x: Tensor, y: Tensor, blur: Callable, max_val: Any, k1: float, k2: float) -> tuple[Tensor, Tensor]:
    """The luminance term, and the product of the contrast and structure terms."""
    c1, c2 = (k1 * max_val) ** 2, (k2 * max_val) ** 2
    mean_x, mean_y = blur(x), blur(y)
    product = mean_x * mean_y * 2.0
    squares = raw.Square(mean_x) + raw.Square(mean_y)
    luminance = (product + c1) / (squares + c1)
    mixed = blur(x * y) * 2.0
    powers = blur(raw.Square(x) + raw.Square(y))
    c2 *= 1.0
    return luminance, (mixed - product + c2) / (powers - squares + c2)


def _ssim_per_channel(
    img1: Tensor, img2: Tensor, max_val: object, filter_size: int, filter_sigma: float, k1: float, k2: float
) -> tuple[Tensor, Tensor]:
    window, sigma = constant(filter_size, dtypes.int32), constant(filter_sigma, img1.dtype)
    shapes = shape_n([img1, img2])
    checks = [
        Assert(reduce_all(raw.GreaterEqual(s[-3:-1], window)), [s, window], summarize=8) for s in shapes
    ]
    with control_dependencies(checks):
        img1 = raw.Identity(img1)
    kernel = tile(_gaussian_window(window, sigma), multiples=[1, 1, shapes[0][-1], 1])

    def blur(x: Tensor) -> Tensor:
        sizes = shape(x)
        x = reshape(x, shape=concat([[-1], sizes[-3:]], 0))
        y = depthwise_conv2d(x, kernel, strides=[1, 1, 1, 1], padding="VALID")
        return reshape(y, concat([sizes[:-3], shape(y)[1:]], 0))

    luminance, cs = _similarity(img1, img2, blur, max_val, k1, k2)
    axes = constant([-3, -2], dtypes.int32)
    return reduce_mean(luminance * cs, axes), reduce_mean(cs, axes)


@export("image.ssim")
def ssim(
    img1: Any, img2: Any, max_val: Any, filter_size: int = 11, filter_sigma: float = 1.5, k1: float = 0.01, k2: float = 0.03
) -> Tensor:
    """The structural similarity of images [..., height, width, channels].

    Definition: Z. Wang et al., "Image quality assessment: from error visibility to structural similarity", 2004.

    Args:
      img1, img2: images of one dtype, at least `filter_size` high and wide.
      max_val: the largest value that they can have.
      filter_size, filter_sigma: the Gaussian window.
      k1, k2: constants of the definition.

    Returns:
      float32 [...], the mean over the channels.
    """
    _, _, checks = verify_compatible_image_shapes(img1, img2)
    with control_dependencies(checks):
        img1 = raw.Identity(img1)
    max_val, img1, img2 = _as_single(max_val, img1, img2)
    found, _ = _ssim_per_channel(img1, img2, max_val, filter_size, filter_sigma, k1, k2)
    return reduce_mean(found, [-1])


def _halved(imgs: list, heads: list, tails: list, divisor: Tensor) -> tuple[list, list]:
    """Images of half the size, and their last three sizes; odd sides are padded first."""
    flat = [reshape(x, concat([[-1], t], 0)) for x, t in zip(imgs, tails)]
    remainder = tails[0] % divisor
    needs_padding = reduce_any(raw.NotEqual(remainder, 0))

    def padded() -> list[Tensor]:
        padding = pad(expand_dims(remainder, -1), [[1, 0], [1, 0]])
        return [pad(x, padding, mode="SYMMETRIC") for x in flat]

    padded_imgs = cond(needs_padding, padded, lambda: flat)
    small = [avg_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID") for x in padded_imgs]
    tails = [x[1:] for x in shape_n(small)]
    return [reshape(x, concat([h, t], 0)) for x, h, t in zip(small, heads, tails)], tails


@export("image.ssim_multiscale")
def ssim_multiscale(
    img1: TensorLike, img2: TensorLike, max_val: object, power_factors: Any = _SCALE_WEIGHTS, filter_size: int = 11,
    filter_sigma: float = 1.5, k1: float = 0.01, k2: float = 0.03,
) -> Tensor:  # fmt: skip
    """The structural similarity of images over several scales.

    Definition: Z. Wang, E. Simoncelli, A. Bovik, "Multiscale structural similarity for image quality assessment", 2003.

    Args:
      power_factors: the weight of each scale; the first is that of the images as they are.
      img1, img2, max_val, filter_size, filter_sigma, k1, k2: as in `ssim`.

    Returns:
      float32 [...], the mean over the channels.
    """
    with name_scope(None, "MS-SSIM", [img1, img2]):
        img1, img2 = to_tensor(img1, name="img1"), to_tensor(img2, name="img2")
        shape1, shape2, checks = verify_compatible_image_shapes(img1, img2)
        with control_dependencies(checks):
            img1 = raw.Identity(img1)
        max_val, img1, img2 = _as_single(max_val, img1, img2)
        imgs, shapes = [img1, img2], [shape1, shape2]
        heads, tails = [s[:-3] for s in shapes], [s[-3:] for s in shapes]
        divisor = constant([2, 2, 1], dtypes.int32)
        terms = []
        for k in range(len(power_factors)):
            with name_scope(None, f"Scale{k}", imgs):
                if k > 0:
                    imgs, tails = _halved(imgs, heads, tails, divisor)
                per_channel, cs = _ssim_per_channel(*imgs, max_val, filter_size, filter_sigma, k1, k2)
                terms.append(raw.Relu(cs))
        terms = stack([*terms[:-1], raw.Relu(per_channel)], axis=-1)
        return reduce_mean(reduce_prod(power(terms, power_factors), [-1]), [-1])


# ---- variation, gradients, edges ----


@export("image.total_variation")
def total_variation(images: Tensor, name: str | None = None) -> Tensor:
    """The sum of absolute differences of neighbouring pixels: a scalar, or one for each image of a batch.

    Args:
      images: [height, width, channels] or [batch, height, width, channels].
      name: name scope.

    Raises:
      ValueError: the rank is neither 3 nor 4.
    """
    with name_scope(name, "total_variation"):
        ndims = images.shape.ndims
        if ndims == 3:
            down, right, axes = images[1:, :, :] - images[:-1, :, :], images[:, 1:, :] - images[:, :-1, :], None
        elif ndims == 4:
            down = images[:, 1:, :, :] - images[:, :-1, :, :]
            right, axes = images[:, :, 1:, :] - images[:, :, :-1, :], [1, 2, 3]
        else:
            raise ValueError("'images' must be either 3 or 4-dimensional.")
        return reduce_sum(absolute(down), axis=axes) + reduce_sum(absolute(right), axis=axes)


@export("image.image_gradients")
def image_gradients(image: Tensor) -> tuple[Tensor, Tensor]:
    """Differences (dy, dx) of each pixel of [batch, height, width, channels] to the next; 0 in the last row and column."""
    if image.shape.ndims != 4:
        raise ValueError("image_gradients expects a 4D tensor [batch_size, h, w, d], not %s.", image.shape)
    sizes = shape(image)
    batch, height, width, depth = unstack(sizes)
    dy = image[:, 1:, :, :] - image[:, :-1, :, :]
    dx = image[:, :, 1:, :] - image[:, :, :-1, :]
    row = stack([batch, 1, width, depth])
    dy = reshape(concat([dy, zeros(row, image.dtype)], 1), sizes)
    column = stack([batch, height, 1, depth])
    dx = reshape(concat([dx, zeros(column, image.dtype)], 2), sizes)
    return dy, dx


@export("image.sobel_edges")
def sobel_edges(image: Tensor) -> Tensor:
    """Sobel's (dy, dx) of each pixel of [batch, height, width, channels]; a Tensor [..., 2]."""
    known, sizes = image.shape, shape(image)
    kernels = np.array([[[-1, -2, -1], [0, 0, 0], [1, 2, 1]], [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]])
    kernels = np.transpose(kernels, (1, 2, 0))[:, :, None]
    filters = tile(constant(kernels, image.dtype), [1, 1, sizes[-1], 1], name="sobel_filters")
    padded = pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    found = depthwise_conv2d(padded, filters, [1, 1, 1, 1], "VALID")
    found = reshape(found, shape=concat([sizes, [2]], 0))
    found.set_shape(known.concatenate([2]))
    return found
