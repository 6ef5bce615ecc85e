"""The types of dataset elements, structures of TypeSpecs, and the conversion of elements to flat lists of tensors and back.

Nodes of datasets have one dtype and shape per flat tensor. A sparse or ragged component is one variant tensor in this list.
"""

from __future__ import annotations

from typing import Any

import tfcompat._src.ops.flow.list_array  # noqa: F401  (how TensorArrays are elements)
import tfcompat._src.ops.flow.tensor_array as tensor_arrays
from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.data import nest
from tfcompat._src.data.dataset_spec import DatasetSpec
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import type_spec
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor, SparseTensorSpec, SparseTensorValue, is_sparse
from tfcompat._src.nodes.tensor_spec import TensorSpec
from tfcompat._src.nodes.type_spec import TypeSpec
from tfcompat._src.ops.ragged.tensor import RaggedTensorSpec

TensorStructure = export("data.experimental.TensorStructure")(lambda dtype, shape: TensorSpec(shape, dtype))
SparseTensorStructure = export("data.experimental.SparseTensorStructure")(lambda dtype, shape: SparseTensorSpec(shape, dtype))
RaggedTensorStructure = export("data.experimental.RaggedTensorStructure")(
    lambda dtype, shape, ragged_rank: RaggedTensorSpec(shape, dtype, ragged_rank)
)
TensorArrayStructure = export("data.experimental.TensorArrayStructure")(
    lambda dtype, element_shape, dynamic_size, infer_shape: tensor_arrays.TensorArraySpec(element_shape, dtype, dynamic_size, infer_shape)
)
Structure = export("data.experimental.Structure")(TypeSpec)


def normalize_element(element: object) -> Any:
    """Converts the leaves of a structure to tensors named component_0, component_1, ...; composite tensors and datasets stay."""
    # Nodes get the names that they have in TensorFlow 1.15.
    parts: list[Any] = []
    with name_scope("normalize_element"):
        for i, part in enumerate(nest.flatten(element)):
            if is_sparse(part):
                parts.append(SparseTensor.from_value(part))
            elif _becomes_tensor(part):
                parts.append(convert_to_tensor(part, name=f"component_{i}"))
            else:
                parts.append(part)
    return nest.pack_sequence_as(element, parts)


def with_composites(element: object) -> Any:
    """Converts the SparseTensorValues of an element to SparseTensors."""
    return nest.map_structure(lambda part: SparseTensor.from_value(part) if isinstance(part, SparseTensorValue) else part, element)


def as_element(value: object) -> Any:
    """Converts the leaves of a structure to tensors; composite tensors and datasets stay."""
    return nest.map_structure(_as_part, with_composites(value))


def _as_part(part: object) -> Any:
    return convert_to_tensor(part) if _becomes_tensor(part) else part


def _becomes_tensor(part: object) -> bool:
    """Whether a leaf is converted to a tensor: it is not a composite tensor, a dataset or a list of datasets."""
    return isinstance(type_spec._registered_spec(part), TensorSpec | None) and DatasetSpec.of_list(part) is None


def type_spec_from_value(element: object) -> Any:
    """Returns the structure of TypeSpecs of an element; TypeError if a leaf has no TypeSpec."""
    if nest.is_sequence(element):
        return nest.map_structure(_spec_of, element)
    return _spec_of(element)


def _spec_of(part: object) -> TypeSpec:
    return DatasetSpec.of_list(part) or type_spec.type_spec_from_value(part)


def convert_legacy_structure(output_types: object, output_shapes: object, output_classes: object) -> Any:
    """Returns the structure of TypeSpecs for structures of dtypes, shapes and classes; TypeError for an unknown class."""
    types, classes = nest.flatten(output_types), nest.flatten(output_classes)
    shapes = nest.flatten_up_to(output_types, _as_shapes(output_types, output_shapes))
    return nest.pack_sequence_as(output_types, [_spec(*each) for each in zip(types, shapes, classes)])


def _as_shapes(output_types: object, output_shapes: object) -> Any:
    return nest.map_structure_up_to(output_types, lambda s: s if isinstance(s, TypeSpec) else TensorShape(s), output_shapes)


