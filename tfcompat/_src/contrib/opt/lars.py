"""Layer-wise adaptive rates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.linalg.norm import norm
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import greater
from tfcompat._src.train.optimizer import Optimizer


@export("contrib.opt.LARSOptimizer")
class LARSOptimizer(Optimizer):
    """Momentum with a rate of its own per variable, by the ratio of the norms of variable and gradient (You, Gitman &
    Ginsburg 2017). Sparse gradients use plain momentum.

    Args:
      learning_rate: a number or scalar tensor.
      momentum, weight_decay: numbers, at least 0.
      eeta: the "trust coefficient" of the paper.
      epsilon: added to the denominator of the ratio.
      name: name of the training operation and of the slots.
      skip_list: parts of names; variables with one of them in their name get the plain rate and no weight decay.
      use_nesterov: whether to use Nesterov's momentum.

    Raises:
      ValueError: `momentum` or `weight_decay` is negative.
    """

    def __init__(
        self, learning_rate: object, momentum: Any = 0.9, weight_decay: float = 0.0001, eeta: float = 0.001,
        epsilon: float = 0.0, name: str = "LARSOptimizer", skip_list: list[str] | None = None,
        use_nesterov: bool = False,
    ) -> None:  # fmt: skip
        if momentum < 0.0:
            raise ValueError(f"momentum should be positive: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"weight_decay should be positive: {weight_decay}")
        super().__init__(False, name)
        self._learning_rate, self._momentum, self._weight_decay = learning_rate, momentum, weight_decay
        self._eeta, self._epsilon, self._skip_list, self._use_nesterov = eeta, epsilon, skip_list, use_nesterov

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            self._zeros_slot(v, "momentum", self._name)

    def _prepare(self) -> None:
        self._learning_rate_tensor = self._hyperparameter(self._learning_rate, "learning_rate")
        self._momentum_tensor = self._hyperparameter(self._momentum, "momentum")

    def compute_lr(self, grad: Tensor, var: Any) -> tuple[Any, Tensor]:
        """The rate of a variable, and its gradient with the weight decay added."""
        if any(part in var.name for part in self._skip_list or ()):
            return self._learning_rate, grad
        var_norm, grad_norm = norm(var, ord=2), norm(grad, ord=2)
        has_weights, has_gradient = greater(var_norm, 0), greater(grad_norm, 0)
        ratio = self._eeta * var_norm / (grad_norm + self._weight_decay * var_norm + self._epsilon)
        trust = where(has_weights, where(has_gradient, ratio, 1.0), 1.0)
        return self._learning_rate * trust, grad + self._weight_decay * var

    def _scaled(self, op_type: str, grad: Tensor, var: Any, handles: list[Any]) -> Any:
        rate, grad = self.compute_lr(grad, var)
        one = cast(1.0, var.dtype.base_dtype)
        return raw.function(op_type)(
            *handles, one, grad * rate, self._momentum, use_locking=False, use_nesterov=self._use_nesterov
        )

    def _apply_dense(self, grad: Tensor, var: object) -> Any:
        return self._scaled("ApplyMomentum", grad, var, [var, self.get_slot(var, "momentum")])

    def _resource_apply_dense(self, grad: Tensor, handle: Any) -> Any:
        slot = self.get_slot(handle, "momentum")
        return self._scaled("ResourceApplyMomentum", grad, handle, [handle.handle, slot.handle])

    def _rule(self, var: object, as_type: Callable[[Any], Tensor]) -> tuple[str, dict[str, str], dict[str, Any]]:
        settings = {"lr": as_type(self._learning_rate_tensor), "momentum": as_type(self._momentum_tensor)}
        return "Momentum", {"accum": "momentum"}, {**settings, "use_nesterov": self._use_nesterov}
