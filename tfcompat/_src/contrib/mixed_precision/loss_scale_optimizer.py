"""tf.contrib.mixed_precision.LossScaleOptimizer: an optimizer of a loss that is scaled for its gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.mixed_precision.loss_scale_manager import LossScaleManager
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import executing_eagerly
from tfcompat._src.nodes import raw
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.control.groups import group, no_op
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import reduce_all
from tfcompat._src.train.optimizer import Optimizer


@export("contrib.mixed_precision.LossScaleOptimizer")
class LossScaleOptimizer(Optimizer):
    """Multiplies the loss, divides the gradients, and applies them where they are finite.

    Args:
      opt: a tf.train.Optimizer.
      loss_scale_manager: a LossScaleManager, which is told of each step.
    """

    def __init__(self, opt: Optimizer, loss_scale_manager: LossScaleManager) -> None:
        self._opt, self._loss_scale_manager = opt, loss_scale_manager

    def compute_gradients(
        self, loss: Any, var_list: object = None, gate_gradients: int = Optimizer.GATE_OP, aggregation_method: object = None,
        colocate_gradients_with_ops: bool = False, grad_loss: object = None,
    ) -> list[tuple[Any, Any]]:  # fmt: skip
        """As of tf.train.Optimizer; the gradients are those of the loss as it is."""
        factor = self._loss_scale_manager.get_loss_scale()

        def scaled() -> Any:
            value = loss() if callable(loss) else loss
            return value * cast(factor, value.dtype.base_dtype)

        pairs = self._opt.compute_gradients(
            scaled if executing_eagerly() else scaled(), var_list=var_list, gate_gradients=gate_gradients,
            aggregation_method=aggregation_method, colocate_gradients_with_ops=colocate_gradients_with_ops, grad_loss=grad_loss,
        )  # fmt: skip
        reciprocal = raw.Reciprocal(factor)
        return [(g if g is None else g * cast(reciprocal, g.dtype.base_dtype), v) for g, v in pairs]

    def apply_gradients(
        self, grads_and_vars: Sequence[tuple[Any, Any]], global_step: object = None, name: str | None = None
    ) -> Operation:
        """As of tf.train.Optimizer where all gradients are finite; the manager is told whether they are."""
        finite = reduce_all([reduce_all(raw.IsFinite(g)) for g, _ in grads_and_vars])
        applied = cond(finite, lambda: self._opt.apply_gradients(grads_and_vars, global_step, name), no_op)
        return group(applied, self._loss_scale_manager.update_loss_scale(finite))