def _spec(dtype: Any, shape: Any, kind: Any) -> TypeSpec:
    if isinstance(kind, TypeSpec):
        return kind
    if issubclass(kind, SparseTensor):
        return SparseTensorSpec(shape, dtype)
    if issubclass(kind, Tensor):
        return TensorSpec(shape, dtype)
    # The legacy shape of a TensorArray begins with two flags.
    if issubclass(kind, tensor_arrays.TensorArray):
        grows, infers = (bool(n) for n in shape.as_list()[:2])
        return tensor_arrays.TensorArraySpec(shape[2:], dtype, grows, infers)
    raise TypeError(f"Could not build a structure for output class {kind!r}")


def to_tensor_list(element_spec: object, element: object) -> list[Tensor]:
    """Returns the flat tensors of an element."""
    return _tensors(element_spec, element, "_to_tensor_list")


def to_batched_tensor_list(element_spec: object, element: object) -> list[Tensor]:
    """Returns the flat tensors of a batch, each with the batch as its first dimension; ValueError if a component is a scalar."""
    return _tensors(element_spec, element, "_to_batched_tensor_list")


def _tensors(element_spec: object, element: object, method: str) -> list[Tensor]:
    nest.assert_same_structure(element_spec, element)
    pairs = zip(nest.flatten(element_spec), nest.flatten(element))
    return [tensor for spec, part in pairs for tensor in getattr(spec, method)(part)]


def from_tensor_list(element_spec: object, tensor_list: list[Any]) -> Any:
    """Returns the element with these flat tensors; ValueError if their number, dtypes or shapes do not fit `element_spec`."""
    return _element(element_spec, tensor_list, "_from_tensor_list")


def from_compatible_tensor_list(element_spec: object, tensor_list: list[Any]) -> Any:
    """Is `from_tensor_list` without the check of dtypes and shapes."""
    return _element(element_spec, tensor_list, "_from_compatible_tensor_list")


def _element(element_spec: object, tensors: list[Any], method: str) -> Any:
    specs = nest.flatten(element_spec)
    counts = [len(spec._flat_tensor_specs) for spec in specs]
    if sum(counts) != len(tensors):
        raise ValueError(f"Expected {sum(counts)} tensors but got {len(tensors)}.")
    # Each TypeSpec takes as many of the tensors as it has flat components.
    parts, start = [], 0
    for spec, count in zip(specs, counts):
        parts.append(getattr(spec, method)(tensors[start : start + count]))
        start += count
    return nest.pack_sequence_as(element_spec, parts)


def _flat_specs(element_spec: object) -> list[TensorSpec]:
    return [inner for spec in nest.flatten(element_spec) for inner in spec._flat_tensor_specs]


def get_flat_tensor_specs(element_spec: object) -> list[TensorSpec]:
    """Returns the TensorSpecs of the flat tensors of an element."""
    return _flat_specs(element_spec)


def get_flat_tensor_types(element_spec: object) -> list[dtypes.DType]:
    """Returns the dtypes of the flat tensors of an element."""
    return [spec.dtype for spec in _flat_specs(element_spec)]


def get_flat_tensor_shapes(element_spec: object) -> list[TensorShape]:
    """Returns the shapes of the flat tensors of an element."""
    return [spec.shape for spec in _flat_specs(element_spec)]


def are_compatible(spec1: object, spec2: object) -> bool:
    """Whether two element types have the same structure and compatible TypeSpecs."""
    try:
        nest.assert_same_structure(spec1, spec2)
    except (TypeError, ValueError):
        return False
    return all(a.is_compatible_with(b) for a, b in zip(nest.flatten(spec1), nest.flatten(spec2)))


def legacy(element_spec: object, what: str) -> Any:
    """Returns the structure of the "types", "shapes" or "classes" of an element, as `what` says."""
    return nest.map_structure(lambda spec: getattr(spec, f"_to_legacy_output_{what}")(), element_spec)


def legacy_property(what: str) -> property:
    """Returns the property `output_types`, `output_shapes` or `output_classes` for a class with an `element_spec`."""
    return property(lambda self: legacy(self.element_spec, what))
