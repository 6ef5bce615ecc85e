"""The normal distribution."""

from __future__ import annotations

import math
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.distributions import special_math
from tfcompat._src.distributions.kullback_leibler import RegisterKL
from tfcompat._src.distributions.location_scale import LocationScale
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.fill import ones_like
from tfcompat._src.ops.math.binary import squared_difference
from tfcompat._src.ops.math.unary import log, square
from tfcompat._src.ops.nn.activation import softplus
from tfcompat._src.ops.random.stateful import random_normal


@export("distributions.Normal", "contrib.distributions.Normal")
class Normal(LocationScale):
    """exp(-((x - loc) / scale)^2 / 2) / (sqrt(2 pi) scale).

    Args:
      loc: float Tensor: the mean.
      scale: float Tensor: the standard deviation, positive.
      validate_args, allow_nan_stats, name: see `Distribution`.

    Raises:
      TypeError: the parameters differ in dtype.
    """

    def __init__(
        self, loc: Any, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Normal"
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n: object, seed: int | None = None) -> Tensor:
        standard = random_normal(self._sample_shape(n), mean=0.0, stddev=1.0, dtype=self.loc.dtype, seed=seed)
        return standard * self.scale + self.loc

    def _log_unnormalized_prob(self, x: Tensor) -> Tensor:
        return -0.5 * square(self._z(x))

    def _log_normalization(self) -> Tensor:
        return 0.5 * math.log(2.0 * math.pi) + log(self.scale)

    def _log_cdf(self, x: Tensor) -> Tensor:
        return special_math.log_ndtr(self._z(x))

    def _cdf(self, x: Tensor) -> Tensor:
        return special_math.ndtr(self._z(x))

    def _log_survival_function(self, x: Tensor) -> Tensor:
        return special_math.log_ndtr(-self._z(x))

    def _survival_function(self, x: Tensor) -> Tensor:
        return special_math.ndtr(-self._z(x))

    def _quantile(self, p: Tensor) -> Tensor:
        return self._inv_z(special_math.ndtri(p))

    def _entropy(self) -> Tensor:
        scale = self.scale * ones_like(self.loc)
        return 0.5 * math.log(2.0 * math.pi * math.e) + log(scale)

    def _mean(self) -> Tensor:
        return self.loc * ones_like(self.scale)

    def _stddev(self) -> Tensor:
        return self.scale * ones_like(self.loc)

    def _inv_z(self, z: Tensor) -> Tensor:
        with name_scope("reconstruct", values=[z]):
            return z * self.scale + self.loc


@export("contrib.distributions.NormalWithSoftplusScale")
class NormalWithSoftplusScale(Normal):
    """`Normal` with the scale softplus(scale)."""

    def __init__(
        self, loc: object, scale: object, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "NormalWithSoftplusScale",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[scale]) as name:
            super().__init__(loc, softplus(scale, name="softplus_scale"), validate_args, allow_nan_stats, name)


@RegisterKL(Normal, Normal)
def _kl_normal_normal(a: Normal, b: Normal, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_normal_normal", [a.loc, b.loc]):
        one, two, half = (constant(number, dtype=a.dtype) for number in (1, 2, 0.5))
        variance_a, variance_b = square(a.scale), square(b.scale)
        ratio = variance_a / variance_b
        shift = squared_difference(a.loc, b.loc) / (two * variance_b)
        return shift + half * (ratio - one - log(ratio))
