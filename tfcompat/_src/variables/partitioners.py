"""Functions that say into how many parts a variable is cut, by its shape and dtype."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tfcompat._src.base.dtypes import DType, string
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape


def _single_axis(rank: int, axis: int, parts: int) -> list[int]:
    found = [1] * rank
    found[axis] = parts
    return found


def _element_bytes(dtype: DType, bytes_per_string_element: int) -> int:
    return bytes_per_string_element if dtype.base_dtype is string else dtype.size


@export("variable_axis_size_partitioner")
def variable_axis_size_partitioner(
    max_shard_bytes: int, axis: int = 0, bytes_per_string_element: int = 16, max_shards: int | None = None
) -> Callable:
    """Parts of at most `max_shard_bytes` along `axis`.

    Args:
      max_shard_bytes: upper limit of a part's size in bytes.
      axis: the dimension to cut.
      bytes_per_string_element: assumed size of a string.
      max_shards: upper limit of the number of parts.

    Raises:
      ValueError: a limit is not positive.
    """
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError("Both max_shard_bytes and bytes_per_string_element must be positive.")
    if max_shards and max_shards < 1:
        raise ValueError("max_shards must be positive.")

    def partitioner(shape: object, dtype: object) -> list[int]:
        if not isinstance(shape, TensorShape):
            raise ValueError(f"shape is not a TensorShape: {shape}")
        if not shape.is_fully_defined():
            raise ValueError(f"shape is not fully defined: {shape}")
        if not isinstance(dtype, DType):
            raise ValueError(f"dtype is not a DType: {dtype}")
        sizes = shape.as_list()
        slice_bytes = shape.num_elements() / sizes[axis] * _element_bytes(dtype, bytes_per_string_element)
        count = math.ceil(sizes[axis] / max(1, math.floor(max_shard_bytes / slice_bytes)))
        return _single_axis(len(sizes), axis, min(count, max_shards) if max_shards else count)

    return partitioner


@export("min_max_variable_partitioner")
def min_max_variable_partitioner(
    max_partitions: int = 1, axis: int = 0, min_slice_size: int = 256 << 10, bytes_per_string_element: int = 16
) -> Callable:
    """At most `max_partitions` parts along `axis`, of at least `min_slice_size` bytes each.

    Args:
      max_partitions: upper limit of the number of parts.
      axis: the dimension to cut.
      min_slice_size: lower limit of a part's size in bytes.
      bytes_per_string_element: assumed size of a string.
    """

    def partitioner(shape: Any, dtype: Any) -> list[int]:
        if axis >= len(shape):
            raise ValueError(f"Can not partition variable along axis {axis} when shape is only {shape}")
        sizes = shape.as_list()
        total = math.prod(sizes) * _element_bytes(dtype, bytes_per_string_element)
        return _single_axis(
            len(sizes), axis, max(1, min(sizes[axis], max_partitions, math.ceil(total / min_slice_size)))
        )

    return partitioner


@export("fixed_size_partitioner")
def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Callable:
    """`num_shards` parts along `axis`, or as many as the dimension has elements."""

    def partitioner(shape: Any, **unused: Any) -> list[int]:
        return _single_axis(shape.ndims, axis, min(num_shards, shape.dims[axis].value))

    return partitioner
