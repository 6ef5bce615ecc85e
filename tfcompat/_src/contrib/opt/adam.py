"""Optimizers like Adam: AdaMax, Nadam, Adam whose steps the global step counts, and Adam that moves used rows only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import colocate_with, control_dependencies, init_scope, present_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.math.binary import maximum, power
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.unary import absolute, sqrt, square
from tfcompat._src.train.adam import AdamOptimizer, averaged_rows
from tfcompat._src.train.optimizer import Optimizer
from tfcompat._src.variables import assign


@export("contrib.opt.AdaMaxOptimizer")
class AdaMaxOptimizer(AdamOptimizer):
    """Adam with the infinity norm (Kingma & Ba 2015, section 7.1); from rows of a gradient it moves only these rows.

    Args: as of tf.train.AdamOptimizer.
    """

    def __init__(
        self, learning_rate: Any = 0.001, beta1: Any = 0.9, beta2: Any = 0.999, epsilon: Any = 1e-8,
        use_locking: bool = False, name: str = "AdaMax",
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)

    def _get_beta_accumulators(self) -> Any:
        with init_scope():
            return self._get_non_slot_variable("beta1_power", present_graph())

    def _create_slots(self, var_list: list[Any]) -> None:
        self._create_non_slot_variable(self._beta1, "beta1_power", min(var_list, key=lambda v: v.name))
        for v in var_list:
            self._zeros_slot(v, "m", self._name)
            self._zeros_slot(v, "v", self._name)

    def _rule(self, var: Any, as_type: Callable[[Any], Tensor]) -> tuple[str, dict[str, str], dict[str, Any]]:
        settings = {
            "beta1_power": self._get_beta_accumulators(),
            "lr": self._lr_t,
            "beta1": self._beta1_t,
            "beta2": self._beta2_t,
            "epsilon": self._epsilon_t,
        }
        return "AdaMax", {"m": "m", "v": "v"}, {key: as_type(value) for key, value in settings.items()}

    def _move_rows(self, grad: Tensor, var: Any, indices: Tensor, scatter_add: Callable, scatter_update: Callable) -> Any:
        rule = self._rule(var, lambda value: cast(value, var.dtype.base_dtype))[2]
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        m_rows = gather(m, indices) * rule["beta1"] + grad * (1 - rule["beta1"])
        with control_dependencies([m_rows]):
            new_m = scatter_update(m, indices, m_rows)
        v_rows = maximum(gather(v, indices) * rule["beta2"], absolute(grad))
        with control_dependencies([v_rows]):
            new_v = scatter_update(v, indices, v_rows)
        step = -rule["lr"] / (1 - rule["beta1_power"]) * (m_rows / (v_rows + rule["epsilon"]))
        with control_dependencies([step]):
            update = scatter_add(var, indices, step)
        return group(update, new_m, new_v)

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Operation:
        def scatter_add(x: Any, indices: Tensor, rows: Tensor) -> Tensor:
            return assign.scatter_add(x, indices, rows, use_locking=self._use_locking)

        def scatter_update(x: Any, indices: Tensor, rows: Tensor) -> Tensor:
            return assign.scatter_update(x, indices, rows, use_locking=self._use_locking)

        return self._move_rows(grad.values, var, grad.indices, scatter_add, scatter_update)

    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor) -> Operation:
        def scatter_update(x: Any, indices: Tensor, rows: Tensor) -> Tensor:
            with control_dependencies([raw.ResourceScatterUpdate(x.handle, indices, rows)]):
                return x.value()

        return self._move_rows(grad, handle, indices, self._resource_scatter_add, scatter_update)

    def _finish(self, update_ops: list[Any], name_scope: str) -> Operation:
        with control_dependencies(update_ops):
            beta1_power = self._get_beta_accumulators()
            with colocate_with(beta1_power):
                new_power = beta1_power.assign(beta1_power * self._beta1_t, use_locking=self._use_locking)
        return group(*update_ops, new_power, name=name_scope)


@export("contrib.opt.NadamOptimizer")
class NadamOptimizer(AdamOptimizer):
    """Adam with Nesterov's momentum (Dozat 2016). Args: as of tf.train.AdamOptimizer."""

    def _rule(self, var: Any, as_type: Callable[[Any], Tensor]) -> tuple[str, dict[str, str], dict[str, Any]]:
        op_type, slots, settings = super()._rule(var, as_type)
        return op_type, slots, {**settings, "use_nesterov": True}

    def _apply_sparse_shared(self, grad: Tensor, var: Any, indices: Tensor, scatter_add: Callable) -> Operation:
        rule = self._rule(var, lambda value: cast(value, var.dtype.base_dtype))[2]
        rate = rule["lr"] * sqrt(1 - rule["beta2_power"]) / (1 - rule["beta1_power"])
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        share = grad * (1 - rule["beta1"])
        decayed = assign.assign(m, m * rule["beta1"], use_locking=self._use_locking)
        with control_dependencies([decayed]):
            new_m = scatter_add(m, indices, share)
            ahead = share + rule["beta1"] * gather(new_m, indices)
        new_v = averaged_rows(v, rule["beta2"], grad * grad, indices, scatter_add, self._use_locking)
        root = sqrt(gather(new_v, indices))
        update = scatter_add(var, indices, -rate * ahead / (root + rule["epsilon"]))
        return group(update, ahead, new_v)


