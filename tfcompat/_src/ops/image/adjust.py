"""tf.image functions that change the values of pixels, and decode_image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import to_tensor
from tfcompat._src.ops.array.fill import ones
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat, tile
from tfcompat._src.ops.array.shape import expand_dims, rank, shape
from tfcompat._src.ops.control.cond import Assert, cond
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.image.shape_checks import assert_at_least_3d, assert_grayscale, demand, is_tensor
from tfcompat._src.ops.math.binary import div
from tfcompat._src.ops.math.cast import cast, saturate_cast
from tfcompat._src.ops.math.contraction import tensordot
from tfcompat._src.ops.math.reduce import reduce_mean, reduce_prod, reduce_std
from tfcompat._src.ops.random.stateful import random_uniform
from tfcompat._src.ops.strings.text import substr

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike

_COMPUTED = (dtypes.float16, dtypes.float32)


@export("image.convert_image_dtype")
def convert_image_dtype(image: TensorLike, dtype: DTypeLike, saturate: bool = False, name: str | None = None) -> Tensor:
    """Images in another dtype, scaled: integers span their range, floats span [0, 1].

    Args:
      image: a Tensor of any shape.
      dtype: an integer or floating DType.
      saturate: whether values are clipped to the range of `dtype`.
      name: node name.

    Raises:
      AttributeError: `dtype` is neither integer nor floating.
    """
    image = to_tensor(image, name="image")
    dtype = dtypes.as_dtype(dtype)
    if not dtype.is_floating and not dtype.is_integer:
        raise AttributeError("dtype must be either floating point or integer")
    if dtype == image.dtype:
        return raw.Identity(image, name=name)
    convert = saturate_cast if saturate else cast
    with name_scope(name, "convert_image", [image]) as scope:
        if image.dtype.is_integer and dtype.is_integer:
            most, wanted = image.dtype.max, dtype.max
            if most > wanted:
                return convert(div(image, (most + 1) // (wanted + 1)), dtype, name=scope)
            return raw.Mul(convert(image, dtype), (wanted + 1) // (most + 1), name=scope)
        if image.dtype.is_floating and dtype.is_floating:
            return cast(image, dtype, name=scope)
        if image.dtype.is_integer:
            return raw.Mul(cast(image, dtype), 1.0 / image.dtype.max, name=scope)
        return convert(raw.Mul(image, dtype.max + 0.5), dtype, name=scope)


def _as_float(image: TensorLike, name: str) -> tuple[Tensor, Any]:
    """`image` in a floating dtype, and the dtype that it had."""
    image = to_tensor(image, name=name)
    return image if image.dtype in _COMPUTED else convert_image_dtype(image, dtypes.float32), image.dtype


@export("image.per_image_standardization")
def per_image_standardization(image: TensorLike) -> Tensor:
    """Each image [height, width, channels] minus its mean, divided by its deviation (at least 1 / sqrt(pixels)).

    Integer images are converted to [0, 1] first and back afterwards.
    """
    with name_scope(None, "per_image_standardization", [image]) as scope:
        image = assert_at_least_3d(to_tensor(image, name="image"))
        original = image.dtype
        if original not in _COMPUTED:
            image = convert_image_dtype(image, dtypes.float32)
        count = reduce_prod(shape(image)[-3:])
        mean = reduce_mean(image, axis=[-1, -2, -3], keepdims=True)
        deviation = reduce_std(image, axis=[-1, -2, -3], keepdims=True)
        deviation = raw.Maximum(deviation, raw.Rsqrt(cast(count, image.dtype)))
        return convert_image_dtype(div(image - mean, deviation, name=scope), original, saturate=True)


# ---- brightness, contrast, gamma, hue, saturation ----


@export("image.adjust_brightness")
def adjust_brightness(image: TensorLike, delta: object) -> Tensor:
    """`image` plus `delta`, which counts in units of the whole range, 1."""
    with name_scope(None, "adjust_brightness", [image, delta]) as scope:
        floating, original = _as_float(image, "image")
        adjusted = raw.Add(floating, cast(delta, floating.dtype), name=scope)
        return convert_image_dtype(adjusted, original, saturate=True)


@export("image.adjust_contrast")
def adjust_contrast(images: TensorLike, contrast_factor: TensorLike) -> Tensor:
    """(x - mean) * contrast_factor + mean for each channel of each image [..., height, width, channels]."""
    with name_scope(None, "adjust_contrast", [images, contrast_factor]) as scope:
        floating, original = _as_float(images, "images")
        adjusted = raw.AdjustContrastv2(floating, contrast_factor=contrast_factor, name=scope)
        return convert_image_dtype(adjusted, original, saturate=True)


@export("image.adjust_gamma")
def adjust_gamma(image: object, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """gain * image ** gamma, of values in [0, 1]; ValueError for a negative gamma."""
    with name_scope(None, "adjust_gamma", [image, gamma, gain]):
        floating, original = _as_float(image, "image")
        checks = demand(gamma >= 0, ValueError, "Gamma should be a non-negative real number.")
        if checks:
            gamma = with_dependencies(checks, gamma)
        return convert_image_dtype(gain * floating**gamma, original, saturate=True)


@export("image.adjust_hue")
def adjust_hue(image: TensorLike, delta: TensorLike, name: str | None = None) -> Tensor:
    """RGB images whose hue is turned by `delta`, in turns of the colour circle."""
    with name_scope(name, "adjust_hue", [image]):
        floating, original = _as_float(image, "image")
        return convert_image_dtype(raw.AdjustHue(floating, delta), original)


@export("image.adjust_saturation")
def adjust_saturation(image: TensorLike, saturation_factor: TensorLike, name: str | None = None) -> Tensor:
    """RGB images whose saturation is multiplied by `saturation_factor` and clipped to [0, 1]."""
    with name_scope(name, "adjust_saturation", [image]):
        floating, original = _as_float(image, "image")
        return convert_image_dtype(raw.AdjustSaturation(floating, saturation_factor), original)


@export("image.adjust_jpeg_quality")
def adjust_jpeg_quality(image: TensorLike, jpeg_quality: TensorLike, name: str | None = None) -> Tensor:
    """An image [height, width, channels] as it is after JPEG encoding with this quality, 0 to 100."""
    with name_scope(name, "adjust_jpeg_quality", [image]):
        image = to_tensor(image, name="image")
        original = image.dtype
        image = convert_image_dtype(image, dtypes.uint8)
        if not is_tensor(jpeg_quality):
            jpeg_quality = to_tensor(jpeg_quality, dtypes.int32)
        image = raw.DecodeJpeg(raw.EncodeJpegVariableQuality(image, jpeg_quality))
        return convert_image_dtype(image, original)


def _check_range(lower: Any, upper: Any) -> None:
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")


def _within(most: float, seed: int | None) -> Tensor:
    """A uniform number in [-most, most)."""
    if most < 0:
        raise ValueError("max_delta must be non-negative.")
    return random_uniform([], -most, most, seed=seed)


@export("image.random_brightness")
def random_brightness(image: TensorLike, max_delta: float, seed: int | None = None) -> Tensor:
    """`adjust_brightness` with a delta from [-max_delta, max_delta)."""
    return adjust_brightness(image, _within(max_delta, seed))


@export("image.random_contrast")
def random_contrast(image: TensorLike, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """`adjust_contrast` with a factor from [lower, upper)."""
    _check_range(lower, upper)
    return adjust_contrast(image, random_uniform([], lower, upper, seed=seed))


@export("image.random_hue")
def random_hue(image: TensorLike, max_delta: float, seed: int | None = None) -> Tensor:
    """`adjust_hue` with a delta from [-max_delta, max_delta); `max_delta` is at most 0.5."""
    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    return adjust_hue(image, _within(max_delta, seed))


@export("image.random_saturation")
def random_saturation(image: TensorLike, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """`adjust_saturation` with a factor from [lower, upper)."""
    _check_range(lower, upper)
    return adjust_saturation(image, random_uniform([], lower, upper, seed=seed))


@export("image.random_jpeg_quality")
def random_jpeg_quality(image: TensorLike, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None) -> Tensor:
    """`adjust_jpeg_quality` with a quality from [min_jpeg_quality, max_jpeg_quality)."""
    if min(min_jpeg_quality, max_jpeg_quality) < 0 or max(min_jpeg_quality, max_jpeg_quality) > 100:
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if min_jpeg_quality >= max_jpeg_quality:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")
    quality = random_uniform([], min_jpeg_quality, max_jpeg_quality, seed=seed, dtype=dtypes.int32)
    return adjust_jpeg_quality(image, quality)


# ---- other colour spaces ----


@export("image.rgb_to_grayscale")
def rgb_to_grayscale(images: TensorLike, name: str | None = None) -> Tensor:
    """0.2989 R + 0.587 G + 0.114 B of images [..., 3]; a Tensor [..., 1] of their dtype."""
    with name_scope(name, "rgb_to_grayscale", [images]) as scope:
        images = to_tensor(images, name="images")
        floating = convert_image_dtype(images, dtypes.float32)
        gray = expand_dims(tensordot(floating, [0.2989, 0.587, 0.114], [-1, -1]), -1)
        return convert_image_dtype(gray, images.dtype, name=scope)


@export("image.grayscale_to_rgb")
def grayscale_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """Images [..., 1] with their channel three times."""
    with name_scope(name, "grayscale_to_rgb", [images]) as scope:
        images = to_tensor(assert_grayscale(images), name="images")
        ones_before = ones(expand_dims(rank(images) - 1, 0), dtype=dtypes.int32)
        multiples = concat([ones_before, expand_dims(3, 0)], 0)
        rgb = tile(images, multiples, name=scope)
        rgb.set_shape(images.shape[:-1].concatenate([3]))
        return rgb


def _mixed(images: TensorLike, kernel: list) -> Tensor:
    images = to_tensor(images, name="images")
    matrix = to_tensor(kernel, images.dtype, "kernel")
    return tensordot(images, matrix, axes=[[images.shape.ndims - 1], [0]])


@export("image.rgb_to_yiq")
def rgb_to_yiq(images: TensorLike) -> Tensor:
    """Luma, in-phase and quadrature of images [..., 3] in [0, 1]."""
    rows = [[0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617], [0.114, -0.32134392, 0.31119955]]
    return _mixed(images, rows)


@export("image.yiq_to_rgb")
def yiq_to_rgb(images: TensorLike) -> Tensor:
    """Red, green and blue of images [..., 3] given as luma, in-phase and quadrature."""
    rows = [[1, 1, 1], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049]]
    return _mixed(images, rows)


@export("image.rgb_to_yuv")
def rgb_to_yuv(images: TensorLike) -> Tensor:
    """Luma and two chrominances of images [..., 3] in [0, 1]."""
    rows = [[0.299, -0.14714119, 0.61497538], [0.587, -0.28886916, -0.51496512], [0.114, 0.43601035, -0.10001026]]
    return _mixed(images, rows)


@export("image.yuv_to_rgb")
def yuv_to_rgb(images: TensorLike) -> Tensor:
    """Red, green and blue of images [..., 3] given as luma and two chrominances."""
    rows = [[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]]
    return _mixed(images, rows)


# ---- decode_image ----


@export("image.is_jpeg", "io.is_jpeg")
def is_jpeg(contents: TensorLike, name: str | None = None) -> Tensor:
    """Whether the scalar string `contents` begins as a JPEG file does."""
    with name_scope(name, "is_jpeg"):
        return raw.Equal(substr(contents, 0, 3), b"\xff\xd8\xff", name=name)


def is_png(contents: TensorLike, name: str | None = None) -> Tensor:
    """Whether the scalar string `contents` begins as a PNG file does."""
    with name_scope(name, "is_png"):
        return raw.Equal(substr(contents, 0, 3), b"\x89PN", name=name)


@export("image.decode_image", "io.decode_image")
def decode_image(
    contents: TensorLike, channels: int | None = None, dtype: DTypeLike = dtypes.uint8, name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:  # fmt: skip
    """The pixels of a JPEG, PNG, GIF or BMP file, whichever it is.

    Args:
      contents: scalar string.
      channels: None, 0, 1, 3 or 4.
      dtype: of the result, as `convert_image_dtype` makes it.
      name: name scope.
      expand_animations: whether GIF files give [frames, height, width, 3]; their first frame otherwise.

    Raises:
      ValueError: `channels` is another number. InvalidArgumentError: when run, for bytes that are no image.
    """
    with name_scope(name, "decode_image"):
        if channels not in (None, 0, 1, 3, 4):
            raise ValueError("channels must be in (None, 0, 1, 3, 4)")
        wanted = 0 if channels is None else channels
        start = substr(contents, 0, 3)

        def bmp() -> Tensor:
            is_bmp = raw.Equal(substr(contents, 0, 2), "BM", name="is_bmp")
            checks = [Assert(is_bmp, ["Unable to decode bytes as JPEG, PNG, GIF, or BMP"])]
            is_good = raw.NotEqual(wanted, 1, name="check_channels")
            checks.append(Assert(is_good, ["Channels must be in (None, 0, 3) when decoding BMP images"]))
            with control_dependencies(checks):
                return convert_image_dtype(raw.DecodeBmp(contents), dtype)

        def gif() -> Tensor:
            tests = [raw.NotEqual(wanted, n, name="check_gif_channels") for n in (1, 4)]
            is_good = raw.LogicalAnd(*tests)
            check = Assert(is_good, ["Channels must be in (None, 0, 3) when decoding GIF images"])
            with control_dependencies([check]):
                frames = convert_image_dtype(raw.DecodeGif(contents), dtype)
                return frames if expand_animations else gather(frames, 0)

        def png() -> Tensor:
            stored = dtypes.uint8 if dtypes.as_dtype(dtype) == dtypes.uint8 else dtypes.uint16
            return convert_image_dtype(raw.DecodePng(contents, channels=wanted, dtype=stored), dtype)

        def jpeg() -> Tensor:
            is_good = raw.NotEqual(wanted, 4, name="check_jpeg_channels")
            check = Assert(is_good, ["Channels must be in (None, 0, 1, 3) when decoding JPEG images"])
            with control_dependencies([check]):
                return convert_image_dtype(raw.DecodeJpeg(contents, channels=wanted), dtype)

        def not_png() -> Tensor:
            return cond(raw.Equal(start, b"GIF", name="is_gif"), gif, bmp, name="cond_gif")

        def not_jpeg() -> Tensor:
            return cond(is_png(contents), png, not_png, name="cond_png")

        return cond(is_jpeg(contents), jpeg, not_jpeg, name="cond_jpeg")
