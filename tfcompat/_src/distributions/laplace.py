"""The Laplace distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.distributions import special_math
from tfcompat._src.distributions.location_scale import LocationScale
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.fill import zeros_like
from tfcompat._src.ops.math.unary import absolute, exp, log, log1p, sign
from tfcompat._src.ops.nn.activation import softplus
from tfcompat._src.ops.random.stateful import random_uniform


@export("distributions.Laplace", "contrib.distributions.Laplace")
class Laplace(LocationScale):
    """exp(-|x - loc| / scale) / (2 scale).

    Args:
      loc: float Tensor: the mean.
      scale: float Tensor, positive.
      validate_args, allow_nan_stats, name: see `Distribution`.

    Raises:
      TypeError: the parameters differ in dtype.
    """

    def __init__(
        self, loc: Any, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Laplace"
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n: object, seed: int | None = None) -> Tensor:
        dtype = self.dtype.as_numpy_dtype
        above_minus_one = np.nextafter(dtype(-1.0), dtype(0.0))
        uniform = random_uniform(self._sample_shape(n), minval=above_minus_one, maxval=1.0, dtype=self.dtype, seed=seed)
        return self.loc - self.scale * sign(uniform) * log1p(-absolute(uniform))

    def _log_unnormalized_prob(self, x: Tensor) -> Tensor:
        return -absolute(self._z(x))

    def _log_normalization(self) -> Tensor:
        return math.log(2.0) + log(self.scale)

    def _prob(self, x: Tensor) -> Tensor:
        return exp(self._log_prob(x))

    def _log_cdf(self, x: Tensor) -> Tensor:
        return special_math.log_cdf_laplace(self._z(x))

    def _log_survival_function(self, x: Tensor) -> Tensor:
        return special_math.log_cdf_laplace(-self._z(x))

    def _cdf(self, x: Tensor) -> Tensor:
        z = self._z(x)
        return 0.5 + 0.5 * sign(z) * (1.0 - exp(-absolute(z)))

    def _entropy(self) -> Tensor:
        scale = self.scale + zeros_like(self.loc)
        return math.log(2.0) + 1.0 + log(scale)

    def _mean(self) -> Tensor:
        return self.loc + zeros_like(self.scale)

    def _stddev(self) -> Tensor:
        return math.sqrt(2.0) * self.scale + zeros_like(self.loc)

    def _median(self) -> Tensor:
        return self._mean()

    def _mode(self) -> Tensor:
        return self._mean()

    def _z(self, x: Tensor) -> Tensor:
        return (x - self.loc) / self.scale


@export("contrib.distributions.LaplaceWithSoftplusScale")
class LaplaceWithSoftplusScale(Laplace):
    """`Laplace` with the scale softplus(scale)."""

    def __init__(
        self, loc: object, scale: object, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "LaplaceWithSoftplusScale",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[loc, scale]) as name:
            super().__init__(loc, softplus(scale, name="softplus_scale"), validate_args, allow_nan_stats, name)