@export("contrib.opt.AdamGSOptimizer")
class AdamGSOptimizer(AdamOptimizer):
    """Adam that takes the number of steps from the global step, and keeps no powers of beta1 and beta2.

    Args:
      global_step: the number of steps done, an integer scalar or variable.
      learning_rate, beta1, beta2, epsilon, use_locking, name: as of tf.train.AdamOptimizer.
    """

    def __init__(
        self, global_step: Any = 0, learning_rate: Any = 0.001, beta1: Any = 0.9, beta2: Any = 0.999,
        epsilon: Any = 1e-8, use_locking: bool = False, name: str = "Adam",
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)
        self._global_step, self._global_step_on_worker = global_step, None

    def _get_beta_accumulators(self) -> tuple[Any, Any]:
        step = self._global_step_on_worker
        return power(self._beta1_t, step), power(self._beta2_t, step)

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            self._zeros_slot(v, "m", self._name)
            self._zeros_slot(v, "v", self._name)

    def _prepare(self) -> None:
        super()._prepare()
        self._global_step_on_worker = cast(identity(self._global_step) + 1, dtypes.float32)

    def _finish(self, update_ops: list[Any], name_scope: str) -> Operation:
        return Optimizer._finish(self, update_ops, name_scope)


class _LazyRows:
    """Updates from rows of the gradient that change the averages and the variable in these rows only."""

    def _rate(self, var: Any) -> tuple[dict[str, Any], Tensor]:
        rule = self._rule(var, lambda value: cast(value, var.dtype.base_dtype))[2]
        return rule, rule["lr"] * sqrt(1 - rule["beta2_power"]) / (1 - rule["beta1_power"])

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Operation:
        rule, rate = self._rate(var)
        indices = grad.indices

        def averaged(slot: Any, beta: Tensor, value: Callable[[], Tensor]) -> Tensor:
            rows = beta * gather(slot, indices) + (1 - beta) * value()
            return assign.scatter_update(slot, indices, rows, use_locking=self._use_locking)

        m = averaged(self.get_slot(var, "m"), rule["beta1"], lambda: grad.values)
        v = averaged(self.get_slot(var, "v"), rule["beta2"], lambda: square(grad.values))
        m_rows, v_rows = gather(m, indices), gather(v, indices)
        root = sqrt(v_rows) + rule["epsilon"]
        update = assign.scatter_sub(var, indices, rate * m_rows / root, use_locking=self._use_locking)
        return group(update, m, v)

    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor) -> Operation:
        rule, rate = self._rate(handle)

        def averaged(slot: Any, beta: Tensor, value: Callable[[], Tensor]) -> tuple[Tensor, Operation]:
            rows = beta * gather(slot, indices) + (1 - beta) * value()
            return rows, raw.ResourceScatterUpdate(slot.handle, indices, rows)

        m_rows, m = averaged(self.get_slot(handle, "m"), rule["beta1"], lambda: grad)
        v_rows, v = averaged(self.get_slot(handle, "v"), rule["beta2"], lambda: square(grad))
        step = rate * m_rows / (sqrt(v_rows) + rule["epsilon"])
        return group(raw.ResourceScatterSub(handle.handle, indices, step), m, v)


@export("contrib.opt.LazyAdamOptimizer")
class LazyAdamOptimizer(_LazyRows, AdamOptimizer):
    """Adam that from rows of a gradient updates the averages and the variable in these rows only.

    Args: as of tf.train.AdamOptimizer.
    """


@export("contrib.opt.LazyAdamGSOptimizer")
class LazyAdamGSOptimizer(_LazyRows, AdamGSOptimizer):
    """LazyAdamOptimizer that takes the number of steps from the global step. Args: as of AdamGSOptimizer."""
