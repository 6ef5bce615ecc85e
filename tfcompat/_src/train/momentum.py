"""Gradient descent with momentum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.train.optimizer import Optimizer


@export("train.MomentumOptimizer")
class MomentumOptimizer(Optimizer):
    """`accumulation = momentum * accumulation + grad; var -= learning_rate * accumulation`.

    Args:
      learning_rate: a number, scalar tensor, or function that gives one.
      momentum: likewise.
      use_locking: passed on to the update operations.
      name: name of the training operation and of the slots.
      use_nesterov: steps by `grad + momentum * accumulation` (Sutskever et al. 2013).
    """

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._momentum, self._use_nesterov = learning_rate, momentum, use_nesterov

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            self._zeros_slot(v, "momentum", self._name)

    def _prepare(self) -> None:
        self._learning_rate_tensor = self._hyperparameter(self._learning_rate, "learning_rate")
        self._momentum_tensor = self._hyperparameter(self._momentum, "momentum")

    def _rule(self, var: object, as_type: Callable[[Any], Tensor]) -> tuple[str, dict[str, str], dict[str, Any]]:
        return (
            "Momentum",
            {"accum": "momentum"},
            {
                "lr": as_type(self._learning_rate_tensor),
                "momentum": as_type(self._momentum_tensor),
                "use_nesterov": self._use_nesterov,
            },
        )
