"""FTRL-Proximal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import colocate_with
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant
from tfcompat._src.train.optimizer import Optimizer


@export("train.FtrlOptimizer")
class FtrlOptimizer(Optimizer):
    """Follow the regularized leader, proximal form (McMahan et al. 2013, algorithm 1).

    Args:
      learning_rate: a number, scalar tensor, or function that gives one.
      learning_rate_power: at most 0; 0 is a fixed rate.
      initial_accumulator_value: where the sums of squares start, at least 0.
      l1_regularization_strength, l2_regularization_strength: numbers, at least 0.
      use_locking: passed on to the update operations.
      name: name of the training operation and of the slots.
      accum_name, linear_name: names of the slots of each kind, if other than `name`.
      l2_shrinkage_regularization_strength: an l2 penalty on the size of the weights, at least 0.

    Raises:
      ValueError: a number is out of its range.
    """

    def __init__(
        self, learning_rate: Any, learning_rate_power: Any = -0.5, initial_accumulator_value: float = 0.1,
        l1_regularization_strength: Any = 0.0, l2_regularization_strength: Any = 0.0, use_locking: bool = False,
        name: str = "Ftrl", accum_name: str | None = None, linear_name: str | None = None,
        l2_shrinkage_regularization_strength: Any = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(use_locking, name)
        if learning_rate_power > 0.0:
            raise ValueError(f"learning_rate_power {learning_rate_power:f} needs to be negative or zero")
        for what, value in (
            ("initial_accumulator_value", initial_accumulator_value),
            ("l1_regularization_strength", l1_regularization_strength),
            ("l2_regularization_strength", l2_regularization_strength),
            ("l2_shrinkage_regularization_strength", l2_shrinkage_regularization_strength),
        ):
            if value < 0.0:
                raise ValueError(f"{what} {value:f} needs to be positive or zero")
        self._learning_rate, self._learning_rate_power = learning_rate, learning_rate_power
        self._initial_accumulator_value = initial_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength
        self._accum_name, self._linear_name = accum_name, linear_name

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            with colocate_with(v):
                value = constant(self._initial_accumulator_value, dtype=v.dtype.base_dtype, shape=v.shape)
                self._get_or_make_slot(v, value, "accum", self._accum_name or self._name)
                self._zeros_slot(v, "linear", self._linear_name or self._name)

    def _prepare(self) -> None:
        self._learning_rate_tensor = self._hyperparameter(self._learning_rate, "learning_rate")
        self._l1_regularization_strength_tensor = self._hyperparameter(
            self._l1_regularization_strength, "l1_regularization_strength"
        )
        self._l2_regularization_strength_tensor = self._hyperparameter(
            self._l2_regularization_strength, "l2_regularization_strength"
        )
        self._l2_shrinkage_regularization_strength_tensor = self._hyperparameter(
            self._l2_shrinkage_regularization_strength, "l2_shrinkage_regularization_strength"
        )
        self._learning_rate_power_tensor = self._hyperparameter(self._learning_rate_power, "learning_rate_power")

    def _rule(self, var: object, as_type: Callable[[Any], Tensor]) -> tuple[str, dict[str, str], dict[str, Any]]:
        shrinks = self._l2_shrinkage_regularization_strength > 0.0
        arguments = {
            "lr": as_type(self._learning_rate_tensor),
            "l1": as_type(self._l1_regularization_strength_tensor),
            "l2": as_type(self._l2_regularization_strength_tensor),
        }
        if shrinks:
            arguments["l2_shrinkage"] = as_type(self._l2_shrinkage_regularization_strength_tensor)
        arguments["lr_power"] = as_type(self._learning_rate_power_tensor)
        return "FtrlV2" if shrinks else "Ftrl", {"accum": "accum", "linear": "linear"}, arguments
