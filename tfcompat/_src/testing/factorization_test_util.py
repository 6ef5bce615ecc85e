"""`tensorflow.contrib.factorization.python.ops.factorization_ops_test_utils`: a small matrix, parts of it, and losses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.unary import square

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_ENTRIES = {
    0: {0: 0.1, 2: 0.2, 4: 0.4, 5: 0.5},
    1: {1: 1.1, 3: 1.3, 4: 1.4, 6: 1.6},
    2: {0: 2.0, 3: 2.3, 5: 2.5},
    3: {0: 3.0, 2: 3.2, 3: 3.3, 5: 3.5},
    4: {1: 4.1, 4: 4.4, 6: 4.6},
}
INPUT_MATRIX = np.array([[row.get(j, 0.0) for j in range(7)] for row in _ENTRIES.values()], np.float32)


def remove_empty_rows_columns(np_matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The matrix without rows and columns whose sum is 0, and the numbers of those that are left."""
    rows, columns = (np.flatnonzero(np_matrix.sum(axis)) for axis in (1, 0))
    return np_matrix[np.ix_(rows, columns)], rows, columns


def np_matrix_to_tf_sparse(
    np_matrix: np.ndarray, row_slices: Sequence[int] | None = None, col_slices: Sequence[int] | None = None,
    transpose: bool = False, shuffle: bool = False,
) -> SparseTensor:  # fmt: skip
    """The entries of a matrix other than 0, or those of some rows or columns, in the order of these.

    Args:
      np_matrix: the matrix.
      row_slices, col_slices: numbers of rows or of columns; not both.
      transpose: transposes the result.
      shuffle: brings the entries into another order.
    """
    if row_slices is not None and col_slices is not None:
        raise AssertionError("either rows or columns are chosen")
    entries = np.argwhere(np_matrix)
    for axis, chosen in ((0, row_slices), (1, col_slices)):
        if chosen is not None:
            entries = np.concatenate([entries[entries[:, axis] == i] for i in chosen])
    if shuffle:
        entries = np.random.default_rng(0).permutation(entries)
    values = np_matrix[tuple(entries.T)].astype(np.float32)
    indices = entries[:, ::-1] if transpose else entries
    return SparseTensor(indices.astype(np.int64), values, indices.max(axis=0).astype(np.int64) + 1)


def calculate_loss(
    input_mat: SparseTensor, row_factors: object, col_factors: object, regularization: object = None, w0: object = 1.0,
    row_weights: TensorLike | None = None, col_weights: TensorLike | None = None,
) -> Any:  # fmt: skip
    """The value of the loss of factors of a sparse matrix: entries weigh `w0` and, where the matrix has one, the product of weights more."""
    u, v = (convert_to_tensor(t) for t in (row_factors, col_factors))
    rows, columns = input_mat.indices[:, 0], input_mat.indices[:, 1]
    estimates = reduce_sum(gather(u, rows) * gather(v, columns), axis=1)
    errors = square(input_mat.values - estimates)
    weight = 1.0
    if row_weights is not None:
        weight = weight * gather(row_weights, rows)
    if col_weights is not None:
        weight = weight * gather(col_weights, columns)
    everywhere = reduce_sum(errors) - reduce_sum(square(estimates)) + reduce_sum(square(matmul(u, v, transpose_b=True)))
    squares = reduce_sum(square(u)) + reduce_sum(square(v))
    regularization = 0.0 if regularization is None else regularization
    return (w0 * everywhere + reduce_sum(weight * errors) + regularization * squares).eval()
