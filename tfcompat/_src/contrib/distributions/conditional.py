"""Distributions whose methods take conditions, and seeds for many samples."""

from __future__ import annotations

import hashlib
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.distributions.distribution import Distribution, parameter
from tfcompat._src.distributions.transformed_distribution import TransformedDistribution
from tfcompat._src.graph.tensor import Tensor


@export("contrib.distributions.ConditionalDistribution")
class ConditionalDistribution(Distribution):
    """A distribution whose methods pass further keyword arguments to the class's own."""

    def sample(
        self, sample_shape: object = (), seed: int | None = None, name: str = "sample", **condition_kwargs: Any
    ) -> Tensor:
        """Samples under conditions."""
        return self._call_sample_n(sample_shape, seed, name, **condition_kwargs)

    def log_prob(self, value: object, name: str = "log_prob", **condition_kwargs: Any) -> Tensor:
        """The logarithm of the density at `value` under conditions."""
        return self._call_log_prob(value, name, **condition_kwargs)

    def prob(self, value: object, name: str = "prob", **condition_kwargs: Any) -> Tensor:
        """The density at `value` under conditions."""
        return self._call_prob(value, name, **condition_kwargs)

    def log_cdf(self, value: object, name: str = "log_cdf", **condition_kwargs: Any) -> Tensor:
        """The logarithm of P(X <= value) under conditions."""
        return self._call_log_cdf(value, name, **condition_kwargs)

    def cdf(self, value: object, name: str = "cdf", **condition_kwargs: Any) -> Tensor:
        """P(X <= value) under conditions."""
        return self._call_cdf(value, name, **condition_kwargs)

    def log_survival_function(
        self, value: object, name: str = "log_survival_function", **condition_kwargs: Any
    ) -> Tensor:
        """The logarithm of P(X > value) under conditions."""
        return self._call_log_survival_function(value, name, **condition_kwargs)

    def survival_function(self, value: object, name: str = "survival_function", **condition_kwargs: Any) -> Tensor:
        """P(X > value) under conditions."""
        return self._call_survival_function(value, name, **condition_kwargs)


@export("contrib.distributions.ConditionalTransformedDistribution")
class ConditionalTransformedDistribution(ConditionalDistribution, TransformedDistribution):
    """A TransformedDistribution whose methods take `bijector_kwargs` and `distribution_kwargs`."""


@export("contrib.distributions.SeedStream")
class SeedStream:
    """Different seeds, integers below 2^512, one for each call, from a seed and a word; None from the seed None."""

    def __init__(self, seed: object, salt: str) -> None:
        self._seed = seed.original_seed if isinstance(seed, SeedStream) else seed
        self._salt, self._counter = salt, 0

    original_seed = parameter("seed", "The seed that was given.")
    salt = parameter("salt", "The word.")

    def __call__(self) -> int | None:
        self._counter += 1
        if self._seed is None:
            return None
        text = str((self._seed, self._counter, self._salt)).encode("utf-8")
        return int(hashlib.sha512(text).hexdigest(), 16)
