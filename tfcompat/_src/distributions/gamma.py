"""The gamma and exponential distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    ReparameterizationType,
    ScalarDistribution,
    parameter,
)
from tfcompat._src.distributions.kullback_leibler import RegisterKL
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import fill, ones
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.search import where_v2
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.composed.check_ops import assert_less, assert_positive, assert_same_float_dtype
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.math.binary import xlogy
from tfcompat._src.ops.math.special import digamma, igamma, lgamma
from tfcompat._src.ops.math.unary import log, sqrt, square
from tfcompat._src.ops.nn.activation import softplus
from tfcompat._src.ops.random.stateful import random_gamma, random_uniform

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def where_above_one(value: Tensor, concentration: Tensor, distribution: Any) -> Tensor:
    """`value` where the concentration is above 1; elsewhere NaN, or a failing check where NaN is not allowed."""
    if distribution.allow_nan_stats:
        nan = np.array(np.nan, dtype=distribution.dtype.as_numpy_dtype())
        nan = fill(distribution.batch_shape_tensor(), nan, name="nan")
        return where_v2(concentration > 1.0, value, nan)
    message = "mode not defined when any concentration <= 1"
    check = assert_less(ones([], distribution.dtype), concentration, message=message)
    return with_dependencies([check], value)


class ConcentrationRate(ScalarDistribution):
    """A distribution of positive numbers with a concentration and a rate.

    Args:
      concentration, rate: float Tensors, positive.
      reparameterization_type: see `Distribution`.
      validate_args, allow_nan_stats, name: see `Distribution`.

    Raises:
      TypeError: the parameters differ in dtype.
    """

    _PARAMETERS = ("concentration", "rate")

    def __init__(
        self, concentration: Any, rate: Any, reparameterization_type: ReparameterizationType, validate_args: bool,
        allow_nan_stats: bool, name: str,
    ) -> None:  # fmt: skip
        with name_scope(name, values=[concentration, rate]) as name:
            checks = [assert_positive(concentration), assert_positive(rate)] if validate_args else []
            with control_dependencies(checks):
                self._concentration = identity(concentration, name="concentration")
                self._rate = identity(rate, name="rate")
                assert_same_float_dtype([self._concentration, self._rate])
        super().__init__(
            dtype=self._concentration.dtype, reparameterization_type=reparameterization_type,
            validate_args=validate_args, allow_nan_stats=allow_nan_stats,
            graph_parents=[self._concentration, self._rate], name=name,
        )  # fmt: skip

    concentration = parameter("concentration", "The shape.")
    rate = parameter("rate", "The inverse scale of the gamma distribution.")

    def _log_prob(self, x: Tensor) -> Tensor:
        return self._log_unnormalized_prob(x) - self._log_normalization()

    def _log_normalization(self) -> Tensor:
        return lgamma(self.concentration) - self.concentration * log(self.rate)

    def _maybe_assert_valid_sample(self, x: Tensor) -> Tensor:
        assert_same_float_dtype(tensors=[x], dtype=self.dtype)
        return with_dependencies([assert_positive(x)], x) if self.validate_args else x


@export("distributions.Gamma", "contrib.distributions.Gamma")
class Gamma(ConcentrationRate):
    """x^(concentration - 1) exp(-x rate) rate^concentration / gamma(concentration).

    Args:
      concentration: float Tensor, positive.
      rate: float Tensor, positive: the inverse scale.
      validate_args, allow_nan_stats, name: see `Distribution`.

    Raises:
      TypeError: the parameters differ in dtype.
    """

    def __init__(
        self, concentration: Any, rate: Any, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "Gamma",
    ) -> None:  # fmt: skip
        super().__init__(concentration, rate, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, name)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return random_gamma(shape=[n], alpha=self.concentration, beta=self.rate, dtype=self.dtype, seed=seed)

    def _log_unnormalized_prob(self, x: Tensor) -> Tensor:
        x = self._maybe_assert_valid_sample(x)
        return xlogy(self.concentration - 1.0, x) - self.rate * x

    def _cdf(self, x: Tensor) -> Tensor:
        x = self._maybe_assert_valid_sample(x)
        return igamma(self.concentration, self.rate * x)

    def _entropy(self) -> Tensor:
        concentration = self.concentration
        of_logs = concentration - log(self.rate) + lgamma(concentration)
        return of_logs + (1.0 - concentration) * digamma(concentration)

    def _mean(self) -> Tensor:
        return self.concentration / self.rate

    def _variance(self) -> Tensor:
        return self.concentration / square(self.rate)

    def _stddev(self) -> Tensor:
        return sqrt(self.concentration) / self.rate

    def _mode(self) -> Tensor:
        return where_above_one((self.concentration - 1.0) / self.rate, self.concentration, self)


@export("contrib.distributions.GammaWithSoftplusConcentrationRate")
class GammaWithSoftplusConcentrationRate(Gamma):
    """`Gamma` with softplus of both parameters."""

    def __init__(
        self, concentration: object, rate: object, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "GammaWithSoftplusConcentrationRate",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[concentration, rate]) as name:
            super().__init__(
                softplus(concentration, name="softplus_concentration"), softplus(rate, name="softplus_rate"),
                validate_args, allow_nan_stats, name,
            )  # fmt: skip


@RegisterKL(Gamma, Gamma)
def _kl_gamma_gamma(a: Gamma, b: Gamma, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_gamma_gamma", values=[a.concentration, a.rate, b.concentration, b.rate]):
        shapes = (a.concentration - b.concentration) * digamma(a.concentration)
        shapes = shapes + lgamma(b.concentration) - lgamma(a.concentration)
        rates = shapes + b.concentration * log(a.rate) - b.concentration * log(b.rate)
        return rates + a.concentration * (b.rate / a.rate - 1.0)


@export("distributions.Exponential", "contrib.distributions.Exponential")
class Exponential(Gamma):
    """rate exp(-rate x) for x > 0.

    Args:
      rate: float Tensor, positive: the inverse of the mean.
      validate_args, allow_nan_stats, name: see `Distribution`.
    """

    def __init__(
        self, rate: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Exponential"
    ) -> None:
        with name_scope(name, values=[rate]) as name:
            self._rate = convert_to_tensor(rate, name="rate")
        super().__init__(ones([], dtype=self._rate.dtype), self._rate, validate_args, allow_nan_stats, name)
        self._graph_parents += [self._rate]

    @classmethod
    def _param_shapes(cls, sample_shape: TensorLike) -> dict[str, Tensor]:
        return {"rate": convert_to_tensor(sample_shape, dtype=dtypes.int32)}

    def _log_survival_function(self, value: Tensor) -> Tensor:
        return self._log_prob(value) - log(self._rate)

    def _sample_n(self, n: object, seed: int | None = None) -> Tensor:
        sizes = concat([[n], shape(self._rate)], 0)
        least = np.finfo(self.dtype.as_numpy_dtype).tiny
        uniform = random_uniform(sizes, minval=least, maxval=1.0, seed=seed, dtype=self.dtype)
        return -log(uniform) / self._rate


@export("contrib.distributions.ExponentialWithSoftplusRate")
class ExponentialWithSoftplusRate(Exponential):
    """`Exponential` with the rate softplus(rate)."""

    def __init__(
        self, rate: object, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "ExponentialWithSoftplusRate",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[rate]) as name:
            super().__init__(softplus(rate, name="softplus_rate"), validate_args, allow_nan_stats, name)
