"""tf.contrib.mixed_precision: by what the loss is multiplied."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.control.groups import group, no_op
from tfcompat._src.variables.assign import assign, assign_add
from tfcompat._src.variables.variable import Variable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("contrib.mixed_precision.LossScaleManager")
class LossScaleManager(abc.ABC):
    """Says by what a LossScaleOptimizer multiplies the loss, and changes it as gradients are finite or not."""

    @abc.abstractmethod
    def get_loss_scale(self) -> Any:
        """The factor, a float32 scalar."""

    @abc.abstractmethod
    def update_loss_scale(self, finite_grads: Any) -> Any:
        """An operation that takes note of a step.

        Args:
          finite_grads: bool scalar, whether all gradients were finite.
        """


@export("contrib.mixed_precision.FixedLossScaleManager")
class FixedLossScaleManager(LossScaleManager):
    """A factor that stays as it is.

    Args:
      loss_scale: the factor, at least 1; else ValueError.
    """

    def __init__(self, loss_scale: float) -> None:
        if loss_scale < 1:
            raise ValueError("loss scale must be at least 1.")
        self._loss_scale = convert_to_tensor(loss_scale, dtypes.float32)

    def get_loss_scale(self) -> Tensor:
        return self._loss_scale

    def update_loss_scale(self, finite_grads: object) -> Operation:
        return no_op()


@export("contrib.mixed_precision.ExponentialUpdateLossScaleManager")
class ExponentialUpdateLossScaleManager(LossScaleManager):
    """A factor that grows after steps in a row with finite gradients, and shrinks after steps without; it stays finite and at least 1.

    Args:
      init_loss_scale: the first factor.
      incr_every_n_steps: after how many finite steps in a row it grows.
      decr_every_n_nan_or_inf: after how many other steps since the last change it shrinks.
      incr_ratio, decr_ratio: by what it is multiplied then.
    """

    def __init__(
        self, init_loss_scale: float, incr_every_n_steps: int, decr_every_n_nan_or_inf: int = 2, incr_ratio: float = 2,
        decr_ratio: float = 0.8,
    ) -> None:  # fmt: skip
        self._incr_every_n_steps, self._decr_every_n_nan_or_inf = incr_every_n_steps, decr_every_n_nan_or_inf
        self._incr_ratio, self._decr_ratio = incr_ratio, decr_ratio
        first = convert_to_tensor(init_loss_scale, dtypes.float32)
        self._loss_scale = Variable(name="loss_scale", initial_value=first, dtype=dtypes.float32, trainable=False)
        self._num_good_steps = Variable(name="good_steps", initial_value=0, dtype=dtypes.int32, trainable=False)
        self._num_bad_steps = Variable(name="bad_steps", initial_value=0, dtype=dtypes.int32, trainable=False)

    def get_loss_scale(self) -> Any:
        return self._loss_scale

    def _change_to(self, loss_scale: Tensor) -> Operation:
        return group(assign(self._loss_scale, loss_scale), assign(self._num_good_steps, 0), assign(self._num_bad_steps, 0))

    def _grow(self) -> Operation:
        larger = self._loss_scale * self._incr_ratio
        return self._change_to(cond(raw.IsFinite(larger), lambda: larger, lambda: self._loss_scale + 0.0))

    def _shrink(self) -> Operation:
        return self._change_to(raw.Maximum(1.0, self._loss_scale * self._decr_ratio))

    def _note_good_step(self) -> Operation:
        return cond(self._num_good_steps + 1 >= self._incr_every_n_steps, self._grow, lambda: group(assign_add(self._num_good_steps, 1)))

    def _note_bad_step(self) -> Operation:
        def count() -> Operation:
            return group(assign_add(self._num_bad_steps, 1), assign(self._num_good_steps, 0))

        return cond(self._num_bad_steps + 1 >= self._decr_every_n_nan_or_inf, self._shrink, count)

    def update_loss_scale(self, finite_grads: TensorLike) -> Operation:
        return cond(finite_grads, self._note_good_step, self._note_bad_step)
