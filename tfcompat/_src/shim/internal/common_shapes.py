"""`tensorflow.python.framework.common_shapes`: shapes of the results of ops in Python."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph import shape_inference
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.proto import messages


def has_fully_defined_shape(tensor: Tensor) -> bool:
    """Whether all sizes of the tensor are known."""
    return tensor.get_shape().is_fully_defined()


def rank(tensor: Tensor) -> int | None:
    """The number of dimensions, or None where it is not known."""
    return tensor.get_shape().ndims


def scalar_shape(unused_op: object) -> list[TensorShape]:
    """The shape of a scalar, for one result."""
    return [TensorShape([])]


def unchanged_shape(op: Operation) -> list[TensorShape]:
    """The shape of the first input, for one result."""
    return [op.inputs[0].get_shape()]


def unchanged_shape_with_rank(rank: int) -> Any:
    """A shape function: that of the first input, which must have `rank` dimensions (ValueError otherwise)."""
    return lambda op: [op.inputs[0].get_shape().with_rank(rank)]


def unknown_shape(op: Operation) -> list[TensorShape]:
    """Unknown shapes, one for each result."""
    return [TensorShape(None) for _ in op.outputs]


def no_outputs(unused_op: object) -> list[TensorShape]:
    """The shapes of an op without results."""
    return []


def is_broadcast_compatible(shape_x: TensorShape, shape_y: TensorShape) -> bool:
    """Whether two shapes of known rank broadcast to one."""
    if shape_x.ndims is None or shape_y.ndims is None:
        return False
    try:
        shape_inference.broadcast(shape_x.sizes, shape_y.sizes)
    except ValueError:
        return False
    return True


def broadcast_shape(shape_x: TensorShape, shape_y: TensorShape) -> TensorShape:
    """The shape that two shapes broadcast to, unknown where either rank is.

    Raises:
      ValueError: they do not fit.
    """
    try:
        return TensorShape.of(shape_inference.broadcast(shape_x.sizes, shape_y.sizes))
    except ValueError:
        raise ValueError(f"Incompatible shapes for broadcasting: {shape_x} and {shape_y}") from None


def call_cpp_shape_fn(op: Operation, require_shape_fn: bool = True) -> dict[str, list[messages.TensorShapeProto]]:
    """The shapes that the op's own shape function found for its results, as messages."""
    return {"shapes": [t.get_shape().as_proto() for t in op.outputs]}
