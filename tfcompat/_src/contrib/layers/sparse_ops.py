"""tf.contrib.layers' functions between dense tensors and sparse ids."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tfcompat._src.base import dtypes
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.fill import ones_like, zeros_like
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import reshape, shape
from tfcompat._src.ops.composed.indexing import gather_nd
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, not_equal
from tfcompat._src.ops.math.reduce import reduce_max
from tfcompat._src.ops.math.scan import cumsum
from tfcompat._src.ops.math.segment import unsorted_segment_max

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DType


def _compared(comparison: Callable, x: Tensor, ignore_value: object, name: str | None = None) -> Tensor:
    """`comparison` of the elements of `x` with the value to ignore, by default zero or ""."""
    if ignore_value is None:
        ignore_value = "" if x.dtype is dtypes.string else x.dtype.as_numpy_dtype(0)
    return comparison(x, cast(ignore_value, x.dtype, name="ignore_value"), name=name)


def dense_to_sparse_tensor(dense_tensor: TensorLike, ignore_value: object = None) -> SparseTensor:
    """A SparseTensor of the elements of a Tensor that are not `ignore_value` (zero, or "", by default)."""
    with name_scope("DenseToSparseTensor"):
        dense = convert_to_tensor(dense_tensor)
        places = where(_compared(not_equal, dense, ignore_value), name="indices")
        return SparseTensor(
            places, gather_nd(dense, places, name="values"), shape(dense, out_type=dtypes.int64, name="dense_shape")
        )


def indicators_to_sparse_ids(indicators: TensorLike, ignore_value: object = None, dtype: DType = dtypes.int64) -> SparseTensor:
    """The places in the last dimension that hold an indicator, as sparse ids.

    Args:
      indicators: Tensor [d0, ..., classes].
      ignore_value: the element that is no indicator; zero, or "", by default.
      dtype: integer type of the ids.

    Returns:
      a SparseTensor [d0, ..., most ids of a row].

    Raises:
      ValueError: `dtype` is no integer type.
    """
    if not dtype.is_integer:
        raise ValueError(f"Invalid dtype {dtype} not integer.")
    with name_scope(None, "indicators_to_sparse_ids", [indicators, ignore_value]):
        indicators = convert_to_tensor(indicators, name="indicators")
        is_missing = _compared(equal, indicators, ignore_value, "missing")
        none, one = (make(indicators, dtype=dtypes.int64, name=n) for make, n in ((zeros_like, "zeros"), (ones_like, "ones")))
        marks = where(is_missing, none, one, name="binary_indicators")
        order = where(is_missing, none, cumsum(marks, axis=-1), "row_index_indicators")
        width = reshape(reduce_max(order), shape=(1,), name="result_last_dim")
        marked = dense_to_sparse_tensor(order, ignore_value=0)
        leading, column = marked.indices[:, :-1], reshape(marked.values - 1, (-1, 1))
        indices = concat((leading, column), axis=1, name="indices")
        ids = cast(marked.indices[:, -1], dtype=dtype, name="values")
        return SparseTensor(indices, ids, concat((marked.dense_shape[:-1], width), axis=0, name="dense_shape"))


def sparse_row_envelope(sparse_input: SparseTensor, row_axis: int = 0, col_axis: int = 1, name: str | None = None) -> Tensor:
    """One more than the last column with an element, of each row of a SparseTensor.

    Args:
      sparse_input: SparseTensor of rank 2 or more.
      row_axis, col_axis: int, the dimensions that count as rows and columns.
      name: name of the scope of the nodes.

    Raises:
      ValueError: an axis is no int, or both are the same.
    """
    axes = (row_axis, col_axis)
    if not all(isinstance(axis, int) for axis in axes):
        raise ValueError("`row_axis` and `col_axis` must be integers.")
    if row_axis == col_axis:
        raise ValueError("Row and column can not be the same axis.")
    with name_scope(name, "sparse_row_envelope", [sparse_input]):
        rows, columns = (sparse_input.indices[:, axis] for axis in axes)
        count = cast(sparse_input.dense_shape[row_axis], dtypes.int32)
        ends = unsorted_segment_max(columns + 1, rows, count, name=name)
        nothing = zeros_like(ends)
        return where(ends > nothing, ends, nothing)
