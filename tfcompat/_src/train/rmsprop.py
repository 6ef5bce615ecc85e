"""RMSProp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.fill import ones_like
from tfcompat._src.train.optimizer import Optimizer
from tfcompat._src.variables.initializers import Ones


@export("train.RMSPropOptimizer")
class RMSPropOptimizer(Optimizer):
    """Momentum on the gradient divided by the root of the average of its square (Tieleman & Hinton 2012).

    Args:
      learning_rate: a number, scalar tensor, or function that gives one.
      decay: of the averages; likewise.
      momentum: likewise.
      epsilon: added under the root; likewise.
      use_locking: passed on to the update operations.
      centered: divides by the standard deviation: subtracts the square of the average gradient under the root
        (Graves 2013).
      name: name of the training operation and of the slots.
    """

    def __init__(
        self, learning_rate: object, decay: object = 0.9, momentum: object = 0.0, epsilon: object = 1e-10,
        use_locking: bool = False,
        centered: bool = False, name: str = "RMSProp",
    ) -> None:  # fmt: skip
        super().__init__(use_locking, name)
        self._learning_rate, self._decay, self._momentum, self._epsilon = learning_rate, decay, momentum, epsilon
        self._centered = centered
        self._learning_rate_tensor = self._decay_tensor = self._momentum_tensor = self._epsilon_tensor = None

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            dtype = v.dtype.base_dtype
            ones = Ones(dtype) if v.shape.is_fully_defined() else ones_like(v)
            self._get_or_make_slot_with_initializer(v, ones, v.shape, dtype, "rms", self._name)
            if self._centered:
                self._zeros_slot(v, "mg", self._name)
            self._zeros_slot(v, "momentum", self._name)

    def _prepare(self) -> None:
        self._learning_rate_tensor = self._hyperparameter(self._learning_rate, "learning_rate")
        self._decay_tensor = self._hyperparameter(self._decay, "decay")
        self._momentum_tensor = self._hyperparameter(self._momentum, "momentum")
        self._epsilon_tensor = self._hyperparameter(self._epsilon, "epsilon")

    def _rule(self, var: object, as_type: Callable[[Any], Tensor]) -> tuple[str, dict[str, str], dict[str, Any]]:
        slots = {"ms": "rms", "mom": "momentum"}
        if self._centered:
            slots["mg"] = "mg"
        return (
            "CenteredRMSProp" if self._centered else "RMSProp",
            slots,
            {
                "lr": as_type(self._learning_rate_tensor),
                "rho": as_type(self._decay_tensor),
                "momentum": as_type(self._momentum_tensor),
                "epsilon": as_type(self._epsilon_tensor),
            },
        )
