"""`tensorflow.python.framework.tensor_util` and `constant_op`: what of them has no other place."""

from __future__ import annotations

from typing import Any

from tfcompat._src.graph.constant_value import constant_value_as_shape
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.proto import messages


def TensorShapeProtoToList(shape: Any) -> list[int]:  # noqa: N802
    """The sizes of a TensorShapeProto."""
    return [dim.size for dim in shape.dim]


def ShapeEquals(tensor_proto: object, shape: object) -> bool:  # noqa: N802
    """Whether a TensorProto has a shape, given as a list or a TensorShapeProto.

    Raises:
      TypeError: the arguments are something else.
    """
    if not isinstance(tensor_proto, messages.TensorProto):
        raise TypeError("tensor_proto is not a tensor_pb2.TensorProto object")
    if isinstance(shape, messages.TensorShapeProto):
        shape = TensorShapeProtoToList(shape)
    elif not isinstance(shape, (list, tuple)):
        raise TypeError("shape is not a list or tuple")
    return TensorShapeProtoToList(tensor_proto.tensor_shape) == list(shape)


def maybe_set_static_shape(tensor: Tensor, shape: object) -> None:
    """Gives a tensor in the body of a function the shape that a tensor `shape` is known to hold."""
    if get_default_graph().building_function and not tensor.shape.is_fully_defined() and isinstance(shape, Tensor):
        tensor.set_shape(constant_value_as_shape(shape))


def is_constant(tensor_or_op: Tensor | Operation) -> bool:
    """Whether a tensor, or the operation, is of the type Const."""
    op = tensor_or_op.op if isinstance(tensor_or_op, Tensor) else tensor_or_op
    return op.type == "Const"
