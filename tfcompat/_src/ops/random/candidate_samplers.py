"""Candidate samplers, equal to TensorFlow 1.15's: one stream of random words, of which each candidate takes the next two.

All are compiled but the one whose weights are learned, which is for the host.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Protocol

import jax.numpy as jnp
import numpy as np
from jax import lax

from tfcompat._src.base import errors
from tfcompat._src.ops.random import philox
from tfcompat._src.ops.random.distributions import double_from_words, full_int, uniform_from_words
from tfcompat._src.ops.random.drawing import drawing

Array = Any

_DRAWS_PER_CANDIDATE = 512
_SCALAR_BLOCK = 256
_LARGEST_BLOCK = 1 << 18
_INT32_MAX = 2**31 - 1
_UNIFORM_STEP = 2.0**-23
_BEFORE_ALL = -2


def reserve_candidates(num_sampled: int) -> int:
    """Draws set aside for `num_sampled` candidates."""
    return _DRAWS_PER_CANDIDATE * num_sampled


_RUNS = 16
_MOST_DRAWS_AHEAD = 256
_MOST_AHEAD = 16 * _RUNS
_AHEAD: dict[tuple[bytes, bytes, int], np.ndarray] = {}
"""By key, counter and number of draws: the first words of runs to come."""


def _first_words(key: np.ndarray, counter: np.ndarray, draws: int, reserved: int) -> np.ndarray:
    """The words of the first draws of a run; NumPy makes those of 16 runs in twice the time of one, so that those of the runs that follow are kept.

    Args:
      reserved: the draws that each run sets aside.
    """
    name = key.tobytes()
    found = _AHEAD.pop((name, counter.tobytes(), draws), None)
    if found is None:
        index = np.arange(_RUNS, dtype=np.uint32)[:, None] * np.uint32(reserved) + np.arange(draws, dtype=np.uint32)
        words = np.stack(philox.draw(np, key, counter, index.reshape(-1)), axis=1).reshape(_RUNS, -1)
        found = words[0]
        if len(_AHEAD) > _MOST_AHEAD:
            _AHEAD.clear()
        for run in range(1, _RUNS):
            _AHEAD[name, philox.advance(counter, run * reserved).tobytes(), draws] = words[run]
    return found


class WordStream:
    """The 32-bit words of successive draws, one after another.

    Args:
      key, counter: of the generator. reserved: the draws that each run of an operation sets aside; 0 where no run follows.
    """

    def __init__(self, key: np.ndarray, counter: np.ndarray, reserved: int = 0):
        self._key, self._counter, self._reserved = key, counter, reserved
        self._next_draw = 0
        self._words = np.empty(0, np.uint32)
        self._scalars = self._iterate()

    def take(self, count: int) -> np.ndarray:
        """The next `count` words, uint32."""
        draws = -(-(count - self._words.size) // 4)
        if draws > 0:
            if self._reserved and self._next_draw == 0 and draws <= _MOST_DRAWS_AHEAD:
                fresh = _first_words(self._key, self._counter, draws, self._reserved)
            else:
                index = np.arange(self._next_draw, self._next_draw + draws, dtype=np.uint32)
                fresh = np.stack(philox.draw(np, self._key, self._counter, index), axis=1).reshape(-1)
            self._next_draw += draws
            self._words = np.concatenate([self._words, fresh]) if self._words.size else fresh
        taken, self._words = self._words[:count], self._words[count:]
        return taken

    def word(self) -> int:
        """The next word; not to be mixed with `take`."""
        return next(self._scalars)

    def _iterate(self) -> Iterator[int]:
        while True:
            yield from self.take(_SCALAR_BLOCK).tolist()

    def below(self, limit: int) -> int:
        """An integer in [0, limit), each equally likely, by masking or rejection."""
        if limit & (limit - 1) == 0:
            return self.word() & (limit - 1)
        rejected = (2**32 - 1) % limit + 1
        word = self.word()
        while word < rejected:
            word = self.word()
        return word % limit


class Sampler(Protocol):
    """A distribution over the integers in [0, support)."""

    support: int

    def sample(self, stream: WordStream, count: int) -> np.ndarray:
        """The next `count` values, int64."""

    def probability(self, xp: ModuleType, values: Array) -> Array:
        """The probability of each value, float32."""


class TracedSampler(Sampler, Protocol):
    """A sampler whose values can be traced."""

    def values(self, words: Array) -> tuple[Array, Array, Array | int]:
        """The values, int64, of `words`, two for each; which of them count; and how many words these and the rejected ones take."""


def sample_candidates(
    sampler: Sampler, stream: WordStream, true_classes: np.ndarray, num_sampled: int, unique: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Candidates with their expected counts.

    Args:
      sampler: the distribution.
      stream: random words.
      true_classes: int64, any shape.
      num_sampled: number of candidates.
      unique: whether a value is drawn at most once.

    Returns:
      Candidates int64 [num_sampled]; expected counts of the true classes, float32 of their shape; expected counts of
      the candidates, float32 [num_sampled].

    Raises:
      InvalidArgumentError: more unique candidates are wanted than there are values.
    """
    if not unique:
        tries, sampled = num_sampled, sampler.sample(stream, num_sampled)
    else:
        require_range(sampler, num_sampled)
        tries, sampled = _sample_unique(sampler, stream, num_sampled)

    def expected_count(values: np.ndarray) -> np.ndarray:
        p = sampler.probability(np, values)
        if tries == num_sampled:
            return p * np.float32(num_sampled)
        with np.errstate(divide="ignore"):
            return _chance_of_any(np, p, np.float32(tries))

    return sampled, expected_count(true_classes), expected_count(sampled)


