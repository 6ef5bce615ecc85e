"""Lagrange multipliers, updated by their gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.constrained_optimization.constrained_optimizer import RegretOptimizer
from tfcompat._src.contrib.constrained_optimization.projection import project
from tfcompat._src.graph.scopes import colocate_with
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.math.binary import maximum, minimum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.contraction import tensordot
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.train.optimizer import Optimizer
from tfcompat._src.variables import assign

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _project_multipliers_wrt_euclidean_norm(multipliers: Any, radius: float) -> Tensor:
    """The nearest multipliers that are at least 0 with a sum of at most `radius`."""
    if not multipliers.dtype.is_floating:
        raise ValueError("multipliers must have a floating-point dtype")
    shape = multipliers.shape
    if shape.ndims is None:
        raise ValueError("multipliers must have known shape")
    if shape.ndims != 1:
        raise ValueError(f"multipliers must be one dimensional (instead is {shape.ndims}-dimensional)")
    if not shape.is_fully_defined():
        raise ValueError("multipliers must have fully-known shape")

    def scale(values: Tensor, mask: Tensor) -> Tensor:
        return minimum(0.0, (radius - reduce_sum(values)) / maximum(1.0, reduce_sum(mask)))

    return project(multipliers, shape.num_elements(), scale)


@export("contrib.constrained_optimization.AdditiveExternalRegretOptimizer")
class AdditiveExternalRegretOptimizer(RegretOptimizer):
    """Minimizes the Lagrangian over the model's variables and maximizes it over the multipliers.

    Args:
      optimizer: of the model's variables.
      constraint_optimizer: of the multipliers; by default `optimizer`.
      maximum_multiplier_radius: the largest sum of multipliers, or None.

    Raises:
      ValueError: the radius is negative.
    """

    _state_name = "external_regret_optimizer_state"

    def __init__(
        self, optimizer: Optimizer, constraint_optimizer: Optimizer | None = None,
        maximum_multiplier_radius: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__(optimizer=optimizer, constraint_optimizer=constraint_optimizer)
        if maximum_multiplier_radius and maximum_multiplier_radius <= 0.0:
            raise ValueError("maximum_multiplier_radius must be strictly positive")
        self._maximum_multiplier_radius = maximum_multiplier_radius

    def _initial_state(self, num_constraints: int) -> Tensor:
        return zeros((num_constraints,), dtype=dtypes.float32)

    def _lagrange_multipliers(self, state: object) -> Any:
        return state

    def _loss_and_gradient(
        self, objective: Tensor, constraints: Tensor, proxies: Tensor, state: object
    ) -> tuple[Tensor, Tensor]:
        multipliers = self._lagrange_multipliers(state)
        loss = objective + tensordot(cast(multipliers, proxies.dtype), proxies, 1)
        return loss, cast(constraints, multipliers.dtype.base_dtype)

    def _projection_op(self, state: TensorLike, name: str | None = None) -> Any:
        with colocate_with(state):
            if self._maximum_multiplier_radius:
                projected = _project_multipliers_wrt_euclidean_norm(state, self._maximum_multiplier_radius)
            else:
                projected = maximum(state, 0.0)
            return assign.assign(state, projected, name=name)
