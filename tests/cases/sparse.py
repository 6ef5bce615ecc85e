"""Sparse tensors."""

import numpy as np

from cases.table import F32, F64, I32, I64, Table

TABLE = Table("sparse")
case, error_case = TABLE.case, TABLE.error_case

PLACES = np.array([[0, 1], [0, 3], [2, 0], [3, 1]], np.int64)
OTHERS = np.array([[0, 1], [0, 2], [2, 0]], np.int64)


def _a(tf, values, sizes=(5, 6)):
    return tf.SparseTensor(PLACES, values, sizes)


def _b(tf, values, sizes=(5, 6)):
    return tf.SparseTensor(OTHERS, values, sizes)


def _fed(tf, indices, values, sizes):
    return tf.SparseTensor(indices, values, sizes)


FED = dict(i=PLACES, n=np.array([5, 6], np.int64))

case("add", lambda tf, x, y: tf.sparse_add(_a(tf, x), _b(tf, y)), x=F64(4), y=F64(3))
case("add_threshold", lambda tf, x, y: tf.sparse.add(_a(tf, x), _b(tf, y), 1.0), x=F32(4), y=F32(3))
case("add_integers", lambda tf, x, y: tf.sparse_add(_a(tf, x), _b(tf, y), thresh=3), x=I64(4), y=I64(3))
case("add_dense", lambda tf, x, y: [tf.sparse_add(_a(tf, x), y), tf.sparse_add(y, _a(tf, x))], x=F64(4), y=F64(5, 6))
error_case("add_two_dense", lambda tf, x: tf.sparse_add(x, x), x=F32(3))
error_case("add_shapes", lambda tf, x, y: tf.sparse_add(_a(tf, x), _b(tf, y, (5, 7))), x=F32(4), y=F32(3))
case(
    "extremes",
    lambda tf, x, y: [tf.sparse_maximum(_a(tf, x), _b(tf, y)), tf.sparse_minimum(_a(tf, x), _b(tf, y), name="low")],
    grad=False, x=F32(4), y=F32(3),
)  # fmt: skip
case(
    "concat",
    lambda tf, x, y: [
        tf.sparse_concat(0, [_a(tf, x), _b(tf, y)]), tf.sparse_concat(1, [_a(tf, x), _b(tf, y, (5, 2))], name="c"),
        tf.sparse.concat(-1, [_a(tf, x), _b(tf, y)]),
    ],
    x=F32(4), y=F32(3),
)  # fmt: skip
case(
    "concat_expand",
    lambda tf, x, y: [
        tf.sparse_concat(0, [_a(tf, x), _b(tf, y, (5, 9))], expand_nonconcat_dim=True),
        tf.sparse_concat(-1, [_a(tf, x), _b(tf, y, (7, 3))], expand_nonconcat_dim=True),
    ],
    x=F32(4), y=F32(3),
)  # fmt: skip
case("concat_one", lambda tf, x: tf.sparse_concat(0, [_a(tf, x)]), x=F32(4))
error_case("concat_sizes", lambda tf, x, y: tf.sparse_concat(0, [_a(tf, x), _b(tf, y, (5, 7))]), x=F32(4), y=F32(3))
error_case("concat_dense", lambda tf, x: tf.sparse_concat(0, [x, x]), x=F32(4))

