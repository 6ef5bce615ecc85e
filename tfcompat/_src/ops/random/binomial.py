"""Binomial samples, equal to those of TensorFlow 1.15 with one thread: one stream of draws, sample after sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.ops.random import philox
from tfcompat._src.ops.random.distributions import double_from_words, reserve_fill

_CHUNK = 4096
_SHARED_BATCH = 100
_INVERSION_LIMIT = 10.0
_STIRLING_TAIL = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
    0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287,
)  # fmt: skip


def samples(key: Any, counter: Any, sizes: tuple[int, ...], counts: Any, probs: Any) -> tuple[np.ndarray, int]:
    """Numbers of successes, float64 and flat, and how far the generator moves.

    Args:
      key: uint32, shape [2].
      counter: uint32, shape [4].
      sizes: shape of the result.
      counts, probs: trials and chance of success; scalars, or vectors of length 1 or `sizes[0]`.

    Raises:
      InvalidArgumentError: counts or probs of another shape.
    """
    size, rows = math.prod(sizes), sizes[0] if sizes else 1
    for name, value in (("counts", counts), ("probs", probs)):
        if value.ndim > 1:
            text = f"Input {name} should be a scalar or vector, got shape: {shape_text(value.shape)}"
            raise errors.InvalidArgumentError(None, None, text)
        if value.size not in (1, rows):
            text = f"Input {name} should have length 1 or shape[0], got shape: {shape_text(value.shape)}"
            raise errors.InvalidArgumentError(None, None, text)
    shared = counts.size == probs.size == 1
    batches, width = (-(-size // _SHARED_BATCH), _SHARED_BATCH) if shared else (rows, size // rows if rows else 0)
    draws = _pairs(key, counter)
    found = np.empty(size, np.float64)
    for b in range(batches):
        sampler = _sampler(counts.flat[b if counts.size > 1 else 0], probs.flat[b if probs.size > 1 else 0])
        for i in range(b * width, min((b + 1) * width, size)):
            found[i] = sampler(draws)
    return found, reserve_fill(batches * 2 * 100 * (width + 3) // 4)


def _pairs(key: object, counter: object) -> Iterator[tuple[float, float]]:
    """The two doubles of each draw, in the order in which they are used."""
    start = 0
    while True:
        words = philox.draw(np, key, counter, np.arange(start, start + _CHUNK, dtype=np.uint32))
        first, last = (double_from_words(np, *words[i : i + 2]).tolist() for i in (0, 2))
        yield from zip(last, first)
        start += _CHUNK


def _sampler(count: Any, prob: Any) -> Callable[[Iterator], float]:
    """The way to sample for one pair of parameters: the smaller of `prob` and `1 - prob` is drawn for."""
    trials = float(count)
    if trials <= 0 or prob <= 0:
        return lambda draws: 0.0
    if prob >= 1:
        return lambda draws: trials
    if math.isnan(prob):
        return lambda draws: math.nan
    is_common = prob > 0.5
    rare = prob.dtype.type(1) - prob if is_common else prob
    draw = _by_rejection if count * rare >= _INVERSION_LIMIT else _by_inversion
    chance = float(rare)
    if is_common:
        return lambda draws: trials - draw(trials, chance, draws)
    return lambda draws: draw(trials, chance, draws)


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf


def _by_inversion(count: float, prob: float, draws: Iterator) -> float:
    """Counts geometric waiting times until their sum exceeds `count`."""
    scale, total, found = math.log1p(-prob), 0.0, 0
    while True:
        for u in next(draws):
            waited = _log(u) / scale
            total += math.ceil(waited) if math.isfinite(waited) else waited
            if total > count:
                return float(found)
            found += 1


def _stirling_tail(k: float) -> float:
    if k <= 9:
        return _STIRLING_TAIL[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 + 1.0 / 1260 / square) / square) / (k + 1)


def _by_rejection(count: float, prob: float, draws: Iterator) -> float:
    """Transformed rejection of W. Hoermann, "The generation of binomial random variates", 1993."""
    stddev = math.sqrt(count * prob * (1 - prob))
    b = 1.15 + 2.53 * stddev
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    c = count * prob + 0.5
    v_r = 0.92 - 4.2 / b
    odds = prob / (1 - prob)
    alpha = (2.83 + 5.1 / b) * stddev
    mode = math.floor((count + 1) * prob)
    for u, v in draws:
        u -= 0.5
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + c) if us else math.copysign(math.inf, u)
        if us >= 0.07 and v <= v_r:
            return float(k)
        if k < 0 or k > count:
            continue
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (odds * (count - mode + 1)))
            + (count + 1) * math.log((count - mode + 1) / (count - k + 1))
            + (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
            + _stirling_tail(mode) + _stirling_tail(count - mode) - _stirling_tail(k) - _stirling_tail(count - k)
        )  # fmt: skip
        if _log(v * alpha / (a / (us * us) + b)) <= bound:
            return float(k)
    raise AssertionError("the stream of draws has no end")
