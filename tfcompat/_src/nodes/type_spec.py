"""tf.TypeSpec: the type of a tensor or of a value made of tensors."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.composite_tensor import CompositeTensor, Expandable
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.nodes.convert import to_tensor


def _comparable(value: object) -> Any:
    """Returns a hashable form of a part of a serialized type; equal forms mean equal types."""
    if isinstance(value, (list, tuple)):
        return type(value).__name__, tuple(map(_comparable, value))
    if isinstance(value, dict):
        return "dict", tuple((key, _comparable(value[key])) for key in sorted(value))
    if isinstance(value, TensorShape):
        return "TensorShape", value.sizes
    if isinstance(value, np.ndarray):
        return "ndarray", value.shape, value.dtype.str, value.tobytes()
    return value


def _is_compatible(a: Any, b: Any) -> bool:
    """Returns whether two serialized types are compatible, part by part."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(_is_compatible, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_is_compatible(a[key], b[key]) for key in a)
    if isinstance(a, (TypeSpec, TensorShape, dtypes.DType)):
        return bool(a.is_compatible_with(b))
    return bool(_comparable(a) == _comparable(b))


def _most_specific(a: Any, b: Any) -> Any:
    """Returns the most specific serialized type that is compatible with both; raises ValueError if there is none."""
    if type(a) is type(b):
        if isinstance(a, (list, tuple)) and len(a) == len(b):
            return type(a)(map(_most_specific, a, b))
        if isinstance(a, dict) and a.keys() == b.keys():
            return {key: _most_specific(a[key], b[key]) for key in a}
        if isinstance(a, TensorShape):
            return a.most_specific_compatible_shape(b)
        if isinstance(a, TypeSpec):
            return a.most_specific_compatible_type(b)
        if _comparable(a) == _comparable(b):
            return a
    raise ValueError(f"Types are not compatible: {a!r} vs {b!r}")


@export("TypeSpec")
class TypeSpec(Expandable, abc.ABC):
    """The type of a value that consists of tensors: its components, and how to take it apart and put it together.

    A subclass defines `value_type`, `_component_specs` (a nested structure of TypeSpecs), `_to_components(value)`,
    `_from_components(components)` and `_serialize()` (the constructor's arguments, by which specs are compared).
    """

    __slots__ = ()

    @property
    @abc.abstractmethod
    def value_type(self) -> type:
        """The Python class of the values."""

    @property
    @abc.abstractmethod
    def _component_specs(self) -> Any:
        """The TypeSpecs of the components, as a nested structure."""

    @abc.abstractmethod
    def _to_components(self, value: Any) -> Any:
        """Returns the components of `value`, as a nested structure."""

    @abc.abstractmethod
    def _from_components(self, components: Any) -> Any:
        """Returns the value that has these components."""

    @abc.abstractmethod
    def _serialize(self) -> tuple[Any, ...]:
        """Returns the constructor's arguments that make this spec."""

    @classmethod
    def _deserialize(cls, serialization: tuple[Any, ...]) -> TypeSpec:
        return cls(*serialization)

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Returns whether a TypeSpec, or the type of a value, is compatible with this one; raises TypeError if the value has no type."""
        other = spec_or_value if isinstance(spec_or_value, TypeSpec) else type_spec_from_value(spec_or_value)
        return type(self) is type(other) and _is_compatible(self._serialize(), other._serialize())

    def most_specific_compatible_type(self, other: TypeSpec) -> TypeSpec:
        """Returns the most specific TypeSpec that is compatible with both; raises ValueError if there is none."""
        if type(self) is not type(other):
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        return self._deserialize(_most_specific(self._serialize(), other._serialize()))

    @property
    def _flat_tensor_specs(self) -> list[Any]:
        return nest.flatten(self._component_specs, expand_composites=True)

    def _to_tensor_list(self, value: object) -> list[Any]:
        return nest.flatten(self._to_components(value), expand_composites=True)

    def _from_tensor_list(self, tensor_list: list[Any]) -> Any:
        """Returns the value made of these tensors; raises ValueError if their number or types are wrong."""
        specs = self._flat_tensor_specs
        if len(specs) != len(tensor_list):
            raise ValueError("Incompatible input: wrong number of tensors")
        for i, (spec, tensor) in enumerate(zip(specs, tensor_list)):
            if not spec.is_compatible_with(tensor):
                raise ValueError(f"Incompatible input: tensor {i} ({tensor}) is incompatible with {spec}")
        return self._from_compatible_tensor_list(tensor_list)

    def _from_compatible_tensor_list(self, tensor_list: list[Any]) -> Any:
        return self._from_components(
            nest.pack_sequence_as(self._component_specs, tensor_list, expand_composites=True)
        )

    def _to_legacy_output_types(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._to_legacy_output_types")

    def _to_legacy_output_shapes(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._to_legacy_output_shapes")

    def _to_legacy_output_classes(self) -> Any:
        return self.value_type

    def _nest_key(self) -> str:
        return self.value_type.__name__

    def _nest_spec(self) -> TypeSpec:
        return self

    def _nest_components(self) -> Any:
        return self._component_specs

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and _comparable(self._serialize()) == _comparable(other._serialize())

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((type(self), _comparable(self._serialize())))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._serialize()

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._serialize()!r}"


class BatchableTypeSpec(TypeSpec):
    """A TypeSpec whose values can be stacked into batches."""

    __slots__ = ()

    @abc.abstractmethod
    def _batch(self, batch_size: int | None) -> TypeSpec:
        """Returns the type of a batch of `batch_size` values."""

    @abc.abstractmethod
    def _unbatch(self) -> TypeSpec:
        """Returns the type of one element of a batch of this type."""

    def _to_batched_tensor_list(self, value: object) -> list[Any]:
        """Returns the tensors of `value`; raises ValueError if one of them is a scalar."""
        tensors = self._to_tensor_list(value)
        for tensor in tensors:
            if tensor.shape.rank == 0:
                raise ValueError(f"Value {value} has insufficient rank for batching.")
        return tensors


_converters: list[tuple[type, Callable[[Any], TypeSpec], bool]] = []


def register_type_spec_from_value_converter(
    type_object: type, converter_fn: Callable[[Any], TypeSpec], allow_subclass: bool = False
) -> None:
    """Registers a function by which `type_spec_from_value` converts values of a class, and of its subclasses if `allow_subclass`."""
    _converters.append((type_object, converter_fn, allow_subclass))


def _registered_spec(value: object) -> TypeSpec | None:
    if isinstance(value, CompositeTensor):
        spec: TypeSpec = value._type_spec
        return spec
    # Later registrations come first.
    for kind, converter, allow_subclass in reversed(_converters):
        if type(value) is kind or (allow_subclass and isinstance(value, kind)):
            converted: TypeSpec = converter(value)
            return converted
    return None


def type_spec_from_value(value: object) -> TypeSpec:
    """Returns the TypeSpec of a tensor, composite tensor, array, or anything that `convert_to_tensor` accepts; raises TypeError otherwise."""
    spec = _registered_spec(value)
    if spec is not None:
        return spec
    try:
        tensor = to_tensor(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"Could not build a TypeSpec for {value!r} with type {type(value).__name__}") from error
    return type_spec_from_value(tensor)
