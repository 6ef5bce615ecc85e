"""Internal names of `tensorflow.python.framework.tensor_util` and `constant_op` that no other module of tfcompat defines."""

from __future__ import annotations

from typing import Any

from tfcompat._src.graph.constant_value import constant_value_as_shape
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.proto import messages


def TensorShapeProtoToList(shape: Any) -> list[int]:  # noqa: N802
    """Returns the sizes of a TensorShapeProto."""
    return [dim.size for dim in shape.dim]


def ShapeEquals(tensor_proto: object, shape: object) -> bool:  # noqa: N802
    """Whether the shape of a TensorProto equals `shape`.

    Raises:
      TypeError: `tensor_proto` is not a TensorProto, or `shape` is neither a list or tuple nor a TensorShapeProto.
    """
    if not isinstance(tensor_proto, messages.TensorProto):
        raise TypeError("tensor_proto is not a tensor_pb2.TensorProto object")
    if isinstance(shape, messages.TensorShapeProto):
        shape = TensorShapeProtoToList(shape)
    elif not isinstance(shape, (list, tuple)):
        raise TypeError("shape is not a list or tuple")
    return TensorShapeProtoToList(tensor_proto.tensor_shape) == list(shape)


def maybe_set_static_shape(tensor: Tensor, shape: object) -> None:
    """Sets the static shape of a tensor in a function body to the constant value of the tensor `shape`, as far as it is known."""
    # Shape functions do not see constants that a function captures from outside.
    if get_default_graph().building_function and not tensor.shape.is_fully_defined() and isinstance(shape, Tensor):
        tensor.set_shape(constant_value_as_shape(shape))


def is_constant(tensor_or_op: Tensor | Operation) -> bool:
    """Whether an operation, or that of a tensor, is a Const."""
    op = tensor_or_op.op if isinstance(tensor_or_op, Tensor) else tensor_or_op
    return op.type == "Const"
