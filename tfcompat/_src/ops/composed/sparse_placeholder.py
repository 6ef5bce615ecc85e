"""A SparseTensor that must be fed."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.constant import placeholder


@export("sparse_placeholder", "sparse.placeholder")
def sparse_placeholder(dtype: object, shape: Any = None, name: str | None = None) -> SparseTensor:
    """A SparseTensor whose three parts must be fed, as a SparseTensorValue.

    Args:
      dtype: element type.
      shape: dense shape; with unknown sizes in it, or None, the shape is fed too.
      name: prefix of the names of the parts.
    """
    part = {p: None if name is None else f"{name}/{p}" for p in ("shape", "values", "indices")}
    rank = None
    if shape is not None:
        rank = shape._sizes[0] if isinstance(shape, Tensor) else len(shape)
        if isinstance(shape, Tensor) or None not in list(shape):
            shape = convert_to_tensor(shape, dtype=dtypes.int64, name=part["shape"])
        else:
            shape = None
    dense_shape = placeholder(dtypes.int64, shape=[rank], name=part["shape"]) if shape is None else shape
    values = placeholder(dtype, shape=[None], name=part["values"])
    indices = placeholder(dtypes.int64, shape=[None, rank], name=part["indices"])
    return SparseTensor(indices=indices, values=values, dense_shape=dense_shape)
