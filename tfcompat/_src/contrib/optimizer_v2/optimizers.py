"""The optimizers of tf.contrib.optimizer_v2; formulas and arguments are those of tf.train."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.optimizer_v2.optimizer_v2 import FusedOptimizerV2, OptimizerV2, OptimizerV2State
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.ops.array.fill import ones_like
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.train.adam import ScatterAdd, add_to_resource, update_rows
from tfcompat._src.variables import assign
from tfcompat._src.variables.initializers import Constant

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export(
    "contrib.optimizer_v2.adadelta.AdadeltaOptimizer", "contrib.optimizer_v2.optimizer_v2_symbols.AdadeltaOptimizer"
)
class AdadeltaOptimizer(FusedOptimizerV2):
    """See tf.train.AdadeltaOptimizer."""

    def __init__(
        self, learning_rate: object = 0.001, rho: object = 0.95, epsilon: object = 1e-8, use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:  # fmt: skip
        super().__init__(use_locking, name)
        self._set_hyper("learning_rate", learning_rate)
        self._set_hyper("rho", rho)
        self._set_hyper("epsilon", epsilon)

    def _create_vars(self, var_list: list[Any], state: OptimizerV2State) -> None:
        for v in var_list:
            state.zeros_slot(v, "accum")
            state.zeros_slot(v, "accum_update")

    def _rule(self, var: object, hyper: Callable[[str], Tensor], state: OptimizerV2State) -> tuple[str, dict, dict]:
        settings = {"lr": hyper("learning_rate"), "rho": hyper("rho"), "epsilon": hyper("epsilon")}
        return "Adadelta", {"accum": "accum", "accum_update": "accum_update"}, settings


@export("contrib.optimizer_v2.adagrad.AdagradOptimizer", "contrib.optimizer_v2.optimizer_v2_symbols.AdagradOptimizer")
class AdagradOptimizer(FusedOptimizerV2):
    """See tf.train.AdagradOptimizer."""

    def __init__(
        self, learning_rate: Any, initial_accumulator_value: float = 0.1, use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:  # fmt: skip
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(use_locking, name)
        self._set_hyper("learning_rate", learning_rate)
        self._initial_accumulator_value = initial_accumulator_value

    def _create_vars(self, var_list: list[Any], state: OptimizerV2State) -> None:
        for v in var_list:
            dtype = v.dtype.base_dtype
            start: Any = Constant(self._initial_accumulator_value, dtype=dtype)
            if not v.shape.is_fully_defined():
                start = self._filled_like(v, dtype)
            state.create_slot_with_initializer(v, start, v.shape, dtype, "accumulator")

    def _filled_like(self, var: TensorLike, dtype: object) -> Callable[[], Tensor]:
        return lambda: cast(raw.Fill(shape_of(var), self._initial_accumulator_value), dtype)

    def _rule(self, var: Any, hyper: Callable[[str], Tensor], state: OptimizerV2State) -> tuple[str, dict, dict]:
        return "Adagrad", {"accum": "accumulator"}, {"lr": hyper("learning_rate")}


@export("contrib.optimizer_v2.adam.AdamOptimizer", "contrib.optimizer_v2.optimizer_v2_symbols.AdamOptimizer")
class AdamOptimizer(FusedOptimizerV2):
    """See tf.train.AdamOptimizer."""

    def __init__(
        self, learning_rate: Any = 0.001, beta1: Any = 0.9, beta2: Any = 0.999, epsilon: Any = 1e-8,
        use_locking: bool = False, name: str = "Adam",
    ) -> None:  # fmt: skip
        super().__init__(use_locking, name)
        for key, value in (("learning_rate", learning_rate), ("beta1", beta1), ("beta2", beta2), ("epsilon", epsilon)):
            self._set_hyper(key, value)

    def _get_beta_accumulators(self, state: OptimizerV2State | None = None) -> tuple[Any, Any]:
        """The variables that hold the powers of beta1 and beta2."""
        found = state or OptimizerV2State(self, {}, None)
        return found.get_non_slot("beta1_power"), found.get_non_slot("beta2_power")

    def _create_vars(self, var_list: list[Any], state: OptimizerV2State) -> None:
        state.create_non_slot(initial_value=lambda: state.get_hyper("beta1"), name="beta1_power")
        state.create_non_slot(initial_value=lambda: state.get_hyper("beta2"), name="beta2_power")
        for v in var_list:
            state.zeros_slot(v, "m")
            state.zeros_slot(v, "v")

    def _rule(self, var: Any, hyper: Callable[[str], Tensor], state: OptimizerV2State) -> tuple[str, dict, dict]:
        powers = self._get_beta_accumulators(state)
        settings = {f"beta{i}_power": cast(power, var.dtype.base_dtype) for i, power in enumerate(powers, 1)}
        settings["lr"] = hyper("learning_rate")
        settings.update({key: hyper(key) for key in ("beta1", "beta2", "epsilon")})
        return "Adam", {"m": "m", "v": "v"}, settings

    def _apply_rows(
        self, grad: Tensor, var: Any, indices: Tensor, scatter_add: ScatterAdd, state: OptimizerV2State
    ) -> Operation:
        rule = self._rule(var, lambda name: state.get_hyper(name, var.dtype.base_dtype), state)[2]
        return update_rows(var, grad, indices, state.get_slot, rule, scatter_add, self._use_locking)

    def _apply_sparse(self, grad: IndexedSlices, var: Any, state: OptimizerV2State) -> Operation:
        scatter_add = functools.partial(assign.scatter_add, use_locking=self._use_locking)
        return self._apply_rows(grad.values, var, grad.indices, scatter_add, state)

    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor, state: OptimizerV2State) -> Operation:
        return self._apply_rows(grad, handle, indices, add_to_resource, state)

    def _finish(self, state: OptimizerV2State) -> Operation:
        powers = zip(self._get_beta_accumulators(state), ("beta1", "beta2"))
        return group(*(p.assign(p * state.get_hyper(beta), use_locking=self._use_locking) for p, beta in powers))


@export(
    "contrib.optimizer_v2.gradient_descent.GradientDescentOptimizer",
    "contrib.optimizer_v2.optimizer_v2_symbols.GradientDescentOptimizer",
)
class GradientDescentOptimizer(OptimizerV2):
    """See tf.train.GradientDescentOptimizer."""

    def __init__(self, learning_rate: object, use_locking: bool = False, name: str = "GradientDescent") -> None:
        super().__init__(use_locking, name)
        self._set_hyper("learning_rate", learning_rate)

    def _apply_dense(self, grad: Tensor, var: Any, state: OptimizerV2State) -> Operation:
        rate = state.get_hyper("learning_rate", var.dtype.base_dtype)
        return raw.ApplyGradientDescent(var, rate, grad, use_locking=self._use_locking).op

    def _resource_apply_dense(self, grad: Tensor, handle: Any, state: OptimizerV2State) -> Operation:
        rate = state.get_hyper("learning_rate", grad.dtype.base_dtype)
        return raw.ResourceApplyGradientDescent(handle.handle, rate, grad, use_locking=self._use_locking)

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Any, state: OptimizerV2State) -> Tensor:
        step = grad.values * state.get_hyper("learning_rate", var.dtype.base_dtype)
        return var.scatter_sub(IndexedSlices(step, grad.indices, grad.dense_shape), use_locking=self._use_locking)

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Tensor, handle: Any, indices: Tensor, state: OptimizerV2State
    ) -> Operation:
        rate = state.get_hyper("learning_rate", grad.dtype.base_dtype)
        return raw.ResourceScatterAdd(handle.handle, indices, -grad * rate)


@export(
    "contrib.optimizer_v2.momentum.MomentumOptimizer", "contrib.optimizer_v2.optimizer_v2_symbols.MomentumOptimizer"
)
class MomentumOptimizer(FusedOptimizerV2):
    """See tf.train.MomentumOptimizer."""

    def __init__(
        self, learning_rate: Any, momentum: Any, use_locking: bool = False, name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(use_locking, name)
        self._set_hyper("learning_rate", learning_rate)
        self._set_hyper("momentum", momentum)
        self._use_nesterov = use_nesterov

    def _create_vars(self, var_list: list[Any], state: OptimizerV2State) -> None:
        for v in var_list:
            state.zeros_slot(v, "momentum")

    def _rule(self, var: object, hyper: Callable[[str], Tensor], state: OptimizerV2State) -> tuple[str, dict, dict]:
        settings = {"lr": hyper("learning_rate"), "momentum": hyper("momentum"), "use_nesterov": self._use_nesterov}
        return "Momentum", {"accum": "momentum"}, settings


@export("contrib.optimizer_v2.rmsprop.RMSPropOptimizer", "contrib.optimizer_v2.optimizer_v2_symbols.RMSPropOptimizer")
class RMSPropOptimizer(FusedOptimizerV2):
    """See tf.train.RMSPropOptimizer; here epsilon is where the average of squares starts, and 0 is added under the root."""

    def __init__(
        self, learning_rate: object, decay: object = 0.9, momentum: object = 0.0, epsilon: object = 1e-10,
        use_locking: bool = False, centered: bool = False, name: str = "RMSProp",
    ) -> None:  # fmt: skip
        super().__init__(use_locking, name)
        hyper = {"learning_rate": learning_rate, "decay": decay, "momentum": momentum, "epsilon": epsilon}
        for key, value in hyper.items():
            self._set_hyper(key, value)
        self._centered = centered

    def _create_vars(self, var_list: list[Any], state: OptimizerV2State) -> None:
        for v in var_list:
            dtype = v.dtype.base_dtype
            start = state.get_hyper("epsilon", dtype) * ones_like(v)
            state.create_slot_with_initializer(v, start, v.shape, dtype, "rms")
            if self._centered:
                state.zeros_slot(v, "mg")
            state.zeros_slot(v, "momentum")

    def _rule(self, var: object, hyper: Callable[[str], Tensor], state: OptimizerV2State) -> tuple[str, dict, dict]:
        slots = {"ms": "rms", "mom": "momentum"}
        if self._centered:
            slots["mg"] = "mg"
        settings = {"lr": hyper("learning_rate"), "rho": hyper("decay"), "momentum": hyper("momentum"), "epsilon": 0}
        return "CenteredRMSProp" if self._centered else "RMSProp", slots, settings
