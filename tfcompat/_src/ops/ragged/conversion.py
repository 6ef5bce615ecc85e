"""Conversions between ragged and other tensors as functions."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.ragged.tensor import RaggedTensor, convert_to_tensor_or_ragged_tensor, is_ragged


def from_tensor(
    tensor: Any, lengths: Any = None, padding: Any = None, ragged_rank: int = 1, row_splits_dtype: Any = dtypes.int64,
    name: str | None = None,
) -> RaggedTensor:  # fmt: skip
    """`RaggedTensor.from_tensor`, or the argument where it is ragged."""
    if is_ragged(tensor):
        return tensor
    return RaggedTensor.from_tensor(tensor, lengths, padding, ragged_rank, name, row_splits_dtype)


def to_tensor(rt_input: Any, default_value: Any = None, name: str | None = None) -> Any:
    """`RaggedTensor.to_tensor`, or the argument where it is not ragged."""
    return rt_input.to_tensor(default_value, name) if is_ragged(rt_input) else rt_input


def from_sparse(st_input: object, name: str | None = None) -> RaggedTensor:
    """`RaggedTensor.from_sparse`."""
    return RaggedTensor.from_sparse(st_input, name)


def to_sparse(rt_input: Any, name: str | None = None) -> SparseTensor:
    """`RaggedTensor.to_sparse`; TypeError for another value."""
    if not is_ragged(rt_input):
        raise TypeError(f"Expected RaggedTensor, got {type(rt_input).__name__}")
    return rt_input.to_sparse(name)


def _entries(shape: Any) -> list:
    return shape.as_list() if isinstance(shape, TensorShape) else list(shape)


def ragged_to_dense(rt_input: Any, default_value: Any = None, shape: object = None) -> Tensor:
    """A Tensor in which rows are filled up, or cut, to a shape.

    Args:
      rt_input: RaggedTensor; a Tensor is returned as it is.
      default_value: value to fill with, broadcast to the inner dimensions; zero by default.
      shape: the shape, with -1 or None for the smallest size that holds all; a TensorShape, list or Tensor.
    """
    rt_input = convert_to_tensor_or_ragged_tensor(rt_input)
    if not is_ragged(rt_input):
        return rt_input
    if shape is None:
        sizes = constant(-1, dtypes.int64)
    elif isinstance(shape, Tensor):
        sizes = shape
    else:
        sizes = constant([-1 if s is None or s < 0 else s for s in _entries(shape)], dtypes.int64)
    if default_value is None:
        default_value = zeros((), rt_input.dtype)
    return raw.RaggedTensorToTensor(
        sizes, rt_input.flat_values, convert_to_tensor(default_value, rt_input.dtype), list(rt_input.nested_row_splits),
        row_partition_types=["ROW_SPLITS"] * rt_input.ragged_rank,
    )  # fmt: skip
