"""RaggedTensorValue: what a fetched RaggedTensor is."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export


@export("ragged.RaggedTensorValue")
class RaggedTensorValue:
    """Rows of different lengths: `values[row_splits[i]:row_splits[i + 1]]` is row i.

    Args:
      values: array, or RaggedTensorValue for another ragged dimension.
      row_splits: int32 or int64 vector.

    Raises:
      TypeError: a part is of another kind. ValueError: `row_splits` is no vector.
    """

    def __init__(self, values: Any, row_splits: Any) -> None:
        if not (isinstance(row_splits, (np.ndarray, np.generic)) and row_splits.dtype in (np.int64, np.int32)):
            raise TypeError("row_splits must be a 1D int32 or int64 numpy array")
        if not isinstance(values, (np.ndarray, np.generic, RaggedTensorValue)):
            raise TypeError("values must be a numpy array or a RaggedTensorValue")
        if isinstance(values, RaggedTensorValue) and row_splits.dtype != values.row_splits.dtype:
            raise ValueError("row_splits and values.row_splits must have the same dtype")
        self._values, self._row_splits = values, row_splits

    row_splits = property(lambda self: self._row_splits, doc="The vector of splits of the outermost ragged dimension.")
    values = property(lambda self: self._values, doc="The rows put one after another.")
    dtype = property(lambda self: self._values.dtype, doc="The NumPy dtype of the elements.")

    @property
    def flat_values(self) -> np.ndarray:
        """The innermost values."""
        return self.values.flat_values if isinstance(self.values, RaggedTensorValue) else self.values

    @property
    def nested_row_splits(self) -> tuple:
        """The splits of all ragged dimensions, outermost first."""
        inner = self.values.nested_row_splits if isinstance(self.values, RaggedTensorValue) else ()
        return (self.row_splits, *inner)

    @property
    def ragged_rank(self) -> int:
        return len(self.nested_row_splits)

    @property
    def shape(self) -> tuple:
        return (self._row_splits.shape[0] - 1, None, *self._values.shape[1:])

    def __str__(self) -> str:
        return f"<tf.RaggedTensorValue {self.to_list()}>"

    def __repr__(self) -> str:
        return f"tf.RaggedTensorValue(values={self._values!r}, row_splits={self._row_splits!r})"

    def to_list(self) -> list:
        """The rows as nested lists of Python numbers and bytes."""
        values = self._values.to_list() if isinstance(self._values, RaggedTensorValue) else self._values.tolist()
        return [values[start:end] for start, end in zip(self._row_splits, self._row_splits[1:])]


class RaggedTensorType:
    """The type of the results of a function that makes RaggedTensors: element type, ragged dimensions, type of the splits."""

    def __init__(self, dtype: Any, ragged_rank: int, row_splits_dtype: Any = dtypes.int64) -> None:
        self.dtype, self.ragged_rank, self.row_splits_dtype = dtype, ragged_rank, dtypes.as_dtype(row_splits_dtype)
