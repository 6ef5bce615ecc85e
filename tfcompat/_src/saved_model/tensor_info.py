"""TensorInfo messages: which tensors of a graph an input or output of a signature is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.composite_tensor import CompositeTensor
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import executing_eagerly, get_default_graph
from tfcompat._src.nodes.meta_graph import prepend_name_scope
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.proto import messages
from tfcompat._src.saved_model.nested_structure_coder import StructureCoder

if TYPE_CHECKING:
    from tfcompat._src.graph.tensor import Tensor


@export("saved_model.build_tensor_info", "saved_model.utils.build_tensor_info")
def build_tensor_info(tensor: object) -> Any:
    """The TensorInfo message of a tensor: its names, dtype and static shape.

    Args:
      tensor: a Tensor, SparseTensor or other composite tensor of a graph.

    Raises:
      RuntimeError: eager execution is on.
    """
    if executing_eagerly():
        raise RuntimeError("build_tensor_info is not supported in Eager mode.")
    return build_tensor_info_internal(tensor)


def build_tensor_info_internal(tensor: Any) -> Any:
    """`build_tensor_info`, in every mode."""
    if isinstance(tensor, CompositeTensor) and not isinstance(tensor, SparseTensor):
        return _composite_tensor_info(tensor)
    found = messages.TensorInfo(
        dtype=dtypes.as_dtype(tensor.dtype).as_datatype_enum, tensor_shape=tensor.get_shape().as_proto()
    )
    if isinstance(tensor, SparseTensor):
        found.coo_sparse.values_tensor_name = tensor.values.name
        found.coo_sparse.indices_tensor_name = tensor.indices.name
        found.coo_sparse.dense_shape_tensor_name = tensor.dense_shape.name
    else:
        found.name = tensor.name
    return found


def _composite_tensor_info(tensor: CompositeTensor) -> Any:
    found = messages.TensorInfo()
    spec = StructureCoder().encode_structure(tensor._type_spec)
    found.composite_tensor.type_spec.CopyFrom(spec.type_spec_value)
    parts = nest.flatten(tensor, expand_composites=True)
    found.composite_tensor.components.extend(map(build_tensor_info_internal, parts))
    return found


def build_tensor_info_from_op(op: Any) -> Any:
    """A TensorInfo message that names an operation: it has no dtype, and its shape is unknown."""
    return messages.TensorInfo(name=op.name, tensor_shape=TensorShape(None).as_proto())


@export("saved_model.get_tensor_from_tensor_info", "saved_model.utils.get_tensor_from_tensor_info")
def get_tensor_from_tensor_info(tensor_info: Any, graph: Graph | None = None, import_scope: str | None = None) -> Any:
    """The Tensor, SparseTensor or other composite tensor that a TensorInfo message describes.

    Args:
      tensor_info: the message.
      graph: where it is looked up; by default the default graph.
      import_scope: a name scope for the names in the message.

    Raises:
      KeyError: the graph has no such tensor. ValueError: the message names none.
    """
    graph = graph or get_default_graph()

    def tensor(name: str) -> Tensor:
        return graph.get_tensor_by_name(prepend_name_scope(name, import_scope))

    encoding = tensor_info.WhichOneof("encoding")
    if encoding == "name":
        return tensor(tensor_info.name)
    if encoding == "coo_sparse":
        names = tensor_info.coo_sparse
        return SparseTensor(
            tensor(names.indices_tensor_name), tensor(names.values_tensor_name), tensor(names.dense_shape_tensor_name)
        )
    if encoding == "composite_tensor":
        spec = StructureCoder().decode_proto(
            messages.StructuredValue(type_spec_value=tensor_info.composite_tensor.type_spec)
        )
        parts = [tensor(part.name) for part in tensor_info.composite_tensor.components]
        return nest.pack_sequence_as(spec, parts, expand_composites=True)
    raise ValueError(f"Invalid TensorInfo.encoding: {encoding}")


def get_element_from_tensor_info(tensor_info: Any, graph: Graph | None = None, import_scope: str | None = None) -> Any:
    """The operation or tensor that a TensorInfo message names; KeyError where the graph has none."""
    graph = graph or get_default_graph()
    return graph.as_graph_element(prepend_name_scope(tensor_info.name, import_scope))
