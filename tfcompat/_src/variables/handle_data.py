"""What is known of the variable behind a resource handle, as messages."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.proto import messages

HandleData = messages.CppShapeInferenceResult.HandleData


def get_resource_handle_data(graph_op: Tensor) -> HandleData:
    """The shape and dtype behind a handle; a message with `is_set` false where they are not known."""
    held = graph_op._handle_data
    if held is None:
        return HandleData()
    dtype, sizes = held
    kind = messages.CppShapeInferenceResult.HandleShapeAndType(shape=TensorShape(sizes).as_proto(), dtype=dtype.as_datatype_enum)
    return HandleData(is_set=True, shape_and_type=[kind])


def get_eager_safe_handle_data(handle: Tensor) -> HandleData:
    """`get_resource_handle_data` of an EagerTensor or a tensor of a graph."""
    if not isinstance(handle, Tensor):
        raise TypeError(f"a handle is a Tensor, but got {handle!r}")
    return get_resource_handle_data(handle)


def _set_handle_shapes_and_types(tensor: Tensor, handle_data: Any, graph_mode: bool) -> None:
    """Says what is behind a handle; `graph_mode` is unused, as tensors of graphs and others hold it alike.

    Raises:
      NotImplementedError: the message has several shapes, which only handles of 1.15's iterators do.
    """
    if len(handle_data.shape_and_type) > 1:
        raise NotImplementedError("tfcompat notes one shape and dtype of a handle; the message has several")
    for kind in handle_data.shape_and_type:
        tensor._handle_data = (dtypes.as_dtype(kind.dtype), TensorShape(kind.shape).sizes)
