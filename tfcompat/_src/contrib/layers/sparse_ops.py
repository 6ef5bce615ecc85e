"""tf.contrib.layers' functions between dense tensors and sparse ids."""

from __future__ import annotations

from typing import Any

from tfcompat._src.framework import dtypes
from tfcompat._src.framework.convert import convert_to_tensor
from tfcompat._src.framework.scopes import name_scope
from tfcompat._src.framework.sparse_tensor import SparseTensor
from tfcompat._src.framework.tensor import Tensor
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


def _ignored(dtype: dtypes.DType, value: Any) -> Tensor:
    if value is None:
        value = "" if dtype is dtypes.string else dtype.as_numpy_dtype()
    return cast(value, dtype, name="ignore_value")


def dense_to_sparse_tensor(dense_tensor: Any, ignore_value: Any = None) -> SparseTensor:
    """A SparseTensor of the elements of a Tensor that are not `ignore_value` (zero, or "", by default)."""
    with name_scope("DenseToSparseTensor"):
        dense = convert_to_tensor(dense_tensor)
        indices = where(not_equal(dense, _ignored(dense.dtype, ignore_value)), name="indices")
        values = gather_nd(dense, indices, name="values")
        return SparseTensor(indices, values, shape(dense, out_type=dtypes.int64, name="dense_shape"))


def indicators_to_sparse_ids(indicators: Any, ignore_value: Any = None, dtype: Any = dtypes.int64) -> SparseTensor:
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
        is_missing = equal(indicators, _ignored(indicators.dtype, ignore_value), name="missing")
        zeros = zeros_like(indicators, dtype=dtypes.int64, name="zeros")
        ones = ones_like(indicators, dtype=dtypes.int64, name="ones")
        binary = where(is_missing, zeros, ones, name="binary_indicators")
        places = where(is_missing, zeros, cumsum(binary, axis=-1), "row_index_indicators")
        longest = reshape(reduce_max(places), shape=(1,), name="result_last_dim")
        found = dense_to_sparse_tensor(places, ignore_value=0)
        columns = (found.indices[:, :-1], reshape(found.values - 1, (-1, 1)))
        return SparseTensor(
            indices=concat(columns, axis=1, name="indices"),
            values=cast(found.indices[:, -1], dtype=dtype, name="values"),
            dense_shape=concat((found.dense_shape[0:-1], longest), axis=0, name="dense_shape"),
        )


def sparse_row_envelope(sparse_input: SparseTensor, row_axis: int = 0, col_axis: int = 1, name: str | None = None) -> Tensor:
    """One more than the last column with an element, of each row of a SparseTensor.

    Args:
      sparse_input: SparseTensor of rank 2 or more.
      row_axis, col_axis: int, the dimensions that count as rows and columns.
      name: name of the scope of the nodes.

    Raises:
      ValueError: an axis is no int, or both are the same.
    """
    if not (isinstance(row_axis, int) and isinstance(col_axis, int)):
        raise ValueError("`row_axis` and `col_axis` must be integers.")
    if row_axis == col_axis:
        raise ValueError("Row and column can not be the same axis.")
    with name_scope(name, "sparse_row_envelope", [sparse_input]):
        rows, columns = sparse_input.indices[:, row_axis], sparse_input.indices[:, col_axis]
        count = cast(sparse_input.dense_shape[row_axis], dtypes.int32)
        found = unsorted_segment_max(columns + 1, rows, count, name=name)
        zeros = zeros_like(found)
        return where(found > zeros, found, zeros)
