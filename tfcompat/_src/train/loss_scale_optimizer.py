"""tf.train.experimental.MixedPrecisionLossScaleOptimizer: an optimizer of a loss that is scaled for its gradients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph import distribution_context
from tfcompat._src.graph.operation import Operation
from tfcompat._src.nodes.convert import constant
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.ops.control.cond import smart_cond
from tfcompat._src.ops.control.groups import group, no_op
from tfcompat._src.train import loss_scale as loss_scales
from tfcompat._src.train.optimizer import Optimizer


@export("train.experimental.MixedPrecisionLossScaleOptimizer")
class MixedPrecisionLossScaleOptimizer(Optimizer):
    """Multiplies the loss of another optimizer by a factor, and divides the gradients by it.

    Args:
      opt: a tf.train.Optimizer; else ValueError.
      loss_scale: a LossScale, "dynamic", or a number.
    """

    def __init__(self, opt: Optimizer, loss_scale: object) -> None:
        if not isinstance(opt, Optimizer):
            raise ValueError(f'"opt" must be an instance of Optimizer, but got: {type(opt)}')
        super().__init__(opt._use_locking, opt.get_name())
        self._optimizer = opt
        self._loss_scale = loss_scales.get(loss_scale)
        self._track_trackable(self._optimizer, "base_optimizer")
        self._track_trackable(self._loss_scale, "loss_scale")

    def compute_gradients(
        self, loss: object, var_list: object = None, gate_gradients: int = Optimizer.GATE_OP, aggregation_method: object = None,
        colocate_gradients_with_ops: bool = False, grad_loss: object = None,
    ) -> list[tuple[Any, Any]]:  # fmt: skip
        """As of tf.train.Optimizer; the gradients are those of the loss as it is."""
        factor = self._loss_scale()
        scaled = (lambda: loss() * factor) if callable(loss) else loss * factor
        pairs = self._optimizer.compute_gradients(
            loss=scaled, var_list=var_list, gate_gradients=gate_gradients, aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops, grad_loss=grad_loss,
        )  # fmt: skip
        reciprocal = 1 / self._loss_scale()
        return [(_scaled(grad, reciprocal), variable) for grad, variable in pairs]

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], global_step: object = None, name: str | None = None
    ) -> Operation:
        """As of tf.train.Optimizer; with a dynamic factor, gradients that are not finite are not applied.

        Raises:
          ValueError: it is called outside of a replica of a strategy.
        """
        mode = distribution_context.current()
        if mode is not None and mode.replica_context is None:
            raise ValueError("apply_gradients() must be called in a replica context.")
        if not isinstance(self._loss_scale, loss_scales.DynamicLossScale):
            return self._optimizer.apply_gradients(grads_and_vars, global_step, name)
        pairs = tuple(grads_and_vars)
        name = self.get_name() if name is None else name
        if distribution_context.strategy_in_use() is None:
            return self._guarded(pairs, name, lambda: self._applied(pairs, global_step, name))
        return mode.replica_context.merge_call(self._merged, args=(pairs, global_step, name))

    def _applied(self, pairs: tuple, global_step: object, name: str) -> Operation:
        """The update without a strategy; the node with the number of the only replica is made as with one."""
        constant(0, dtypes.int32)
        return self._optimizer.apply_gradients(pairs, global_step, name + "-wrapped")

    def _merged(self, strategy: Any, pairs: tuple, global_step: object, name: str) -> Operation:
        def apply() -> Operation:
            updates = strategy.extended.call_for_each_replica(
                self._optimizer.apply_gradients, args=(pairs, global_step, name + "-wrapped")
            )
            return strategy.group(updates)

        return self._guarded(pairs, name, apply)

    def _guarded(self, pairs: tuple, name: str, apply: Any) -> Operation:
        update, finite = self._loss_scale.update([grad for grad, _ in pairs])
        return group(smart_cond(finite, apply, no_op), update, name=name)


def _scaled(grad: Any, factor: Any) -> Any:
    if isinstance(grad, IndexedSlices):
        return IndexedSlices(grad.values * factor, grad.indices, grad.dense_shape)
    return None if grad is None else grad * factor