case(
    "reduce_sum",
    lambda tf, x: [tf.sparse_reduce_sum(_a(tf, x), axis) for axis in (0, [1], [0, 1], None, [-1])],
    x=F64(4),
)
case(
    "reduce_keepdims",
    lambda tf, x: [tf.sparse_reduce_sum(_a(tf, x), axis, keepdims=True) for axis in (0, [1], None)], x=F64(4),
)  # fmt: skip
case(
    "reduce_old_names",
    lambda tf, x: tf.sparse_reduce_max(_a(tf, x), reduction_axes=1, keep_dims=True), grad=False, x=F32(4),
)  # fmt: skip
case(
    "reduce_fed", lambda tf, i, x, n: [tf.sparse_reduce_sum(_fed(tf, i, x, n)), tf.sparse_reduce_sum(_fed(tf, i, x, n), 1)],
    x=F32(4), **FED
)  # fmt: skip
case("reduce_max", lambda tf, x: [tf.sparse_reduce_max(_a(tf, x), axis) for axis in (0, [1], None)], grad=False, x=F32(4))
case(
    "reduce_sparse",
    lambda tf, x: [
        reduce(_a(tf, x), axis, keepdims=keep)
        for reduce in (tf.sparse_reduce_sum_sparse, tf.sparse_reduce_max_sparse)
        for axis in (0, [1], None)
        for keep in (False, True)
    ],
    grad=False, x=F32(4),
)  # fmt: skip
error_case("reduce_axis", lambda tf, i, x, n: tf.sparse_reduce_sum(_fed(tf, i, x, n), 3), x=F32(4), **FED)
error_case("reduce_twice", lambda tf, x: tf.sparse_reduce_sum(_a(tf, x), 1, reduction_axes=2), x=F32(4))
case("softmax", lambda tf, x: tf.sparse_softmax(_a(tf, x)), x=F64(4))
error_case("softmax_rank", lambda tf, x: tf.sparse_softmax(tf.SparseTensor([[0], [1]], x, [3])), x=F32(2))

UNORDERED = np.array([[1, 1], [0, 2], [0, 1]], np.int64)
case("reorder", lambda tf, x: tf.sparse_reorder(tf.SparseTensor(UNORDERED, x, [2, 3])), x=F64(3))
case("reorder_fed", lambda tf, i, x, n: tf.sparse_reorder(_fed(tf, i, x, n)), i=UNORDERED, x=F32(3), n=FED["n"])
case("reshape", lambda tf, x: [tf.sparse_reshape(_a(tf, x), [3, 10]), tf.sparse_reshape(_a(tf, x), [-1, 5], name="r")], x=F64(4))
case("reshape_fed", lambda tf, i, x, n: tf.sparse_reshape(_fed(tf, i, x, n), [2, -1, 5]), x=F32(4), **FED)
error_case("reshape_sizes", lambda tf, x: tf.sparse_reshape(_a(tf, x), [3, 3]), x=F32(4))
error_case("reshape_sizes_fed", lambda tf, i, x, n: tf.sparse_reshape(_fed(tf, i, x, n), [4, -1]), x=F32(4), **FED)
error_case("reshape_two_unknown", lambda tf, x: tf.sparse_reshape(_a(tf, x), [-1, -1]), x=F32(4))
case("slice", lambda tf, x: tf.sparse_slice(_a(tf, x), [0, 1], [3, 9]), x=F64(4))
error_case("slice_rank", lambda tf, x: tf.sparse_slice(_a(tf, x), [0], [3]), x=F32(4))
case("split", lambda tf, x: tf.sparse_split(sp_input=_a(tf, x), num_split=4, axis=0), grad=False, x=F32(4))
error_case("split_old_name", lambda tf, x: tf.sparse_split(sp_input=_a(tf, x), num_split=2, split_dim=1), x=F32(4))
error_case("split_position", lambda tf, x: tf.sparse_split(1, _a(tf, x), 2), x=F32(4))
error_case("split_too_many", lambda tf, x: tf.sparse_split(sp_input=_a(tf, x), num_split=7, axis=0), x=F32(4))
case("transpose", lambda tf, x: [tf.sparse_transpose(_a(tf, x)), tf.sparse_transpose(_a(tf, x), [1, 0])], x=F64(4))
case("transpose_fed", lambda tf, i, x, n: tf.sparse_transpose(_fed(tf, i, x, n), name="t"), x=F32(4), **FED)
case("expand_dims", lambda tf, x: [tf.sparse.expand_dims(_a(tf, x), axis) for axis in (None, 0, 1)], x=F32(4))
case("fill_empty_rows", lambda tf, x, d: tf.sparse_fill_empty_rows(_a(tf, x), d), x=F64(4), d=F64())
case(
    "fill_empty_rows_unordered",
    lambda tf, x: tf.sparse_fill_empty_rows(tf.SparseTensor([[2, 1], [0, 1], [1, 0]], x, [3, 6]), 9), x=F32(3),
)  # fmt: skip
error_case("fill_outside", lambda tf, x: tf.sparse_fill_empty_rows(tf.SparseTensor([[7, 1]], x, [3, 6]), 9.0), x=F32(1))
error_case("fill_no_rows", lambda tf, x: tf.sparse_fill_empty_rows(tf.SparseTensor([[0, 1]], x, [0, 6]), 9.0), x=F32(1))
case("reset_shape", lambda tf, x: [tf.sparse_reset_shape(_a(tf, x)), tf.sparse_reset_shape(_a(tf, x), [5, 9])], x=F32(4))
error_case("reset_shape_small", lambda tf, x: tf.sparse_reset_shape(_a(tf, x), [5, 3]), x=F32(4))
error_case("reset_shape_rank", lambda tf, x: tf.sparse_reset_shape(_a(tf, x), [5, 9, 3]), x=F32(4))
case("retain", lambda tf, x: tf.sparse_retain(_a(tf, x), [True, False, True, True]), x=F64(4))
error_case("retain_length", lambda tf, x: tf.sparse_retain(_a(tf, x), [True, False]), x=F64(4))

