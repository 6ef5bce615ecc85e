"""The op types that change colours: HSV, hue, saturation, contrast."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import NotDifferentiable, op
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.ops.math.extremes import without_nan

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import Array, TensorLike

_F = np.float32
_HALF_OR_SINGLE = "{float16, float32} = float32"
_NONE = NotDifferentiable("1.15 has no gradient of this one", raises=True)


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


# ---- static shapes ----


def _three_channels(c):
    sizes = si.with_rank_at_least(c.inputs[0], 1)
    if sizes is None:
        return [None]
    return [(*sizes[:-1], si.with_size(sizes[-1], 3))]


def _at_least_an_image(c):
    return [si.with_rank_at_least(c.inputs[0], 3)]


def _with_scalars(c):
    for sizes in c.inputs[1:]:
        si.with_rank(sizes, 0)
    return _at_least_an_image(c)


# ---- RGB and HSV ----


def _mask(condition: Tensor) -> Tensor:
    return raw.Cast(condition, DstT=dtypes.float32)


def _reciprocal(x: Tensor) -> Tensor:
    return raw.DivNoNan(1.0, x)


def _rgb_to_hsv_gradient(op, g):
    """Each channel in turn is the largest one; hue is (second - third) / range, counted from there."""
    channels = [op.inputs[0][..., i] for i in range(3)]
    saturation, value = op.outputs[0][..., 1], op.outputs[0][..., 2]
    red, green, blue = channels
    largest = [
        _mask(raw.LogicalAnd(red >= blue, red >= green)), _mask(raw.LogicalAnd(green > red, green >= blue)),
        _mask(raw.LogicalAnd(blue > red, blue > green)),
    ]  # fmt: skip
    smallest = [
        _mask(raw.LogicalAnd(red < blue, red < green)), _mask(raw.LogicalAnd(green <= red, green < blue)),
        _mask(raw.LogicalAnd(blue <= red, blue <= green)),
    ]  # fmt: skip
    positive = [_mask(x > 0) for x in channels]
    hue = [0.0, 0.0, 0.0]
    by_saturation = []
    inverse_square_range = _reciprocal(raw.Square(saturation)) * _reciprocal(raw.Square(value))
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        x, y, z = channels[i], channels[j], channels[k]
        top = positive[i] * largest[i]
        low_y, low_z = top * smallest[j], top * smallest[k]
        hue[i] += top * (z - y) * inverse_square_range
        hue[j] += low_z * _reciprocal(x - z) + low_y * (x - z) * _reciprocal(raw.Square(x - y))
        hue[k] += low_z * (y - x) * _reciprocal(raw.Square(x - z)) - low_y * _reciprocal(x - y)
        low = smallest[j] * y + smallest[k] * z
        high = largest[j] * y + largest[k] * z
        slope = largest[i] * low * _reciprocal(raw.Square(x)) - smallest[i] * _reciprocal(high)
        by_saturation.append(positive[i] * slope)
    parts = [
        raw.Pack([g[..., n] * s for s in slopes], axis=-1)
        for n, slopes in ((2, largest), (1, by_saturation), (0, [h * (1 / 6) for h in hue]))
    ]
    return [raw.AddV2(raw.AddV2(parts[0], parts[1]), parts[2])]


def _require_colors(images: Any) -> None:
    if images.ndim < 1:
        raise _invalid("input must be at least 1D")
    if images.shape[-1] != 3:
        text = f"input must have 3 channels but input only has {images.shape[-1]} channels."
        raise errors.FailedPreconditionError(None, None, text)


@op("RGBToHSV", "(images: T, *, T: FLOAT = float32) -> (output: T)", shape=_three_channels, gradient=_rgb_to_hsv_gradient)
def _rgb_to_hsv(images):
    _require_colors(images)
    images, one = jnp.asarray(images), images.dtype.type
    r, g, b = (images[..., i] for i in range(3))
    value = without_nan(images, -np.inf).max(-1)
    span = value - without_nan(images, np.inf).min(-1)
    saturation = jnp.where(value > 0, span / value, one(0))
    norm = (one(1) / span) * (one(1) / one(6))
    from_green, from_blue = norm * (b - r) + one(2) / one(6), norm * (r - g) + one(4) / one(6)
    hue = jnp.where(r == value, norm * (g - b), jnp.where(g == value, from_green, from_blue))
    hue = jnp.where(span > 0, hue, one(0))
    hue = jnp.where(hue < 0, hue + one(1), hue)
    return jnp.stack([hue, saturation, value], -1)


@op(
    "HSVToRGB", "(images: T, *, T: FLOAT = float32) -> (output: T)", shape=_three_channels,
    gradient=NotDifferentiable("1.15 lets nothing through"),
)  # fmt: skip
def _hsv_to_rgb(images):
    _require_colors(images)
    images, one = jnp.asarray(images), images.dtype.type
    hue, saturation, value = (images[..., i] for i in range(3))
    at = hue * one(6)
    red = jnp.abs(at - one(3)) - one(1)
    green = one(2) - jnp.abs(at - one(2))
    blue = one(2) - jnp.abs(at - one(4))
    rest = one(1) - saturation
    return jnp.stack([(rest + saturation * jnp.clip(x, one(0), one(1))) * value for x in (red, green, blue)], -1)


@export("image.rgb_to_hsv")
def rgb_to_hsv(images: TensorLike, name: str | None = None) -> Tensor:
    """Hue, saturation and value of pixels [..., 3] in [0, 1], of their dtype and shape."""
    return raw.RGBToHSV(images, name=name)


@export("image.hsv_to_rgb")
def hsv_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Red, green and blue of pixels [..., 3] given as hue, saturation and value in [0, 1]."""
    return raw.HSVToRGB(images, name=name)


