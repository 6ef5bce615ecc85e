"""Distributions of counts: binomial, geometric, negative binomial, Poisson."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.distributions import util
from tfcompat._src.distributions.distribution import NOT_REPARAMETERIZED, Distribution, ScalarDistribution, parameter
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import ones_like, zeros, zeros_like
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.search import where, where_v2
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.composed.check_ops import assert_less, assert_less_equal, assert_non_negative, assert_positive
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.math.compare import equal
from tfcompat._src.ops.math.special import betainc, igammac, lgamma
from tfcompat._src.ops.math.unary import exp, expm1, floor, log, log1p, log_sigmoid, sigmoid
from tfcompat._src.ops.nn.activation import softplus
from tfcompat._src.ops.random.stateful import random_gamma, random_poisson, random_uniform

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


class _Counts(ScalarDistribution):
    """A distribution of integers that are not negative, of the dtype of its parameters."""

    _param_shapes = staticmethod(Distribution._param_shapes)

    def _checked_counts(self, x: Tensor) -> Tensor:
        return util.embed_check_nonnegative_integer_form(x) if self.validate_args else x


@export("contrib.distributions.Binomial")
class Binomial(_Counts):
    """The number of successes in `total_count` trials, each with probability `probs` = sigmoid(logits).

    Args:
      total_count: float Tensor of numbers of trials.
      logits, probs: float Tensor, one of the two.
      validate_args, allow_nan_stats, name: see `Distribution`.
    """

    _PARAMETERS = ("total_count", "probs")

    def __init__(
        self, total_count: TensorLike, logits: TensorLike | None = None, probs: TensorLike | None = None, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "Binomial",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[total_count, logits, probs]) as name:
            total_count = convert_to_tensor(total_count, name="total_count")
            if validate_args:
                message = "total_count cannot contain fractional components."
                checks = [
                    assert_non_negative(total_count, message="total_count must be non-negative."),
                    util.assert_integer_form(total_count, message=message),
                ]
                total_count = with_dependencies(checks, total_count)
            self._total_count = total_count
            self._logits, self._probs = util.get_logits_and_probs(
                logits=logits, probs=probs, validate_args=validate_args, name=name
            )
        super().__init__(
            dtype=self._probs.dtype, reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args,
            allow_nan_stats=allow_nan_stats, graph_parents=[self._total_count, self._logits, self._probs], name=name,
        )  # fmt: skip

    total_count = parameter("total_count", "The number of trials.")
    logits = parameter("logits", "The log-odds of success.")
    probs = parameter("probs", "The probability of success.")

    def _checked_counts(self, x: Tensor) -> Tensor:
        if not self.validate_args:
            return x
        x = super()._checked_counts(x)
        message = "counts are not less than or equal to n."
        return with_dependencies([assert_less_equal(x, self.total_count, message=message)], x)

    def _log_prob(self, counts: Tensor) -> Tensor:
        return self._log_unnormalized_prob(counts) - self._log_normalization(counts)

    def _prob(self, counts: Tensor) -> Tensor:
        return exp(self._log_prob(counts))

    def _log_unnormalized_prob(self, counts: Tensor) -> Tensor:
        counts = self._checked_counts(counts)
        return counts * log(self.probs) + (self.total_count - counts) * log1p(-self.probs)

    def _log_normalization(self, counts: Tensor) -> Tensor:
        counts = self._checked_counts(counts)
        orders = lgamma(1.0 + self.total_count - counts) + lgamma(1.0 + counts)
        return orders - lgamma(1.0 + self.total_count)

    def _cdf(self, counts: Tensor) -> Tensor:
        k, p, n = self._checked_counts(counts), self.probs, self.total_count
        known = k.shape.is_fully_defined() and p.shape.is_fully_defined()
        if not (known and k.shape.is_compatible_with(p.shape)):
            p = p + zeros_like(k)
            k = k + zeros_like(self.probs)
        one, is_all = ones_like(n - k), equal(k, n)
        below = betainc(a=where_v2(is_all, one, n - k), b=k + 1, x=1 - p)
        return where_v2(is_all, one, below)

    def _mean(self) -> Tensor:
        return self.total_count * self.probs

    def _variance(self) -> Tensor:
        return self._mean() * (1.0 - self.probs)

    def _mode(self) -> Tensor:
        return floor((1.0 + self.total_count) * self.probs)


@export("contrib.distributions.Geometric")
class Geometric(_Counts):
    """The number of failures before the first success, each with probability `probs` = sigmoid(logits) of success."""

    _PARAMETERS = ("probs",)

    def __init__(
        self, logits: TensorLike | None = None, probs: TensorLike | None = None, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "Geometric",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[logits, probs]) as name:
            self._logits, self._probs = util.get_logits_and_probs(
                logits, probs, validate_args=validate_args, name=name
            )
            with control_dependencies([assert_positive(self._probs)] if validate_args else []):
                self._probs = identity(self._probs, name="probs")
        super().__init__(
            dtype=self._probs.dtype, reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args,
            allow_nan_stats=allow_nan_stats, graph_parents=[self._probs, self._logits], name=name,
        )  # fmt: skip

    logits = parameter("logits", "The log-odds of success.")
    probs = parameter("probs", "The probability of success.")

    def _batch_shape_tensor(self) -> Tensor:
        return shape(self._probs)

    def _batch_shape(self) -> TensorShape:
        return self.probs.shape

    def _sample_n(self, n: object, seed: int | None = None) -> Tensor:
        sizes, tiny = concat([[n], shape(self._probs)], 0), np.finfo(self.dtype.as_numpy_dtype).tiny
        uniform = random_uniform(sizes, minval=tiny, maxval=1.0, seed=seed, dtype=self.dtype)
        return floor(log(uniform) / log1p(-self.probs))

    def _checked_counts(self, x: Tensor) -> Tensor:
        x = super()._checked_counts(x) if self.validate_args else floor(x)
        return x * ones_like(self.probs)

    def _cdf(self, x: Tensor) -> Tensor:
        x = self._checked_counts(x)
        is_negative, none = x < 0.0, zeros_like(x)
        return where(is_negative, none, -expm1((1.0 + x) * log1p(-self.probs)))

    def _log_prob(self, x: Tensor) -> Tensor:
        x = self._checked_counts(x)
        probs = self.probs * ones_like(x)
        safe = where(equal(x, 0.0), zeros_like(probs), probs)
        return x * log1p(-safe) + log(probs)

    def _entropy(self) -> Tensor:
        probs = self._probs
        if self.validate_args:
            message = "Entropy is undefined when logits = inf or probs = 1."
            probs = with_dependencies([assert_less(probs, constant(1.0, probs.dtype), message=message)], probs)
        return softplus(self.logits) / probs - self.logits

    def _mean(self) -> Tensor:
        return exp(-self.logits)

    def _variance(self) -> Tensor:
        return self._mean() / self.probs

    def _mode(self) -> Tensor:
        return zeros(self.batch_shape_tensor(), dtype=self.dtype)


@export("contrib.distributions.NegativeBinomial")
class NegativeBinomial(_Counts):
    """The number of successes, each with probability `probs` = sigmoid(logits), before `total_count` failures."""

    _PARAMETERS = ("total_count", "probs")

    def __init__(
        self, total_count: TensorLike, logits: TensorLike | None = None, probs: TensorLike | None = None, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "NegativeBinomial",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[total_count, logits, probs]) as name:
            self._logits, self._probs = util.get_logits_and_probs(
                logits, probs, validate_args=validate_args, name=name
            )
            with control_dependencies([assert_positive(total_count)] if validate_args else []):
                self._total_count = identity(total_count)
        super().__init__(
            dtype=self._probs.dtype, reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args,
            allow_nan_stats=allow_nan_stats, graph_parents=[self._total_count, self._probs, self._logits], name=name,
        )  # fmt: skip

    total_count = parameter("total_count", "The number of failures.")
    logits = parameter("logits", "The log-odds of success.")
    probs = parameter("probs", "The probability of success.")

    def _sample_n(self, n: object, seed: int | None = None) -> Tensor:
        odds = exp(-self.logits)
        rate = random_gamma(shape=[n], alpha=self.total_count, beta=odds, dtype=self.dtype, seed=seed)
        return random_poisson(rate, shape=[], dtype=self.dtype, seed=util.gen_new_seed(seed, "negative_binom"))

    def _cdf(self, x: Tensor) -> Tensor:
        x = self._checked_counts(x)
        return betainc(self.total_count, 1.0 + x, sigmoid(-self.logits))

    def _log_prob(self, x: Tensor) -> Tensor:
        return self._log_unnormalized_prob(x) - self._log_normalization(x)

    def _log_unnormalized_prob(self, x: Tensor) -> Tensor:
        x = self._checked_counts(x)
        return self.total_count * log_sigmoid(-self.logits) + x * log_sigmoid(self.logits)

    def _log_normalization(self, x: Tensor) -> Tensor:
        x = self._checked_counts(x)
        return -lgamma(self.total_count + x) + lgamma(1.0 + x) + lgamma(self.total_count)

    def _mean(self) -> Tensor:
        return self.total_count * exp(self.logits)

    def _mode(self) -> Tensor:
        is_above_one, less_one = 1.0 < self.total_count, self.total_count - 1.0
        adjusted = where_v2(is_above_one, less_one, zeros_like(self.total_count))
        return floor(adjusted * exp(self.logits))

    def _variance(self) -> Tensor:
        return self._mean() / sigmoid(-self.logits)


@export("contrib.distributions.Poisson")
class Poisson(_Counts):
    """rate^x exp(-rate) / x!; of the positive float Tensor `rate` and its logarithm `log_rate` one is given.

    Raises:
      ValueError: both or neither are given. TypeError: the dtype is no float.
    """

    _PARAMETERS = ("rate",)

    def __init__(
        self, rate: object = None, log_rate: object = None, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "Poisson",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[rate]) as name:
            if (rate is None) == (log_rate is None):
                raise ValueError("Must specify exactly one of `rate` and `log_rate`.")
            given, given_name = (rate, "rate") if log_rate is None else (log_rate, "log_rate")
            given = convert_to_tensor(given, name=given_name)
            if not given.dtype.is_floating:
                raise TypeError(f"{given_name}.dtype ({given.dtype.name}) is a not a float-type.")
            if log_rate is None:
                with control_dependencies([assert_positive(given)] if validate_args else []):
                    self._rate = identity(given, name="rate")
                    self._log_rate = log(given, name="log_rate")
            else:
                self._rate, self._log_rate = exp(given, name="rate"), given
        super().__init__(
            dtype=self._rate.dtype, reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args,
            allow_nan_stats=allow_nan_stats, graph_parents=[self._rate], name=name,
        )  # fmt: skip

    rate = parameter("rate", "The mean.")
    log_rate = parameter("log_rate", "The logarithm of the mean.")

    def _batch_shape_tensor(self) -> Tensor:
        return shape(self.rate)

    def _batch_shape(self) -> TensorShape:
        return self.rate.shape

    def _log_prob(self, x: Tensor) -> Tensor:
        return self._log_unnormalized_prob(x) - self._log_normalization()

    def _log_unnormalized_prob(self, x: Tensor) -> Tensor:
        x = self._checked_counts(x)
        return x * self.log_rate - lgamma(1.0 + x)

    def _log_normalization(self) -> Tensor:
        return self.rate

    def _log_cdf(self, x: Tensor) -> Tensor:
        return log(self.cdf(x))

    def _cdf(self, x: Tensor) -> Tensor:
        return igammac(1.0 + self._checked_counts(x), self.rate)

    def _mean(self) -> Tensor:
        return identity(self.rate)

    def _variance(self) -> Tensor:
        return identity(self.rate)

    def _mode(self) -> Tensor:
        return floor(self.rate)

    def _sample_n(self, n: object, seed: int | None = None) -> Tensor:
        return random_poisson(self.rate, [n], dtype=self.dtype, seed=seed)
