"""Distributions of numbers with a location and a scale."""

from __future__ import annotations

from typing import Any

from tfcompat._src.distributions.distribution import FULLY_REPARAMETERIZED, ScalarDistribution, parameter
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import ones_like
from tfcompat._src.ops.composed.check_ops import assert_positive, assert_same_float_dtype
from tfcompat._src.ops.math.unary import log


class LocationScale(ScalarDistribution):
    """A distribution of loc + scale Z.

    Args:
      loc: float Tensor.
      scale: float Tensor, positive.
      validate_args, allow_nan_stats, name: see `Distribution`.

    Raises:
      TypeError: the parameters differ in dtype.
    """

    _PARAMETERS = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, validate_args: bool, allow_nan_stats: bool, name: str) -> None:
        with name_scope(name, values=[loc, scale]) as name:
            with control_dependencies([assert_positive(scale)] if validate_args else []):
                self._loc = identity(loc, name="loc")
                self._scale = identity(scale, name="scale")
                assert_same_float_dtype([self._loc, self._scale])
        super().__init__(
            dtype=self._scale.dtype, reparameterization_type=FULLY_REPARAMETERIZED, validate_args=validate_args,
            allow_nan_stats=allow_nan_stats, graph_parents=[self._loc, self._scale], name=name,
        )  # fmt: skip

    loc = parameter("loc", "The location.")
    scale = parameter("scale", "The scale.")

    def _log_prob(self, x: Tensor) -> Tensor:
        return self._log_unnormalized_prob(x) - self._log_normalization()

    def _log_normalization(self) -> Tensor:
        return log(self.scale)

    def _mode(self) -> Tensor:
        return self.loc * ones_like(self.scale)

    def _z(self, x: Tensor) -> Tensor:
        with name_scope("standardize", values=[x]):
            return (x - self.loc) / self.scale
