"""The 32-bit words of a Philox generator one after another, for ops that draw few numbers with branches between."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from tfcompat._src.ops.random import philox
from tfcompat._src.ops.random.distributions import double_from_words, uniform_from_words


class Words:
    """Draws words from a key and a counter (philox.py); the numbers made of them are those of 1.15."""

    def __init__(self, key: np.ndarray, counter: np.ndarray) -> None:
        self._words = self._draw(key, counter)

    @staticmethod
    def _draw(key: np.ndarray, counter: np.ndarray) -> Iterator[int]:
        for index in itertools.count():
            for word in philox.draw(np, key, counter, np.array([index], np.uint32)):
                yield int(word[0])

    def word(self) -> int:
        """A whole number in [0, 2**32)."""
        return next(self._words)

    def single(self) -> np.float32:
        """A float32 in [0, 1)."""
        return uniform_from_words(np, np.array([self.word()], np.uint32), np.float32)[0]

    def double(self) -> float:
        """A double in [0, 1)."""
        high, low = (np.array([self.word()], np.uint32) for _ in range(2))
        return float(double_from_words(np, high, low)[0])

    def below(self, limit: int) -> int:
        """A whole number in [0, limit); the lowest words are rejected so that all are equally likely."""
        if limit & (limit - 1) == 0:
            return self.word() & (limit - 1)
        rejected = (2**32 - 1) % limit + 1
        while (word := self.word()) < rejected:
            continue
        return word % limit
