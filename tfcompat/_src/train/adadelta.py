"""Adadelta."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.train.optimizer import Optimizer


@export("train.AdadeltaOptimizer")
class AdadeltaOptimizer(Optimizer):
    """Steps by the ratio of the averages of squared updates and of squared gradients (Zeiler 2012).

    Args:
      learning_rate: a number, scalar tensor, or function that gives one.
      rho: decay of the averages; likewise.
      epsilon: added under the roots; likewise.
      use_locking: passed on to the update operations.
      name: name of the training operation and of the slots.
    """

    def __init__(
        self,
        learning_rate: object = 0.001,
        rho: object = 0.95,
        epsilon: object = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name)
        self._lr, self._rho, self._epsilon = learning_rate, rho, epsilon
        self._lr_t = self._rho_t = self._epsilon_t = None

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            self._zeros_slot(v, "accum", self._name)
            self._zeros_slot(v, "accum_update", self._name)

    def _prepare(self) -> None:
        self._lr_t = self._hyperparameter(self._lr, "lr")
        self._rho_t = self._hyperparameter(self._rho, "rho")
        self._epsilon_t = self._hyperparameter(self._epsilon, "epsilon")

    def _rule(self, var: object, as_type: Callable[[Any], Tensor]) -> tuple[str, dict[str, str], dict[str, Any]]:
        return (
            "Adadelta",
            {"accum": "accum", "accum_update": "accum_update"},
            {
                "lr": as_type(self._lr_t),
                "rho": as_type(self._rho_t),
                "epsilon": as_type(self._epsilon_t),
            },
        )
