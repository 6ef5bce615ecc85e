"""IndexedSlices: some rows of a larger tensor with their indices, as gradients of gathered variables are."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tfcompat._src.base import dtypes
from tfcompat._src.base.composite_tensor import CompositeTensor
from tfcompat._src.base.dtypes import DTypeLike
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape, as_shape
from tfcompat._src.graph.constant_value import constant_value, constant_value_as_shape
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import graph_element_of, graph_from_inputs
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import convert, raw
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.nodes.tensor_spec import TensorSpec
from tfcompat._src.nodes.type_spec import TypeSpec


class IndexedSlicesValue(NamedTuple):
    """The parts of an IndexedSlices as arrays; `dense_shape` is None if it is unknown."""

    values: Any
    indices: Any
    dense_shape: Any


_LARGE = 100_000_000
"""From this many elements on, converting to a dense tensor warns, as in 1.15."""


@export("IndexedSlices")
class IndexedSlices(CompositeTensor):
    """The rows `values[i]` at positions `indices[i]` of a tensor that is zero elsewhere; equal indices add up.

    Args:
      values: tensor of shape [n, ...].
      indices: vector of n integers.
      dense_shape: shape vector of the whole tensor, where known.

    Raises:
      ValueError: the parts are of different graphs.
    """

    def __init__(self, values: Tensor, indices: Tensor, dense_shape: Tensor | None = None) -> None:
        graph_from_inputs([v for v in (values, indices, dense_shape) if v is not None])
        self._values, self._indices, self._dense_shape = values, indices, dense_shape

    @property
    def values(self) -> Tensor:
        return self._values

    @property
    def indices(self) -> Tensor:
        return self._indices

    @property
    def dense_shape(self) -> Tensor | None:
        return self._dense_shape

    @property
    def name(self) -> str:
        return self.values.name

    @property
    def device(self) -> str:
        return self.values.device

    @property
    def op(self) -> Operation:
        return self.values.op

    @property
    def dtype(self) -> dtypes.DType:
        return self.values.dtype

    @property
    def graph(self) -> Graph:
        return self.values.graph

    def __str__(self) -> str:
        shape = "" if self._dense_shape is None else f", dense_shape={self._dense_shape}"
        return f"IndexedSlices(indices={self._indices}, values={self._values}{shape})"

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(-self.values, self.indices, self.dense_shape)

    @property
    def _type_spec(self) -> IndexedSlicesSpec:
        # Without a constant dense shape, only the dimensions of a row are known.
        known = self._dense_shape is not None and constant_value_as_shape(self._dense_shape)
        shape = known or TensorShape([None]).concatenate(self._values.shape[1:])
        shape_dtype = None if self._dense_shape is None else self._dense_shape.dtype
        return IndexedSlicesSpec(shape, self.dtype, self._indices.dtype, shape_dtype, self._indices.shape)

    def _shape_invariant_to_type_spec(self, shape: TensorShape) -> IndexedSlicesSpec:
        whole = TensorShape([None]).concatenate(shape[1:])
        shape_dtype = None if self._dense_shape is None else self._dense_shape.dtype
        return IndexedSlicesSpec(whole, self.dtype, self.indices.dtype, shape_dtype, shape[:1])

    @property
    def _is_graph_tensor(self) -> bool:
        return hasattr(self._values, "graph")

    def consumers(self) -> list[Any]:
        return self._consumers()

    def _consumers(self) -> list[Any]:
        found: dict[Any, None] = {}
        for part in (self._values, self._indices, self._dense_shape):
            if part is not None:
                found.update(dict.fromkeys(part.consumers()))
        return list(found)


@export("IndexedSlicesSpec")
class IndexedSlicesSpec(TypeSpec):
    """The type of an IndexedSlices.

    Args:
      shape: dense shape.
      dtype: element type of the values.
      indices_dtype: int32 or int64.
      dense_shape_dtype: int32, int64, or None where there is no dense shape.
      indices_shape: shape of the indices.
    """

    __slots__ = ("_shape", "_values_dtype", "_indices_dtype", "_dense_shape_dtype", "_indices_shape")

    def __init__(
        self, shape: object = None, dtype: DTypeLike | None = dtypes.float32, indices_dtype: DTypeLike | None = dtypes.int64,
        dense_shape_dtype: DTypeLike | None = None, indices_shape: object = None,
    ) -> None:  # fmt: skip
        self._shape = as_shape(shape)
        self._values_dtype, self._indices_dtype = dtypes.as_dtype(dtype), dtypes.as_dtype(indices_dtype)
        self._dense_shape_dtype = None if dense_shape_dtype is None else dtypes.as_dtype(dense_shape_dtype)
        self._indices_shape = as_shape(indices_shape).with_rank(1)

    @property
    def value_type(self) -> type:
        return IndexedSlices

    def _serialize(self) -> tuple[Any, ...]:
        return (self._shape, self._values_dtype, self._indices_dtype, self._dense_shape_dtype, self._indices_shape)

    @property
    def _component_specs(self) -> tuple[Any, ...]:
        values = TensorSpec(self._indices_shape.concatenate(self._shape[1:]), self._values_dtype)
        specs = (values, TensorSpec(self._indices_shape, self._indices_dtype))
        if self._dense_shape_dtype is None:
            return specs
        return (*specs, TensorSpec([self._shape.ndims], self._dense_shape_dtype))

    def _to_components(self, value: IndexedSlices) -> tuple[Any, ...]:
        parts = (value.values, value.indices)
        return parts if value.dense_shape is None else (*parts, value.dense_shape)

    def _from_components(self, parts: Iterable[Any]) -> IndexedSlices:
        return IndexedSlices(*parts)


@export("convert_to_tensor_or_indexed_slices")
def convert_to_tensor_or_indexed_slices(
    value: object, dtype: DTypeLike | None = None, name: str | None = None
) -> Tensor | IndexedSlices | SparseTensor:
    """Converts `value` to a Tensor; an IndexedSlices or SparseTensor is returned unchanged.

    Args:
      value: an IndexedSlices, a SparseTensor, or anything that `convert_to_tensor` accepts.
      dtype: the required dtype, or None.
      name: of a new node.

    Raises:
      ValueError: the IndexedSlices or SparseTensor has another dtype.
    """
    return internal_convert_to_tensor_or_indexed_slices(value, dtype, name)


def internal_convert_to_tensor_or_indexed_slices(
    value: object, dtype: DTypeLike | None = None, name: str | None = None, as_ref: bool = False
) -> Tensor | IndexedSlices | SparseTensor:
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    if not isinstance(value, (IndexedSlices, SparseTensor)):
        return convert.to_tensor(value, wanted, name, as_ref)
    if wanted is not None and not wanted.is_compatible_with(value.dtype):
        raise ValueError(
            f"Tensor conversion requested dtype {wanted.name} for Tensor with dtype {value.dtype.name}: {value!r}"
        )
    return value


def internal_convert_n_to_tensor_or_indexed_slices(
    values: Iterable[Any], dtype: DTypeLike | None = None, name: str | None = None, as_ref: bool = False
) -> list[Any]:
    if not isinstance(values, Sequence):
        raise TypeError("values must be a sequence.")
    return [
        v if v is None else internal_convert_to_tensor_or_indexed_slices(v, dtype, name and f"{name}_{i}", as_ref)
        for i, v in enumerate(values)
    ]


def _to_dense(
    value: IndexedSlices, dtype: dtypes.DType | None = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    """Returns the whole tensor; warns if it is large or of unknown size.

    Raises:
      ValueError: the dtype differs, or the dense shape is unknown.
    """
    if dtype is not None and not dtype.is_compatible_with(value.dtype):
        raise ValueError(
            f"Tensor conversion requested dtype {dtype.name} for IndexedSlices with dtype {value.dtype.name}"
        )
    if value.dense_shape is None:
        raise ValueError(f"Tensor conversion requested for IndexedSlices without dense_shape: {value}")
    shape = constant_value(value.dense_shape) if graph_element_of(value.dense_shape) is not None else None
    if shape is None:
        warnings.warn(
            "Converting sparse IndexedSlices to a dense Tensor of unknown shape. This may consume a large amount "
            "of memory.",
            stacklevel=2,
        )
    elif shape.astype(float).prod() >= _LARGE:
        warnings.warn(
            f"Converting sparse IndexedSlices to a dense Tensor with {int(shape.astype(float).prod())} elements. "
            "This may consume a large amount of memory.", stacklevel=2,
        )  # fmt: skip
    # Rows with equal indices add up.
    whole: Tensor = raw.UnsortedSegmentSum(value.values, value.indices, value.dense_shape[0], name=name)
    return whole


convert._register((IndexedSlices,), _to_dense, 100)
