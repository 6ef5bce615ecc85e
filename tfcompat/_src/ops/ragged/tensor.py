"""RaggedTensor: rows of different lengths."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.composite_tensor import CompositeTensor
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.eager_tensor import EagerTensor
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.nodes.tensor_spec import TensorSpec
from tfcompat._src.nodes.type_spec import BatchableTypeSpec, register_type_spec_from_value_converter
from tfcompat._src.ops.array.fill import ones
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat, stack
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.math.binary import maximum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import reduce_max
from tfcompat._src.ops.ragged import dense
from tfcompat._src.ops.ragged.construct import Constructors
from tfcompat._src.ops.ragged.getitem import take
from tfcompat._src.ops.ragged.partition import (
    SPLIT_TYPES,
    common_split_type,
    get_positive_axis,
    row_splits_to_segment_ids,
    splits_to_lengths,
)  # fmt: skip
from tfcompat._src.ops.ragged.value import RaggedTensorValue

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike


@export("RaggedTensor")
class RaggedTensor(Constructors, CompositeTensor):
    """A tensor with one or more dimensions whose rows have different lengths; made by its `from_...` methods.

    `values[row_splits[i]:row_splits[i + 1]]` is row i; `values` is a Tensor, or a RaggedTensor for the next dimension.
    """

    def __init__(
        self, values: Any, row_splits: Any, cached_row_lengths: Tensor | None = None,
        cached_value_rowids: Tensor | None = None, cached_nrows: Tensor | None = None, internal: bool = False,
    ) -> None:  # fmt: skip
        if not internal:
            raise ValueError(
                "RaggedTensor constructor is private; please use one of the factory methods instead (e.g., "
                "RaggedTensor.from_row_lengths())"
            )
        is_spec = isinstance(row_splits, TensorSpec)
        if not isinstance(row_splits, (Tensor, TensorSpec)):
            raise TypeError(f"Row-partitioning argument must be a Tensor, got {row_splits!r}")
        if not isinstance(values, (RaggedTensor, Tensor, TensorSpec)):
            raise TypeError(f"values must be a Tensor or RaggedTensor, got {values!r}")
        if not is_spec and row_splits.dtype not in SPLIT_TYPES:
            raise ValueError("Row-partitioning argument must be int32 or int64")
        row_splits.shape.assert_has_rank(1)
        values.shape.with_rank_at_least(1)
        if not is_spec:
            row_splits.set_shape([None])
        if isinstance(values, RaggedTensor) and values.row_splits.dtype != row_splits.dtype:
            raise ValueError("row_splits and values.row_splits must have the same dtype")
        self._values, self._row_splits = values, row_splits
        for cached in (cached_row_lengths, cached_value_rowids, cached_nrows):
            if cached is not None and not isinstance(cached, Tensor):
                raise TypeError("Cached value must be a Tensor or None.")
            if cached is not None and cached.dtype not in SPLIT_TYPES:
                raise TypeError("Cached value must be int32 or int64.")
        self._cached_row_lengths = cached_row_lengths
        self._cached_value_rowids = cached_value_rowids
        self._cached_nrows = cached_nrows

    # ---- what it is made of ----

    @property
    def dtype(self) -> dtypes.DType:
        return self._values.dtype

    @property
    def shape(self) -> TensorShape:
        splits = self._row_splits.shape.with_rank(1).as_list()[0]
        return TensorShape([None if splits is None else splits - 1, None]).concatenate(self._values.shape[1:])

    @property
    def ragged_rank(self) -> int:
        """The number of ragged dimensions."""
        return len(self.nested_row_splits)

    @property
    def values(self) -> Any:
        return self._values

    @property
    def row_splits(self) -> Any:
        return self._row_splits

    @property
    def flat_values(self) -> Any:
        """The innermost values: a Tensor."""
        return self._values.flat_values if isinstance(self._values, RaggedTensor) else self._values

    @property
    def nested_row_splits(self) -> tuple:
        """The splits of all ragged dimensions, outermost first."""
        inner = self._values.nested_row_splits if isinstance(self._values, RaggedTensor) else ()
        return (self._row_splits, *inner)

    def _levels(self) -> list[RaggedTensor]:
        """This tensor and its ragged values, outermost first."""
        return [self] + (self._values._levels() if isinstance(self._values, RaggedTensor) else [])

    def value_rowids(self, name: str | None = None) -> Tensor:
        """The row of each entry of `values`."""
        if self._cached_value_rowids is not None:
            return self._cached_value_rowids
        with name_scope(name, "RaggedValueRowIds", [self]):
            return row_splits_to_segment_ids(self.row_splits)

    def nested_value_rowids(self, name: str | None = None) -> tuple:
        """`value_rowids` of all ragged dimensions, outermost first."""
        with name_scope(name, "RaggedNestedValueRowIds", [self]):
            return tuple(level.value_rowids() for level in self._levels())

    def nrows(self, out_type: DTypeLike | None = None, name: str | None = None) -> Tensor:
        """The number of rows, of `out_type` or the dtype of the splits."""
        out_type = self._row_splits.dtype if out_type is None else dtypes.as_dtype(out_type)
        if self._cached_nrows is not None:
            return cast(self._cached_nrows, out_type)
        with name_scope(name, "RaggedNRows", [self]):
            return shape(self.row_splits, out_type=out_type)[0] - 1

    def row_starts(self, name: str | None = None) -> Tensor:
        """Where each row begins in `values`."""
        with name_scope(name, "RaggedRowStarts", [self]):
            return self.row_splits[:-1]

    def row_limits(self, name: str | None = None) -> Tensor:
        """Where each row ends in `values`."""
        with name_scope(name, "RaggedRowLimits", [self]):
            return self.row_splits[1:]

    def row_lengths(self, axis: int = 1, name: str | None = None) -> RaggedTensor | Tensor:
        """The lengths of the rows of dimension `axis`: a vector, or a RaggedTensor for an inner dimension."""
        if axis == 1 and self._cached_row_lengths is not None:
            return self._cached_row_lengths
        with name_scope(name, "RaggedRowLengths", [self]):
            axis = get_positive_axis(axis, self.shape.ndims)
            if axis == 0:
                return self.nrows()
            if axis == 1:
                return splits_to_lengths(self.row_splits)
            if isinstance(self.values, RaggedTensor):
                return self.with_values(self.values.row_lengths(axis - 1))
            sizes = shape(self.values, out_type=self._row_splits.dtype)
            return self.with_values(ones(sizes[: axis - 1], self._row_splits.dtype) * sizes[axis - 1])

    def nested_row_lengths(self, name: str | None = None) -> tuple:
        """`row_lengths` of all ragged dimensions, outermost first."""
        with name_scope(name, "RaggedNestedRowLengths", [self]):
            return tuple(level.row_lengths() for level in self._levels())

    def bounding_shape(self, axis: TensorLike | None = None, name: str | None = None, out_type: DTypeLike | None = None) -> Tensor:
        """The least shape of a Tensor that holds this one; its size in dimension `axis` where that is given."""
        out_type = self._row_splits.dtype if out_type is None else dtypes.as_dtype(out_type)
        with name_scope(name, "RaggedBoundingBox", [self, axis]):
            if isinstance(axis, int) and axis == 0:
                return shape(self.row_splits, out_type=out_type)[0] - 1
            if isinstance(axis, int) and axis == 1:
                return maximum(cast(reduce_max(self.row_lengths()), out_type), 0)
            rows = shape(self.row_splits, out_type=out_type)[0] - 1
            inner = shape(self.flat_values, out_type=out_type)[1:]
            longest = [maximum(cast(reduce_max(splits_to_lengths(s)), out_type), 0) for s in self.nested_row_splits]
            sizes = concat([stack([rows, *longest]), inner], axis=0)
            return sizes if axis is None else gather(sizes, axis)

    # ---- another one like it ----

    def with_values(self, new_values: Any) -> RaggedTensor:
        """The same rows of other values."""
        new_values.shape.with_rank_at_least(1)
        self.values.shape[:1].assert_is_compatible_with(new_values.shape[:1])
        if isinstance(new_values, RaggedTensor) and self._row_splits.dtype != new_values.row_splits.dtype:
            raise ValueError(
                "self and new_values have mismatched row_splits dtypes; use RaggedTensor.with_row_splits_dtype() to convert "
                "them to compatible dtypes."
            )
        cached = (self._cached_row_lengths, self._cached_value_rowids, self._cached_nrows)
        return RaggedTensor(new_values, self._row_splits, *cached, internal=True)

    def with_flat_values(self, new_values: object) -> RaggedTensor:
        """The same rows, in all ragged dimensions, of other innermost values."""
        inner = self._values
        return self.with_values(inner.with_flat_values(new_values) if isinstance(inner, RaggedTensor) else new_values)

    def with_row_splits_dtype(self, dtype: DTypeLike) -> RaggedTensor:
        """This tensor with splits of int32 or int64; ValueError for another dtype."""
        dtype = dtypes.as_dtype(dtype)
        if dtype not in SPLIT_TYPES:
            raise ValueError("dtype must be int32 or int64")
        if self._row_splits.dtype == dtype:
            return self
        inner = self._values
        values = inner.with_row_splits_dtype(dtype) if isinstance(inner, RaggedTensor) else inner
        parts = (self._row_splits, self._cached_row_lengths, self._cached_value_rowids, self._cached_nrows)
        return RaggedTensor(values, *(None if p is None else cast(p, dtype) for p in parts), internal=True)

    def to_tensor(self, default_value: TensorLike | None = None, name: str | None = None) -> Tensor:
        """A Tensor in which rows are filled up with `default_value` (zero, or "", by default)."""
        with name_scope(name, "RaggedToTensor", [self, default_value]):
            if default_value is not None:
                default_value = convert_to_tensor(default_value, name="default_value", dtype=self.dtype)
            values = self.values
            if isinstance(values, RaggedTensor):
                values = values.to_tensor(default_value)
            return dense.padded(values, self.row_splits, default_value)

    def to_sparse(self, name: str | None = None) -> SparseTensor:
        """A SparseTensor of the same elements."""
        with name_scope(name, "RaggedToSparse", [self]):
            return SparseTensor(*raw.RaggedTensorToSparse(self.nested_row_splits, self.flat_values, name=name))

    def _to_variant(self, batched_input: bool = False, name: str | None = None) -> Tensor:
        """A variant Tensor: a scalar, or a vector of the rows where `batched_input`."""
        with name_scope(name, "RaggedToVariant", [self]):
            return raw.RaggedTensorToVariant(self.nested_row_splits, self.flat_values, batched_input, name=name)

    def to_list(self) -> list:
        """The rows as nested lists, in eager mode; ValueError in a graph."""
        if not self._is_eager():
            raise ValueError(
                "RaggedTensor.to_list() is only supported in eager mode; in graph mode, evaluate the RaggedTensor first and "
                "then use RaggedTensorValue.to_list()."
            )
        return self._eager_value().to_list()

    def _is_eager(self) -> bool:
        return isinstance(self.flat_values, EagerTensor) and all(isinstance(s, EagerTensor) for s in self.nested_row_splits)

    def _eager_value(self) -> RaggedTensorValue:
        inner = self._values
        return RaggedTensorValue(inner._eager_value() if isinstance(inner, RaggedTensor) else inner.numpy(), self._row_splits.numpy())

    def __getitem__(self, key: object) -> Any:
        return take(self, key)

    def __repr__(self) -> str:
        if self._is_eager():
            return f"<tf.RaggedTensor {self.to_list()}>"
        return f"tf.RaggedTensor(values={self._values}, row_splits={self._row_splits})"

    def _as_graph_element(self) -> Tensor:
        return self.flat_values

    @property
    def _type_spec(self) -> RaggedTensorSpec:
        return RaggedTensorSpec(self.shape, self.dtype, self.ragged_rank, self._row_splits.dtype)

    def _shape_invariant_to_type_spec(self, shape: TensorShape) -> RaggedTensorSpec:
        return RaggedTensorSpec(shape, self.dtype, self.ragged_rank, self._row_splits.dtype)

    @property
    def _is_graph_tensor(self) -> bool:
        return hasattr(self.flat_values, "graph")

    def consumers(self) -> list:
        return self._consumers()

    def _consumers(self) -> list:
        parts = [self.flat_values, *self.nested_row_splits]
        return list(dict.fromkeys(op for part in parts for op in part.consumers()))


def is_ragged(value: object) -> bool:
    """Whether `value` is a RaggedTensor or RaggedTensorValue."""
    return isinstance(value, (RaggedTensor, RaggedTensorValue))


def match_row_splits_dtypes(*tensors: object, return_dtype: bool = False) -> Any:
    """The tensors, of which the ragged ones must have one dtype of splits; with `return_dtype`, that dtype and they."""
    dtype = common_split_type(t.row_splits for t in tensors if isinstance(t, RaggedTensor))
    return (dtype, tensors) if return_dtype else tensors


def convert_to_tensor_or_ragged_tensor(value: Any, dtype: Any = None, preferred_dtype: Any = None, name: str | None = None) -> Any:
    """A RaggedTensor of a ragged value, else a Tensor; ValueError where a RaggedTensor has another dtype."""
    if isinstance(value, RaggedTensor):
        if dtype and not dtypes.as_dtype(dtype).is_compatible_with(value.dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {dtypes.as_dtype(dtype).name} for RaggedTensor with dtype "
                f"{value.dtype.name}: {value!r}"
            )
        return value
    if not isinstance(value, RaggedTensorValue):
        return convert_to_tensor(value, dtype=dtype, preferred_dtype=preferred_dtype, name=name)
    with name_scope(name, "ConvertToTensorOrRaggedTensor", []):
        flat = convert_to_tensor(value.flat_values, dtype=dtype, preferred_dtype=preferred_dtype, name="flat_values")
        return RaggedTensor.from_nested_row_splits(flat, value.nested_row_splits, validate=False)


@export("RaggedTensorSpec")
class RaggedTensorSpec(BatchableTypeSpec):
    """The type of a RaggedTensor.

    Args:
      shape: TensorShape, None in ragged dimensions.
      dtype: element type.
      ragged_rank: number of ragged dimensions, by default all but the first.
      row_splits_dtype: int32 or int64.

    Raises:
      ValueError: neither `ragged_rank` nor a rank is given, or the first is no less than the second.
      TypeError: `ragged_rank` is no int.
    """

    __slots__ = ("_shape", "_dtype", "_ragged_rank", "_row_splits_dtype")

    def __init__(
        self, shape: object = None, dtype: DTypeLike = dtypes.float32, ragged_rank: int | None = None, row_splits_dtype: DTypeLike = dtypes.int64
    ) -> None:
        self._shape, self._dtype = TensorShape(shape), dtypes.as_dtype(dtype)
        self._row_splits_dtype = dtypes.as_dtype(row_splits_dtype)
        rank = self._shape.ndims
        if ragged_rank is None and rank is None:
            raise ValueError("Must specify ragged_rank or a shape with a known rank.")
        self._ragged_rank = rank - 1 if ragged_rank is None else ragged_rank
        if not isinstance(self._ragged_rank, int):
            raise TypeError("ragged_rank must be an int")
        if rank is not None and self._ragged_rank >= rank:
            raise ValueError("ragged_rank must be less than rank.")

    @property
    def value_type(self) -> type:
        return RaggedTensor if self._ragged_rank > 0 else Tensor

    def _serialize(self) -> tuple:
        return (self._shape, self._dtype, self._ragged_rank, self._row_splits_dtype)

    @property
    def _component_specs(self) -> list:
        if not self._ragged_rank:
            return [TensorSpec(self._shape, self._dtype)]
        flat = TensorShape([None]).concatenate(self._shape[self._ragged_rank + 1 :])
        rows = None if self._shape.ndims is None else self._shape.as_list()[0]
        outer = TensorSpec([None if rows is None else rows + 1], self._row_splits_dtype)
        inner = [TensorSpec([None], self._row_splits_dtype)] * (self._ragged_rank - 1)
        return [TensorSpec(flat, self._dtype), outer, *inner]

    def _to_components(self, value: Any) -> list:
        return [value.flat_values, *value.nested_row_splits] if is_ragged(value) else [value]

    def _from_components(self, components: Any) -> Any:
        result, *nested_splits = components
        if all(isinstance(part, np.ndarray) for part in components):
            make: Callable = RaggedTensorValue
        else:
            result = convert_to_tensor(result)
            nested_splits = [convert_to_tensor(s) if isinstance(s, np.ndarray) else s for s in nested_splits]
            make = lambda values, splits: RaggedTensor(values, splits, internal=True)  # noqa: E731
        for splits in reversed(nested_splits):
            result = make(result, splits)
        return result

    @property
    def _flat_tensor_specs(self) -> list:
        return [TensorSpec(None, dtypes.variant)]

    def _to_tensor_list(self, value: Any) -> list:
        return [value._to_variant(batched_input=False)]

    def _to_batched_tensor_list(self, value: Any) -> list:
        return [value._to_variant(batched_input=True)]

    def _from_compatible_tensor_list(self, tensor_list: list) -> RaggedTensor:
        if self._ragged_rank <= 0:
            raise ValueError(f"ragged_rank must be non-negative; got {self._ragged_rank}.")
        result = RaggedTensor._from_variant(tensor_list[0], dtype=self._dtype, output_ragged_rank=self._ragged_rank)
        if self._shape.ndims is not None:
            rows = self._shape.as_list()[0]
            result.row_splits.set_shape([None if rows is None else rows + 1])
            result.flat_values.set_shape(TensorShape([None]).concatenate(self._shape[1 + self._ragged_rank :]))
        return result

    def _batch(self, batch_size: int | None) -> RaggedTensorSpec:
        return RaggedTensorSpec(TensorShape([batch_size]).concatenate(self._shape), self._dtype, self._ragged_rank + 1)

    def _unbatch(self) -> RaggedTensorSpec:
        return RaggedTensorSpec(self._shape[1:], self._dtype, self._ragged_rank - 1)

    def _to_legacy_output_types(self) -> dtypes.DType:
        return self._dtype

    def _to_legacy_output_shapes(self) -> TensorShape:
        return self._shape

    def _to_legacy_output_classes(self) -> RaggedTensorSpec:
        return self

    @classmethod
    def from_value(cls, value: Any) -> RaggedTensorSpec:
        """The spec of a RaggedTensorValue or RaggedTensor."""
        return cls(value.shape, value.values.dtype, value.ragged_rank, value.row_splits.dtype)


register_type_spec_from_value_converter(RaggedTensorValue, RaggedTensorSpec.from_value)
