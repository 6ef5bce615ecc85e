"""tf.keras.preprocessing.image.ImageDataGenerator: batches of images, changed at random and normalized."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.keras.backend.config import floatx, image_data_format
from tfcompat._src.keras.preprocessing.affine import (
    apply_affine_transform,
    apply_brightness_shift,
    apply_channel_shift,
    flip_axis,
    zoom_factors,
)
from tfcompat._src.keras.preprocessing.dataframe import DataFrameIterator
from tfcompat._src.keras.preprocessing.iterators import DirectoryIterator, NumpyArrayIterator, warn_of_channels
from tfcompat._src.keras.utils.io_utils import optional_module

_AXES = {"channels_first": (1, 2, 3), "channels_last": (3, 1, 2)}
_OLD_OF_DATAFRAME = {
    "has_ext": "has_ext is deprecated, filenames in the dataframe have to match the exact filenames in disk.",
    "sort": "sort is deprecated, batches will be created in thesame order than the filenames provided if shuffleis set "
    "to False.",
    "drop_duplicates": "drop_duplicates is deprecated, you can drop duplicates by using the "
    "pandas.DataFrame.drop_duplicates method.",
}


@export("keras.preprocessing.image.ImageDataGenerator")
class ImageDataGenerator:
    """Makes batches of images, changed at random and normalized.

    Args:
      featurewise_center, featurewise_std_normalization: by the mean and deviation of the data that `fit` saw.
      samplewise_center, samplewise_std_normalization: by those of each image.
      zca_whitening, zca_epsilon: whether principal components are whitened, and what is added to their variance.
      rotation_range, shear_range: largest angle in degrees.
      width_shift_range, height_shift_range: largest shift, as a share, in pixels, or a list to choose from.
      brightness_range: two factors. zoom_range: two factors, or the largest difference from 1.
      channel_shift_range: largest value added.
      fill_mode, cval: what is beyond the border, "constant", "nearest", "reflect" or "wrap".
      horizontal_flip, vertical_flip: whether half of the images are mirrored.
      rescale: factor of all values.
      preprocessing_function: applied to each image first.
      data_format: "channels_last" or "channels_first"; by default Keras' setting.
      validation_split: share of the images that the subset "validation" has.
      dtype: element type.

    Raises:
      ValueError: a range is no such thing.
    """

    def __init__(
        self, featurewise_center: bool = False, samplewise_center: bool = False,
        featurewise_std_normalization: bool = False, samplewise_std_normalization: bool = False,
        zca_whitening: bool = False, zca_epsilon: float = 1e-6, rotation_range: float = 0,
        width_shift_range: object = 0.0, height_shift_range: object = 0.0, brightness_range: object = None,
        shear_range: float = 0.0, zoom_range: object = 0.0, channel_shift_range: float = 0.0, fill_mode: str = "nearest",
        cval: float = 0.0, horizontal_flip: bool = False, vertical_flip: bool = False, rescale: float | None = None,
        preprocessing_function: Callable | None = None, data_format: str | None = None, validation_split: float = 0.0,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        self.featurewise_center, self.samplewise_center = featurewise_center, samplewise_center
        self.featurewise_std_normalization = featurewise_std_normalization
        self.samplewise_std_normalization = samplewise_std_normalization
        self.zca_whitening, self.zca_epsilon = zca_whitening, zca_epsilon
        self.rotation_range, self.shear_range = rotation_range, shear_range
        self.width_shift_range, self.height_shift_range = width_shift_range, height_shift_range
        self.channel_shift_range, self.fill_mode, self.cval = channel_shift_range, fill_mode, cval
        self.horizontal_flip, self.vertical_flip = horizontal_flip, vertical_flip
        self.rescale, self.preprocessing_function = rescale, preprocessing_function
        self.dtype, self.interpolation_order = dtype or floatx(), 1
        self.data_format = data_format or image_data_format()
        if self.data_format not in _AXES:
            raise ValueError(
                '`data_format` should be `"channels_last"` (channel after row and column) or `"channels_first"` '
                f"(channel before row and column). Received: {data_format}"
            )
        self.channel_axis, self.row_axis, self.col_axis = _AXES[self.data_format]
        if validation_split and not 0 < validation_split < 1:
            raise ValueError(f"`validation_split` must be strictly between 0 and 1.  Received: {validation_split}")
        self._validation_split = validation_split
        self.mean = self.std = self.principal_components = None
        self.zoom_range = _zoom_range(zoom_range)
        self._settle_normalization()
        if brightness_range is not None and (
            not isinstance(brightness_range, (tuple, list)) or len(brightness_range) != 2
        ):
            raise ValueError(f"`brightness_range should be tuple or list of two floats. Received: {brightness_range}")
        self.brightness_range = brightness_range

    def _settle_normalization(self) -> None:
        """Switches on what a normalization needs, and off what excludes it, with warnings."""
        for by, setting, value in (
            ("zca_whitening", "featurewise_center", True),
            ("zca_whitening", "featurewise_std_normalization", False),
            ("featurewise_std_normalization", "featurewise_center", True),
            ("samplewise_std_normalization", "samplewise_center", True),
        ):
            if getattr(self, by) and bool(getattr(self, setting)) is not value:
                setattr(self, setting, value)
                warnings.warn(
                    f"This ImageDataGenerator specifies `{by}`, which overrides setting of `{setting}`.", stacklevel=3
                )

    # ---- batches ----

    def flow(
        self, x: object, y: object = None, batch_size: int = 32, shuffle: bool = True, sample_weight: object = None,
        seed: int | None = None, save_to_dir: str | None = None, save_prefix: str = "", save_format: str = "png",
        subset: str | None = None,
    ) -> NumpyArrayIterator:  # fmt: skip
        """Batches of arrays.

        Args:
          x: images [number, ...], or (images, list of other arrays).
          y, sample_weight: labels and weights.
          batch_size, shuffle, seed: see tf.keras.preprocessing.image.Iterator.
          save_to_dir, save_prefix, save_format: where the changed images are written.
          subset: "training" or "validation".
        """
        return NumpyArrayIterator(
            x, y, self, batch_size=batch_size, shuffle=shuffle, sample_weight=sample_weight, seed=seed,
            data_format=self.data_format, save_to_dir=save_to_dir, save_prefix=save_prefix, save_format=save_format,
            subset=subset, dtype=self.dtype,
        )  # fmt: skip

    def flow_from_directory(
        self, directory: str, target_size: tuple[int, int] = (256, 256), color_mode: str = "rgb", classes: object = None,
        class_mode: str | None = "categorical", batch_size: int = 32, shuffle: bool = True, seed: int | None = None,
        save_to_dir: str | None = None, save_prefix: str = "", save_format: str = "png", follow_links: bool = False,
        subset: str | None = None, interpolation: str = "nearest",
    ) -> DirectoryIterator:  # fmt: skip
        """Batches of the image files in the subfolders of a folder.

        Args:
          directory: the folder.
          target_size: (rows, columns) of all images.
          color_mode: "grayscale", "rgb" or "rgba".
          classes: names of the subfolders; by default all, sorted.
          class_mode: labels: "categorical", "binary", "sparse", "input" (the images), or None.
          follow_links: whether links to folders are followed.
          interpolation: see `load_img`. The others are those of `flow`.
        """
        return DirectoryIterator(
            directory, self, target_size=target_size, color_mode=color_mode, classes=classes, class_mode=class_mode,
            data_format=self.data_format, batch_size=batch_size, shuffle=shuffle, seed=seed, save_to_dir=save_to_dir,
            save_prefix=save_prefix, save_format=save_format, follow_links=follow_links, subset=subset,
            interpolation=interpolation, dtype=self.dtype,
        )  # fmt: skip

    def flow_from_dataframe(
        self, dataframe: object, directory: str | None = None, x_col: str = "filename", y_col: object = "class",
        weight_col: str | None = None, target_size: tuple[int, int] = (256, 256), color_mode: str = "rgb",
        classes: object = None, class_mode: str | None = "categorical", batch_size: int = 32, shuffle: bool = True,
        seed: int | None = None, save_to_dir: str | None = None, save_prefix: str = "", save_format: str = "png",
        subset: str | None = None, interpolation: str = "nearest", validate_filenames: bool = True, **kwargs: Any,
    ) -> DataFrameIterator:  # fmt: skip
        """Batches of the image files that a pandas.DataFrame names.

        Args:
          dataframe: the table; directory: the folder that file names begin in.
          x_col, y_col, weight_col: columns of file names, labels (several for "multi_output") and weights.
          class_mode: also "multi_output" and "raw".
          validate_filenames: whether missing files are left out. The others are those of `flow_from_directory`.
        """
        for name, message in _OLD_OF_DATAFRAME.items():
            if name in kwargs:
                warnings.warn(message, DeprecationWarning, stacklevel=2)
        if class_mode == "other":
            message = '`class_mode` "other" is deprecated, please use `class_mode` "raw".'
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            class_mode = "raw"
        return DataFrameIterator(
            dataframe, directory, self, x_col=x_col, y_col=y_col, weight_col=weight_col, target_size=target_size,
            color_mode=color_mode, classes=classes, class_mode=class_mode, data_format=self.data_format,
            batch_size=batch_size, shuffle=shuffle, seed=seed, save_to_dir=save_to_dir, save_prefix=save_prefix,
            save_format=save_format, subset=subset, interpolation=interpolation, validate_filenames=validate_filenames,
            dtype=self.dtype,
        )  # fmt: skip

    # ---- one image ----

    def transformed(self, x: np.ndarray) -> np.ndarray:
        """An image changed at random and normalized."""
        return self.standardize(self.random_transform(x))

    def standardize(self, x: np.ndarray) -> np.ndarray:
        """An image, or a batch of them, normalized, in place."""
        if self.preprocessing_function:
            x = self.preprocessing_function(x)
        if self.rescale:
            x *= self.rescale
        if self.samplewise_center:
            x -= np.mean(x, keepdims=True)
        if self.samplewise_std_normalization:
            x /= np.std(x, keepdims=True) + 1e-6
        if self.featurewise_center and self._is_fitted("featurewise_center", self.mean):
            x -= self.mean
        if self.featurewise_std_normalization and self._is_fitted("featurewise_std_normalization", self.std):
            x /= self.std + 1e-6
        if self.zca_whitening and self._is_fitted("zca_whitening", self.principal_components):
            flat = np.reshape(x, (-1, np.prod(x.shape[-3:])))
            x = np.reshape(np.dot(flat, self.principal_components), x.shape)
        return x

    def _is_fitted(self, setting: str, found: object) -> bool:
        if found is None:
            warnings.warn(
                f"This ImageDataGenerator specifies `{setting}`, but it hasn't been fit on any training data. Fit it "
                "first by calling `.fit(numpy_data)`.",
                stacklevel=3,
            )
        return found is not None

    def get_random_transform(self, img_shape: Any, seed: int | None = None) -> dict[str, Any]:
        """Random arguments of `apply_transform` for an image of a shape."""
        if seed is not None:
            np.random.seed(seed)
        theta = np.random.uniform(-self.rotation_range, self.rotation_range) if self.rotation_range else 0
        tx = _random_shift(self.height_shift_range, img_shape[self.row_axis - 1])
        ty = _random_shift(self.width_shift_range, img_shape[self.col_axis - 1])
        shear = np.random.uniform(-self.shear_range, self.shear_range) if self.shear_range else 0
        zx, zy = zoom_factors(self.zoom_range)
        flip_horizontal = (np.random.random() < 0.5) * self.horizontal_flip
        flip_vertical = (np.random.random() < 0.5) * self.vertical_flip
        shift = self.channel_shift_range
        return {
            "theta": theta, "tx": tx, "ty": ty, "shear": shear, "zx": zx, "zy": zy,
            "flip_horizontal": flip_horizontal, "flip_vertical": flip_vertical,
            "channel_shift_intensity": np.random.uniform(-shift, shift) if shift != 0 else None,
            "brightness": None if self.brightness_range is None else np.random.uniform(*self.brightness_range),
        }  # fmt: skip

    def apply_transform(self, x: np.ndarray, transform_parameters: dict[str, Any]) -> np.ndarray:
        """An image transformed as the arguments say: theta, tx, ty, shear, zx, zy, flip_horizontal, flip_vertical,
        channel_shift_intensity and brightness."""
        given = transform_parameters
        affine = {name: given.get(name, 0) for name in ("theta", "tx", "ty", "shear")}
        x = apply_affine_transform(
            x, **affine, zx=given.get("zx", 1), zy=given.get("zy", 1), row_axis=self.row_axis - 1,
            col_axis=self.col_axis - 1, channel_axis=self.channel_axis - 1, fill_mode=self.fill_mode, cval=self.cval,
            order=self.interpolation_order,
        )  # fmt: skip
        if given.get("channel_shift_intensity") is not None:
            x = apply_channel_shift(x, given["channel_shift_intensity"], self.channel_axis - 1)
        if given.get("flip_horizontal", False):
            x = flip_axis(x, self.col_axis - 1)
        if given.get("flip_vertical", False):
            x = flip_axis(x, self.row_axis - 1)
        if given.get("brightness") is not None:
            x = apply_brightness_shift(x, given["brightness"])
        return x

    def random_transform(self, x: np.ndarray, seed: int | None = None) -> np.ndarray:
        """An image changed at random."""
        return self.apply_transform(x, self.get_random_transform(x.shape, seed))

    # ---- statistics ----

    def fit(self, x: Any, augment: bool = False, rounds: int = 1, seed: int | None = None) -> None:
        """Computes what featurewise normalizations need.

        Args:
          x: images of four dimensions.
          augment: whether they are changed at random first, `rounds` times.
          seed: of NumPy's random numbers.

        Raises:
          ValueError: the images have not four dimensions.
        """
        x = np.array(x, dtype=self.dtype)
        if x.ndim != 4:
            raise ValueError(f"Input to `.fit()` should have rank 4. Got array with shape: {x.shape}")
        warn_of_channels(x, self.channel_axis, self.data_format)
        if seed is not None:
            np.random.seed(seed)
        if self.rescale:
            x *= self.rescale
        if augment:
            x = np.array([self.random_transform(image) for _ in range(rounds) for image in x], dtype=self.dtype)
        axes = (0, self.row_axis, self.col_axis)
        if self.featurewise_center:
            self.mean = np.mean(x, axis=axes, keepdims=True)[0]
            x -= self.mean
        if self.featurewise_std_normalization:
            self.std = np.std(x, axis=axes, keepdims=True)[0]
            x /= self.std + 1e-6
        if self.zca_whitening:
            flat = np.reshape(x, (x.shape[0], -1))
            u, s, _ = optional_module("scipy.linalg", "zca_whitening").svd(np.dot(flat.T, flat) / flat.shape[0])
            self.principal_components = (u * (1.0 / np.sqrt(s[np.newaxis] + self.zca_epsilon))).dot(u.T)


def _zoom_range(given: Any) -> list[float]:
    if isinstance(given, (float, int)):
        return [1 - given, 1 + given]
    if len(given) == 2 and all(isinstance(value, (float, int)) for value in given):
        return list(given)
    raise ValueError(f"`zoom_range` should be a float or a tuple or list of two floats. Received: {given}")


def _random_shift(limit: Any, size: int) -> float:
    """A shift in pixels: chosen from a list or a range of integers, or uniform up to a share of the size."""
    if not np.any(limit):
        return 0
    try:
        shift = np.random.choice(limit)
        shift *= np.random.choice([-1, 1])
    except ValueError:
        shift = np.random.uniform(-limit, limit)
    return shift * size if np.max(limit) < 1 else shift
