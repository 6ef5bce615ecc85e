"""tf.contrib.learn.preprocessing.CategoricalProcessor: columns of categories as numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.contrib.learn.pandas_io import extract_pandas_matrix
from tfcompat._src.contrib.learn.vocabulary import CategoricalVocabulary


def _is_missing(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


@export("contrib.learn.preprocessing.CategoricalProcessor")
class CategoricalProcessor:
    """Maps the categories of each column to ids; 0 is what is missing or unknown.

    Args:
      min_frequency: categories that are rarer are unknown.
      share: whether all columns have one vocabulary.
      vocabularies: the vocabularies of the columns; by default made by `fit`.
    """

    def __init__(self, min_frequency: int = 0, share: bool = False, vocabularies: Any = None) -> None:
        self.min_frequency, self.share, self.vocabularies_ = min_frequency, share, vocabularies

    def freeze(self, freeze: bool = True) -> None:
        """Whether new categories stay unknown."""
        for vocabulary in self.vocabularies_:
            vocabulary.freeze(freeze)

    def fit(self, x: object, unused_y: object = None) -> CategoricalProcessor:
        """Learns the categories of rows."""
        for row in extract_pandas_matrix(x):
            if self.vocabularies_ is None:
                made = [CategoricalVocabulary() for _ in row]
                self.vocabularies_ = made[:1] * len(made) if self.share else made
            for vocabulary, value in zip(self.vocabularies_, row, strict=True):
                if not _is_missing(value):
                    vocabulary.add(value)
        if self.min_frequency > 0:
            for vocabulary in self.vocabularies_:
                vocabulary.trim(self.min_frequency)
        self.freeze()
        return self

    def fit_transform(self, x: object, unused_y: object = None) -> Iterator[np.ndarray]:
        """Learns the categories of rows, and gives their ids."""
        self.fit(x)
        return self.transform(x)

    def transform(self, x: object) -> Iterator[np.ndarray]:
        """The ids [columns] (int64) of each row."""
        self.freeze()
        for row in extract_pandas_matrix(x):
            ids = [0 if _is_missing(v) else self.vocabularies_[i].get(v) for i, v in enumerate(row)]
            yield np.array(ids, dtype=np.int64)
