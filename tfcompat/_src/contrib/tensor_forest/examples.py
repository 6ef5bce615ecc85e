"""What the kernels of forests read: a batch of examples by feature number, and their targets."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.ops.random.philox import seed_to_key_counter
from tfcompat._src.ops.random.words import Words

FLOAT, CATEGORICAL = 0, 1
_SPEC = re.compile(r"dense_features_size: (\d+) dense: \[(.*)\] sparse: \[(.*)\]", re.DOTALL)
_COLUMN = re.compile(r"original_type: (\d+) size: (-?\d+)\}")


def invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


class DataSpec(NamedTuple):
    """How many dense features there are, their types, and the type of sparse ones."""

    dense_size: int
    dense_types: tuple[int, ...]
    sparse_type: int


@functools.lru_cache
def parse_spec(text: str) -> DataSpec:
    """Reads the attribute `input_spec`."""
    found = _SPEC.fullmatch(text)
    if found is None:
        raise invalid(f"Unable to parse input_spec: {text!r}")
    dense = [int(kind) for kind, size in _COLUMN.findall(found[2]) for _ in range(int(size))]
    sparse = [int(kind) for kind, _ in _COLUMN.findall(found[3])]
    return DataSpec(int(found[1]), tuple(dense), sparse[0] if sparse else FLOAT)


def feature_sampler(seed: int) -> Callable[[int], int]:
    """A function that draws whole numbers below a limit; with seed 0 they differ each time, else they are those of 1.15."""
    return Words(*seed_to_key_counter(seed, 0)).below if seed else random.Random().randrange


class Examples:
    """A batch of examples.

    Args:
      dense: float32 [examples, dense features], or of another rank where there are none.
      indices: int64 [values, 2], sorted, of sparse features; of another rank where there are none.
      values: float32 [values].
      shape: int64 [2].
      spec: the attribute `input_spec`.
    """

    def __init__(self, dense: Any, indices: Any, values: Any, shape: Any, spec: str) -> None:
        self.spec = parse_spec(spec)
        self._dense = np.asarray(dense) if np.ndim(dense) == 2 else None
        self._indices = np.asarray(indices) if np.ndim(indices) == 2 else None
        self._width = 0
        if self._indices is not None:
            if self._indices.shape[1] != 2 or np.shape(values) != self._indices.shape[:1] or np.shape(shape) != (2,):
                raise invalid("Sparse features must be a matrix given by indices, values and shape.")
            self._values = np.append(np.asarray(values, np.float32), np.float32(0))
            self._width = int(self._indices[:, 1].max(initial=0)) + 1
            self._keys = self._indices[:, 0] * self._width + self._indices[:, 1]
        if self._dense is not None:
            self.count = len(self._dense)
        else:
            self.count = int(shape[0]) if self._indices is not None else 0

    @property
    def _columns(self) -> int:
        """How many dense features can be read: fewer than the spec says where features were bagged."""
        return min(self.spec.dense_size, 0 if self._dense is None else self._dense.shape[1])

    def values(self, rows: np.ndarray, features: np.ndarray) -> np.ndarray:
        """float32: the features with these numbers, of the examples `rows` (arrays that broadcast); 0 for sparse ones not given."""
        sparse = features >= self.spec.dense_size
        if not sparse.any():
            if (features >= self._columns).any():
                raise invalid(f"Feature {int(features.max())} is out of range: the data has {self._columns} features.")
            return self._dense[rows, features]
        if self._indices is None:
            raise invalid(f"Feature {int(features.max())} is out of range: there are no sparse features.")
        rows, features = np.broadcast_arrays(rows, features)
        wanted = rows * self._width + features
        places = np.searchsorted(self._keys, wanted)
        known = (features < self._width) & (np.append(self._keys, -1)[places] == wanted)
        found = self._values[np.where(known, places, -1)]
        dense = features < self.spec.dense_size
        found[dense] = self.values(rows[dense], features[dense]) if dense.any() else 0
        return found

    def sample(self, row: int, below: Callable[[int], int]) -> tuple[int, np.float32, int]:
        """A feature that an example has, drawn at random: its number, its value and its type."""
        first, last = 0, 0
        if self._indices is not None:
            first, last = np.searchsorted(self._indices[:, 0], [row, row + 1])
        count = self._columns + int(last - first)
        if count == 0:
            raise invalid(f"Example {row} has no features to split by.")
        drawn = below(count)
        if drawn < self._columns:
            return drawn, self._dense[row, drawn], self.spec.dense_types[drawn]
        feature = int(self._indices[first + drawn - self._columns, 1]) + self.spec.dense_size
        return feature, self.values(np.array([row]), np.array([feature]))[0], self.spec.sparse_type


class Targets:
    """Labels and weights of a batch.

    Args:
      labels: float32 [examples] or [examples, targets].
      weights: float32 [examples] or fewer; the others weigh 1.
      is_regression: whether the columns of `labels` are targets.
    """

    def __init__(self, labels: Any, weights: object, is_regression: bool) -> None:
        labels = np.asarray(labels)
        self.count = len(labels) if labels.ndim else 0
        columns = max(1, labels.shape[1]) if is_regression and labels.ndim > 1 else 1
        self.values = labels.reshape(-1)[: labels.size // columns * columns].reshape(-1, columns)
        self.weights = np.ones(len(self.values), np.float32)
        given = np.asarray(weights).reshape(-1)[: len(self.values)]
        self.weights[: len(given)] = given
        self._classes: np.ndarray | None = None

    def classes(self, limit: int) -> np.ndarray:
        """The labels as int64 [examples].

        Raises:
          errors.InvalidArgumentError: labels that are not in [0, limit).
        """
        if self._classes is None:
            self._classes = self.values[:, 0].astype(np.int64)
            if ((self._classes < 0) | (self._classes >= limit)).any():
                raise invalid(
                    "Got label greater than indicated number of classes. Is params.num_classes set correctly?"
                )
        return self._classes
