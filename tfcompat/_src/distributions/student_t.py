"""Student's t-distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.distributions.distribution import FULLY_REPARAMETERIZED, ScalarDistribution, parameter
from tfcompat._src.distributions.util import gen_new_seed
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import fill, ones, ones_like
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.search import where_v2
from tfcompat._src.ops.composed.check_ops import assert_less, assert_positive, assert_same_float_dtype
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.math.compare import greater, less
from tfcompat._src.ops.math.special import betainc, digamma, lbeta, lgamma
from tfcompat._src.ops.math.unary import absolute, floor, log, log1p, rsqrt, square
from tfcompat._src.ops.nn.activation import softplus
from tfcompat._src.ops.random.stateful import random_gamma, random_normal


@export("distributions.StudentT", "contrib.distributions.StudentT")
class StudentT(ScalarDistribution):
    """(1 + y^2 / df)^(-(df + 1) / 2) / Z with y = (x - loc) / scale.

    Args:
      df: float Tensor, positive: the degrees of freedom.
      loc: float Tensor: the median.
      scale: float Tensor; its sign does not matter.
      validate_args, allow_nan_stats, name: see `Distribution`.

    Raises:
      TypeError: the parameters differ in dtype.
    """

    _PARAMETERS = ("df", "loc", "scale")

    def __init__(
        self, df: Any, loc: Any, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "StudentT",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[df, loc, scale]) as name:
            with control_dependencies([assert_positive(df)] if validate_args else []):
                self._df = identity(df, name="df")
                self._loc = identity(loc, name="loc")
                self._scale = identity(scale, name="scale")
                assert_same_float_dtype((self._df, self._loc, self._scale))
        super().__init__(
            dtype=self._scale.dtype, reparameterization_type=FULLY_REPARAMETERIZED, validate_args=validate_args,
            allow_nan_stats=allow_nan_stats, graph_parents=[self._df, self._loc, self._scale], name=name,
        )  # fmt: skip

    df = parameter("df", "The degrees of freedom.")
    loc = parameter("loc", "The median.")
    scale = parameter("scale", "The scale.")

    def _sample_n(self, n: object, seed: int | None = None) -> Tensor:
        normal = random_normal(self._sample_shape(n), dtype=self.dtype, seed=seed)
        df = self.df * ones(self.batch_shape_tensor(), dtype=self.dtype)
        new_seed = gen_new_seed(seed, salt="student_t")
        gamma = random_gamma([n], 0.5 * df, beta=0.5, dtype=self.dtype, seed=new_seed)
        return normal * rsqrt(gamma / df) * self.scale + self.loc

    def _log_prob(self, x: Tensor) -> Tensor:
        return self._log_unnormalized_prob(x) - self._log_normalization()

    def _log_unnormalized_prob(self, x: Tensor) -> Tensor:
        y = (x - self.loc) / self.scale
        return -0.5 * (self.df + 1.0) * log1p(y**2.0 / self.df)

    def _log_normalization(self) -> Tensor:
        widths = log(absolute(self.scale)) + 0.5 * log(self.df) + 0.5 * np.log(np.pi)
        return widths + lgamma(0.5 * self.df) - lgamma(0.5 * (self.df + 1.0))

    def _cdf(self, x: Tensor) -> Tensor:
        y = (x - self.loc) / absolute(self.scale)
        x_t = self.df / (y**2.0 + self.df)
        tail = 0.5 * betainc(0.5 * self.df, 0.5, x_t)
        return where_v2(less(y, 0.0), tail, 1.0 - tail)

    def _entropy(self) -> Tensor:
        v = ones(self.batch_shape_tensor(), dtype=self.dtype)[..., None]
        u = v * self.df[..., None]
        beta_of = concat([u, v], -1) / 2.0
        widths = log(absolute(self.scale)) + 0.5 * log(self.df) + lbeta(beta_of)
        return widths + 0.5 * (self.df + 1.0) * (digamma(0.5 * (self.df + 1.0)) - digamma(0.5 * self.df))

    def _where_above_one(self, what: str, value: Tensor) -> Tensor:
        """`value` where df > 1; elsewhere NaN, or a failing check where NaN is not allowed."""
        if self.allow_nan_stats:
            nan = np.array(np.nan, dtype=self.dtype.as_numpy_dtype())
            is_defined = greater(self.df, ones(self.batch_shape_tensor(), dtype=self.dtype))
            return where_v2(is_defined, value, fill(self.batch_shape_tensor(), nan, name="nan"))
        message = f"{what} not defined for components of df <= 1"
        return with_dependencies([assert_less(ones([], dtype=self.dtype), self.df, message=message)], value)

    def _mean(self) -> Tensor:
        return self._where_above_one("mean", self.loc * ones(self.batch_shape_tensor(), dtype=self.dtype))

    def _variance(self) -> Tensor:
        is_finite, below = greater(self.df, 2.0), self.df - 2.0
        below = where_v2(is_finite, below, ones_like(self.df))
        variance = ones(self.batch_shape_tensor(), dtype=self.dtype) * square(self.scale) * self.df / below
        infinity = np.array(np.inf, dtype=self.dtype.as_numpy_dtype())
        two = np.array(2.0, dtype=self.dtype.as_numpy_dtype())
        is_finite = self.df > fill(self.batch_shape_tensor(), two)
        variance = where_v2(is_finite, variance, fill(self.batch_shape_tensor(), infinity, name="inf"))
        return self._where_above_one("variance", variance)

    def _mode(self) -> Tensor:
        return identity(self.loc)


@export("contrib.distributions.StudentTWithAbsDfSoftplusScale")
class StudentTWithAbsDfSoftplusScale(StudentT):
    """`StudentT` with floor(|df|) degrees of freedom and the scale softplus(scale)."""

    def __init__(
        self, df: object, loc: object, scale: object, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "StudentTWithAbsDfSoftplusScale",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[df, scale]) as name:
            degrees = floor(absolute(df))
            super().__init__(
                degrees, loc, softplus(scale, name="softplus_scale"), validate_args, allow_nan_stats, name
            )