case(
    "matmul",
    lambda tf, x, b: [
        tf.sparse_tensor_dense_matmul(_a(tf, x), b), tf.sparse_tensor_dense_matmul(_a(tf, x), tf.transpose(b), adjoint_b=True),
        tf.sparse.matmul(tf.SparseTensor(PLACES[:, ::-1], x, (6, 5)), b, adjoint_a=True, name="m"),
    ],
    x=F64(4), b=F64(6, 3),
)  # fmt: skip
case("matmul_complex", lambda tf, x, b: tf.sparse_tensor_dense_matmul(
    _a(tf, tf.complex(x, x)), tf.complex(b, -b), adjoint_a=True, adjoint_b=True), grad=False, x=F32(4), b=F32(3, 5))  # fmt: skip
case("matmul_integers", lambda tf, x, b: tf.sparse_tensor_dense_matmul(_a(tf, x), b), x=I32(4), b=I32(6, 3))
case("matmul_fed", lambda tf, i, x, n, b: tf.sparse_tensor_dense_matmul(_fed(tf, i, x, n), b), x=F32(4), b=F32(6, 3), **FED)
error_case("matmul_sizes", lambda tf, x, b: tf.sparse_tensor_dense_matmul(_a(tf, x), b), x=F32(4), b=F32(5, 3))
error_case("matmul_index", lambda tf, x, b: tf.sparse_tensor_dense_matmul(
    tf.SparseTensor([[0, 9]], x, [2, 2]), b), x=F32(1), b=F32(2, 2))  # fmt: skip
case("multiply", lambda tf, x, b: [_a(tf, x) * b, b * _a(tf, x)], x=F64(4), b=F64(5, 6))
case("multiply_scalar", lambda tf, x: _a(tf, x) * 2.0, grad=False, x=F64(4))
case("multiply_broadcast", lambda tf, x, b, c: [_a(tf, x) * b, _a(tf, x) / c], x=F64(4), b=F64(6), c=F64(5, 1, low=1))
case("divide_integers", lambda tf, x, b: [_a(tf, x) / b, _a(tf, x).__div__(b)], x=I32(4), b=I32(5, 6, low=1))
error_case("multiply_shape", lambda tf, x, b: _a(tf, x) * b, x=F32(4), b=F32(5))