# ---- hue, saturation ----


def _require_adjustable(images: Any, amount: Any, what: str) -> None:
    if images.ndim < 3:
        raise _invalid(f"input must be at least 3-D, got shape{shape_text(images.shape)}")
    if amount.ndim:
        raise _invalid(f"{what} must be scalar: {shape_text(amount.shape)}")
    if images.shape[-1] != 3:
        raise _invalid(f"input must have 3 channels but instead has {images.shape[-1]} channels.")


@op(
    "AdjustHue", f"(images: T, delta: float32, *, T: {_HALF_OR_SINGLE}) -> (output: T)", shape=_at_least_an_image,
    gradient=_NONE,
)  # fmt: skip
def _adjust_hue(images, delta):
    _require_adjustable(images, delta, "delta")
    pixels = jnp.asarray(images, np.float32)
    r, g, b = (pixels[..., i] for i in range(3))
    high, low = pixels.max(-1), pixels.min(-1)
    middle = jnp.maximum(jnp.minimum(r, g), jnp.minimum(jnp.maximum(r, g), b))
    below = jnp.where(b < r, 1, jnp.where(b > g, 3, 2))
    above = jnp.where(b < g, 0, jnp.where(b > r, 4, 5))
    sector = jnp.where(r < g, below, above).astype(np.float32)
    ratio = (middle - low) / (high - low)
    hue = jnp.where(high == low, _F(0), sector + jnp.where(sector % _F(2) == 0, ratio, _F(1) - ratio))
    hue = hue + delta * _F(6)
    hue = hue - _F(6) * jnp.floor(hue / _F(6))
    hue = jnp.where(hue >= _F(6), hue - _F(6), hue)
    sector = jnp.floor(hue)
    ratio = hue - sector
    ratio = jnp.where(sector % _F(2) == 0, ratio, _F(1) - ratio)
    middle = low + ratio * (high - low)
    return _by_sector(sector.astype(np.int32), high, middle, low).astype(images.dtype)


_SECTORS = ("hml", "mhl", "lhm", "lmh", "mlh", "hlm")