def require_range(sampler: Sampler, num_sampled: int) -> None:
    """Raises InvalidArgumentError where there are fewer than `num_sampled` values that differ."""
    if num_sampled > sampler.support:
        raise errors.InvalidArgumentError(None, None, "Sampler's range is too small.")


def _chance_of_any(xp: ModuleType, p: Array, tries: Array) -> Array:
    """The probability, float32, that a value of probability `p` is among `tries` values."""
    exponent = tries * xp.log1p(-p.astype(np.float64)).astype(np.float32)
    return -xp.expm1(exponent.astype(np.float64)).astype(np.float32)


@drawing("sampler", "num_sampled", "unique")
def candidates(
    xp: ModuleType, key: Array, counter: Array, true_classes: Array, sampler: TracedSampler, num_sampled: int, unique: bool
) -> tuple[Array, Array, Array]:
    """`sample_candidates`, which can be traced."""
    if xp is np:
        stream = WordStream(key, counter, reserve_candidates(num_sampled))
        return sample_candidates(sampler, stream, true_classes, num_sampled, unique)
    if unique:
        require_range(sampler, num_sampled)
    tries, sampled = _traced_sample(sampler, key, counter, num_sampled, unique)

    p = sampler.probability(xp, xp.concatenate([true_classes.reshape(-1), sampled]))
    expected = p * np.float32(num_sampled)
    if unique:
        expected = xp.where(tries == num_sampled, expected, _chance_of_any(xp, p, tries.astype(np.float32)))
    return sampled, expected[: true_classes.size].reshape(true_classes.shape), expected[true_classes.size :]


