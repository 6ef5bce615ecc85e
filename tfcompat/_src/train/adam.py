"""Adam."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import colocate_with, control_dependencies, init_scope, present_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.train.optimizer import Optimizer
from tfcompat._src.variables import assign

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

ScatterAdd = Callable[[Any, Tensor, Tensor], Tensor]
"""Adds rows to a slot at indices and gives its new value."""


def add_to_resource(slot: Any, indices: Tensor, rows: Tensor) -> Tensor:
    """Adds rows to a resource variable and gives its new value."""
    with control_dependencies([raw.ResourceScatterAdd(slot.handle, indices, rows)]):
        return slot.value()


def averaged_rows(slot: TensorLike, beta: Tensor, rows: Tensor, indices: Tensor, scatter_add: ScatterAdd, use_locking: bool) -> Tensor:
    """The average that a slot holds, after it decayed by `beta` everywhere and took `rows` in."""
    new = rows * (1 - beta)
    with control_dependencies([assign.assign(slot, slot * beta, use_locking=use_locking)]):
        return scatter_add(slot, indices, new)


def update_rows(
    var: TensorLike, grad: Tensor, indices: Tensor, get_slot: Callable[[Any, str], Any], rule: dict[str, Any], scatter_add: ScatterAdd,
    use_locking: bool,
) -> Operation:  # fmt: skip
    """Adam's update from rows of the gradient: the averages decay everywhere and every row of `var` moves.

    Args:
      var: the variable. grad: rows of its gradient. indices: which rows.
      get_slot: the slot of a variable by its name.
      rule: the inputs of the op Adam, by name.
      scatter_add: how rows are added to a slot.
      use_locking: passed on to the assignments.
    """
    rate = rule["lr"] * raw.Sqrt(1 - rule["beta2_power"]) / (1 - rule["beta1_power"])
    m = averaged_rows(get_slot(var, "m"), rule["beta1"], grad, indices, scatter_add, use_locking)
    v = averaged_rows(get_slot(var, "v"), rule["beta2"], grad * grad, indices, scatter_add, use_locking)
    root = raw.Sqrt(v)
    update = assign.assign_sub(var, rate * m / (root + rule["epsilon"]), use_locking=use_locking)
    return group(update, m, v)


@export("train.AdamOptimizer")
class AdamOptimizer(Optimizer):
    """Steps by the ratio of averages of the gradient and of its square (Kingma & Ba 2015, the form before section 2.1).

    Args:
      learning_rate: a number, scalar tensor, or function that gives one.
      beta1, beta2: decay of the average of the gradient and of its square; likewise.
      epsilon: added to the root of the second average; likewise ("epsilon hat" of the paper).
      use_locking: passed on to the update operations.
      name: name of the training operation and of the slots.
    """

    def __init__(
        self, learning_rate: Any = 0.001, beta1: Any = 0.9, beta2: Any = 0.999, epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:  # fmt: skip
        super().__init__(use_locking, name)
        self._lr, self._beta1, self._beta2, self._epsilon = learning_rate, beta1, beta2, epsilon
        self._lr_t = self._beta1_t = self._beta2_t = self._epsilon_t = None

    def _get_beta_accumulators(self) -> tuple[Any, Any]:
        """The variables that hold the powers of beta1 and beta2."""
        with init_scope():
            graph = present_graph()
        return self._get_non_slot_variable("beta1_power", graph), self._get_non_slot_variable("beta2_power", graph)

    def _create_slots(self, var_list: list[Any]) -> None:
        first = min(var_list, key=lambda v: v.name)
        self._create_non_slot_variable(self._beta1, "beta1_power", first)
        self._create_non_slot_variable(self._beta2, "beta2_power", first)
        for v in var_list:
            self._zeros_slot(v, "m", self._name)
            self._zeros_slot(v, "v", self._name)

    def _prepare(self) -> None:
        self._lr_t = self._hyperparameter(self._lr, "learning_rate")
        self._beta1_t = self._hyperparameter(self._beta1, "beta1")
        self._beta2_t = self._hyperparameter(self._beta2, "beta2")
        self._epsilon_t = self._hyperparameter(self._epsilon, "epsilon")

    def _rule(self, var: Any, as_type: Callable[[Any], Tensor]) -> tuple[str, dict[str, str], dict[str, Any]]:
        beta1_power, beta2_power = self._get_beta_accumulators()
        return (
            "Adam",
            {"m": "m", "v": "v"},
            {
                "beta1_power": as_type(beta1_power),
                "beta2_power": as_type(beta2_power),
                "lr": as_type(self._lr_t),
                "beta1": as_type(self._beta1_t),
                "beta2": as_type(self._beta2_t),
                "epsilon": as_type(self._epsilon_t),
            },
        )

    def _apply_sparse_shared(self, grad: Tensor, var: Any, indices: Tensor, scatter_add: ScatterAdd) -> Operation:
        rule = self._rule(var, lambda value: cast(value, var.dtype.base_dtype))[2]
        return update_rows(var, grad, indices, self.get_slot, rule, scatter_add, self._use_locking)

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Operation:
        return self._apply_sparse_shared(grad.values, var, grad.indices, functools.partial(assign.scatter_add, use_locking=self._use_locking))

    def _resource_scatter_add(self, x: object, i: Tensor, v: Tensor) -> Tensor:
        return add_to_resource(x, i, v)

    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor) -> Operation:
        return self._apply_sparse_shared(grad, handle, indices, self._resource_scatter_add)

    def _finish(self, update_ops: list[Any], name_scope: str) -> Operation:
        with control_dependencies(update_ops):
            beta1_power, beta2_power = self._get_beta_accumulators()
            with colocate_with(beta1_power):
                powers = [
                    power.assign(power * beta, use_locking=self._use_locking)
                    for power, beta in ((beta1_power, self._beta1_t), (beta2_power, self._beta2_t))
                ]
        return group(*update_ops, *powers, name=name_scope)
