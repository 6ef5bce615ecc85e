"""tf.contrib.layers.scale_gradient: a value with another gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.function.defun import Defun
from tfcompat._src.graph.tensor import Tensor

if TYPE_CHECKING:
    from tfcompat._src.graph.operation import Operation


def _scaled(op: Operation, grad: Tensor) -> list[Any]:
    return [grad * op.inputs[1], None]


def _shape_of_first(op: Operation) -> list[Any]:
    return [op.inputs[0].shape]


def _first(inputs: Tensor, gradient_multiplier: Tensor) -> Tensor:
    """`inputs`, whose gradient is multiplied by `gradient_multiplier`, a Tensor that broadcasts to its shape."""
    return inputs


_first.__name__ = "scale_gradient"
scale_gradient = export("contrib.layers.scale_gradient", "contrib.slim.scale_gradient")(
    Defun(python_grad_func=_scaled, shape_func=_shape_of_first)(_first)
)
