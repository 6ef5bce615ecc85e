"""Transformations of one image: rotation, shift, shear and zoom, channels, brightness; images as files and arrays."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.keras.backend.config import checked_data_format, floatx
from tfcompat._src.keras.utils.io_utils import optional_module

if TYPE_CHECKING:
    from types import ModuleType

_INTERPOLATIONS = ("nearest", "bilinear", "bicubic", "hamming", "box", "lanczos")
_MODES = {"grayscale": ("L", "I;16", "I"), "rgba": ("RGBA",), "rgb": ("RGB",)}


def _pillow(name: str = "Image") -> ModuleType:
    return optional_module(f"PIL.{name}", "Reading and drawing images")


@export("keras.preprocessing.image.array_to_img")
def array_to_img(x: Any, data_format: str | None = None, scale: bool = True, dtype: Any = None) -> Any:
    """An array as a Pillow image.

    Args:
      x: [rows, columns, channels], or channels first; 1, 3 or 4 channels.
      data_format: "channels_last" or "channels_first"; by default Keras' setting.
      scale: whether values are spread over 0 to 255.
      dtype: element type while scaling.

    Raises:
      ValueError: the shape does not fit.
    """
    x = np.asarray(x, dtype=dtype or floatx())
    if x.ndim != 3:
        raise ValueError(f"Expected image array to have rank 3 (single image). Got array with shape: {x.shape}")
    if checked_data_format(data_format) == "channels_first":
        x = x.transpose(1, 2, 0)
    if scale:
        x = x - np.min(x)
        largest = np.max(x)
        x = (x / largest if largest != 0 else x) * 255
    channels = x.shape[2]
    if channels in (3, 4):
        return _pillow().fromarray(x.astype("uint8"))
    if channels != 1:
        raise ValueError(f"Unsupported channel number: {channels}")
    return _pillow().fromarray(x[:, :, 0].astype("int32" if np.max(x) > 255 else "uint8"))


@export("keras.preprocessing.image.img_to_array")
def img_to_array(img: Any, data_format: str | None = None, dtype: Any = None) -> np.ndarray:
    """A Pillow image as an array of three dimensions; ValueError where it has another number of them."""
    channels_first = checked_data_format(data_format) == "channels_first"
    x = np.asarray(img, dtype=dtype or floatx())
    if x.ndim not in (2, 3):
        raise ValueError(f"Unsupported image shape: {x.shape}")
    x = x[:, :, np.newaxis] if x.ndim == 2 else x
    return x.transpose(2, 0, 1) if channels_first else x


@export("keras.preprocessing.image.save_img")
def save_img(
    path: object, x: object, data_format: str | None = None, file_format: str | None = None, scale: bool = True, **kwargs: object
) -> None:
    """Writes an array as an image file; `kwargs` are those of Pillow's `save`."""
    img = array_to_img(x, data_format=data_format, scale=scale)
    if img.mode == "RGBA" and file_format in ("jpg", "jpeg"):
        warnings.warn("The JPG format does not support RGBA images, converting to RGB.", stacklevel=2)
        img = img.convert("RGB")
    img.save(path, format=file_format, **kwargs)


