"""`tensorflow.python.eager.execute`: arguments of operations that run at once, as tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfcompat._src.graph.eager_tensor import EagerTensor
from tfcompat._src.nodes.convert import convert_to_tensor


def args_to_matching_eager(l: Sequence[Any], ctx: Any, default_dtype: Any = None) -> tuple[int, list[Any]]:  # noqa: E741
    """Tensors of one dtype: that of the first EagerTensor, else `default_dtype` where the first value can have it, else that value's.

    Args:
      l: tensors and values. ctx: unused. default_dtype: a DType or None.

    Returns:
      the number of the dtype, and the list of EagerTensors.
    """
    dtype = next((value.dtype for value in l if isinstance(value, EagerTensor)), None)
    if dtype is None:
        dtype = convert_to_tensor(l[0], preferred_dtype=default_dtype).dtype
    return dtype.as_datatype_enum, [convert_to_tensor(value, dtype) for value in l]


def convert_to_mixed_eager_tensors(values: Sequence[Any], ctx: Any) -> tuple[list[int], list[Any]]:
    """The numbers of the dtypes of values, and these as EagerTensors; `ctx` is unused."""
    tensors = [convert_to_tensor(value) for value in values]
    return [tensor.dtype.as_datatype_enum for tensor in tensors], tensors
