"""The Dirichlet and Dirichlet-multinomial distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.distributions import util
from tfcompat._src.distributions.distribution import FULLY_REPARAMETERIZED, NOT_REPARAMETERIZED, Distribution, parameter
from tfcompat._src.distributions.kullback_leibler import RegisterKL
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.diagonal import matrix_set_diag
from tfcompat._src.ops.array.fill import fill, ones
from tfcompat._src.ops.array.gather import one_hot
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.search import where_v2
from tfcompat._src.ops.array.shape import reshape, shape
from tfcompat._src.ops.composed.check_ops import assert_equal, assert_less, assert_near, assert_positive
from tfcompat._src.ops.composed.rank_checks import assert_rank_at_least
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.math.binary import xlogy
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import reduce_all, reduce_sum
from tfcompat._src.ops.math.special import digamma, lbeta
from tfcompat._src.ops.math.unary import exp, log, rsqrt, sqrt
from tfcompat._src.ops.random.stateful import multinomial, random_gamma

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_NOT_POSITIVE = "Concentration parameter must be positive."


class _Concentrated(Distribution):
    """A distribution of vectors over classes with concentrations [..., classes]."""

    concentration = parameter("concentration", "The concentration of each class.")
    total_concentration = parameter("total_concentration", "The sum of the concentrations.")

    def _batch_shape_tensor(self) -> Tensor:
        return shape(self.total_concentration)

    def _batch_shape(self) -> TensorShape:
        return self.total_concentration.shape

    def _event_shape_tensor(self) -> Tensor:
        return shape(self.concentration)[-1:]

    def _event_shape(self) -> TensorShape:
        return self.concentration.shape.with_rank_at_least(1)[-1:]

    def _covariance(self) -> Tensor:
        x = self._variance_scale_term() * self._mean()
        return matrix_set_diag(-matmul(x[..., None], x[..., None, :]), self._variance())


@export("distributions.Dirichlet", "contrib.distributions.Dirichlet")
class Dirichlet(_Concentrated):
    """prod(x_i^(concentration_i - 1)) / B(concentration) for x that sum to 1.

    Args:
      concentration: float Tensor [..., classes], positive.
      validate_args, allow_nan_stats, name: see `Distribution`.
    """

    def __init__(
        self, concentration: TensorLike, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Dirichlet"
    ) -> None:
        with name_scope(name, values=[concentration]) as name:
            concentration = convert_to_tensor(concentration, name="concentration")
            self._concentration = _checked_concentration(concentration) if validate_args else concentration
            self._total_concentration = reduce_sum(self._concentration, -1)
        super().__init__(
            dtype=self._concentration.dtype, reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=validate_args, allow_nan_stats=allow_nan_stats,
            graph_parents=[self._concentration, self._total_concentration], name=name,
        )  # fmt: skip

    def _sample_n(self, n: object, seed: int | None = None) -> Tensor:
        gamma = random_gamma(shape=[n], alpha=self.concentration, dtype=self.dtype, seed=seed)
        return gamma / reduce_sum(gamma, -1, keepdims=True)

    def _log_prob(self, x: Tensor) -> Tensor:
        return self._log_unnormalized_prob(x) - self._log_normalization()

    def _prob(self, x: Tensor) -> Tensor:
        return exp(self._log_prob(x))

    def _log_unnormalized_prob(self, x: Tensor) -> Tensor:
        x = self._maybe_assert_valid_sample(x)
        return reduce_sum(xlogy(self.concentration - 1.0, x), -1)

    def _log_normalization(self) -> Tensor:
        return lbeta(self.concentration)

    def _entropy(self) -> Tensor:
        k = cast(self.event_shape_tensor()[0], self.dtype)
        of_total = self._log_normalization() + (self.total_concentration - k) * digamma(self.total_concentration)
        return of_total - reduce_sum((self.concentration - 1.0) * digamma(self.concentration), axis=-1)

    def _mean(self) -> Tensor:
        return self.concentration / self.total_concentration[..., None]

    def _variance(self) -> Tensor:
        scale = self._variance_scale_term()
        x = scale * self._mean()
        return x * (scale - x)

    def _variance_scale_term(self) -> Tensor:
        return rsqrt(1.0 + self.total_concentration[..., None])

    def _mode(self) -> Tensor:
        k = cast(self.event_shape_tensor()[0], self.dtype)
        mode = (self.concentration - 1.0) / (self.total_concentration[..., None] - k)
        if self.allow_nan_stats:
            nan = fill(shape(mode), np.array(np.nan, dtype=self.dtype.as_numpy_dtype()), name="nan")
            return where_v2(reduce_all(self.concentration > 1.0, axis=-1), mode, nan)
        message = "Mode undefined when any concentration <= 1"
        return with_dependencies([assert_less(ones([], self.dtype), self.concentration, message=message)], mode)

    def _maybe_assert_valid_sample(self, x: Tensor) -> Tensor:
        if not self.validate_args:
            return x
        positive = assert_positive(x, message="samples must be positive")
        one, message = ones([], dtype=self.dtype), "sample last-dimension must sum to `1`"
        return with_dependencies([positive, assert_near(one, reduce_sum(x, -1), message=message)], x)


def _checked_concentration(concentration: Tensor) -> Tensor:
    checks = [
        assert_positive(concentration, message=_NOT_POSITIVE),
        assert_rank_at_least(concentration, 1, message="Concentration parameter must have >=1 dimensions."),
        assert_less(1, shape(concentration)[-1], message="Concentration parameter must have event_size >= 2."),
    ]
    return with_dependencies(checks, concentration)


@RegisterKL(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(a: Dirichlet, b: Dirichlet, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_dirichlet_dirichlet", values=[a.concentration, b.concentration]):
        of_total = digamma(reduce_sum(a.concentration, axis=-1, keepdims=True))
        slopes = digamma(a.concentration) - of_total
        differences = a.concentration - b.concentration
        return reduce_sum(differences * slopes, axis=-1) - lbeta(a.concentration) + lbeta(b.concentration)


@export("distributions.DirichletMultinomial", "contrib.distributions.DirichletMultinomial")
class DirichletMultinomial(_Concentrated):
    """Counts of `total_count` draws from a categorical distribution whose probabilities are drawn from a Dirichlet.

    Args:
      total_count: float Tensor [...] of numbers of draws.
      concentration: float Tensor [..., classes], positive.
      validate_args, allow_nan_stats, name: see `Distribution`.
    """

    def __init__(
        self, total_count: TensorLike, concentration: TensorLike, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "DirichletMultinomial",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[total_count, concentration]) as name:
            self._total_count = convert_to_tensor(total_count, name="total_count")
            if validate_args:
                self._total_count = util.embed_check_nonnegative_integer_form(self._total_count)
            self._concentration = convert_to_tensor(concentration, name="concentration")
            if validate_args:
                self._concentration = util.embed_check_categorical_event_shape(self._concentration)
                positive = assert_positive(self._concentration, message=_NOT_POSITIVE)
                self._concentration = with_dependencies([positive], self._concentration)
            self._total_concentration = reduce_sum(self._concentration, -1)
        super().__init__(
            dtype=self._concentration.dtype, reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args, allow_nan_stats=allow_nan_stats,
            graph_parents=[self._total_count, self._concentration], name=name,
        )  # fmt: skip

    total_count = parameter("total_count", "The number of draws.")

    def _sample_n(self, n: object, seed: int | None = None) -> Tensor:
        draws = cast(self.total_count, dtype=dtypes.int32)
        k = self.event_shape_tensor()[0]
        gamma = random_gamma(shape=[n], alpha=self.concentration, dtype=self.dtype, seed=seed)
        logits = reshape(log(gamma), shape=[-1, k])
        classes = multinomial(logits, draws, seed=util.gen_new_seed(seed, salt="dirichlet_multinomial"))
        counts = reduce_sum(one_hot(classes, depth=k), -2)
        return cast(reshape(counts, concat([[n], self.batch_shape_tensor(), [k]], 0)), self.dtype)

    def _log_prob(self, counts: Tensor) -> Tensor:
        counts = self._maybe_assert_valid_sample(counts)
        ordered = lbeta(self.concentration + counts) - lbeta(self.concentration)
        return ordered + util.log_combinations(self.total_count, counts)

    def _prob(self, counts: Tensor) -> Tensor:
        return exp(self._log_prob(counts))

    def _mean(self) -> Tensor:
        return self.total_count * (self.concentration / self.total_concentration[..., None])

    def _variance(self) -> Tensor:
        scale = self._variance_scale_term()
        x = scale * self._mean()
        return x * (self.total_count * scale - x)

    def _variance_scale_term(self) -> Tensor:
        total = self.total_concentration[..., None]
        return sqrt((1.0 + total / self.total_count) / (1.0 + total))

    def _maybe_assert_valid_sample(self, counts: Tensor) -> Tensor:
        message = "counts last-dimension must sum to `self.total_count`"
        return checked_counts(counts, self.total_count, message) if self.validate_args else counts


def checked_counts(counts: Tensor, total_count: Tensor, message: str) -> Tensor:
    """`counts`, checked to be integers that are not negative and sum to `total_count`."""
    counts = util.embed_check_nonnegative_integer_form(counts)
    return with_dependencies([assert_equal(total_count, reduce_sum(counts, -1), message=message)], counts)
