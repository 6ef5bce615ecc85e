"""Weight decay apart from the gradient (Loshchilov & Hutter 2019), for any optimizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.opt.shampoo import ShampooOptimizer
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.control.groups import no_op
from tfcompat._src.train.adam import AdamOptimizer
from tfcompat._src.train.momentum import MomentumOptimizer
from tfcompat._src.train.optimizer import Optimizer
from tfcompat._src.variables import assign

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("contrib.opt.DecoupledWeightDecayExtension")
class DecoupledWeightDecayExtension:
    """Stands before an optimizer among the bases of a class: `var -= weight_decay * var` comes before its update.

    Args:
      weight_decay: a number or scalar tensor.
      **kwargs: arguments of the optimizer.
    """

    def __init__(self, weight_decay: Any, **kwargs: Any) -> None:
        self._decay_var_list: set | None = None
        self._weight_decay, self._weight_decay_tensor = weight_decay, None
        super().__init__(**kwargs)

    def minimize(
        self, loss: object, global_step: object = None, var_list: object = None, gate_gradients: int = Optimizer.GATE_OP,
        aggregation_method: object = None, colocate_gradients_with_ops: bool = False, name: str | None = None,
        grad_loss: object = None, decay_var_list: Any = None,
    ) -> Operation:  # fmt: skip
        """As `tf.train.Optimizer.minimize`; `decay_var_list` is given to no one, as in 1.15: all variables decay."""
        self._decay_var_list = set(decay_var_list or ())
        return super().minimize(
            loss, global_step=global_step, var_list=var_list, gate_gradients=gate_gradients,
            aggregation_method=aggregation_method, colocate_gradients_with_ops=colocate_gradients_with_ops, name=name,
            grad_loss=grad_loss,
        )  # fmt: skip

    def apply_gradients(
        self, grads_and_vars: object, global_step: object = None, name: str | None = None, decay_var_list: Any = None
    ) -> Operation:
        """As `tf.train.Optimizer.apply_gradients`; only the variables of `decay_var_list` decay, by default all."""
        self._decay_var_list = set(decay_var_list or ())
        return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def _prepare(self) -> None:
        self._weight_decay_tensor = self._hyperparameter(self._weight_decay, "weight_decay")
        super()._prepare()

    def _decays(self, var: object) -> bool:
        return not self._decay_var_list or var in self._decay_var_list

    def _decay_weights_op(self, var: Any) -> Any:
        return var.assign_sub(self._weight_decay * var, self._use_locking) if self._decays(var) else no_op()

    def _decay_weights_sparse_op(self, var: TensorLike, indices: Tensor, scatter_add: Callable) -> Any:
        if not self._decays(var):
            return no_op()
        return scatter_add(var, indices, -self._weight_decay * gather(var, indices), self._use_locking)

    def _apply_dense(self, grad: Tensor, var: object) -> Any:
        with control_dependencies([self._decay_weights_op(var)]):
            return super()._apply_dense(grad, var)

    def _resource_apply_dense(self, grad: Tensor, handle: object) -> Any:
        with control_dependencies([self._decay_weights_op(handle)]):
            return super()._resource_apply_dense(grad, handle)

    def _apply_sparse(self, grad: IndexedSlices, var: object) -> Any:
        with control_dependencies([self._decay_weights_sparse_op(var, grad.indices, assign.scatter_add)]):
            return super()._apply_sparse(grad, var)

    def _resource_scatter_add(self, x: Any, i: Tensor, v: Tensor, _: object = None) -> Tensor:
        with control_dependencies([raw.ResourceScatterAdd(x.handle, i, v)]):
            return x.value()

    def _resource_apply_sparse(self, grad: Tensor, handle: object, indices: Tensor) -> Any:
        with control_dependencies([self._decay_weights_sparse_op(handle, indices, self._resource_scatter_add)]):
            return super()._resource_apply_sparse(grad, handle, indices)


@export("contrib.opt.extend_with_decoupled_weight_decay")
def extend_with_decoupled_weight_decay(base_optimizer: type) -> type:
    """A class like the optimizer class `base_optimizer` whose first argument is `weight_decay`."""

    class OptimizerWithDecoupledWeightDecay(DecoupledWeightDecayExtension, base_optimizer):
        """`base_optimizer` after a step of weight decay."""

        def __init__(self, weight_decay: object, *args: Any, **kwargs: Any) -> None:
            super().__init__(weight_decay, *args, **kwargs)

    return OptimizerWithDecoupledWeightDecay


@export("contrib.opt.MomentumWOptimizer")
class MomentumWOptimizer(DecoupledWeightDecayExtension, MomentumOptimizer):
    """tf.train.MomentumOptimizer after a step of weight decay.

    Args:
      weight_decay: a number or scalar tensor.
      learning_rate, momentum, use_locking, name, use_nesterov: as of tf.train.MomentumOptimizer.
    """

    def __init__(
        self, weight_decay: object, learning_rate: object, momentum: object, use_locking: bool = False, name: str = "MomentumW",
        use_nesterov: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(
            weight_decay, learning_rate=learning_rate, momentum=momentum, use_locking=use_locking, name=name,
            use_nesterov=use_nesterov,
        )  # fmt: skip


@export("contrib.opt.AdamWOptimizer")
class AdamWOptimizer(DecoupledWeightDecayExtension, AdamOptimizer):
    """tf.train.AdamOptimizer after a step of weight decay.

    Args:
      weight_decay: a number or scalar tensor.
      learning_rate, beta1, beta2, epsilon, use_locking, name: as of tf.train.AdamOptimizer.
    """

    def __init__(
        self, weight_decay: object, learning_rate: object = 0.001, beta1: object = 0.9, beta2: object = 0.999,
        epsilon: object = 1e-8, use_locking: bool = False, name: str = "AdamW",
    ) -> None:  # fmt: skip
        super().__init__(
            weight_decay, learning_rate=learning_rate, beta1=beta1, beta2=beta2, epsilon=epsilon,
            use_locking=use_locking, name=name,
        )  # fmt: skip


class ShampooWOptimizer(DecoupledWeightDecayExtension, ShampooOptimizer):
    """ShampooOptimizer after a step of weight decay; as in 1.15 `mat_gbar_weight` takes the place of `mat_gbar_decay`.

    Args:
      weight_decay: a number or scalar tensor.
      global_step, ...: as of ShampooOptimizer.
    """

    def __init__(
        self, weight_decay: object, global_step: object, max_matrix_size: int = 768, gbar_decay: object = 0.0,
        gbar_weight: object = 1.0, mat_gbar_decay: object = 1.0, mat_gbar_weight: object = 1.0, learning_rate: object = 1.0,
        svd_interval: object = 1, precond_update_interval: object = 1, epsilon: float = 1e-4, alpha: object = 0.5,
        use_iterative_root: bool = False, use_locking: bool = False, name: str = "ShampooW",
    ) -> None:  # fmt: skip
        super().__init__(
            weight_decay, global_step=global_step, max_matrix_size=max_matrix_size, gbar_decay=gbar_decay,
            gbar_weight=gbar_weight, mat_gbar_decay=mat_gbar_weight, learning_rate=learning_rate,
            svd_interval=svd_interval, precond_update_interval=precond_update_interval, epsilon=epsilon, alpha=alpha,
            use_iterative_root=use_iterative_root, use_locking=use_locking, name=name,
        )  # fmt: skip
