"""Weighted quantiles of a stream in little memory: summaries that are merged and compressed with a bounded error.

A summary is float32 [entries, 4], sorted by value: value, weight, and the least and greatest rank of the value.
"""

from __future__ import annotations

import math

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.ops.queues.resource import invalid

_EMPTY = np.zeros((0, 4), np.float32)
_VALUE, _WEIGHT, _MIN, _MAX = range(4)


def _rank_after(summary: np.ndarray) -> np.ndarray:
    """The least rank of what is larger than each entry."""
    return summary[:, _MIN] + summary[:, _WEIGHT]


def _rank_before(summary: np.ndarray) -> np.ndarray:
    """The greatest rank of what is smaller than each entry."""
    return summary[:, _MAX] - summary[:, _WEIGHT]


def summary_of(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The exact summary of values with positive weights."""
    if not values.size:
        return _EMPTY
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]
    starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    if len(starts) < len(values):
        parts = np.split(weights, starts[1:])
        weights = np.array([np.cumsum(part, dtype=np.float32)[-1] for part in parts], np.float32)
    ends = np.cumsum(weights, dtype=np.float32)
    begins = np.concatenate([np.zeros(1, np.float32), ends[:-1]])
    return np.stack([values[starts], weights, begins, ends], -1)


def _between(summary: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the ranks of each entry grow by in a summary that `other` is merged into, where `other` has not the value."""
    place = np.searchsorted(other[:, _VALUE], summary[:, _VALUE])
    before = np.concatenate([np.zeros(1, np.float32), _rank_after(other)])
    after = np.append(_rank_before(other), other[-1, _MAX])
    return before[place], after[place]


def merged(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """The summary of what two summaries are of."""
    if not len(one) or not len(two):
        return one if len(one) else two
    _, in_one, in_two = np.intersect1d(one[:, _VALUE], two[:, _VALUE], return_indices=True)
    both = one[in_one]
    both[:, _WEIGHT:] += two[in_two, _WEIGHT:]
    parts = [both]
    for summary, other, shared in ((one, two, in_one), (two, one, in_two)):
        alone = np.delete(summary, shared, axis=0)
        before, after = _between(alone, other)
        alone[:, _MIN] += before
        alone[:, _MAX] += after
        parts.append(alone)
    found = np.concatenate(parts)
    return found[np.argsort(found[:, _VALUE], kind="stable")]


def compressed(summary: np.ndarray, size: int, least_error: float = 0.0) -> np.ndarray:
    """About `size` entries of a summary, the first and last among them.

    Args:
      summary: the summary.
      size: a hint.
      least_error: what the relative error of ranks may grow by; at least 1 / size.
    """
    size, count = max(size, 2), len(summary)
    if count <= size:
        return summary
    allowed = float(summary[-1, _MAX]) * max(1.0 / size, least_error)
    before, after = _rank_before(summary).tolist(), _rank_after(summary).tolist()
    kept, read, credit = [0], 0, 0
    while read + 1 < count:
        following = read + 1
        while following < count and credit < count and float(np.float32(before[following] - after[read])) <= allowed:
            credit += size
            following += 1
        read = max(read + 1, following - 1)
        kept.append(read)
        credit -= count
    if kept[-1] + 1 < count:
        kept.append(count - 1)
    return summary[kept]


def relative_error(summary: np.ndarray) -> float:
    """How far a rank by a summary can be from the true one, over all weight."""
    if not len(summary):
        return 0.0
    own = summary[1:, _MAX] - summary[1:, _MIN] - summary[1:, _WEIGHT]
    gaps = _rank_before(summary)[1:] - _rank_after(summary)[:-1]
    return float(max(own.max(initial=0), gaps.max(initial=0))) / float(summary[-1, _MAX])


def boundaries(summary: np.ndarray, count: int) -> np.ndarray:
    """About `count` values, all different, that cut the weight into parts of about one size."""
    if not len(summary):
        return np.zeros(0, np.float32)
    error = np.float32(relative_error(summary) + 1.0 / count)
    return np.unique(compressed(summary, count, float(error))[:, _VALUE])


def quantiles(summary: np.ndarray, count: int) -> np.ndarray:
    """`count` + 1 values, the least and greatest among them, between which equal parts of the weight are."""
    if not len(summary):
        raise invalid("A quantile stream without entries has no quantiles.")
    count, found, at = max(count, 2), [], 0
    middle, total = summary[:, _MIN] + summary[:, _MAX], summary[-1, _MAX]
    before, after = _rank_before(summary), _rank_after(summary)
    for rank in range(count + 1):
        twice = np.float32(2) * (np.float32(rank) * total / np.float32(count))
        following = at + 1
        while following < len(summary) and twice >= middle[following]:
            following += 1
        at = following - 1
        is_nearer = following == len(summary) or twice < after[at] + before[following]
        found.append(summary[at if is_nearer else following, _VALUE])
    return np.array(found, np.float32)


def _block_size(epsilon: float, max_elements: int) -> int:
    """The size of a block for which the blocks of all levels hold `max_elements`."""
    if epsilon <= np.finfo(np.float64).eps:
        return max(max_elements, 2)
    level, size = 1, 2
    while (1 << level) * size < max_elements:
        size = math.ceil(level / epsilon) + 1
        level += 1
    return max(size, 2)


class QuantileStream:
    """The summary of what was added so far, kept as summaries of doubling weight.

    Args:
      epsilon: the relative error that ranks may have, in (0, 1).
      max_elements: a bound on how many values will be added.
    """

    def __init__(self, epsilon: float, max_elements: int) -> None:
        if not 0 < epsilon < 1:
            raise invalid(f"epsilon of a quantile stream must be between 0 and 1, got {epsilon}")
        if max_elements <= 0:
            raise invalid(f"max_elements of a quantile stream must be positive, got {max_elements}")
        self._epsilon = epsilon
        self._block = _block_size(epsilon, max_elements)
        self._buffer = min(2 * self._block, max_elements)
        self._levels: list[np.ndarray] = []

    def add(self, values: np.ndarray, weights: np.ndarray) -> None:
        """Adds values; those without a positive weight count for nothing."""
        counts = weights > 0
        values, weights = values[counts], weights[counts]
        for start in range(0, len(values), self._buffer):
            part = slice(start, start + self._buffer)
            self.add_summary(summary_of(values[part], weights[part]))

    def add_summary(self, summary: np.ndarray) -> None:
        """Adds what a summary is of."""
        summary, level = compressed(summary, self._block, self._epsilon), 0
        while len(summary):
            if len(self._levels) == level:
                self._levels.append(_EMPTY)
            known = self._levels[level]
            summary = merged(summary, known)
            if not len(known) or len(summary) <= self._block + 1:
                self._levels[level] = summary
                return
            self._levels[level] = _EMPTY
            summary = compressed(summary, self._block, self._epsilon)
            level += 1

    def levels(self) -> list[np.ndarray]:
        """The summaries that are kept, for checkpoints."""
        return list(self._levels)

    def restore_levels(self, levels: list[np.ndarray]) -> None:
        """Goes on from what `levels` of another stream gave."""
        self._levels = list(levels)

    def summary(self) -> np.ndarray:
        """The summary of all."""
        found = _EMPTY
        for level in self._levels:
            found = merged(found, level)
        return found


class QuantileStreams:
    """A stream and bucket boundaries for each of some features.

    Args:
      epsilon, max_elements: see QuantileStream.
      count: how many features.
    """

    def __init__(self, epsilon: float, max_elements: int, count: int) -> None:
        self._epsilon, self._max_elements, self.count = epsilon, max_elements, count
        self.boundaries = [np.zeros(0, np.float32)] * count
        self.reset()

    def reset(self) -> None:
        """Begins the streams anew; boundaries stay."""
        self._streams = [QuantileStream(self._epsilon, self._max_elements) for _ in range(self.count)]

    def add_summaries(self, summaries: tuple) -> None:
        """Adds a summary to each stream."""
        self.check_count(len(summaries))
        for stream, summary in zip(self._streams, summaries):
            if np.ndim(summary) != 2 or np.shape(summary)[1] != 4:
                raise errors.InternalError(None, None, f"Expected a summary of shape [entries, 4], got {list(np.shape(summary))}")
            stream.add_summary(np.asarray(summary))

    def check_count(self, count: int) -> None:
        """InternalError where `count` is not the number of streams."""
        if count != self.count:
            raise errors.InternalError(None, None, f"Expected num_streams == num_features, got {self.count} vs {count}")

    def summaries(self) -> list[np.ndarray]:
        """The summary of each stream."""
        return [stream.summary() for stream in self._streams]
