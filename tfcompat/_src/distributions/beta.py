"""The beta distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.distributions.distribution import FULLY_REPARAMETERIZED, ScalarDistribution, parameter
from tfcompat._src.distributions.kullback_leibler import RegisterKL
from tfcompat._src.distributions.util import gen_new_seed
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import fill, ones, ones_like
from tfcompat._src.ops.array.search import where_v2
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.composed.check_ops import assert_less, assert_positive, assert_same_float_dtype
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.math.binary import xlogy
from tfcompat._src.ops.math.compare import logical_and
from tfcompat._src.ops.math.special import betainc, digamma, lgamma
from tfcompat._src.ops.math.unary import exp, log, log1p
from tfcompat._src.ops.nn.activation import softplus
from tfcompat._src.ops.random.stateful import random_gamma


@export("distributions.Beta", "contrib.distributions.Beta")
class Beta(ScalarDistribution):
    """x^(concentration1 - 1) (1 - x)^(concentration0 - 1) / B(concentration1, concentration0) for x in (0, 1).

    Args:
      concentration1, concentration0: float Tensors, positive.
      validate_args, allow_nan_stats, name: see `Distribution`.

    Raises:
      TypeError: the parameters differ in dtype.
    """

    _PARAMETERS = ("concentration1", "concentration0")

    def __init__(
        self, concentration1: Any = None, concentration0: Any = None, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "Beta",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[concentration1, concentration0]) as name:
            self._concentration1 = _positive(convert_to_tensor(concentration1, name="concentration1"), validate_args)
            self._concentration0 = _positive(convert_to_tensor(concentration0, name="concentration0"), validate_args)
            assert_same_float_dtype([self._concentration1, self._concentration0])
            self._total_concentration = self._concentration1 + self._concentration0
        super().__init__(
            dtype=self._total_concentration.dtype, reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=validate_args, allow_nan_stats=allow_nan_stats,
            graph_parents=[self._concentration1, self._concentration0, self._total_concentration], name=name,
        )  # fmt: skip

    concentration1 = parameter("concentration1", "The concentration of 1.")
    concentration0 = parameter("concentration0", "The concentration of 0.")
    total_concentration = parameter("total_concentration", "The sum of both.")

    def _batch_shape_tensor(self) -> Tensor:
        return shape(self.total_concentration)

    def _batch_shape(self) -> TensorShape:
        return self.total_concentration.shape

    def _sample_n(self, n: object, seed: int | None = None) -> Tensor:
        wide1 = ones_like(self.total_concentration, dtype=self.dtype) * self.concentration1
        wide0 = ones_like(self.total_concentration, dtype=self.dtype) * self.concentration0
        gamma1 = random_gamma(shape=[n], alpha=wide1, dtype=self.dtype, seed=seed)
        gamma0 = random_gamma(shape=[n], alpha=wide0, dtype=self.dtype, seed=gen_new_seed(seed, "beta"))
        return gamma1 / (gamma1 + gamma0)

    def _log_prob(self, x: Tensor) -> Tensor:
        return self._log_unnormalized_prob(x) - self._log_normalization()

    def _prob(self, x: Tensor) -> Tensor:
        return exp(self._log_prob(x))

    def _log_unnormalized_prob(self, x: Tensor) -> Tensor:
        x = self._maybe_assert_valid_sample(x)
        return xlogy(self.concentration1 - 1.0, x) + (self.concentration0 - 1.0) * log1p(-x)

    def _log_normalization(self) -> Tensor:
        return lgamma(self.concentration1) + lgamma(self.concentration0) - lgamma(self.total_concentration)

    def _log_cdf(self, x: Tensor) -> Tensor:
        return log(self._cdf(x))

    def _cdf(self, x: Tensor) -> Tensor:
        return betainc(self.concentration1, self.concentration0, x)

    def _entropy(self) -> Tensor:
        rest = self._log_normalization()
        for concentration in (self.concentration1, self.concentration0):
            rest = rest - (concentration - 1.0) * digamma(concentration)
        return rest + (self.total_concentration - 2.0) * digamma(self.total_concentration)

    def _mean(self) -> Tensor:
        return self._concentration1 / self._total_concentration

    def _variance(self) -> Tensor:
        return self._mean() * (1.0 - self._mean()) / (1.0 + self.total_concentration)

    def _mode(self) -> Tensor:
        mode = (self.concentration1 - 1.0) / (self.total_concentration - 2.0)
        if self.allow_nan_stats:
            nan = np.array(np.nan, dtype=self.dtype.as_numpy_dtype())
            nan = fill(self.batch_shape_tensor(), nan, name="nan")
            is_defined = logical_and(self.concentration1 > 1.0, self.concentration0 > 1.0)
            return where_v2(is_defined, mode, nan)
        checks = [
            assert_less(ones([], dtype=self.dtype), concentration, message=f"Mode undefined for {name} <= 1.")
            for name, concentration in (("concentration1", self.concentration1), ("concentration0", self.concentration0))
        ]
        return with_dependencies(checks, mode)

    def _maybe_assert_valid_sample(self, x: Tensor) -> Tensor:
        if not self.validate_args:
            return x
        checks = [
            assert_positive(x, message="sample must be positive"),
            assert_less(x, ones([], self.dtype), message="sample must be less than `1`."),
        ]
        return with_dependencies(checks, x)


def _positive(concentration: Tensor, validate_args: bool) -> Tensor:
    if not validate_args:
        return concentration
    check = assert_positive(concentration, message="Concentration parameter must be positive.")
    return with_dependencies([check], concentration)


@export("contrib.distributions.BetaWithSoftplusConcentration")
class BetaWithSoftplusConcentration(Beta):
    """`Beta` with softplus of both concentrations."""

    def __init__(
        self, concentration1: object, concentration0: object, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "BetaWithSoftplusConcentration",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[concentration1, concentration0]) as name:
            super().__init__(
                softplus(concentration1, name="softplus_concentration1"),
                softplus(concentration0, name="softplus_concentration0"), validate_args, allow_nan_stats, name,
            )  # fmt: skip


@RegisterKL(Beta, Beta)
def _kl_beta_beta(a: Beta, b: Beta, name: str | None = None) -> Tensor:
    names = ("concentration1", "concentration0", "total_concentration")
    parts = [(getattr(a, each), getattr(b, each)) for each in names]
    with name_scope(name, "kl_beta_beta", values=[part[0] for part in parts] + [part[1] for part in parts]):
        of_b = b._log_normalization()
        found = of_b - a._log_normalization()
        for sign, (first, second) in zip((-1, -1, 1), parts):
            slope = digamma(first)
            term = slope * (second - first)
            found = found - term if sign < 0 else found + term
        return found
