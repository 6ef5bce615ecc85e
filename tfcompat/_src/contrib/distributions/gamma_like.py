"""Relatives of the gamma and beta distributions: chi-squared, inverse gamma, Kumaraswamy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.distributions.bijectors import elementwise as bijectors
from tfcompat._src.contrib.distributions.distribution_util import get_broadcast_shape
from tfcompat._src.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    parameter,
)  # fmt: skip
from tfcompat._src.distributions.gamma import ConcentrationRate, Gamma
from tfcompat._src.distributions.transformed_distribution import TransformedDistribution
from tfcompat._src.distributions.uniform import Uniform
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import fill, ones, ones_like, zeros
from tfcompat._src.ops.array.join import stack
from tfcompat._src.ops.array.search import where_v2
from tfcompat._src.ops.composed.check_ops import assert_less, assert_positive
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.math.binary import squared_difference
from tfcompat._src.ops.math.special import digamma, igammac, lbeta, lgamma
from tfcompat._src.ops.math.unary import absolute, exp, floor, log, square
from tfcompat._src.ops.nn.activation import softplus
from tfcompat._src.ops.random.stateful import random_gamma

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("contrib.distributions.Chi2")
class Chi2(Gamma):
    """The sum of the squares of `df` standard normal numbers: Gamma(df / 2, 1 / 2); `df` is positive."""

    def __init__(
        self, df: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Chi2"
    ) -> None:
        with name_scope(name, values=[df]) as name:
            with control_dependencies([assert_positive(df)] if validate_args else []):
                self._df = identity(df, name="df")
            half = 0.5 * self._df
            super().__init__(half, constant(0.5, dtype=self._df.dtype), validate_args, allow_nan_stats, name)

    df = parameter("df", "The degrees of freedom.")

    @classmethod
    def _param_shapes(cls, sample_shape: TensorLike) -> dict[str, Tensor]:
        return {"df": convert_to_tensor(sample_shape, dtype=dtypes.int32)}


@export("contrib.distributions.Chi2WithAbsDf")
class Chi2WithAbsDf(Chi2):
    """`Chi2` with floor(|df|) degrees of freedom."""

    def __init__(
        self, df: object, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Chi2WithAbsDf"
    ) -> None:
        with name_scope(name, values=[df]) as name:
            degrees = floor(absolute(df, name="abs_df"), name="floor_abs_df")
            super().__init__(degrees, validate_args, allow_nan_stats, name)


@export("contrib.distributions.InverseGamma")
class InverseGamma(ConcentrationRate):
    """The distribution of 1 / X with X of Gamma(concentration, rate); both are positive."""

    def __init__(
        self, concentration: Any, rate: Any, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "InverseGamma",
    ) -> None:  # fmt: skip
        super().__init__(concentration, rate, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, name)

    def _sample_n(self, n: object, seed: int | None = None) -> Tensor:
        return 1.0 / random_gamma(shape=[n], alpha=self.concentration, beta=self.rate, dtype=self.dtype, seed=seed)

    def _log_unnormalized_prob(self, x: Tensor) -> Tensor:
        x = self._maybe_assert_valid_sample(x)
        return -(1.0 + self.concentration) * log(x) - self.rate / x

    def _cdf(self, x: Tensor) -> Tensor:
        return igammac(self.concentration, self.rate / self._maybe_assert_valid_sample(x))

    def _entropy(self) -> Tensor:
        of_logs = self.concentration + log(self.rate) + lgamma(self.concentration)
        return of_logs - (1.0 + self.concentration) * digamma(self.concentration)

    def _where_above(self, least: float, what: str, value: Tensor) -> Tensor:
        """`value` where the concentration is larger; elsewhere NaN, or a failing check where NaN is not allowed."""
        if self.allow_nan_stats:
            nan = np.array(np.nan, dtype=self.dtype.as_numpy_dtype())
            nan = fill(self.batch_shape_tensor(), nan, name="nan")
            return where_v2(self.concentration > least, value, nan)
        message = f"{what} undefined when any concentration <= {least:g}"
        check = assert_less(constant(least, dtype=self.dtype), self.concentration, message=message)
        return with_dependencies([check], value)

    def _mean(self) -> Tensor:
        return self._where_above(1.0, "mean", self.rate / (self.concentration - 1.0))

    def _variance(self) -> Tensor:
        ratio = square(self.rate) / squared_difference(self.concentration, 1.0)
        return self._where_above(2.0, "variance", ratio / (self.concentration - 2.0))

    def _mode(self) -> Tensor:
        return self.rate / (1.0 + self.concentration)


@export("contrib.distributions.InverseGammaWithSoftplusConcentrationRate")
class InverseGammaWithSoftplusConcentrationRate(InverseGamma):
    """`InverseGamma` with softplus of both parameters."""

    def __init__(
        self, concentration: object, rate: object, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "InverseGammaWithSoftplusConcentrationRate",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[concentration, rate]) as name:
            super().__init__(
                softplus(concentration, name="softplus_concentration"), softplus(rate, name="softplus_rate"),
                validate_args, allow_nan_stats, name,
            )  # fmt: skip


def _harmonic_number(x: Tensor) -> Tensor:
    one = ones([], dtype=x.dtype)
    return digamma(x + one) - digamma(one)


@export("contrib.distributions.Kumaraswamy")
class Kumaraswamy(TransformedDistribution):
    """a b x^(a - 1) (1 - x^a)^(b - 1) on (0, 1) with positive a = concentration1 and b = concentration0."""

    def __init__(
        self, concentration1: TensorLike | None = None, concentration0: TensorLike | None = None, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "Kumaraswamy",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[concentration1, concentration0]) as name:
            concentration1 = convert_to_tensor(concentration1, name="concentration1")
            concentration0 = convert_to_tensor(concentration0, name="concentration0")
        dtype = concentration1.dtype
        super().__init__(
            distribution=Uniform(
                low=zeros([], dtype=dtype), high=ones([], dtype=dtype), allow_nan_stats=allow_nan_stats
            ),
            bijector=bijectors.Kumaraswamy(
                concentration1=concentration1, concentration0=concentration0, validate_args=validate_args
            ),
            batch_shape=get_broadcast_shape(concentration1, concentration0), name=name,
        )  # fmt: skip
        self._reparameterization_type = FULLY_REPARAMETERIZED

    @property
    def concentration1(self) -> Tensor:
        """The concentration of 1."""
        return self.bijector.concentration1

    @property
    def concentration0(self) -> Tensor:
        """The concentration of 0."""
        return self.bijector.concentration0

    def _entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return 1 - 1.0 / a + (1 - 1.0 / b) * _harmonic_number(b) + log(a) + log(b)

    def _moment(self, n: int) -> Tensor:
        total = self.concentration1 + self.concentration0
        wide1 = ones_like(total, dtype=self.dtype) * self.concentration1
        wide0 = ones_like(total, dtype=self.dtype) * self.concentration0
        return exp(log(wide0) + lbeta(stack([1 + n / wide1, wide0], -1)))

    def _mean(self) -> Tensor:
        return self._moment(1)

    def _variance(self) -> Tensor:
        return self._moment(2) - square(self._moment(1))

    def _mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        mode = ((a - 1) / (a * b - 1)) ** (1.0 / a)
        if self.allow_nan_stats:
            nan = np.array(np.nan, dtype=self.dtype.as_numpy_dtype())
            nan = fill(self.batch_shape_tensor(), nan, name="nan")
            return where_v2((a > 1.0) & (b > 1.0), mode, nan)
        checks = [
            assert_less(ones([], dtype=each.dtype), each, message=f"Mode undefined for {name} <= 1.")
            for name, each in (("concentration1", a), ("concentration0", b))
        ]
        return with_dependencies(checks, mode)