@export("keras.preprocessing.image.load_img")
def load_img(
    path: Any, grayscale: bool = False, color_mode: str = "rgb", target_size: tuple[int, int] | None = None,
    interpolation: str = "nearest",
) -> Any:  # fmt: skip
    """Reads an image file.

    Args:
      path: the file.
      grayscale: old form of color_mode="grayscale".
      color_mode: "grayscale", "rgb" or "rgba".
      target_size: (rows, columns) to resize it to.
      interpolation: "nearest", "bilinear", "bicubic", "hamming", "box" or "lanczos".

    Returns:
      a Pillow image.

    Raises:
      ValueError: the color mode or the interpolation is unknown.
    """
    if grayscale:
        warnings.warn('grayscale is deprecated. Please use color_mode = "grayscale"', stacklevel=2)
        color_mode = "grayscale"
    if color_mode not in _MODES:
        raise ValueError('color_mode must be "grayscale", "rgb", or "rgba"')
    pillow = _pillow()
    with open(path, "rb") as file:
        img = pillow.open(io.BytesIO(file.read()))
    if img.mode not in _MODES[color_mode]:
        img = img.convert(_MODES[color_mode][0])
    if target_size is None or img.size == (target_size[1], target_size[0]):
        return img
    if interpolation not in _INTERPOLATIONS:
        raise ValueError(
            f"Invalid interpolation method {interpolation} specified. Supported methods are {', '.join(_INTERPOLATIONS)}"
        )
    return img.resize((target_size[1], target_size[0]), getattr(pillow.Resampling, interpolation.upper()))


def flip_axis(x: object, axis: int) -> np.ndarray:
    """`x` in reverse order along `axis`."""
    return np.flip(np.asarray(x), axis)


@export("keras.preprocessing.image.apply_affine_transform")
def apply_affine_transform(
    x: np.ndarray, theta: float = 0, tx: float = 0, ty: float = 0, shear: float = 0, zx: float = 1, zy: float = 1,
    row_axis: int = 0, col_axis: int = 1, channel_axis: int = 2, fill_mode: str = "nearest", cval: float = 0.0,
    order: int = 1,
) -> np.ndarray:  # fmt: skip
    """An image rotated, shifted, sheared and zoomed about its middle.

    Args:
      x: array of three dimensions.
      theta, shear: degrees. tx, ty: pixels. zx, zy: factors.
      row_axis, col_axis, channel_axis: the dimensions.
      fill_mode: what is beyond the border: "constant", "nearest", "reflect" or "wrap".
      cval: the value for "constant".
      order: order of the splines between pixels.
    """
    matrix = _transform_matrix(np.deg2rad(theta), tx, ty, np.deg2rad(shear), zx, zy)
    if matrix is None:
        return x
    center = np.eye(3)
    center[:2, 2] = x.shape[row_axis] / 2 + 0.5, x.shape[col_axis] / 2 + 0.5
    back = np.eye(3)
    back[:2, 2] = -center[:2, 2]
    matrix = center @ matrix @ back
    ndimage = optional_module("scipy.ndimage", "Image transformations")
    channels = [
        ndimage.affine_transform(channel, matrix[:2, :2], matrix[:2, 2], order=order, mode=fill_mode, cval=cval)
        for channel in np.moveaxis(x, channel_axis, 0)
    ]
    return np.moveaxis(np.stack(channels, axis=0), 0, channel_axis)


def _transform_matrix(theta: float, tx: float, ty: float, shear: float, zx: float, zy: float) -> np.ndarray | None:
    """The product of the matrices of the transformations asked for, None where there are none."""
    matrix = None
    steps = (
        (theta != 0, [[np.cos(theta), -np.sin(theta), 0], [np.sin(theta), np.cos(theta), 0], [0, 0, 1]]),
        (tx != 0 or ty != 0, [[1, 0, tx], [0, 1, ty], [0, 0, 1]]),
        (shear != 0, [[1, -np.sin(shear), 0], [0, np.cos(shear), 0], [0, 0, 1]]),
        (zx != 1 or zy != 1, [[zx, 0, 0], [0, zy, 0], [0, 0, 1]]),
    )
    for wanted, step in steps:
        if wanted:
            matrix = np.array(step) if matrix is None else matrix @ np.array(step)
    return matrix


@export("keras.preprocessing.image.random_rotation")
def random_rotation(
    x, rg, row_axis=1, col_axis=2, channel_axis=0, fill_mode="nearest", cval=0.0, interpolation_order=1
) -> np.ndarray:
    """An image rotated by up to `rg` degrees; see `apply_affine_transform`."""
    theta = np.random.uniform(-rg, rg)
    return apply_affine_transform(
        x, theta=theta, channel_axis=channel_axis, fill_mode=fill_mode, cval=cval, order=interpolation_order
    )


