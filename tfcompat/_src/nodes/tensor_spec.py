"""tf.TensorSpec: the shape and dtype of a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.dtypes import DTypeLike
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import type_spec
from tfcompat._src.nodes.convert import to_tensor


@export("TensorSpec", "contrib.eager.TensorSpec")
class TensorSpec(type_spec.BatchableTypeSpec):
    """The shape and dtype of a tensor, and the name that it should have.

    Args:
      shape: anything that `tf.TensorShape` takes.
      dtype: anything that `tf.as_dtype` takes.
      name: str, or None.

    Raises:
      TypeError: `shape` or `dtype` cannot be converted.
    """

    __slots__ = ("_shape", "_dtype", "_name")

    _expands = False

    def __init__(self, shape: object, dtype: DTypeLike | None = dtypes.float32, name: str | None = None) -> None:
        self._shape = TensorShape(shape)
        self._dtype = dtypes.as_dtype(dtype)
        self._name = name

    @classmethod
    def from_spec(cls, spec: TensorSpec, name: str | None = None) -> TensorSpec:
        """Returns a TensorSpec with the shape and dtype of `spec`, and its name unless `name` is given."""
        return cls(spec.shape, spec.dtype, name or spec.name)

    @classmethod
    def from_tensor(cls, tensor: Tensor, name: str | None = None) -> TensorSpec:
        """Returns the TensorSpec of a Tensor, named after its op unless `name` is given; raises ValueError for anything else."""
        if not isinstance(tensor, Tensor):
            raise ValueError("`tensor` should be a tf.Tensor")
        return cls(tensor.shape, tensor.dtype, name or tensor.op.name)

    @property
    def shape(self) -> TensorShape:
        return self._shape

    @property
    def dtype(self) -> dtypes.DType:
        return self._dtype

    @property
    def name(self) -> str | None:
        return self._name

    @property
    def value_type(self) -> type:
        return Tensor

    def is_compatible_with(self, spec_or_tensor: object) -> bool:
        """Returns whether a Tensor or TensorSpec has a compatible dtype and shape; False for anything else."""
        return (
            isinstance(spec_or_tensor, (TensorSpec, Tensor))
            and self._dtype.is_compatible_with(spec_or_tensor.dtype)
            and self._shape.is_compatible_with(spec_or_tensor.shape)
        )

    def most_specific_compatible_type(self, other: object) -> TensorSpec:
        """Returns the TensorSpec with the most specific shape that is compatible with both; raises ValueError if the dtypes differ."""
        if not isinstance(other, TensorSpec) or self._dtype is not other.dtype:
            raise ValueError(f"Types are not compatible: {self!r} vs {other!r}")
        name = self._name if self._name == other._name else None
        return TensorSpec(self._shape.most_specific_compatible_shape(other._shape), self._dtype, name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self._shape.sizes, self._dtype, self._name

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._name

    @property
    def _component_specs(self) -> TensorSpec:
        return self

    def _to_components(self, value: object) -> Tensor:
        try:
            tensor = to_tensor(value, self._dtype)
        except (TypeError, ValueError):
            tensor = None
        if tensor is None or not tensor.shape.is_compatible_with(self._shape):
            raise ValueError(
                f"Value {value!r} is not convertible to a tensor with dtype {self._dtype} and shape {self._shape}."
            )
        return tensor

    def _from_components(self, components: Tensor) -> Tensor:
        return components

    def _from_compatible_tensor_list(self, tensor_list: list[Tensor]) -> Tensor:
        """Returns the only tensor of the list, after merging this spec's shape into its static shape."""
        (tensor,) = tensor_list
        tensor.set_shape(self._shape)
        return tensor

    def _to_batchable_tensor_list(self, value: Any, batched: bool = False) -> Tensor:
        if batched and self._shape.merge_with(value.shape).rank == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        return self._to_components(value)

    def _batch(self, batch_size: int | None) -> TensorSpec:
        return TensorSpec(TensorShape([batch_size]).concatenate(self._shape), self._dtype)

    def _unbatch(self) -> TensorSpec:
        if self._shape.rank == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        return TensorSpec(self._shape[1:], self._dtype)

    def _to_legacy_output_types(self) -> dtypes.DType:
        return self._dtype

    def _to_legacy_output_shapes(self) -> TensorShape:
        return self._shape


class BoundedTensorSpec(TensorSpec):
    """A TensorSpec with bounds on the values.

    Args:
      shape, dtype, name: as for TensorSpec.
      minimum, maximum: inclusive bounds, numbers or arrays that broadcast to `shape`; kept as read-only arrays.

    Raises:
      ValueError: a bound is missing or does not broadcast. TypeError: values of the dtype are not numbers.
    """

    __slots__ = ("_minimum", "_maximum")

    __hash__ = None  # type: ignore[assignment]  # Python's way to have no hash

    def __init__(self, shape: object, dtype: DTypeLike | None, minimum: object, maximum: object, name: str | None = None) -> None:
        super().__init__(shape, dtype, name)
        if minimum is None or maximum is None:
            raise ValueError(f"minimum and maximum must be provided; but saw '{minimum}' and '{maximum}'")
        self._minimum = self._bound("minimum", minimum)
        self._maximum = self._bound("maximum", maximum)

    def _bound(self, word: str, value: object) -> NDArray:
        if self._dtype is dtypes.string or not self._dtype.is_numpy_compatible:
            raise TypeError(f"A tensor of {self._dtype} has no {word}: use a dtype of numbers or booleans.")
        bound = np.array(value, dtype=self._dtype.as_numpy_dtype)
        # Broadcasting aligns the last dimensions.
        for size, wanted in zip(reversed(bound.shape), reversed(self._shape.sizes or ())):
            if wanted is not None and 1 not in (size, wanted) and size != wanted:
                raise ValueError(
                    f"{word} is not compatible with shape. Message: Incompatible shapes for broadcasting: "
                    f"{bound.shape} and {self._shape}."
                )
        bound.setflags(write=False)
        return bound

    @classmethod
    def from_spec(cls, spec: TensorSpec) -> BoundedTensorSpec:  # type: ignore[override]  # as in 1.15, without a name
        """Returns a BoundedTensorSpec with the bounds of `spec`, or those of its dtype if it has none."""
        minimum = getattr(spec, "minimum", spec.dtype.min)
        maximum = getattr(spec, "maximum", spec.dtype.max)
        return cls(spec.shape, spec.dtype, minimum, maximum, spec.name)

    @property
    def minimum(self) -> NDArray:
        return self._minimum

    @property
    def maximum(self) -> NDArray:
        return self._maximum

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, minimum={self._minimum!r}, maximum={self._maximum!r})"

    def __eq__(self, other: Any) -> bool:
        return (
            super().__eq__(other)
            and np.allclose(self._minimum, other._minimum)
            and np.allclose(self._maximum, other._maximum)
        )

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._minimum, self._maximum, self._name


def _spec_of_array(array: NDArray) -> TensorSpec:
    return TensorSpec(array.shape, array.dtype)


def _spec_of_tensor(tensor: Tensor) -> TensorSpec:
    return TensorSpec(tensor.shape, tensor.dtype)


type_spec.register_type_spec_from_value_converter(Tensor, _spec_of_tensor, allow_subclass=True)
type_spec.register_type_spec_from_value_converter(np.ndarray, _spec_of_array)
type_spec.register_type_spec_from_value_converter(np.generic, _spec_of_array, allow_subclass=True)
