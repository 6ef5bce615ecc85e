"""Batches of images, changed at random, from arrays, folders and tables of files."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterator as AbstractIterator
from typing import Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.keras.backend.config import checked_data_format, floatx
from tfcompat._src.keras.preprocessing.affine import array_to_img, img_to_array, load_img
from tfcompat._src.keras.utils.sequences import Sequence

FORMATS = ("png", "jpg", "jpeg", "bmp", "ppm", "tif", "tiff")
_CHANNELS = {"rgba": 4, "rgb": 3, "grayscale": 1}


@export("keras.preprocessing.image.Iterator")
class Iterator(Sequence):
    """Batches of numbered samples, without end; a subclass makes a batch of numbers in
    `_get_batches_of_transformed_samples`.

    Args:
      n: number of samples.
      batch_size: of a batch.
      shuffle: whether each epoch has another order.
      seed: of NumPy's random numbers, to which the number of the batch is added.
    """

    white_list_formats = FORMATS

    def __init__(self, n: int, batch_size: int, shuffle: bool, seed: int | None) -> None:
        self.n, self.batch_size, self.shuffle, self.seed = n, batch_size, shuffle, seed
        self.batch_index = self.total_batches_seen = 0
        self.lock = threading.Lock()
        self.index_array: np.ndarray | None = None
        self.index_generator = self._flow_index()

    def _set_index_array(self) -> None:
        self.index_array = np.random.permutation(self.n) if self.shuffle else np.arange(self.n)

    def _set_seed(self) -> None:
        if self.seed is not None:
            np.random.seed(self.seed + self.total_batches_seen)

    def __len__(self) -> int:
        return (self.n + self.batch_size - 1) // self.batch_size

    def __getitem__(self, idx: int) -> Any:
        """The batch with a number; ValueError beyond the last one."""
        if idx >= len(self):
            raise ValueError(f"Asked to retrieve element {idx}, but the Sequence has length {len(self)}")
        self._set_seed()
        self.total_batches_seen += 1
        if self.index_array is None:
            self._set_index_array()
        numbers = self.index_array[self.batch_size * idx : self.batch_size * (idx + 1)]
        return self._get_batches_of_transformed_samples(numbers)

    def on_epoch_end(self) -> None:
        """Chooses another order."""
        self._set_index_array()

    def reset(self) -> None:
        """Begins an epoch anew."""
        self.batch_index = 0

    def _flow_index(self) -> AbstractIterator[np.ndarray]:
        self.reset()
        while True:
            self._set_seed()
            if self.batch_index == 0:
                self._set_index_array()
            first = (self.batch_index * self.batch_size) % self.n if self.n else 0
            self.batch_index = self.batch_index + 1 if self.n > first + self.batch_size else 0
            self.total_batches_seen += 1
            yield self.index_array[first : first + self.batch_size]

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> Any:
        return self.next()

    def next(self) -> Any:
        """The next batch."""
        with self.lock:
            numbers = next(self.index_generator)
        return self._get_batches_of_transformed_samples(numbers)

    def _get_batches_of_transformed_samples(self, index_array: np.ndarray) -> Any:
        raise NotImplementedError(f"{type(self).__name__} makes no batches.")

    def _save(self, images: np.ndarray, numbers: np.ndarray, largest: float) -> None:
        """Writes the images of a batch to `save_to_dir`, where it is given."""
        for image, number in zip(images if self.save_to_dir else (), numbers):
            name = f"{self.save_prefix}_{number}_{np.random.randint(largest)}.{self.save_format}"
            array_to_img(image, self.data_format, scale=True).save(os.path.join(self.save_to_dir, name))


@export("keras.preprocessing.image.NumpyArrayIterator")
class NumpyArrayIterator(Iterator):
    """Batches of arrays of images; see ImageDataGenerator.flow for the arguments.

    Raises:
      ValueError: the arrays differ in length, the images have not four dimensions, or a subset lacks classes.
    """

    def __init__(
        self, x: Any, y: Any, image_data_generator: Any, batch_size: int = 32, shuffle: bool = False,
        sample_weight: object = None, seed: int | None = None, data_format: str | None = None,
        save_to_dir: str | None = None, save_prefix: str = "", save_format: str = "png", subset: str | None = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        self.dtype, self.data_format = dtype or floatx(), checked_data_format(data_format)
        x, others = _with_others(x)
        _require_same_length(x, y, sample_weight)
        if subset is not None:
            part = _part(subset, int(len(x) * image_data_generator._validation_split), y)
            x, others, y = x[part], [other[part] for other in others], None if y is None else y[part]
        self.x, self.x_misc = np.asarray(x, dtype=self.dtype), others
        if self.x.ndim != 4:
            raise ValueError(
                "Input data in `NumpyArrayIterator` should have rank 4. You passed an array with shape", self.x.shape
            )
        warn_of_channels(self.x, 3 if self.data_format == "channels_last" else 1, self.data_format)
        self.y = None if y is None else np.asarray(y)
        self.sample_weight = None if sample_weight is None else np.asarray(sample_weight)
        self.image_data_generator = image_data_generator
        self.save_to_dir, self.save_prefix, self.save_format = save_to_dir, save_prefix, save_format
        super().__init__(self.x.shape[0], batch_size, shuffle, seed)

    def _get_batches_of_transformed_samples(self, index_array: np.ndarray) -> Any:
        images = np.zeros((len(index_array), *self.x.shape[1:]), dtype=self.dtype)
        for i, j in enumerate(index_array):
            images[i] = self.image_data_generator.transformed(self.x[j].astype(self.dtype))
        self._save(images, index_array, 1e4)
        others = [other[index_array] for other in self.x_misc]
        inputs = [images, *others] if others else images
        if self.y is None:
            return inputs
        weights = () if self.sample_weight is None else (self.sample_weight[index_array],)
        return (inputs, self.y[index_array], *weights)


def _with_others(x: object) -> tuple[Any, list[np.ndarray]]:
    """The images, and the arrays given beside them."""
    if not isinstance(x, (tuple, list)):
        return x, []
    images, given = x[0], x[1]
    others = [np.asarray(other) for other in (given if isinstance(given, list) else [given])]
    for other in others:
        if len(other) != len(images):
            raise ValueError(
                "All of the arrays in `x` should have the same length. Found a pair with: "
                f"len(x[0]) = {len(images)}, len(x[?]) = {len(other)}"
            )
    return images, others


def _require_same_length(x: Any, y: Any, sample_weight: Any) -> None:
    for name, other, what in (("y", y, "`y` (labels)"), ("sample_weight", sample_weight, "`sample_weight`")):
        if other is not None and len(other) != len(x):
            raise ValueError(
                f"`x` (images tensor) and {what} should have the same length. Found: x.shape = {np.shape(x)}, "
                f"{name}.shape = {np.shape(other)}"
            )


def _part(subset: str, border: int, y: Any) -> slice:
    """The samples of a subset: those of the validation come first."""
    if subset not in ("training", "validation"):
        raise ValueError("Invalid subset name:", subset, '; expected "training" or "validation".')
    if y is not None and not np.array_equal(np.unique(y[:border]), np.unique(y[border:])):
        raise ValueError(
            "Training and validation subsets have different number of classes after the split. If your numpy arrays "
            "are sorted by the label, you might want to shuffle them."
        )
    return slice(0, border) if subset == "validation" else slice(border, None)


def warn_of_channels(x: np.ndarray, axis: int, data_format: str) -> None:
    """Warns where images have not 1, 3 or 4 channels."""
    if x.shape[axis] not in (1, 3, 4):
        warnings.warn(
            f'Expected images by the data format convention "{data_format}" (channels on axis {axis}), i.e. either 1, 3 '
            f"or 4 channels on axis {axis}. However, it was passed an array with shape {x.shape} ({x.shape[axis]} "
            "channels).",
            stacklevel=3,
        )


class _FileIterator(Iterator):
    """Batches of image files: a subclass sets `class_mode`, `dtype`, `_filepaths`, labels and weights."""

    sample_weight: Any = None
    classes: Any
    class_indices: dict[str, int]

    def set_processing_attrs(
        self, image_data_generator: Any, target_size: tuple[int, int], color_mode: str, data_format: str | None,
        save_to_dir: str | None, save_prefix: str, save_format: str, subset: str | None, interpolation: str,
    ) -> None:  # fmt: skip
        """Sets how files become arrays; ValueError for an unknown color mode or subset."""
        if color_mode not in _CHANNELS:
            raise ValueError("Invalid color mode:", color_mode, '; expected "rgb", "rgba", or "grayscale".')
        self.image_data_generator, self.color_mode = image_data_generator, color_mode
        self.target_size, self.interpolation = tuple(target_size), interpolation
        self.data_format = checked_data_format(data_format)
        channels = (_CHANNELS[color_mode],)
        last = self.data_format == "channels_last"
        self.image_shape = self.target_size + channels if last else channels + self.target_size
        self.save_to_dir, self.save_prefix, self.save_format = save_to_dir, save_prefix, save_format
        self.subset, self.split = subset, None
        if subset is not None:
            border = image_data_generator._validation_split
            if subset not in ("validation", "training"):
                raise ValueError(f'Invalid subset name: {subset};expected "training" or "validation"')
            self.split = (0, border) if subset == "validation" else (border, 1)

    filepaths = property(lambda self: self._filepaths)

    def _image(self, path: str) -> np.ndarray:
        with load_img(
            path, color_mode=self.color_mode, target_size=self.target_size, interpolation=self.interpolation
        ) as img:
            x = img_to_array(img, data_format=self.data_format)
        return self.image_data_generator.transformed(x) if self.image_data_generator else x

    def _get_batches_of_transformed_samples(self, index_array: np.ndarray) -> Any:
        images = np.zeros((len(index_array), *self.image_shape), dtype=self.dtype)
        for i, j in enumerate(index_array):
            images[i] = self._image(self.filepaths[j])
        self._save(images, index_array, 1e7)
        if self.class_mode is None:
            return images
        labels = images.copy() if self.class_mode == "input" else self._labels_of(index_array)
        weights = () if self.sample_weight is None else (self.sample_weight[index_array],)
        return (images, labels, *weights)

    def _labels_of(self, numbers: np.ndarray) -> Any:
        if self.class_mode == "multi_output":
            return [output[numbers] for output in self.labels]
        if self.class_mode == "raw":
            return self.labels[numbers]
        if self.class_mode in ("binary", "sparse"):
            return np.array([self.classes[j] for j in numbers], dtype=self.dtype)
        found = np.zeros((len(numbers), len(self.class_indices)), dtype=self.dtype)
        for row, j in zip(found, numbers):
            row[self.classes[j]] = 1.0
        return found


@export("keras.preprocessing.image.DirectoryIterator")
class DirectoryIterator(_FileIterator):
    """Batches of the image files below a folder, whose subfolders are the classes; see
    ImageDataGenerator.flow_from_directory for the arguments.

    Raises:
      ValueError: the class mode, color mode or subset is unknown.
    """

    allowed_class_modes = {"categorical", "binary", "sparse", "input", None}

    def __init__(
        self, directory: str, image_data_generator: object, target_size: tuple[int, int] = (256, 256),
        color_mode: str = "rgb", classes: Any = None, class_mode: str | None = "categorical", batch_size: int = 32,
        shuffle: bool = True, seed: int | None = None, data_format: str | None = None, save_to_dir: str | None = None,
        save_prefix: str = "", save_format: str = "png", follow_links: bool = False, subset: str | None = None,
        interpolation: str = "nearest", dtype: Any = None,
    ) -> None:  # fmt: skip
        self.set_processing_attrs(
            image_data_generator, target_size, color_mode, data_format, save_to_dir, save_prefix, save_format, subset,
            interpolation,
        )  # fmt: skip
        require_class_mode(class_mode, self.allowed_class_modes)
        self.directory, self.class_mode, self.dtype = directory, class_mode, dtype or floatx()
        folders = [f for f in sorted(os.listdir(directory)) if os.path.isdir(os.path.join(directory, f))]
        names = list(classes or folders)
        self.num_classes = len(names)
        self.class_indices = {name: i for i, name in enumerate(names)}
        self.filenames, numbers = [], []
        for name in names:
            found = self._files_of(name, follow_links)
            self.filenames += found
            numbers += [self.class_indices[os.path.basename(os.path.normpath(name))]] * len(found)
        self.classes = np.array(numbers, dtype="int32")
        self.samples = len(self.filenames)
        print(f"Found {self.samples} images belonging to {self.num_classes} classes.")
        self._filepaths = [os.path.join(directory, name) for name in self.filenames]
        super().__init__(self.samples, batch_size, shuffle, seed)

    labels = property(lambda self: self.classes)

    def _files_of(self, name: str, follow_links: bool) -> list[str]:
        """The image files of a class, from the folder on, in order; of a subset, its part."""
        top = os.path.join(self.directory, name)
        found = []
        for root, _, files in sorted(os.walk(top, followlinks=follow_links), key=lambda entry: entry[0]):
            for file in sorted(files):
                if file.lower().endswith(".tiff"):
                    warnings.warn(
                        'Using ".tiff" files with multiple bands will cause distortion. Please verify your output.',
                        stacklevel=4,
                    )
                if file.lower().endswith(self.white_list_formats):
                    found.append(os.path.join(name, os.path.relpath(os.path.join(root, file), top)))
        first, last = self.split or (0, 1)
        return found[int(first * len(found)) : int(last * len(found))]


def require_class_mode(mode: object, known: set) -> None:
    """Raises ValueError where a class mode is not known."""
    if mode not in known:
        raise ValueError(f"Invalid class_mode: {mode}; expected one of: {known}")