@export("keras.preprocessing.image.random_shift")
def random_shift(
    x, wrg, hrg, row_axis=1, col_axis=2, channel_axis=0, fill_mode="nearest", cval=0.0, interpolation_order=1
) -> np.ndarray:
    """An image shifted by up to `wrg` of its width and `hrg` of its height; see `apply_affine_transform`."""
    tx = np.random.uniform(-hrg, hrg) * x.shape[row_axis]
    ty = np.random.uniform(-wrg, wrg) * x.shape[col_axis]
    return apply_affine_transform(
        x, tx=tx, ty=ty, channel_axis=channel_axis, fill_mode=fill_mode, cval=cval, order=interpolation_order
    )


@export("keras.preprocessing.image.random_shear")
def random_shear(
    x, intensity, row_axis=1, col_axis=2, channel_axis=0, fill_mode="nearest", cval=0.0, interpolation_order=1
) -> np.ndarray:
    """An image sheared by up to `intensity` degrees; see `apply_affine_transform`."""
    shear = np.random.uniform(-intensity, intensity)
    return apply_affine_transform(
        x, shear=shear, channel_axis=channel_axis, fill_mode=fill_mode, cval=cval, order=interpolation_order
    )


@export("keras.preprocessing.image.random_zoom")
def random_zoom(
    x, zoom_range, row_axis=1, col_axis=2, channel_axis=0, fill_mode="nearest", cval=0.0, interpolation_order=1
) -> np.ndarray:
    """An image zoomed by factors in `zoom_range`, two numbers; see `apply_affine_transform`."""
    if len(zoom_range) != 2:
        raise ValueError(f"`zoom_range` should be a tuple or list of two floats. Received: {zoom_range}")
    zx, zy = zoom_factors(zoom_range)
    return apply_affine_transform(
        x, zx=zx, zy=zy, channel_axis=channel_axis, fill_mode=fill_mode, cval=cval, order=interpolation_order
    )


def zoom_factors(zoom_range: Any) -> Any:
    """Two random factors; 1 where the range is only that."""
    return (1, 1) if tuple(zoom_range) == (1, 1) else np.random.uniform(zoom_range[0], zoom_range[1], 2)


@export("keras.preprocessing.image.apply_channel_shift")
def apply_channel_shift(x: np.ndarray, intensity: float, channel_axis: int = 0) -> np.ndarray:
    """`x` plus `intensity`, within the range of its values."""
    return np.clip(x + intensity, np.min(x), np.max(x))


@export("keras.preprocessing.image.random_channel_shift")
def random_channel_shift(x: np.ndarray, intensity_range: float, channel_axis: int = 0) -> np.ndarray:
    """`apply_channel_shift` by up to `intensity_range`."""
    return apply_channel_shift(x, np.random.uniform(-intensity_range, intensity_range), channel_axis=channel_axis)


@export("keras.preprocessing.image.apply_brightness_shift")
def apply_brightness_shift(x: np.ndarray, brightness: float) -> np.ndarray:
    """An image, its values spread over 0 to 255, times `brightness`."""
    img = array_to_img(x, data_format="channels_last")
    return img_to_array(_pillow("ImageEnhance").Brightness(img).enhance(brightness), data_format="channels_last")


@export("keras.preprocessing.image.random_brightness")
def random_brightness(x: np.ndarray, brightness_range: Any) -> np.ndarray:
    """`apply_brightness_shift` by a factor in `brightness_range`, two numbers."""
    if len(brightness_range) != 2:
        raise ValueError(f"`brightness_range should be tuple or list of two floats. Received: {brightness_range}")
    return apply_brightness_shift(x, np.random.uniform(brightness_range[0], brightness_range[1]))