def _by_sector(sector: Any, high: Any, middle: Any, low: Any) -> Array:
    """Pixels whose highest, middle and lowest channel are those of their sixth of the colour circle."""
    values = {"h": high, "m": middle, "l": low}
    return jnp.stack(
        [jnp.select([sector == k for k in range(5)], [values[s[i]] for s in _SECTORS[:5]], values[_SECTORS[5][i]])
         for i in range(3)], -1,
    )  # fmt: skip


@op(
    "AdjustSaturation", f"(images: T, scale: float32, *, T: {_HALF_OR_SINGLE}) -> (output: T)", shape=_at_least_an_image,
    gradient=_NONE,
)  # fmt: skip
def _adjust_saturation(images, scale):
    _require_adjustable(images, scale, "scale")
    pixels = jnp.asarray(images, np.float32)
    r, g, b = (pixels[..., i] for i in range(3))
    value = pixels.max(-1)
    span = value - pixels.min(-1)
    saturation = jnp.where(value > 0, span / value, _F(0))
    norm = _F(1) / (_F(6) * span)
    hue = jnp.where(r == value, norm * (g - b), jnp.where(g == value, norm * (b - r) + _F(1 / 3), norm * (r - g) + _F(2 / 3)))
    hue = jnp.where(span <= 0, _F(0), hue)
    hue = jnp.where(hue < 0, hue + _F(1), hue)
    chroma = jnp.clip(saturation * scale, _F(0), _F(1)) * value
    low, at = value - chroma, hue * _F(6)
    middle = chroma * (_F(1) - jnp.abs(at - _F(2) * jnp.floor(at / _F(2)) - _F(1)))
    colors = _by_sector(at.astype(np.int32), chroma, middle, jnp.zeros_like(chroma))
    colors = jnp.where((at < _F(6))[..., None], colors, _F(0))
    return (colors + low[..., None]).astype(images.dtype)


# ---- contrast ----


def _image_mean(images: Any) -> Any:
    """The mean of each channel of each image, added up by halves as in 1.15."""
    height, width, channels = images.shape[-3:]
    count = height * width
    total = images.reshape(-1, count, channels)
    while (size := total.shape[1]) > 1:
        right = size // 2
        left = size - right
        total = jnp.concatenate([total[:, :right] + total[:, left:], total[:, right:left]], 1)
    return (total * (_F(1) / _F(count))).reshape(*images.shape[:-3], 1, 1, channels)


@op(
    "AdjustContrastv2", f"(images: T, contrast_factor: float32, *, T: {_HALF_OR_SINGLE}) -> (output: T)",
    shape=_with_scalars, gradient=_NONE,
)  # fmt: skip
def _adjust_contrast_v2(images, factor):
    if images.ndim < 3:
        raise _invalid(f"input must be at least 3-D, got shape{shape_text(images.shape)}")
    if factor.ndim:
        raise _invalid(f"contrast_factor must be scalar: {shape_text(factor.shape)}")
    if 0 in images.shape:
        return images
    pixels = jnp.asarray(images, np.float32)
    mean = _image_mean(pixels)
    return (mean + factor * (pixels - mean)).astype(images.dtype)


@op(
    "AdjustContrast",
    "(images: T, contrast_factor: float32, min_value: float32, max_value: float32, *, "
    "T: {uint8, int8, int16, int32, int64, float32, float64}) -> (output: float32)",
    shape=_with_scalars, gradient=_NONE,
)  # fmt: skip
def _adjust_contrast(images, factor, low, high):
    if images.ndim < 3:
        raise _invalid(f"input must be at least 3-D, got shape{shape_text(images.shape)}")
    for value, what in ((factor, "contrast_factor"), (low, "min_value"), (high, "max_value")):
        if value.ndim:
            raise _invalid(f"{what} must be scalar: {shape_text(value.shape)}")
    pixels = jnp.asarray(images, np.float32)
    mean = pixels.mean((-3, -2), keepdims=True, dtype=np.float32)
    return jnp.maximum(jnp.minimum((pixels - mean) * factor + mean, high), low)
