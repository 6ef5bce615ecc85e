"""The batch normalization of TensorFlow 2."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.keras.layers import normalization
from tfcompat._src.ops.math.compare import logical_and


@export("compat.v2.keras.layers.BatchNormalization")
class BatchNormalization(normalization.BatchNormalization):
    """Batch normalization that does not train where it is not trainable; arguments as in tf.keras' first version.

    Raises:
      ValueError: `fused` is True where the fused operation cannot be used.
    """

    def __init__(self, axis=-1, *args: Any, fused: bool | None = None, **kwargs: Any) -> None:
        super().__init__(axis, *args, fused=fused, **kwargs)
        if fused:
            self._raise_if_fused_cannot_be_used()
        elif fused is None:
            self.fused = self._fused_can_be_used()
        self._fused_asked_for = fused

    def _fused_can_be_used(self) -> bool:
        try:
            self._raise_if_fused_cannot_be_used()
        except ValueError:
            return False
        return True

    def _raise_if_fused_cannot_be_used(self) -> None:
        if self.renorm:
            raise ValueError("Passing both fused=True and renorm=True is unsupported")
        axis = [self.axis] if isinstance(self.axis, int) else self.axis
        if len(axis) > 1 or axis[0] not in (-3, -1, 1, 3):
            raise ValueError("Passing fused=True is only supported when axis is 1 or 3")
        for name in ("virtual_batch_size", "adjustment"):
            if getattr(self, name) is not None:
                raise ValueError(f"Passing fused=True is unsupported when {name} is specified.")

    def build(self, input_shape: Any) -> None:
        if self._fused_asked_for and TensorShape(input_shape).ndims != 4:
            raise ValueError("Batch normalization layers with fused=True only support 4D input tensors.")
        super().build(input_shape)

    def _get_training_value(self, training: Any = None) -> Any:
        training = super()._get_training_value(training)
        return logical_and(bool(training) if isinstance(training, int) else training, self.trainable)
