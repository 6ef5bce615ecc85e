"""Adagrad, its proximal form, and dual averaging (Duchi, Hazan & Singer 2011)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import colocate_with, device
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.train.optimizer import Optimizer
from tfcompat._src.variables.initializers import Constant

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _require_positive(value: float, name: str) -> None:
    if value <= 0.0:
        raise ValueError(f"{name} must be positive: {value}")


@export("train.AdagradOptimizer")
class AdagradOptimizer(Optimizer):
    """`accumulator += grad ** 2; var -= learning_rate * grad / sqrt(accumulator)`.

    Args:
      learning_rate: a number, scalar tensor, or function that gives one.
      initial_accumulator_value: where the accumulators start, more than 0.
      use_locking: passed on to the update operations.
      name: name of the training operation and of the slots.

    Raises:
      ValueError: the initial value is not positive.
    """

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        _require_positive(initial_accumulator_value, "initial_accumulator_value")
        super().__init__(use_locking, name)
        self._learning_rate, self._initial_accumulator_value = learning_rate, initial_accumulator_value
        self._learning_rate_tensor = None

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            dtype = v.dtype.base_dtype
            if v.shape.is_fully_defined():
                initializer: Callable = Constant(self._initial_accumulator_value, dtype=dtype)
            else:
                initializer = self._filled_like(v, dtype)
            self._get_or_make_slot_with_initializer(v, initializer, v.shape, dtype, "accumulator", self._name)

    def _filled_like(self, var: TensorLike, dtype: object) -> Callable[[], Tensor]:
        return lambda: cast(raw.Fill(shape_of(var), self._initial_accumulator_value), dtype)

    def _prepare(self) -> None:
        self._learning_rate_tensor = self._hyperparameter(self._learning_rate, "learning_rate")

    def _rule(self, var: Any, as_type: Callable[[Any], Tensor]) -> tuple[str, dict[str, str], dict[str, Any]]:
        return "Adagrad", {"accum": "accumulator"}, {"lr": as_type(self._learning_rate_tensor)}


@export("train.ProximalAdagradOptimizer")
class ProximalAdagradOptimizer(Optimizer):
    """Adagrad followed by a proximal step for l1 and l2 regularization.

    Args:
      learning_rate: a number or scalar tensor.
      initial_accumulator_value: where the accumulators start, more than 0.
      l1_regularization_strength, l2_regularization_strength: numbers or scalar tensors, at least 0.
      use_locking: passed on to the update operations.
      name: name of the training operation and of the slots.

    Raises:
      ValueError: the initial value is not positive.
    """

    def __init__(
        self, learning_rate: object, initial_accumulator_value: float = 0.1, l1_regularization_strength: object = 0.0,
        l2_regularization_strength: object = 0.0, use_locking: bool = False, name: str = "ProximalAdagrad",
    ) -> None:  # fmt: skip
        _require_positive(initial_accumulator_value, "initial_accumulator_value")
        super().__init__(use_locking, name)
        self._learning_rate, self._initial_accumulator_value = learning_rate, initial_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            with colocate_with(v):
                value = constant(self._initial_accumulator_value, shape=v.shape, dtype=v.dtype.base_dtype)
            self._get_or_make_slot(v, value, "accumulator", self._name)

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
            "ProximalAdagrad",
            {"accum": "accumulator"},
            {
                "lr": as_type(self._learning_rate_tensor),
                "l1": as_type(self._l1_regularization_strength_tensor),
                "l2": as_type(self._l2_regularization_strength_tensor),
            },
        )


@export("train.AdagradDAOptimizer")
class AdagradDAOptimizer(Optimizer):
    """Adagrad by dual averaging, for sparse linear models: `var` follows from the sums of gradients and of their
    squares.

    Args:
      learning_rate: a number or scalar tensor.
      global_step: an int64 scalar, the number of steps done.
      initial_gradient_squared_accumulator_value: where the sums of squares start, more than 0.
      l1_regularization_strength, l2_regularization_strength: numbers or scalar tensors, at least 0.
      use_locking: passed on to the update operations.
      name: name of the training operation and of the slots.

    Raises:
      ValueError: the initial value is not positive.
    """

    def __init__(
        self, learning_rate: object, global_step: object, initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: object = 0.0, l2_regularization_strength: object = 0.0, use_locking: bool = False,
        name: str = "AdagradDA",
    ) -> None:  # fmt: skip
        _require_positive(initial_gradient_squared_accumulator_value, "initial_gradient_squared_accumulator_value")
        super().__init__(use_locking, name)
        self._learning_rate, self._global_step = learning_rate, global_step
        self._initial_gradient_squared_accumulator_value = initial_gradient_squared_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._learning_rate_tensor = self._global_step_on_worker = None

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            with colocate_with(v):
                total = constant(0.0, shape=v.shape, dtype=v.dtype.base_dtype)
                squares = constant(
                    self._initial_gradient_squared_accumulator_value, shape=v.shape, dtype=v.dtype.base_dtype
                )
            self._get_or_make_slot(v, total, "gradient_accumulator", self._name)
            self._get_or_make_slot(v, squares, "gradient_squared_accumulator", self._name)

    def _prepare(self) -> None:
        self._learning_rate_tensor = self._hyperparameter(self._learning_rate, "learning_rate")
        with colocate_with(self._learning_rate_tensor):
            self._global_step_on_worker = identity(self._global_step) + 1

    def _rule(self, var: Any, as_type: Callable[[Any], Tensor]) -> tuple[str, dict[str, str], dict[str, Any]]:
        with device(var.device):
            global_step = identity(self._global_step_on_worker)
        slots = {name: name for name in ("gradient_accumulator", "gradient_squared_accumulator")}
        return (
            "AdagradDA",
            slots,
            {
                "lr": as_type(self._learning_rate_tensor),
                "l1": as_type(self._l1_regularization_strength),
                "l2": as_type(self._l2_regularization_strength),
                "global_step": global_step,
            },
        )