case("from_dense", lambda tf, x: tf.sparse.from_dense(x), grad=False, x=np.array([[1.0, 0, 2], [0, 0, 3]]))
case(
    "to_dense",
    lambda tf, x: [tf.sparse_tensor_to_dense(_a(tf, x)), tf.sparse_tensor_to_dense(_a(tf, x), 2.0, name="d")], x=F64(4),
)  # fmt: skip
error_case("to_dense_order", lambda tf, x: tf.sparse_tensor_to_dense(tf.SparseTensor(UNORDERED, x, [2, 3])), x=F32(3))
case("to_indicator", lambda tf, x: tf.sparse_to_indicator(_a(tf, x), 20), x=np.array([3, 7, 0, 19], np.int64))
case("merge", lambda tf, i, x: tf.sparse_merge(_a(tf, i), _a(tf, x), 20), i=np.array([3, 1, 0, 19], np.int64), x=F32(4))
case(
    "merge_list", lambda tf, i, x: tf.sparse.merge([_a(tf, i), _a(tf, i)], _a(tf, x), [20, 30], already_sorted=True),
    i=np.array([3, 1, 0, 19], np.int32), x=F32(4),
)  # fmt: skip
error_case("merge_size", lambda tf, i, x: tf.sparse_merge(_a(tf, i), _a(tf, x), "7"), i=I64(4), x=F32(4))
case("eye", lambda tf: [tf.sparse.eye(3), tf.sparse.eye(3, 4, tf.int64, name="e")])
case("serialize", lambda tf, x: [tf.serialize_sparse(_a(tf, x)), tf.serialize_many_sparse(_a(tf, x))], grad=False, x=F32(4))
case(
    "serialize_strings",
    lambda tf: tf.deserialize_many_sparse(tf.serialize_many_sparse(_a(tf, ["a", "", "bc", "d"])), tf.string),
)
case(
    "deserialize",
    lambda tf, x, y: tf.deserialize_many_sparse(
        tf.stack([tf.serialize_sparse(_a(tf, x)), tf.serialize_sparse(_b(tf, y, (4, 9)))]), tf.float32
    ),
    grad=False, x=F32(4), y=F32(3),
)  # fmt: skip
error_case("deserialize_text", lambda tf: tf.deserialize_many_sparse([["a", "b", "c"]], tf.float32))
error_case("deserialize_type", lambda tf, x: tf.deserialize_many_sparse(tf.serialize_many_sparse(_a(tf, x)), tf.int32), x=F32(4))
case(
    "cross",
    lambda tf: [
        tf.sparse.cross([tf.constant([[1, 2], [3, 4]]), tf.constant([["a"], ["b"]])]),
        tf.sparse.cross([tf.SparseTensor([[0, 0], [0, 1], [2, 0]], ["a", "b", "c"], [3, 2]), tf.constant([[5], [6], [7]])]),
    ],
)
case(
    "cross_hashed",
    lambda tf: [
        tf.sparse.cross_hashed([tf.constant([[1, 2], [3, 4]]), tf.constant([["a"], ["b"]])]),
        tf.sparse.cross_hashed([tf.constant([["a"], ["b"]]), tf.constant([["c"], ["d"]])], num_buckets=100, hash_key=7),
    ],
)
error_case("cross_dense", lambda tf: tf.sparse.cross([["a"]]))


def _five(tf, values):
    return tf.SparseTensor([[0, 0], [0, 1], [2, 0], [3, 1]], values, [5, 3])


IDS = np.array([1, 0, 2, -1], np.int64)
WEIGHTS = np.array([1.0, 2.0, 0.0, 1.0], np.float32)
case(
    "safe_lookup",
    lambda tf, w, i: [
        tf.nn.safe_embedding_lookup_sparse(w, _five(tf, i)),
        tf.nn.safe_embedding_lookup_sparse(w, _five(tf, i), default_id=2, combiner="sum"),
    ],
    w=F32(3, 4), i=IDS,
)  # fmt: skip
case(
    "safe_lookup_weights",
    lambda tf, w, i, x: [
        tf.nn.safe_embedding_lookup_sparse(w, _five(tf, i), _five(tf, x), combiner="sqrtn"),
        tf.contrib.layers.safe_embedding_lookup_sparse([w], _five(tf, i), _five(tf, x), default_id=1),
    ],
    grad=False, w=F32(3, 4), i=IDS, x=WEIGHTS,
)  # fmt: skip
