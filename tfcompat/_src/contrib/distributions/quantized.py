"""A distribution of whole numbers from one of real numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.distributions.distribution import NOT_REPARAMETERIZED, Distribution, parameter
from tfcompat._src.distributions.util import assert_integer_form
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import ones_like, zeros_like
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.composed.check_ops import assert_less, assert_same_float_dtype
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.math.unary import ceil, exp, floor, log

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _log_difference(big: Tensor, small: Tensor) -> Tensor:
    """log(exp(big) - exp(small))."""
    with name_scope("logsum_expbig_minus_expsmall", values=[small, big]):
        return log(1.0 - exp(small - big)) + big


def _replaced(found: Tensor, condition: Callable[[], Tensor], value: float) -> Tensor:
    """`found`, or `value` where a condition holds."""
    if np.isinf(value):
        values = value * ones_like(found)
        return where(condition(), values, found)
    return where(condition(), (ones_like if value else zeros_like)(found), found)


@export("contrib.distributions.QuantizedDistribution")
class QuantizedDistribution(Distribution):
    """The distribution of ceil(X), cut at `low` and `high`.

    Args:
      distribution: of X.
      low, high: whole numbers, all smaller (larger) values become `low` (`high`); None for no bound.
      validate_args: whether bounds and values are checked to be whole in a run.
      name: name scope.

    Raises:
      ValueError: bounds of another dtype than the distribution's.
    """

    def __init__(
        self, distribution: Distribution, low: TensorLike | None = None, high: TensorLike | None = None, validate_args: bool = False,
        name: str = "QuantizedDistribution",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[*distribution.parameters.values(), low, high]) as name:
            self._distribution = distribution
            self._validate_args = validate_args
            low = None if low is None else convert_to_tensor(low, name="low")
            high = None if high is None else convert_to_tensor(high, name="high")
            assert_same_float_dtype(tensors=[distribution, low, high])
            checks = []
            if validate_args and low is not None and high is not None:
                checks = [assert_less(low, high, message="low must be strictly less than high.")]
            with control_dependencies(checks):
                self._low = None if low is None else self._check_integer(low)
                self._high = None if high is None else self._check_integer(high)
        bounds = [b for b in (self._low, self._high) if b is not None]
        super().__init__(
            dtype=distribution.dtype, reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args,
            allow_nan_stats=distribution.allow_nan_stats, graph_parents=distribution._graph_parents + bounds, name=name,
        )  # fmt: skip

    distribution = parameter("distribution", "The distribution of the real number.")
    low = parameter("low", "The lowest value, or None.")
    high = parameter("high", "The highest value, or None.")

    def _batch_shape_tensor(self) -> Tensor:
        return self.distribution.batch_shape_tensor()

    def _batch_shape(self) -> TensorShape:
        return self.distribution.batch_shape

    def _event_shape_tensor(self) -> Tensor:
        return self.distribution.event_shape_tensor()

    def _event_shape(self) -> TensorShape:
        return self.distribution.event_shape

    def _sample_n(self, n: TensorLike, seed: int | None = None) -> Tensor:
        with name_scope("transform"):
            x = self.distribution.sample(convert_to_tensor(n, name="n"), seed=seed)
            ones = ones_like(x)
            found = ceil(x)
            if self.low is not None:
                found = where(found < self.low, self.low * ones, found)
            if self.high is not None:
                found = where(found > self.high, self.high * ones, found)
            return found

    def _log_prob(self, y: Tensor) -> Tensor:
        y = self._check_integer(y)
        try:
            upper, upper_before = self.log_survival_function(y), self.log_survival_function(y - 1)
        except NotImplementedError:
            return _log_difference(self.log_cdf(y), self.log_cdf(y - 1))
        lower, lower_before = self.log_cdf(y), self.log_cdf(y - 1)
        big = where(upper < lower, upper_before, lower)
        return _log_difference(big, where(upper < lower, upper, lower_before))

    def _prob(self, y: Tensor) -> Tensor:
        y = self._check_integer(y)
        try:
            upper, upper_before = self.survival_function(y), self.survival_function(y - 1)
        except NotImplementedError:
            return self.cdf(y) - self.cdf(y - 1)
        lower, lower_before = self.cdf(y), self.cdf(y - 1)
        return where(upper < lower, upper_before - upper, lower - lower_before)

    def _bounded(self, statistic: str, j: Tensor, below: float, above: float) -> Tensor:
        """A statistic at whole numbers `j`, which is `below` and `above` beyond the bounds."""
        found = getattr(self.distribution, statistic)(j)
        j += zeros_like(found)
        if self.low is not None:
            found = _replaced(found, lambda: j < self.low, below)
        if self.high is not None:
            found = _replaced(found, lambda: j >= self.high, above)
        return found

    def _log_cdf(self, y: Tensor) -> Tensor:
        return self._bounded("log_cdf", floor(y), -np.inf, 0)

    def _cdf(self, y: Tensor) -> Tensor:
        return self._bounded("cdf", floor(y), 0, 1)

    def _log_survival_function(self, y: Tensor) -> Tensor:
        return self._bounded("log_survival_function", ceil(y), 0, -np.inf)

    def _survival_function(self, y: Tensor) -> Tensor:
        return self._bounded("survival_function", ceil(y), 1, 0)

    def _check_integer(self, value: TensorLike) -> Tensor:
        with name_scope("check_integer", values=[value]):
            value = convert_to_tensor(value, name="value")
            if not self.validate_args:
                return value
            return with_dependencies([assert_integer_form(value, message="value has non-integer components.")], value)
