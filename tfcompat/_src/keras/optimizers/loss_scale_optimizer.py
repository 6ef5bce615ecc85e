"""tf.keras.mixed_precision.experimental.LossScaleOptimizer: an optimizer of a loss that is scaled for its gradients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from tfcompat._src.base import mixed_precision_state
from tfcompat._src.base.export import export
from tfcompat._src.distribute.default_strategy import get_replica_context, in_cross_replica_context
from tfcompat._src.keras.backend.session import track_variable
from tfcompat._src.keras.optimizers.optimizer_v2 import OptimizerV2
from tfcompat._src.ops.control.cond import smart_cond
from tfcompat._src.ops.control.groups import group, no_op
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.train import loss_scale as loss_scales

if TYPE_CHECKING:
    from tfcompat._src.graph.operation import Operation


class _Whole(NamedTuple):
    """Variables that a strategy must not take apart into their components."""

    variables: list[Any]


@export("keras.mixed_precision.experimental.LossScaleOptimizer")
class LossScaleOptimizer(OptimizerV2):
    """Multiplies the loss of another optimizer by a factor, and divides the gradients by it.

    Args:
      opt: a tf.keras.optimizers.Optimizer without limits of gradients.
      loss_scale: a tf.train.experimental.LossScale, "dynamic", or a number.

    Raises:
      ValueError: `opt` is something else.
    """

    def __init__(self, opt: OptimizerV2, loss_scale: Any) -> None:
        if not isinstance(opt, OptimizerV2):
            raise ValueError(f'"opt" must be an instance of OptimizerV2, but got: {opt}')
        for limit in ("clipnorm", "clipvalue"):
            if hasattr(opt, limit):
                raise ValueError(
                    f"LossScaleOptimizer does not support wrapping optimizers with a {limit}. Optimizer {opt} has "
                    f"{limit} {getattr(opt, limit)}"
                )
        self._optimizer, self._loss_scale = opt, loss_scales.get(loss_scale)
        for weight in loss_scales.get_loss_scale_weights(self._loss_scale):
            track_variable(weight)
        self._track_trackable(opt, "base_optimizer")
        self._track_trackable(self._loss_scale, "loss_scale")

    loss_scale = property(lambda self: self._loss_scale)

    def get_scaled_loss(self, loss: Any) -> Any:
        """The loss, or a function that makes it, times the factor."""
        factor = self._loss_scale()
        if not callable(loss):
            return loss * cast(factor, loss.dtype)

        def scaled() -> Any:
            value = loss()
            return value * cast(factor, value.dtype)

        return scaled

    def get_unscaled_gradients(self, grads: Iterable[Any]) -> list[Any]:
        """Gradients over the factor."""
        reciprocal = 1.0 / self._loss_scale()
        return [None if g is None else g * cast(reciprocal, g.dtype) for g in grads]

    def _compute_gradients(self, loss: object, var_list: object, grad_loss: object = None) -> list[tuple[Any, Any]]:
        pairs = self._optimizer._compute_gradients(self.get_scaled_loss(loss), var_list, grad_loss)
        return list(zip(self.get_unscaled_gradients(g for g, _ in pairs), (v for _, v in pairs)))

    def get_gradients(self, loss: object, params: object) -> list[Any]:
        return self.get_unscaled_gradients(self._optimizer.get_gradients(self.get_scaled_loss(loss), params))

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, Any]], name: str | None = None) -> Any:
        """As of the optimizer; with a dynamic factor, gradients that are not finite are not applied.

        Raises:
          ValueError: it is called outside of a replica of a strategy.
        """
        if in_cross_replica_context():
            raise ValueError("apply_gradients() must be called in a replica context.")
        return get_replica_context().merge_call(self._apply_where_finite, args=(tuple(grads_and_vars), name))

    def _apply_where_finite(self, distribution: Any, grads_and_vars: tuple, name: str | None) -> Operation | None:
        grads, whole = [g for g, _ in grads_and_vars], _Whole([v for _, v in grads_and_vars])
        update, is_finite = self._loss_scale.update(grads)

        def apply() -> Any:
            return distribution.extended.call_for_each_replica(self._apply, args=(grads, whole, name))

        return group(smart_cond(is_finite, apply, no_op), update)

    def _apply(self, grads: list[Any], whole: _Whole, name: str | None) -> Any:
        return self._optimizer.apply_gradients(list(zip(grads, whole.variables)), name)

    @property
    def iterations(self) -> Any:
        """The variable of the optimizer that counts the steps."""
        return self._optimizer.iterations

    @iterations.setter
    def iterations(self, variable: Any) -> None:
        self._optimizer.iterations = variable

    @property
    def learning_rate(self) -> Any:
        """The learning rate of the optimizer."""
        return self._optimizer.learning_rate

    @learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        self._optimizer.learning_rate = value

    lr = property(lambda self: self.learning_rate)

    def get_slot_names(self) -> list[str]:
        return self._optimizer.get_slot_names()

    def variables(self) -> list[Any]:
        """The variables of the optimizer."""
        return self._optimizer.variables()

    weights = property(lambda self: self._optimizer.weights)

    def get_config(self) -> dict[str, Any]:
        raise NotImplementedError("get_config() is not yet implemented for LossScaleOptimizers")

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> OptimizerV2:
        raise NotImplementedError("from_config() is not yet implemented for LossScaleOptimizers")


mixed_precision_state.scaled_keras_optimizer = LossScaleOptimizer
