"""The posterior of the mean of a normal distribution with a normal prior and known scale."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.distributions.normal import Normal
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.unary import sqrt


def _posterior(prior: Any, scale: Any, s: Any, n: object) -> tuple[Any, Any]:
    """The mean of the posterior and its variance."""
    if not isinstance(prior, Normal):
        raise TypeError("Expected prior to be an instance of type Normal")
    if s.dtype != prior.dtype:
        raise TypeError(f"Observation sum s.dtype does not match prior dtype: {s.dtype} vs. {prior.dtype}")
    n = cast(n, prior.dtype)
    prior_variance, variance = prior.scale**2, scale**2
    posterior_variance = 1 / (1 / prior_variance + n / variance)
    return (prior.loc / prior_variance + s / variance) * posterior_variance, posterior_variance


@export("contrib.distributions.normal_conjugates_known_scale_posterior")
def normal_conjugates_known_scale_posterior(prior: object, scale: object, s: object, n: object) -> Normal:
    """The Normal posterior of the mean after `n` observations with the sum `s`.

    Args:
      prior: Normal.
      scale: known standard deviation of an observation.
      s: Tensor, the sum of the observations.
      n: their number.

    Raises:
      TypeError: `prior` is no Normal, or `s` has another dtype.
    """
    mean, variance = _posterior(prior, scale, s, n)
    return Normal(loc=mean, scale=sqrt(variance))


@export("contrib.distributions.normal_conjugates_known_scale_predictive")
def normal_conjugates_known_scale_predictive(prior: Any, scale: Any, s: Any, n: Any) -> Normal:
    """The Normal distribution of the next observation; arguments are those of the posterior."""
    mean, variance = _posterior(prior, scale, s, n)
    return Normal(loc=mean, scale=sqrt(variance + scale**2))
