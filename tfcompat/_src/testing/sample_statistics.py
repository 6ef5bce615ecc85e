"""`tensorflow.python.kernel_tests.random.util`: statistics that tell whether samples come from a distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def test_moment_matching(samples: np.ndarray, number_moments: int, dist: Any, stride: int = 0) -> list[float]:
    """How many standard deviations the first moments of samples are away from those of a distribution.

    Args:
      samples: floating array of any shape.
      number_moments: how many moments.
      dist: an object of SciPy, whose `moment(k)` is the k-th moment about zero.
      stride: moment k is taken of every (1 + (k - 1) * stride)-th sample.
    """
    info, scores = np.finfo(samples.dtype), []
    for k in range(1, number_moments + 1):
        taken = samples.ravel()[:: 1 + (k - 1) * stride] ** k
        expected = dist.moment(k)
        variance = (dist.moment(2 * k) - expected**2) / len(taken) + k * info.eps
        scores.append(abs(np.mean(taken) - expected) / np.sqrt(max(variance, info.tiny)))
    return scores


test_moment_matching.__test__ = False


def chi_squared(x: Any, bins: int) -> float:
    """Pearson's statistic of samples that are to be uniform in [0, 1), counted in `bins` equal bins."""
    counts, _ = np.histogram(np.ravel(x), bins=bins, range=(0, 1))
    expected = np.size(x) / bins
    return float(np.sum((counts - expected) ** 2 / expected))


def normal_cdf(x: object) -> np.ndarray:
    """The cumulative distribution function of the standard normal distribution."""
    return 0.5 + 0.5 * np.vectorize(math.erf)(np.asarray(x) / math.sqrt(2))


def anderson_darling(x: Any) -> float:
    """The Anderson-Darling statistic of samples that are to be standard normal."""
    p = normal_cdf(np.sort(np.ravel(x)))
    n, i = len(p), np.arange(1, len(p) + 1)
    return float(-n - np.sum((2 * i - 1) * (np.log(p) + np.log(1 - p[::-1]))) / n)
