"""Dense tensors as IndexedSlices of all of their rows."""

from __future__ import annotations

from collections.abc import Sequence

from tfcompat._src.base import dtypes
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.ops.array.shape import shape_internal
from tfcompat._src.ops.math.sequence import arange


def as_indexed_slices(x: Tensor | IndexedSlices, optimize: bool = True) -> IndexedSlices:
    """IndexedSlices of all rows of a tensor; IndexedSlices as they are.

    Args:
      x: a tensor with at least one dimension, or IndexedSlices. optimize: whether a shape that is known is a constant.

    Raises:
      TypeError: `x` is neither.
    """
    if isinstance(x, IndexedSlices):
        return x
    if not isinstance(x, Tensor):
        raise TypeError(f"Not a Tensor or IndexedSlices: {type(x)}")
    sizes = shape_internal(x, optimize=optimize)
    return IndexedSlices(x, arange(0, sizes[0]), sizes)


def as_indexed_slices_list(inputs: Sequence[Tensor | IndexedSlices], optimize: bool = True) -> list[IndexedSlices]:
    """IndexedSlices of each of a list, with indices of one dtype: int64 where any has that.

    Raises:
      TypeError: `inputs` is no list or tuple, or an element is neither a tensor nor IndexedSlices.
    """
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(f"Expected a list or tuple, not a {type(inputs)}")
    found = [as_indexed_slices(x, optimize) for x in inputs]
    if len({slices.indices.dtype for slices in found}) < 2:
        return found
    return [IndexedSlices(s.values, raw.Cast(s.indices, DstT=dtypes.int64) if s.indices.dtype == dtypes.int32 else s.indices, s.dense_shape) for s in found]
