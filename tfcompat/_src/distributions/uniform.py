"""The uniform distribution."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tfcompat._src.base.export import export
from tfcompat._src.distributions.distribution import FULLY_REPARAMETERIZED, ScalarDistribution, parameter
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import ones, ones_like, zeros, zeros_like
from tfcompat._src.ops.array.search import where_v2
from tfcompat._src.ops.array.shape import broadcast_dynamic_shape, shape
from tfcompat._src.ops.composed.check_ops import assert_less, assert_same_float_dtype
from tfcompat._src.ops.math.compare import logical_or
from tfcompat._src.ops.math.unary import is_nan, log, square
from tfcompat._src.ops.random.stateful import random_uniform

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("distributions.Uniform", "contrib.distributions.Uniform")
class Uniform(ScalarDistribution):
    """1 / (high - low) in [low, high), else 0.

    Args:
      low, high: float Tensors; `low` is the smaller.
      validate_args, allow_nan_stats, name: see `Distribution`.

    Raises:
      TypeError: the parameters differ in dtype. InvalidArgumentError: they are checked and low >= high.
    """

    _PARAMETERS = ("low", "high")

    def __init__(
        self, low: TensorLike = 0.0, high: TensorLike = 1.0, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "Uniform",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[low, high]) as name:
            message = "uniform not defined when low >= high."
            with control_dependencies([assert_less(low, high, message=message)] if validate_args else []):
                self._low = identity(low, name="low")
                self._high = identity(high, name="high")
                assert_same_float_dtype([self._low, self._high])
        super().__init__(
            dtype=self._low.dtype, reparameterization_type=FULLY_REPARAMETERIZED, validate_args=validate_args,
            allow_nan_stats=allow_nan_stats, graph_parents=[self._low, self._high], name=name,
        )  # fmt: skip

    low = parameter("low", "Lower end.")
    high = parameter("high", "Upper end.")

    def range(self, name: str = "range") -> Tensor:
        """high - low."""
        with self._name_scope(name):
            return self.high - self.low

    def _sample_n(self, n: object, seed: int | None = None) -> Tensor:
        samples = random_uniform(self._sample_shape(n), dtype=self.dtype, seed=seed)
        return self.low + self.range() * samples

    def _prob(self, x: Tensor) -> Tensor:
        x = x * ones(self.batch_shape_tensor(), dtype=x.dtype)
        is_unknown, is_outside = is_nan(x), logical_or(x < self.low, x >= self.high)
        outside, inside = zeros_like(x), ones_like(x) / self.range()
        return where_v2(is_unknown, x, where_v2(is_outside, outside, inside))

    def _cdf(self, x: Tensor) -> Tensor:
        sizes = broadcast_dynamic_shape(shape(x), self.batch_shape_tensor())
        none, all_ = zeros(sizes, dtype=self.dtype), ones(sizes, dtype=self.dtype)
        wide = x * all_
        is_below, share = x < self.low, (wide - self.low) / self.range()
        below_high = where_v2(is_below, none, share)
        return where_v2(x >= self.high, all_, below_high)

    def _entropy(self) -> Tensor:
        return log(self.range())

    def _mean(self) -> Tensor:
        return (self.low + self.high) / 2.0

    def _variance(self) -> Tensor:
        return square(self.range()) / 12.0

    def _stddev(self) -> Tensor:
        return self.range() / math.sqrt(12.0)
