"""SparseTensor: the non-zero elements of a tensor and their positions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.composite_tensor import CompositeTensor
from tfcompat._src.base.dtypes import DTypeLike
from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.base.tensor_shape import TensorShape, as_shape, dimension_at_index, dimension_value
from tfcompat._src.graph.constant_value import constant_value_as_shape
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import eval_in_session
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor, to_tensor
from tfcompat._src.nodes.tensor_spec import TensorSpec
from tfcompat._src.nodes.type_spec import BatchableTypeSpec

if TYPE_CHECKING:
    from tfcompat._src.graph.tensor import Tensor


@export("SparseTensorValue")
class SparseTensorValue(NamedTuple):
    """The parts of a SparseTensor as arrays."""

    indices: Any
    values: Any
    dense_shape: Any


@export("SparseTensor", "sparse.SparseTensor")
class SparseTensor(CompositeTensor):
    """A tensor of rank r of which n elements are stored.

    Args:
      indices: int64 [n, r], the positions.
      values: [n], the elements.
      dense_shape: int64 [r].

    Raises:
      ValueError: the shapes of the parts do not fit.
    """

    def __init__(self, indices: object, values: object, dense_shape: object) -> None:
        with name_scope(None, "SparseTensor", [indices, values, dense_shape]):
            self._indices = convert_to_tensor(indices, name="indices", dtype=dtypes.int64)
            self._values = to_tensor(values, name="values")
            self._dense_shape = convert_to_tensor(dense_shape, name="dense_shape", dtype=dtypes.int64)
        # Static shapes must agree on the number of elements and on the rank.
        positions = self._indices.shape.with_rank(2)
        count, rank = self._values.shape.with_rank(1), self._dense_shape.shape.with_rank(1)
        dimension_at_index(positions, 0).merge_with(dimension_at_index(count, 0))
        dimension_at_index(positions, 1).merge_with(dimension_at_index(rank, 0))

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> SparseTensor:
        """Returns a SparseTensor from a SparseTensor or SparseTensorValue; raises TypeError for anything else."""
        if not is_sparse(sparse_tensor_value):
            raise TypeError(f"Neither a SparseTensor nor SparseTensorValue: {sparse_tensor_value}.")
        return cls(sparse_tensor_value.indices, sparse_tensor_value.values, sparse_tensor_value.dense_shape)

    @property
    def indices(self) -> Tensor:
        return self._indices

    @property
    def values(self) -> Tensor:
        return self._values

    @property
    def dense_shape(self) -> Tensor:
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        return constant_value_as_shape(self._dense_shape)

    def get_shape(self) -> TensorShape:
        return self.shape

    @property
    def op(self) -> Operation:
        return self._values.op

    @property
    def dtype(self) -> dtypes.DType:
        return self._values.dtype

    @property
    def graph(self) -> Graph:
        return self._indices.graph

    def __str__(self) -> str:
        return f"SparseTensor(indices={self._indices}, values={self._values}, dense_shape={self._dense_shape})"

    def eval(self, feed_dict: dict[Any, Any] | None = None, session: SessionLike | None = None) -> SparseTensorValue:
        """Evaluates the three parts in `session`, or in the default session; raises ValueError if there is none."""
        return SparseTensorValue(
            *eval_in_session([self.indices, self.values, self.dense_shape], feed_dict, self.graph, session)
        )

    @staticmethod
    def _override_operator(operator: str, func: Callable[..., Any]) -> None:
        setattr(SparseTensor, operator, func)

    @property
    def _type_spec(self) -> SparseTensorSpec:
        return SparseTensorSpec(self.shape, self.dtype)

    def _shape_invariant_to_type_spec(self, shape: TensorShape) -> SparseTensorSpec:
        """Returns the spec for a while_loop's shape invariant, which states the shape of `dense_shape`."""
        # As in 1.15, the length of the `dense_shape` vector is all that such an invariant says.
        rank = dimension_value(shape[0]) if shape.ndims == 1 else None
        return SparseTensorSpec(TensorShape(None if rank is None else [None] * rank), self.dtype)

    @property
    def _is_graph_tensor(self) -> bool:
        return hasattr(self._values, "graph")

    def consumers(self) -> list[Any]:
        return self._consumers()

    def _consumers(self) -> list[Any]:
        found: dict[Any, None] = {}
        for part in (self._values, self._indices, self._dense_shape):
            found.update(dict.fromkeys(part.consumers()))
        return list(found)


