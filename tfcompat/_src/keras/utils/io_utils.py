"""Data in HDF5 files, and the question whether a file may be overwritten."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import six

from tfcompat._src.base.export import export
from tfcompat._src.nodes.tensor_spec import TensorSpec
from tfcompat._src.nodes.type_spec import register_type_spec_from_value_converter

if TYPE_CHECKING:
    from types import ModuleType


def optional_module(name: str, purpose: str) -> ModuleType:
    """A package that only some installations have; ImportError says what it is needed for."""
    try:
        return importlib.import_module(name)
    except ImportError as e:
        raise ImportError(f"{purpose} needs the package {name!r}: pip install 'tfcompat[keras]'") from e


@export("keras.utils.HDF5Matrix")
class HDF5Matrix:
    """A range of rows of a dataset in an HDF5 file, read as they are indexed.

    Args:
      datapath: the file.
      dataset: name of the dataset.
      start, end: the rows, all by default.
      normalizer: function that every piece goes through.

    Raises:
      ImportError: h5py is not installed.
    """

    refs: ClassVar[dict[str, Any]] = {}

    def __init__(
        self, datapath: str, dataset: str, start: int = 0, end: int | None = None, normalizer: Callable | None = None
    ) -> None:
        if datapath not in self.refs:
            self.refs[datapath] = optional_module("h5py", "HDF5Matrix").File(datapath, "r")
        self.data = self.refs[datapath][dataset]
        self.start, self.end = start, self.data.shape[0] if end is None else end
        self.normalizer = normalizer

    def __len__(self) -> int:
        return self.end - self.start

    def __getitem__(self, key: Any) -> Any:
        """Rows of the range, by number, slice or numbers; IndexError beyond its end."""
        if isinstance(key, slice):
            stop = len(self) if key.stop is None else key.stop
            self._require(stop - 1)
            place: Any = slice((key.start or 0) + self.start, stop + self.start)
        elif isinstance(key, (int, np.integer)):
            self._require(key)
            place = key + self.start
        else:
            self._require(max(key))
            place = [int(i) + self.start for i in key]
        rows = self.data[place]
        return rows if self.normalizer is None else self.normalizer(rows)

    def _require(self, last: Any) -> None:
        if last + self.start >= self.end:
            raise IndexError(f"Row {last} of a range of {len(self)} rows.")

    shape = property(lambda self: (len(self), *self.data.shape[1:]))
    dtype = property(lambda self: self.data.dtype)
    ndim = property(lambda self: self.data.ndim)
    size = property(lambda self: np.prod(self.shape))


register_type_spec_from_value_converter(HDF5Matrix, lambda value: TensorSpec(shape=value.shape, dtype=value.dtype))


def ask_to_proceed_with_overwrite(filepath: str) -> bool:
    """Asks on the standard input whether an existing file may be overwritten."""
    answer = six.moves.input(f"[WARNING] {filepath} already exists - overwrite? [y/n]").strip().lower()
    while answer not in ("y", "n"):
        answer = six.moves.input('Enter "y" (overwrite) or "n" (cancel).').strip().lower()
    if answer == "n":
        return False
    print("[TIP] Next time specify overwrite=True!")
    return True
