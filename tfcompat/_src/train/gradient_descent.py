"""Gradient descent, plain and proximal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.train.optimizer import Optimizer


@export("train.GradientDescentOptimizer")
class GradientDescentOptimizer(Optimizer):
    """`var -= learning_rate * grad`.

    Args:
      learning_rate: a number, scalar tensor, or function that gives one.
      use_locking: passed on to the update operations.
      name: name of the training operation.
    """

    def __init__(self, learning_rate: object, use_locking: bool = False, name: str = "GradientDescent") -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._learning_rate_tensor = learning_rate, None

    def _prepare(self) -> None:
        self._learning_rate_tensor = self._hyperparameter(self._learning_rate, "learning_rate")

    def _apply_dense(self, grad: Tensor, var: Any) -> Operation:
        rate = cast(self._learning_rate_tensor, var.dtype.base_dtype)
        return raw.ApplyGradientDescent(var, rate, grad, use_locking=self._use_locking).op

    def _resource_apply_dense(self, grad: Tensor, handle: Any) -> Operation:
        rate = cast(self._learning_rate_tensor, grad.dtype.base_dtype)
        return raw.ResourceApplyGradientDescent(handle.handle, rate, grad, use_locking=self._use_locking)

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Any) -> Tensor:
        step = grad.values * cast(self._learning_rate_tensor, var.dtype.base_dtype)
        return var.scatter_sub(IndexedSlices(step, grad.indices, grad.dense_shape), use_locking=self._use_locking)

    def _resource_apply_sparse_duplicate_indices(self, grad: Tensor, handle: Any, indices: Tensor) -> Operation:
        return raw.ResourceScatterAdd(handle.handle, indices, -grad * self._learning_rate)


@export("train.ProximalGradientDescentOptimizer")
class ProximalGradientDescentOptimizer(Optimizer):
    """Gradient descent followed by a proximal step for l1 and l2 regularization (Duchi & Singer 2009, FOBOS).

    Args:
      learning_rate: a number or scalar tensor.
      l1_regularization_strength, l2_regularization_strength: numbers or scalar tensors, at least 0.
      use_locking: passed on to the update operations.
      name: name of the training operation.
    """

    def __init__(
        self, learning_rate: object, l1_regularization_strength: object = 0.0, l2_regularization_strength: object = 0.0,
        use_locking: bool = False, name: str = "ProximalGradientDescent",
    ) -> None:  # fmt: skip
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength

    def _prepare(self) -> None:
        self._learning_rate_tensor = self._hyperparameter(self._learning_rate, "learning_rate")
        self._l1_regularization_strength_tensor = self._hyperparameter(
            self._l1_regularization_strength, "l1_regularization_strength"
        )
        self._l2_regularization_strength_tensor = self._hyperparameter(
            self._l2_regularization_strength, "l2_regularization_strength"
        )

    def _rule(self, var: object, as_type: Callable[[Any], Tensor]) -> tuple[str, dict[str, str], dict[str, Any]]:
        return (
            "ProximalGradientDescent",
            {},
            {
                "alpha": as_type(self._learning_rate_tensor),
                "l1": as_type(self._l1_regularization_strength_tensor),
                "l2": as_type(self._l2_regularization_strength_tensor),
            },
        )

    def _apply_rule(self, variant: str, var: Any, dtype: Any, **gradient: Any) -> Any:
        if "Sparse" not in variant:
            gradient["delta"] = gradient.pop("grad")
        return super()._apply_rule(variant, var, dtype, **gradient)
