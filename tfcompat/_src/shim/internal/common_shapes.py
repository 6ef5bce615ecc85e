"""`tensorflow.python.framework.common_shapes`: shape functions in Python, from operations to the shapes of their outputs, and broadcasting."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph import shape_inference
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.proto import messages


def has_fully_defined_shape(tensor: Tensor) -> bool:
    """Whether all sizes of a tensor are known."""
    return tensor.get_shape().is_fully_defined()


def rank(tensor: Tensor) -> int | None:
    """Returns the number of dimensions of a tensor, or None if it is unknown."""
    return tensor.get_shape().ndims


def scalar_shape(unused_op: object) -> list[TensorShape]:
    """Shape function of an op with one scalar output."""
    return [TensorShape([])]


def unchanged_shape(op: Operation) -> list[TensorShape]:
    """Shape function of an op with one output of the first input's shape."""
    return [op.inputs[0].get_shape()]


def unchanged_shape_with_rank(rank: int) -> Any:
    """Returns the shape function of an op with one output of the first input's shape; it raises ValueError unless the rank is `rank`."""
    return lambda op: [op.inputs[0].get_shape().with_rank(rank)]


def unknown_shape(op: Operation) -> list[TensorShape]:
    """Shape function of an op whose outputs have unknown shapes."""
    return [TensorShape(None) for _ in op.outputs]


def no_outputs(unused_op: object) -> list[TensorShape]:
    """Shape function of an op without outputs."""
    return []


def is_broadcast_compatible(shape_x: TensorShape, shape_y: TensorShape) -> bool:
    """Whether two shapes broadcast; False if a rank is unknown, as in 1.15."""
    if shape_x.ndims is None or shape_y.ndims is None:
        return False
    try:
        shape_inference.broadcast(shape_x.sizes, shape_y.sizes)
    except ValueError:
        return False
    return True


def broadcast_shape(shape_x: TensorShape, shape_y: TensorShape) -> TensorShape:
    """Returns the broadcast of two shapes; it is unknown if either rank is.

    Raises:
      ValueError: the shapes do not broadcast.
    """
    try:
        return TensorShape.of(shape_inference.broadcast(shape_x.sizes, shape_y.sizes))
    except ValueError:
        raise ValueError(f"Incompatible shapes for broadcasting: {shape_x} and {shape_y}") from None


def call_cpp_shape_fn(op: Operation, require_shape_fn: bool = True) -> dict[str, list[messages.TensorShapeProto]]:
    """Returns the shapes of an operation's outputs, which the op's own shape function inferred when it was made, as messages."""
    return {"shapes": [t.get_shape().as_proto() for t in op.outputs]}