def _traced_sample(sampler: TracedSampler, key: Array, counter: Array, count: int, unique: bool) -> tuple[Array, Array]:
    """How many values were tried until `count` were found, different ones where they are to be `unique`, and these in order.

    Values come in blocks that nearly always suffice. Those of a block that are the first of their kind among all since the beginning go to
    the places that are free.
    """
    width = 2 * -(-3 * count // 4) if unique else count + count % 2

    def block(carry: tuple[Array, ...]) -> tuple[Array, ...]:
        draws, offset, tries, filled, found = carry
        words = full_int(jnp, key, philox.moved(counter, draws), 2 * width + 4, np.uint32)
        values, is_accepted, used = sampler.values(lax.dynamic_slice(words, (offset,), (2 * width,)))
        is_new = is_accepted & _is_first(found, jnp.where(is_accepted, values, -1)) if unique else is_accepted
        rank = filled + jnp.cumsum(is_new, dtype=np.int32)
        is_wanted = is_new & (rank <= count)
        found = found.at[jnp.where(is_wanted, rank - 1, count)].set(values, mode="drop")
        number = jnp.arange(1, width + 1, dtype=np.int32)
        last = jnp.where(rank[-1] >= count, jnp.max(jnp.where(is_wanted, number, 0)), width)
        tries = tries + jnp.sum(is_accepted & (number <= last), dtype=np.int32)
        offset = offset + used
        return draws + (offset // 4).astype(np.uint32), offset % 4, tries, jnp.minimum(rank[-1], count), found

    start = (jnp.uint32(0), jnp.int32(0), jnp.int32(0), jnp.int32(0), jnp.full(count, -1, np.int64))
    _, _, tries, _, found = lax.while_loop(lambda carry: carry[3] < count, block, start)
    return tries, found


def _is_first(found: Array, values: Array) -> Array:
    """Which `values` neither stand in `found`, where -1 is no value, nor earlier in `values`."""
    together = jnp.concatenate([found, values])
    ordered, place = lax.sort((together, jnp.arange(together.size, dtype=np.int32)), num_keys=1, is_stable=True)
    begins = jnp.concatenate([jnp.ones(1, np.bool_), ordered[1:] != ordered[:-1]])
    return jnp.zeros(together.size, np.bool_).at[place].set(begins, unique_indices=True)[found.size :]


def _sample_unique(sampler: Sampler, stream: WordStream, count: int) -> tuple[int, np.ndarray]:
    """How many values were tried until `count` different ones were found, and these in order."""
    tries, found, block = 0, np.empty(0, np.int64), count + count // 2
    while True:
        values, firsts = np.unique(sampler.sample(stream, block), return_index=True)
        if found.size:
            is_new = ~np.isin(values, found)
            values, firsts = values[is_new], firsts[is_new]
        order = np.argsort(firsts)[: count - found.size]
        found = np.concatenate([found, values[order]])
        if found.size == count:
            return tries + int(firsts[order[-1]]) + 1, found
        tries, block = tries + block, min(2 * block, _LARGEST_BLOCK)


class UniformSampler:
    """Every value of [0, range_max) alike."""

    def __init__(self, range_max: int):
        self.support = range_max

    def sample(self, stream: WordStream, count: int) -> np.ndarray:
        accepted = self._accepted(stream, count)
        while accepted.size < count:
            accepted = np.concatenate([accepted, self._accepted(stream, count - accepted.size)])
        return accepted

    def _accepted(self, stream: WordStream, count: int) -> np.ndarray:
        values, is_accepted = self._of_words(stream.take(2 * count))
        return values[is_accepted]

    def values(self, words: Array) -> tuple[Array, Array, int]:
        return *self._of_words(words), words.size

    def _of_words(self, words: Array) -> tuple[Array, Array]:
        """Values of 64-bit numbers; without the least ones, which would make some value likelier than another."""
        wide = words.astype(np.uint64)
        numbers, rejected = wide[0::2] | wide[1::2] << np.uint64(32), 2**64 % self.support
        return (numbers % np.uint64(self.support)).astype(np.int64), numbers >= np.uint64(rejected)

    def probability(self, xp: ModuleType, values: Array) -> Array:
        return xp.full(values.shape, 1.0 / self.support, np.float32)


class LogUniformSampler:
    """P(value) = (log(value + 2) - log(value + 1)) / log(range_max + 1)."""

    def __init__(self, range_max: int):
        self.support = range_max
        self._log_range = math.log1p(range_max)

    def sample(self, stream: WordStream, count: int) -> np.ndarray:
        return self._of_words(np, stream.take(2 * count))

    def values(self, words: Array) -> tuple[Array, Array, int]:
        return self._of_words(jnp, words), jnp.ones(words.size // 2, np.bool_), words.size

    def _of_words(self, xp: ModuleType, words: Array) -> Array:
        numbers = double_from_words(xp, words[0::2], words[1::2])
        return (xp.exp(numbers * self._log_range).astype(np.int64) - 1) % self.support

    def probability(self, xp: ModuleType, values: Array) -> Array:
        return (xp.log((values + 2.0) / (values + 1.0)) / self._log_range).astype(np.float32)


class FixedUnigramSampler:
    """Given weights, drawn by the alias method (A. J. Walker, 1977; M. D. Vose, 1991).

    Args:
      unigrams: one weight for each class after the reserved ones.
      distortion: the power to which every weight is raised.
      num_reserved_ids: classes of weight 0 before the first.
      num_shards, shard: only classes whose number is `shard` modulo `num_shards` are kept.
    """

    def __init__(
        self, unigrams: np.ndarray, distortion: float, num_reserved_ids: int = 0, num_shards: int = 1, shard: int = 0
    ):
        reserved = len(range(shard, num_reserved_ids, num_shards))
        kept = np.arange(reserved, reserved + len(unigrams)) % num_shards == shard
        powers = np.asarray(unigrams, np.float32)[kept].astype(np.float64) ** np.float64(np.float32(distortion))
        weights = np.concatenate([np.zeros(reserved, np.float32), powers.astype(np.float32)])
        self._probabilities = weights / np.cumsum(weights)[-1]
        self.classes = weights.size
        self._threshold, self._alias = _alias_table(weights)
        self._rejected = 0 if self.classes & (self.classes - 1) == 0 else (2**32 - 1) % self.classes + 1
        own = np.flatnonzero(self._threshold > 0)
        others = self._alias[self._threshold <= 1 - _UNIFORM_STEP]
        self.support = np.union1d(own, others).size

    def sample(self, stream: WordStream, count: int) -> np.ndarray:
        words = stream.take(2 * count)
        while (low := np.flatnonzero(words[1::2] < self._rejected)).size:
            words = np.concatenate([np.delete(words, 2 * low[0] + 1), stream.take(1)])
        return self._of_words(np, words[0::2], words[1::2])

    def values(self, words: Array) -> tuple[Array, Array, Array]:
        """The values of words of which a value takes one, and then the next that is not rejected.

        The words after one that is rejected choose a bucket and a number in turn, beginning with a bucket whether that one was to be a bucket
        or a number.
        """
        size, number = words.size, jnp.arange(words.size, dtype=np.int32)
        is_low = words < np.uint32(self._rejected)
        last_low = jnp.concatenate([jnp.full(1, _BEFORE_ALL, np.int32), lax.cummax(jnp.where(is_low, number, _BEFORE_ALL))])
        is_bucket = (number - last_low[:-1]) % 2 == 1
        last_uniform = lax.cummax(jnp.where(is_bucket, -1, number))
        is_value = is_bucket & ~is_low
        place = jnp.where(is_value, jnp.cumsum(is_value, dtype=np.int32) - 1, size)
        bucket = jnp.zeros(size // 2, np.int32).at[place].set(number, mode="drop")
        used = jnp.where((size - last_low[-1]) % 2 == 1, last_uniform[-1], size)
        values = self._of_words(jnp, words[last_uniform[bucket]], words[bucket])
        return values, number[: size // 2] < jnp.sum(is_value, dtype=np.int32), used

    def _of_words(self, xp: ModuleType, uniform: Array, bucket: Array) -> Array:
        chosen = (bucket % np.uint32(self.classes)).astype(np.int64)
        is_own = uniform_from_words(xp, uniform, np.float32) < xp.asarray(self._threshold)[chosen]
        return xp.where(is_own, chosen, xp.asarray(self._alias)[chosen])

    def probability(self, xp: ModuleType, values: Array) -> Array:
        inside = (values >= 0) & (values < self.classes)
        return xp.where(inside, xp.asarray(self._probabilities)[xp.where(inside, values, 0)], np.float32(0))


def _alias_table(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each bucket the probability of its own value and the value that takes the rest."""
    count = weights.size
    total = float(np.cumsum(weights.astype(np.float64))[-1])
    scaled = ((weights * np.float32(count)).astype(np.float64) / total).tolist()
    alias = list(range(count))
    low = [i for i, p in enumerate(scaled) if p < 1.0]
    high = [i for i, p in enumerate(scaled) if p >= 1.0]
    while low and high:
        poor, rich = low.pop(), high.pop()
        alias[poor] = rich
        scaled[rich] -= 1.0 - scaled[poor]
        (low if scaled[rich] < 1.0 else high).append(rich)
    for i in low + high:
        scaled[i] = 1.0
    return np.array(scaled, np.float32), np.array(alias)


class LearnedUnigramSampler:
    """Weights that start at 1 and grow with every true class seen."""

    def __init__(self, range_max: int):
        self.support = range_max
        self._weights = np.ones(range_max, np.int32)
        self._total = range_max

    def sample(self, stream: WordStream, count: int) -> np.ndarray:
        positions = [stream.below(self._total) for _ in range(count)]
        return np.searchsorted(np.cumsum(self._weights), positions, side="right")

    def probability(self, xp: ModuleType, values: Array) -> Array:
        return self._weights[values].astype(np.float32) / np.float32(self._total)

    def update(self, true_classes: np.ndarray) -> None:
        """Counts the true classes of a step."""
        counted = true_classes.reshape(-1)[: _INT32_MAX - self._total]
        np.add.at(self._weights, counted, 1)
        self._total += counted.size
