"""Random hyperparameters of tf.contrib.specs: what an expression of parameters may use, with all of `math`."""

from __future__ import annotations

import math
import random
from math import *  # noqa: F403

from tfcompat._src.base.export import export


@export("contrib.specs.Uf")
def Uf(lo: float = 0.0, hi: float = 1.0) -> float:
    """A uniform number between `lo` and `hi`."""
    return random.uniform(lo, hi)


@export("contrib.specs.Ui")
def Ui(lo: int, hi: int) -> int:
    """A uniform integer from `lo` to `hi`, both of them possible."""
    return random.randint(lo, hi)


@export("contrib.specs.Lf")
def Lf(lo: float, hi: float) -> float:
    """A number between `lo` and `hi` whose logarithm is uniform."""
    return math.exp(random.uniform(math.log(lo), math.log(hi)))


@export("contrib.specs.Li")
def Li(lo: int, hi: int) -> int:
    """An integer from `lo` to `hi` whose logarithm is uniform."""
    return math.floor(Lf(lo, hi + 1 - 1e-5))


@export("contrib.specs.Nt")
def Nt(mu: float, sigma: float, limit: float = 3.0) -> float:
    """A normal number, cut off `limit` standard deviations from its mean."""
    low, high = mu - limit * sigma, mu + limit * sigma
    return min(max(random.gauss(mu, sigma), low), high)
