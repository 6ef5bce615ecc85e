"""Batches of the image files that a pandas.DataFrame names."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np

from tfcompat._src.keras.backend.config import floatx
from tfcompat._src.keras.preprocessing.iterators import _FileIterator, require_class_mode

_WITHOUT_CLASSES = ("input", "multi_output", "raw", None)


class DataFrameIterator(_FileIterator):
    """Batches of the image files that a table names; see ImageDataGenerator.flow_from_dataframe for the arguments.

    Raises:
      ValueError: a mode is unknown, or "binary" has not two classes.
      TypeError: a column holds values of another type.
    """

    allowed_class_modes = {"binary", "categorical", "input", "multi_output", "raw", "sparse", None}

    def __init__(
        self, dataframe: Any, directory: str | None = None, image_data_generator: object = None, x_col: str = "filename",
        y_col: Any = "class", weight_col: str | None = None, target_size: tuple[int, int] = (256, 256),
        color_mode: str = "rgb", classes: Any = None, class_mode: str | None = "categorical", batch_size: int = 32,
        shuffle: bool = True, seed: int | None = None, data_format: str | None = "channels_last",
        save_to_dir: str | None = None, save_prefix: str = "", save_format: str = "png", subset: str | None = None,
        interpolation: str = "nearest", dtype: Any = None, validate_filenames: bool = True,
    ) -> None:  # fmt: skip
        self.set_processing_attrs(
            image_data_generator, target_size, color_mode, data_format, save_to_dir, save_prefix, save_format, subset,
            interpolation,
        )  # fmt: skip
        self.directory, self.class_mode, self.dtype = directory or "", class_mode, dtype or floatx()
        table = dataframe.copy()
        self._check_columns(table, x_col, y_col, weight_col, classes)
        if validate_filenames:
            table = self._with_files(table, x_col)
        kind = f"{'validated' if validate_filenames else 'non-validated'} image filenames"
        if class_mode not in _WITHOUT_CLASSES:
            table, names = _with_classes(table, y_col, classes)
            self.class_indices = {name: i for i, name in enumerate(names)}
            kind += f" belonging to {len(names)} classes"
        if self.split:
            table = table.iloc[int(self.split[0] * len(table)) : int(self.split[1] * len(table)), :]
        if class_mode not in _WITHOUT_CLASSES:
            self.classes = [self._number(label) for label in table[y_col]]
        self.filenames = table[x_col].tolist()
        self.sample_weight = table[weight_col].values if weight_col else None
        if class_mode == "multi_output":
            self._targets = [np.array(table[column].tolist()) for column in y_col]
        elif class_mode == "raw":
            self._targets = table[y_col].values
        self.samples = len(self.filenames)
        print(f"Found {self.samples} {kind}.")
        self._filepaths = [os.path.join(self.directory, name) for name in self.filenames]
        super().__init__(self.samples, batch_size, shuffle, seed)

    labels = property(lambda self: self._targets if self.class_mode in ("multi_output", "raw") else self.classes)

    def _number(self, label: Any) -> Any:
        if isinstance(label, (list, tuple)):
            return [self.class_indices[name] for name in label]
        return self.class_indices[label]

    def _check_columns(self, table: Any, x_col: str, y_col: Any, weight_col: str | None, classes: Any) -> None:
        mode = self.class_mode
        require_class_mode(mode, self.allowed_class_modes)
        if mode == "multi_output" and not isinstance(y_col, list):
            raise TypeError(f'If class_mode="{mode}", y_col must be a list. Received {type(y_col).__name__}.')
        if not all(isinstance(name, str) for name in table[x_col]):
            raise TypeError(f"All values in column x_col={x_col} must be strings.")
        if mode in ("binary", "sparse") and not all(isinstance(label, str) for label in table[y_col]):
            raise TypeError(f'If class_mode="{mode}", y_col="{y_col}" column values must be strings.')
        if mode == "binary":
            count = len(set(classes)) if classes else table[y_col].nunique()
            if count != 2:
                raise ValueError(f'If class_mode="binary" there must be 2 classes. Found {count} classes.')
        if mode == "categorical" and not all(isinstance(label, (str, list, tuple)) for label in table[y_col]):
            raise TypeError(f'If class_mode="{mode}", y_col="{y_col}" column values must be type string, list or tuple.')
        if classes and mode in _WITHOUT_CLASSES:
            warnings.warn(f'`classes` will be ignored given the class_mode="{mode}"', stacklevel=4)
        if weight_col and not issubclass(table[weight_col].dtype.type, np.number):
            raise TypeError(f"Column weight_col={weight_col} must be numeric.")

    def _with_files(self, table: Any, x_col: str) -> Any:
        """The rows whose image file exists; the others are left out with a warning."""
        paths = [os.path.join(self.directory, name) for name in table[x_col]]
        valid = np.array([p.lower().endswith(self.white_list_formats) and os.path.isfile(p) for p in paths], bool)
        missing = len(valid) - int(valid.sum())
        if missing:
            warnings.warn(
                f'Found {missing} invalid image filename(s) in x_col="{x_col}". These filename(s) will be ignored.',
                stacklevel=4,
            )
        return table[valid]


def _with_classes(table: Any, y_col: str, classes: Any) -> tuple[Any, list[str]]:
    """The rows with a label among `classes`, by default all, and the sorted classes."""
    if not classes:
        labels = [[v] if isinstance(v, str) else v for v in table[y_col]]
        return table.dropna(subset=[y_col]), sorted({name for label in labels for name in label})
    known = set(classes)

    def kept(label: Any) -> Any:
        if isinstance(label, str):
            return label if label in known else None
        return [name for name in label if name in known] or None

    table[y_col] = table[y_col].apply(kept)
    return table.dropna(subset=[y_col]), sorted(known)
