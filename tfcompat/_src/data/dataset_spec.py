"""tf.data.DatasetSpec: the TypeSpec of a dataset, for elements and function arguments that are datasets."""

from __future__ import annotations

from typing import Any, cast

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.tensor_spec import TensorSpec
from tfcompat._src.nodes.type_spec import BatchableTypeSpec, _registered_spec, type_spec_from_value

DATASET_CLASSES: dict[str, Any] = {}
"""The class of datasets that are made from variant tensors, under "made"; dataset_v1.py sets it, as it imports this module."""


@export("data.DatasetSpec", "data.experimental.DatasetStructure")
class DatasetSpec(BatchableTypeSpec):
    """The TypeSpec of a tf.data.Dataset.

    Args:
      element_spec: structure of the TypeSpecs of an element.
      dataset_shape: the shape of the variant tensor: () for one dataset, other shapes for a tensor of datasets.
    """

    __slots__ = ("_element_spec", "_dataset_shape")

    def __init__(self, element_spec: object, dataset_shape: object = ()) -> None:
        self._element_spec = element_spec
        self._dataset_shape = TensorShape(dataset_shape)

    @property
    def value_type(self) -> type:
        made: type = DATASET_CLASSES["made"]
        return made

    @property
    def _component_specs(self) -> TensorSpec:
        return TensorSpec(self._dataset_shape, dtypes.variant)

    def _to_components(self, value: Any) -> Tensor:
        # A list of datasets is a component of rank 1.
        if isinstance(value, list):
            stacked: Tensor = raw.Pack([each._variant_tensor for each in value])
            return stacked
        variant: Tensor = value._variant_tensor
        return variant

    def _from_components(self, components: Tensor) -> Any:
        if self._dataset_shape.ndims == 0:
            return DATASET_CLASSES["made"](components, self._element_spec)
        return NestedVariant(components, self._element_spec, self._dataset_shape)

    @staticmethod
    def from_value(value: Any) -> DatasetSpec:
        """Returns the TypeSpec of a dataset."""
        return DatasetSpec(value.element_spec)

    @staticmethod
    def of_list(value: object) -> DatasetSpec | None:
        """Returns the TypeSpec of a list of datasets as a vector of datasets, with their common element type; None for other values."""
        if not isinstance(value, list) or not value or not isinstance(_registered_spec(value[0]), DatasetSpec):
            return None
        common = type_spec_from_value(value[0])
        for other in value[1:]:
            common = common.most_specific_compatible_type(type_spec_from_value(other))
        return cast(DatasetSpec, common)._batch(len(value))

    def _serialize(self) -> tuple[Any, ...]:
        return self._element_spec, self._dataset_shape

    def _batch(self, batch_size: int | None) -> DatasetSpec:
        return DatasetSpec(self._element_spec, TensorShape([batch_size]).concatenate(self._dataset_shape))

    def _unbatch(self) -> DatasetSpec:
        if self._dataset_shape.ndims == 0:
            raise ValueError("Unbatching a dataset is only supported for rank >= 1")
        return DatasetSpec(self._element_spec, self._dataset_shape[1:])

    def _to_batched_tensor_list(self, value: object) -> list[Tensor]:
        if self._dataset_shape.ndims == 0:
            raise ValueError("Unbatching a dataset is only supported for rank >= 1")
        return self._to_tensor_list(value)

    def _to_legacy_output_types(self) -> DatasetSpec:
        return self

    def _to_legacy_output_shapes(self) -> DatasetSpec:
        return self

    def _to_legacy_output_classes(self) -> DatasetSpec:
        return self


class NestedVariant:
    """A variant tensor of datasets, of rank 1 or more."""

    def __init__(self, variant_tensor: Tensor, element_spec: object, dataset_shape: TensorShape) -> None:
        self._variant_tensor, self._element_spec, self._dataset_shape = variant_tensor, element_spec, dataset_shape

    @property
    def element_spec(self) -> Any:
        return self._element_spec

    @property
    def _type_spec(self) -> DatasetSpec:
        return DatasetSpec(self._element_spec, self._dataset_shape)
