"""Normal numbers between bounds, as TensorFlow 1.15's ParameterizedTruncatedNormal with one thread; on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.ops.random import philox
from tfcompat._src.ops.random.distributions import double_from_words, normals_from_words, uniform_from_words
from tfcompat._src.ops.random.libm import logf

_BATCH = 100
_STDDEVS_FOR_NORMAL_PROPOSALS = 1.3
_MAX_TRIES = 1000


def reserve_bounded_normal(shape: tuple[int, ...], one_distribution: bool) -> int:
    """Draws set aside for outputs of `shape`; `one_distribution`: all parameters are scalars."""
    batches, samples = _batches(shape, one_distribution)
    return batches * 2 * _MAX_TRIES * (samples + 3) // 4


def _batches(shape: tuple[int, ...], one_distribution: bool) -> tuple[int, int]:
    size = int(np.prod(shape, dtype=np.int64))
    return (-(-size // _BATCH), _BATCH) if one_distribution else (shape[0], size // max(shape[0], 1))


def is_one_distribution(means: np.ndarray, stddevs: np.ndarray, minvals: np.ndarray, maxvals: np.ndarray) -> bool:
    """Whether every output has the same parameters."""
    return means.size == 1 and stddevs.size == 1 and minvals.ndim == 0 and maxvals.ndim == 0


def bounded_normal(
    key: np.ndarray,
    counter: np.ndarray,
    shape: tuple[int, ...],
    means: np.ndarray,
    stddevs: np.ndarray,
    minvals: np.ndarray,
    maxvals: np.ndarray,
) -> np.ndarray:
    """Samples of normal distributions between `minvals` and `maxvals`.

    Reference for the choice of proposal: C. Robert, "Simulation of truncated normal variables", 1995.

    Args:
      key: uint32, shape [2].
      counter: uint32, shape [4].
      shape: of the output; parameters vary along its first dimension.
      means, stddevs, minvals, maxvals: scalars, or of shape [1] or [shape[0]]; float16, float32 or float64.

    Raises:
      InvalidArgumentError: a standard deviation is not positive, bounds are empty, or both are infinite.
      InternalError: 1,000 proposals in sequence were rejected.
    """
    parameters = [np.atleast_1d(p) for p in (means, stddevs, minvals, maxvals)]
    batches, samples = _batches(shape, is_one_distribution(means, stddevs, minvals, maxvals))
    output = np.empty(int(np.prod(shape, dtype=np.int64)), means.dtype)
    draw = 0
    with np.errstate(all="ignore"):
        for batch in range(batches):
            wanted = output[batch * samples : (batch + 1) * samples]
            mean, stddev, low, high = (p[0 if p.size == 1 else batch] for p in parameters)
            if not (stddev > 0 and low < high and (np.isfinite(low) or np.isfinite(high))):
                raise errors.InvalidArgumentError(None, None, "Invalid parameters")
            if (np.isinf(low) and low < 0) or high < mean:
                low, high, stddev = high, low, -stddev
            propose, draws_per_group = _proposal((low - mean) / stddev, (high - mean) / stddev)
            values, groups = _collect(propose, draws_per_group, key, counter, draw, wanted.size)
            wanted[:] = values * stddev + mean
            draw += groups * draws_per_group
    return output.reshape(shape)


def _collect(
    propose: Callable, draws_per_group: int, key: np.ndarray, counter: np.ndarray, draw: int, wanted: int
) -> tuple[np.ndarray, int]:
    """The first `wanted` accepted proposals, and how many groups of draws they took."""
    groups = max(wanted, 16)
    while True:
        index = np.arange(draw, draw + groups * draws_per_group, dtype=np.uint32)
        words = np.stack(philox.draw(np, key, counter, index))
        values, accepted = propose([words[:, k::draws_per_group] for k in range(draws_per_group)])
        positions = np.flatnonzero(accepted)[:wanted]
        end = accepted.size if positions.size < wanted else positions[-1:]
        if np.diff(positions, prepend=-1, append=end).max(initial=0) > _MAX_TRIES:
            raise errors.InternalError(None, None, "TruncatedNormal rejection sampler failed to accept a sample.")
        if positions.size == wanted:
            per_group = values.size // groups
            return values[positions], int(positions[-1]) // per_group + 1 if wanted else 0
        groups *= 2


def _proposal(low: Any, high: Any) -> tuple[Callable, int]:
    """How proposals are made and judged between normalised bounds, and the draws that one group of them takes."""
    dtype = low.dtype.type
    root = np.sqrt(low * low + dtype(4))
    cutoff = dtype(2) * np.exp(dtype(0.5) + (low * (low - root)) / dtype(4)) / (low + root)
    near = dtype(_STDDEVS_FOR_NORMAL_PROPOSALS)
    if (low < -near and high >= 0) or (high > near and low <= 0):
        return lambda draws: _normal_proposals(draws, low, high), 1
    if high - low < cutoff:
        return lambda draws: _uniform_proposals(draws, low, high), 2
    return lambda draws: _exponential_proposals(draws, low, high), 1


def _uniforms(words: np.ndarray, dtype: type) -> np.ndarray:
    """Uniform numbers of the draws, one row for each draw."""
    if dtype == np.float64:
        return np.stack([double_from_words(np, *words[:2]), double_from_words(np, *words[2:])], axis=1)
    return uniform_from_words(np, words, dtype).T


def _normal_proposals(draws: list[np.ndarray], low: Any, high: object) -> tuple[np.ndarray, np.ndarray]:
    values = np.stack(normals_from_words(np, list(draws[0]), low.dtype), axis=1).reshape(-1)
    return values, (values >= low) & (values <= high)


def _uniform_proposals(draws: list[np.ndarray], low: Any, high: Any) -> tuple[np.ndarray, np.ndarray]:
    dtype = low.dtype.type
    proposed, judged = (_uniforms(words, dtype).reshape(-1) for words in draws)
    values = proposed * (high - low) + low
    peak = dtype(0) if low < 0 else low * low
    return values, judged <= np.exp((peak - values * values) / dtype(2))


def _exponential_proposals(draws: list[np.ndarray], low: Any, high: object) -> tuple[np.ndarray, np.ndarray]:
    dtype = low.dtype.type
    alpha = (low + np.sqrt(low * low + dtype(4))) / dtype(2)
    uniforms = _uniforms(draws[0], dtype)
    proposed, judged = uniforms[:, 0::2].reshape(-1), uniforms[:, 1::2].reshape(-1)
    log = logf(np, proposed) if dtype == np.float32 else np.log(proposed.astype(np.float64)).astype(dtype)
    values = -log / alpha + low
    distance = alpha - values if low < alpha else low - alpha
    return values, (judged <= np.exp(-distance * distance / dtype(2))) & (values < high)
