"""The types of dataset elements: structures of TypeSpecs, and elements as flat lists of tensors."""

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
    """An element whose leaves are tensors, composite tensors or datasets, named component_0, component_1, ..."""
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
    """An element with SparseTensors in place of SparseTensorValues."""
    return nest.map_structure(lambda part: SparseTensor.from_value(part) if isinstance(part, SparseTensorValue) else part, element)


def as_element(value: object) -> Any:
    """A structure of values as an element: arrays and numbers become tensors."""
    return nest.map_structure(_as_part, with_composites(value))


def _as_part(part: object) -> Any:
    return convert_to_tensor(part) if _becomes_tensor(part) else part


def _becomes_tensor(part: object) -> bool:
    """Whether a part of an element is no composite tensor, dataset or list of datasets."""
    return isinstance(type_spec._registered_spec(part), TensorSpec | None) and DatasetSpec.of_list(part) is None


def type_spec_from_value(element: object) -> Any:
    """The structure of TypeSpecs of an element; TypeError where a part has none."""
    if nest.is_sequence(element):
        return nest.map_structure(_spec_of, element)
    return _spec_of(element)


def _spec_of(part: object) -> TypeSpec:
    return DatasetSpec.of_list(part) or type_spec.type_spec_from_value(part)


def convert_legacy_structure(output_types: object, output_shapes: object, output_classes: object) -> Any:
    """The structure of TypeSpecs that three structures of dtypes, shapes and classes say; TypeError for an unknown class."""
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
    if issubclass(kind, tensor_arrays.TensorArray):
        grows, infers = (bool(n) for n in shape.as_list()[:2])
        return tensor_arrays.TensorArraySpec(shape[2:], dtype, grows, infers)
    raise TypeError(f"Could not build a structure for output class {kind!r}")


def to_tensor_list(element_spec: object, element: object) -> list[Tensor]:
    """The tensors of an element of this type, in order."""
    return _tensors(element_spec, element, "_to_tensor_list")


def to_batched_tensor_list(element_spec: object, element: object) -> list[Tensor]:
    """The tensors of a batch of elements, one row for each; ValueError where a part is a scalar."""
    return _tensors(element_spec, element, "_to_batched_tensor_list")


def _tensors(element_spec: object, element: object, method: str) -> list[Tensor]:
    nest.assert_same_structure(element_spec, element)
    pairs = zip(nest.flatten(element_spec), nest.flatten(element))
    return [tensor for spec, part in pairs for tensor in getattr(spec, method)(part)]


def from_tensor_list(element_spec: object, tensor_list: list[Any]) -> Any:
    """The element of this type made of these tensors; ValueError where they do not fit."""
    return _element(element_spec, tensor_list, "_from_tensor_list")


def from_compatible_tensor_list(element_spec: object, tensor_list: list[Any]) -> Any:
    """`from_tensor_list` without a look at dtypes and shapes."""
    return _element(element_spec, tensor_list, "_from_compatible_tensor_list")


def _element(element_spec: object, tensors: list[Any], method: str) -> Any:
    specs = nest.flatten(element_spec)
    counts = [len(spec._flat_tensor_specs) for spec in specs]
    if sum(counts) != len(tensors):
        raise ValueError(f"Expected {sum(counts)} tensors but got {len(tensors)}.")
    parts, start = [], 0
    for spec, count in zip(specs, counts):
        parts.append(getattr(spec, method)(tensors[start : start + count]))
        start += count
    return nest.pack_sequence_as(element_spec, parts)


def _flat_specs(element_spec: object) -> list[TensorSpec]:
    return [inner for spec in nest.flatten(element_spec) for inner in spec._flat_tensor_specs]


def get_flat_tensor_specs(element_spec: object) -> list[TensorSpec]:
    """The TensorSpecs of the tensors of an element."""
    return _flat_specs(element_spec)


def get_flat_tensor_types(element_spec: object) -> list[dtypes.DType]:
    """The dtypes of the tensors of an element."""
    return [spec.dtype for spec in _flat_specs(element_spec)]


def get_flat_tensor_shapes(element_spec: object) -> list[TensorShape]:
    """The shapes of the tensors of an element."""
    return [spec.shape for spec in _flat_specs(element_spec)]


def are_compatible(spec1: object, spec2: object) -> bool:
    """Whether elements of one type may stand where the other is asked for."""
    try:
        nest.assert_same_structure(spec1, spec2)
    except (TypeError, ValueError):
        return False
    return all(a.is_compatible_with(b) for a, b in zip(nest.flatten(spec1), nest.flatten(spec2)))


def legacy(element_spec: object, what: str) -> Any:
    """The structure of "types", "shapes" or "classes" of an element."""
    return nest.map_structure(lambda spec: getattr(spec, f"_to_legacy_output_{what}")(), element_spec)


def legacy_property(what: str) -> property:
    """The property `output_types`, `output_shapes` or `output_classes` of what has an `element_spec`."""
    return property(lambda self: legacy(self.element_spec, what))