@export("SparseTensorSpec")
class SparseTensorSpec(BatchableTypeSpec):
    """The type of a SparseTensor: dense shape and element type."""

    __slots__ = ("_shape", "_dtype")

    def __init__(self, shape: object = None, dtype: DTypeLike | None = dtypes.float32) -> None:
        self._shape, self._dtype = as_shape(shape), dtypes.as_dtype(dtype)

    @classmethod
    def from_value(cls, value: object) -> SparseTensorSpec:
        """Returns the spec of a SparseTensor or SparseTensorValue; raises TypeError for anything else."""
        if isinstance(value, SparseTensorValue):
            if isinstance(value.values, np.ndarray):
                return cls(value.dense_shape, value.values.dtype)
            value = SparseTensor.from_value(value)
        if not isinstance(value, SparseTensor):
            raise TypeError("Expected SparseTensor or SparseTensorValue")
        return cls(value.shape, value.dtype)

    @property
    def shape(self) -> TensorShape:
        return self._shape

    @property
    def dtype(self) -> dtypes.DType:
        return self._dtype

    @property
    def value_type(self) -> type:
        return SparseTensor

    def _serialize(self) -> tuple[Any, ...]:
        return (self._shape, self._dtype)

    @property
    def _component_specs(self) -> list[Any]:
        rank = self._shape.ndims
        return [
            TensorSpec([None, rank], dtypes.int64),
            TensorSpec([None], self._dtype),
            TensorSpec([rank], dtypes.int64),
        ]

    def _to_components(self, value: Any) -> list[Any]:
        return [value.indices, value.values, value.dense_shape]

    def _from_components(self, parts: Iterable[Any]) -> Any:
        indices, values, dense_shape = parts
        if all(isinstance(p, np.ndarray) for p in (indices, values, dense_shape)):
            return SparseTensorValue(indices, values, dense_shape)
        return SparseTensor(indices, values, dense_shape)

    @property
    def _flat_tensor_specs(self) -> list[Any]:
        return [TensorSpec(None, dtypes.variant)]

    def _to_tensor_list(self, value: Any) -> list[Any]:
        return [raw.SerializeSparse(value.indices, value.values, value.dense_shape, out_type=dtypes.variant)]

    def _to_batched_tensor_list(self, value: Any) -> list[Any]:
        if self._shape.merge_with(value.shape).ndims == 0:
            raise ValueError("Unbatching a sparse tensor is only supported for rank >= 1")
        return [raw.SerializeManySparse(value.indices, value.values, value.dense_shape, out_type=dtypes.variant)]

    def _from_compatible_tensor_list(self, tensor_list: list[Any]) -> SparseTensor:
        # Serialization loses static shapes, which the spec knows.
        indices, values, sizes = raw.DeserializeSparse(tensor_list[0], dtype=self._dtype)
        indices.set_shape([None, self._shape.ndims])
        sizes.set_shape([self._shape.ndims])
        return SparseTensor(indices, values, sizes)

    def _batch(self, batch_size: int | None) -> SparseTensorSpec:
        return SparseTensorSpec(TensorShape([batch_size]).concatenate(self._shape), self._dtype)

    def _unbatch(self) -> SparseTensorSpec:
        if self._shape.ndims == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        return SparseTensorSpec(self._shape[1:], self._dtype)

    def _to_legacy_output_types(self) -> dtypes.DType:
        return self._dtype

    def _to_legacy_output_shapes(self) -> TensorShape:
        return self._shape

    def _to_legacy_output_classes(self) -> type:
        return SparseTensor


@export("convert_to_tensor_or_sparse_tensor")
def convert_to_tensor_or_sparse_tensor(value: object, dtype: DTypeLike | None = None, name: str | None = None) -> Tensor | SparseTensor:
    """Converts a SparseTensorValue to a SparseTensor, a SparseTensor to itself, and anything else to a Tensor.

    Raises:
      RuntimeError: the SparseTensor has another dtype than `dtype`.
    """
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    if isinstance(value, SparseTensorValue):
        value = SparseTensor.from_value(value)
    if isinstance(value, SparseTensor):
        if wanted is not None and not wanted.is_compatible_with(value.dtype):
            raise RuntimeError(f"Sparse dtype: requested = {wanted.name}, actual = {value.dtype.name}")
        return value
    return to_tensor(value, wanted, name)


def is_sparse(x: object) -> bool:
    """Returns whether `x` is a SparseTensor or SparseTensorValue."""
    return isinstance(x, (SparseTensor, SparseTensorValue))
