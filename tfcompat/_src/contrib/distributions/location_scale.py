"""Distributions of numbers with a location and a scale: Cauchy, Gumbel, logistic; the half-normal distribution."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.distributions import special_math
from tfcompat._src.distributions.distribution import FULLY_REPARAMETERIZED, ScalarDistribution, parameter
from tfcompat._src.distributions.location_scale import LocationScale
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import fill, ones_like, zeros
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.composed.check_ops import assert_positive
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.special import erf
from tfcompat._src.ops.math.unary import absolute, atan, exp, log, log1p, sigmoid, square, tan
from tfcompat._src.ops.nn.activation import relu, softplus
from tfcompat._src.ops.random.stateful import random_normal, random_uniform

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _uniform(distribution: LocationScale, n: object, seed: int | None) -> Tensor:
    """Uniform numbers in (0, 1) for `n` samples."""
    tiny = np.finfo(distribution.dtype.as_numpy_dtype).tiny
    sizes = distribution._sample_shape(n)
    return random_uniform(sizes, minval=tiny, maxval=1.0, dtype=distribution.dtype, seed=seed)


@export("contrib.distributions.Cauchy")
class Cauchy(LocationScale):
    """1 / (pi scale (1 + z^2)) with z = (x - loc) / scale; it has neither mean nor variance."""

    def __init__(
        self, loc: object, scale: object, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Cauchy"
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n: object, seed: int | None = None) -> Tensor:
        sizes = self._sample_shape(n)
        return self._quantile(random_uniform(sizes, minval=0.0, maxval=1.0, dtype=self.dtype, seed=seed))

    def _cdf(self, x: Tensor) -> Tensor:
        return atan(self._z(x)) / np.pi + 0.5

    def _log_cdf(self, x: Tensor) -> Tensor:
        return log1p(2 / np.pi * atan(self._z(x))) - np.log(2)

    def _log_unnormalized_prob(self, x: Tensor) -> Tensor:
        return -log1p(square(self._z(x)))

    def _log_normalization(self) -> Tensor:
        return np.log(np.pi) + log(self.scale)

    def _entropy(self) -> Tensor:
        return (np.log(4 * np.pi) + log(self.scale)) * ones_like(self.loc)

    def _quantile(self, p: Tensor) -> Tensor:
        return self.loc + self.scale * tan(np.pi * (p - 0.5))

    def _undefined(self, what: str) -> Tensor:
        if not self.allow_nan_stats:
            raise ValueError(f"`{what}` is undefined for Cauchy distribution.")
        return fill(self.batch_shape_tensor(), self.dtype.as_numpy_dtype(np.nan))

    def _mean(self) -> Tensor:
        return self._undefined("mean")

    def _stddev(self) -> Tensor:
        return self._undefined("stddev")


class Gumbel(LocationScale):
    """exp(-z - exp(-z)) / scale with z = (x - loc) / scale."""

    def __init__(
        self, loc: object, scale: object, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Gumbel"
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n: object, seed: int | None = None) -> Tensor:
        return -log(-log(_uniform(self, n, seed))) * self.scale + self.loc

    def _log_cdf(self, x: Tensor) -> Tensor:
        return -exp(-self._z(x))

    def _cdf(self, x: Tensor) -> Tensor:
        return exp(-exp(-self._z(x)))

    def _log_unnormalized_prob(self, x: Tensor) -> Tensor:
        z = self._z(x)
        return -z - exp(-z)

    def _entropy(self) -> Tensor:
        return 1 + log(self.scale * ones_like(self.loc)) + np.euler_gamma

    def _mean(self) -> Tensor:
        return self.loc + self.scale * np.euler_gamma

    def _stddev(self) -> Tensor:
        return self.scale * ones_like(self.loc) * math.pi / math.sqrt(6)


@export("contrib.distributions.Logistic")
class Logistic(LocationScale):
    """exp(-z) / (scale (1 + exp(-z))^2) with z = (x - loc) / scale."""

    def __init__(
        self, loc: object, scale: object, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Logistic"
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n: object, seed: int | None = None) -> Tensor:
        uniform = _uniform(self, n, seed)
        return (log(uniform) - log1p(-1.0 * uniform)) * self.scale + self.loc

    def _log_cdf(self, x: Tensor) -> Tensor:
        return -softplus(-self._z(x))

    def _cdf(self, x: Tensor) -> Tensor:
        return sigmoid(self._z(x))

    def _log_survival_function(self, x: Tensor) -> Tensor:
        return -softplus(self._z(x))

    def _survival_function(self, x: Tensor) -> Tensor:
        return sigmoid(-self._z(x))

    def _log_unnormalized_prob(self, x: Tensor) -> Tensor:
        z = self._z(x)
        return -z - 2.0 * softplus(-z)

    def _entropy(self) -> Tensor:
        return 2 + log(self.scale * ones_like(self.loc))

    def _mean(self) -> Tensor:
        return self.loc * ones_like(self.scale)

    def _stddev(self) -> Tensor:
        return self.scale * ones_like(self.loc) * math.pi / math.sqrt(3)


@export("contrib.distributions.HalfNormal")
class HalfNormal(ScalarDistribution):
    """The distribution of scale |Z| with standard normal Z; `scale` is positive."""

    _PARAMETERS = ("scale",)

    def __init__(
        self, scale: TensorLike, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "HalfNormal"
    ) -> None:
        with name_scope(name, values=[scale]) as name:
            with control_dependencies([assert_positive(scale)] if validate_args else []):
                self._scale = identity(scale, name="scale")
        super().__init__(
            dtype=self._scale.dtype, reparameterization_type=FULLY_REPARAMETERIZED, validate_args=validate_args,
            allow_nan_stats=allow_nan_stats, graph_parents=[self._scale], name=name,
        )  # fmt: skip

    scale = parameter("scale", "The scale.")

    def _batch_shape_tensor(self) -> Tensor:
        return shape(self.scale)

    def _batch_shape(self) -> TensorShape:
        return self.scale.shape

    def _sample_n(self, n: object, seed: int | None = None) -> Tensor:
        standard = random_normal(self._sample_shape(n), mean=0.0, stddev=1.0, dtype=self.dtype, seed=seed)
        return absolute(standard * self.scale)

    def _prob(self, x: Tensor) -> Tensor:
        factor = np.sqrt(2) / self.scale / np.sqrt(np.pi)
        density = factor * exp(-0.5 * (x / self.scale) ** 2)
        return density * cast(x >= 0, self.dtype)

    def _cdf(self, x: Tensor) -> Tensor:
        return erf(relu(x) / self.scale / np.sqrt(2.0))

    def _entropy(self) -> Tensor:
        return 0.5 * log(np.pi * self.scale**2.0 / 2.0) + 0.5

    def _mean(self) -> Tensor:
        return self.scale * np.sqrt(2.0) / np.sqrt(np.pi)

    def _quantile(self, p: Tensor) -> Tensor:
        return np.sqrt(2.0) * self.scale * special_math.erfinv(p)

    def _mode(self) -> Tensor:
        return zeros(self.batch_shape_tensor(), self.dtype)

    def _variance(self) -> Tensor:
        return self.scale**2.0 * (1.0 - 2.0 / np.pi)
