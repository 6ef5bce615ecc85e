"""Ragged tensors: how they are made, taken apart and computed with."""

import numpy as np

from cases.table import F64, Table

TABLE = Table("ragged")
case, error_case = TABLE.case, TABLE.error_case

ROWS = [[1, 2, 3], [], [4, 5], [6]]
CUBE = [[[1, 2], [3]], [], [[4, 5, 6]]]
SPLITS = np.array([0, 3, 3, 5, 6], np.int64)


def _rows(tf):
    return tf.ragged.constant(ROWS)


def _cube(tf):
    return tf.ragged.constant(CUBE)


def _parts(value):
    """A ragged value as its splits and values; a Tensor as it is."""
    if hasattr(value, "nested_row_splits"):
        return list(value.nested_row_splits) + [value.flat_values]
    return value


case("constant", lambda tf: [_parts(_rows(tf)), _parts(_cube(tf)), tf.ragged.constant([1, 2])])
case("constant_inner", lambda tf: _parts(tf.ragged.constant([[[1, 2], [3, 4]], [[5, 6]]], ragged_rank=1, name="c")))
error_case("constant_depth", lambda tf: tf.ragged.constant([1, [2]]))
error_case("constant_shape", lambda tf: tf.ragged.constant([[[1, 2], [3]]], ragged_rank=1))
case("row_splits", lambda tf, x, s: _parts(tf.RaggedTensor.from_row_splits(x, s)), x=F64(6), s=SPLITS)
case("row_splits_unchecked", lambda tf, x: _parts(tf.RaggedTensor.from_row_splits(x, SPLITS, validate=False)), x=F64(6))
case("row_lengths", lambda tf, x, n: _parts(tf.RaggedTensor.from_row_lengths(x, n)), x=F64(6), n=np.array([3, 0, 3], np.int64))
case("row_starts", lambda tf, x, n: _parts(tf.RaggedTensor.from_row_starts(x, n)), x=F64(6), n=np.array([0, 2, 2], np.int64))
case("row_limits", lambda tf, x, n: _parts(tf.RaggedTensor.from_row_limits(x, n)), x=F64(6), n=np.array([2, 2, 6], np.int64))
error_case("row_splits_start", lambda tf, x: _parts(tf.RaggedTensor.from_row_splits(x, [1, 3, 6])), x=F64(6))
error_case("row_lengths_sum", lambda tf, x: _parts(tf.RaggedTensor.from_row_lengths(x, [1, 3, 6])), x=F64(6))
error_case("row_splits_type", lambda tf, x: _parts(tf.RaggedTensor.from_row_splits(x, [0.0, 6.0])), x=F64(6))
error_case("private", lambda tf, x: tf.RaggedTensor(x, SPLITS), x=F64(6))
case("range", lambda tf: _parts(tf.ragged.range([1, 5, 9], [3, 9, 0], [1, 2, -3])))
case("placeholder", lambda tf: _parts(tf.ragged.placeholder(tf.float32, 2, [3])), run=lambda tf, session, outputs, feed: 0)
case(
    "slice_rows",
    lambda tf, x, s: [_parts(tf.RaggedTensor.from_row_splits(x, s)[rows]) for rows in (slice(1, None), slice(0, 2))],
    x=F64(6), s=SPLITS,
)  # fmt: skip
error_case("no_such_row_of_cube", lambda tf: _cube(tf)[0, 5])
case("to_tensor", lambda tf: [_rows(tf).to_tensor(), _rows(tf).to_tensor(7)])
case("to_sparse", lambda tf: _rows(tf).to_sparse())
