"""Sorting, places, edit distance, changes of rows, and reshaping of empty tensors."""

import numpy as np

from cases.table import F32, F64, I32, Table

TABLE = Table("array_more")
case, error_case = TABLE.case, TABLE.error_case

case("sort", lambda tf, x: tf.sort(x), x=F32(3, 4))
case("sort_axis", lambda tf, x: tf.sort(x, 0, "DESCENDING", name="s"), x=F32(3, 4))
case("sort_negative_axis", lambda tf, x: tf.sort(x, axis=-2), x=F64(3, 4, 2))
case("sort_integers", lambda tf, x: [tf.sort(x), tf.sort(x, direction="DESCENDING")], x=I32(7))
case(
    "argsort",
    lambda tf, x: [tf.argsort(x), tf.argsort(x, 0), tf.argsort(x, direction="DESCENDING", stable=True)],
    x=I32(4, 5),
)
error_case("sort_direction", lambda tf, x: tf.sort(x, direction="UP"), x=F32(3))
error_case("sort_axis_vector", lambda tf, x: tf.sort(x, axis=[0]), x=F32(3))
error_case("sort_axis_range", lambda tf, x: tf.sort(x, axis=3), x=F32(3))
error_case("sort_axis_unknown", lambda tf, x, n: tf.sort(x, axis=n), x=F32(3), n=np.array(0, np.int32))

case(
    "unravel_index",
    lambda tf, i: [
        tf.unravel_index(i, [3, 4, 2]),
        tf.unravel_index(i[0], [3, 4, 2]),
        tf.unravel_index(tf.cast(i, tf.int64), tf.constant([24], tf.int64), name="u"),
    ],
    i=np.array([0, 5, 23, 24, -1], np.int32),
)
error_case("unravel_index_dims", lambda tf: tf.unravel_index([1], 6))
error_case("unravel_index_matrix", lambda tf: tf.unravel_index([[1]], [2, 3]))


def _words(tf, indices, words, sizes):
    return tf.SparseTensor(np.array(indices, np.int64).reshape(len(words), len(sizes)), words, sizes)


case(
    "edit_distance",
    lambda tf: [
        tf.edit_distance(
            _words(tf, [[0, 0], [0, 1], [1, 0]], ["a", "b", "c"], [2, 2]),
            _words(tf, [[0, 0], [0, 1], [0, 2], [1, 0]], ["b", "c", "b", "c"], [2, 3]),
            normalize=normalize,
        )
        for normalize in (True, False)
    ],
)
case(
    "edit_distance_empty_rows",
    lambda tf: tf.edit_distance(
        _words(tf, [[0, 0, 0], [1, 0, 0]], [1, 2], [2, 2, 1]),
        _words(tf, [[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 0, 1], [1, 1, 0]], [1, 2, 2, 3, 1], [2, 3, 2]),
    ),
)
case("edit_distance_no_truth", lambda tf: tf.edit_distance(
    _words(tf, [[0, 0], [1, 0]], ["a", "b"], [2, 1]), _words(tf, [[0, 0]], ["b"], [2, 2])))  # fmt: skip
error_case("edit_distance_dense", lambda tf: tf.edit_distance([1], [2]))

case(
    "inplace_ops",
    lambda tf, x, v: [
        tf.raw_ops.InplaceUpdate(x=tf.raw_ops.DeepCopy(x=x), i=[2, 0], v=v),
        tf.raw_ops.InplaceAdd(x=tf.raw_ops.DeepCopy(x=x), i=[1, -1], v=v),
        tf.raw_ops.InplaceAdd(x=tf.raw_ops.DeepCopy(x=x), i=[4, 4], v=v),
        tf.raw_ops.InplaceSub(x=tf.raw_ops.DeepCopy(x=x), i=[2, 0], v=v),
    ],
    x=F32(3, 2),
    v=F32(2, 2),
    grad=False,
    partial=False,
)
case(
    "empty",
    lambda tf: [tf.raw_ops.Empty(shape=[2, 3], dtype=t, init=True) for t in (tf.float32, tf.int64, tf.string)],
)
error_case("inplace_rows", lambda tf, x: tf.raw_ops.InplaceAdd(x=x, i=[0], v=x), x=F32(3, 2))
error_case("empty_negative", lambda tf: tf.raw_ops.Empty(shape=[-1], dtype=tf.float32))

case(
    "reshape_without_elements",
    lambda tf, x: [tf.reshape(x, s) for s in ([0, -1, 3], [0, -1], [-1, 0], [-1, 3], [0, -1, 4], [0, -1, 0])],
    x=F32(0, 6),
    grad=False,
    partial=False,
)
case(
    "reshape_partly_known",
    lambda tf, x, n: tf.reshape(x, [n, 3]),
    x=F32(2, 6),
    n=np.array(4, np.int32),
)
error_case("pad_overflow", lambda tf, x: tf.pad(x, [[2**30, 2**30]]), x=F32(2))
error_case("reshape_to_nothing", lambda tf, x: tf.reshape(x, [0, -1]), x=F32(2, 3))
case(
    "pad_strings",
    lambda tf: [
        tf.pad(tf.constant([["a", "b"], ["c", "d"]]), [[1, 1], [0, 1]], mode, constant_values=value)
        for mode, value in (("CONSTANT", ""), ("CONSTANT", "p"), ("REFLECT", ""), ("SYMMETRIC", ""))
    ],
)
case(
    "linspace_ends",
    lambda tf: [tf.linspace(0.0, 1.0, 42), tf.linspace(-1.0, 0.0, 42), tf.linspace(0.1, 0.2, 4)],
)
case("betainc_sizes", lambda tf, a, x: [tf.betainc(a, a, x), tf.betainc(30.0 * a, 40.0 * a, x), tf.betainc(a, tf.constant(1.5, tf.float64), tf.constant(0.25, tf.float64))],
     a=F64(6, low=0.01, high=4.0), x=F64(6, low=0.05, high=0.95), grad=False)  # fmt: skip
case("stitch_nothing", lambda tf: tf.dynamic_stitch([tf.constant([-3])], [tf.constant([1.0])]))
case("trace_by_einsum", lambda tf, x: tf.einsum("ijji", x), x=F32(3, 2, 2, 3))
error_case("einsum_repeated_axis", lambda tf, x: tf.einsum("ijij", x), x=F32(3, 3, 3, 3))
error_case("constant_ragged_with_dtype", lambda tf: tf.constant([[1, 2], [3]], tf.int32))
error_case("shape_too_large", lambda tf: tf.convert_to_tensor(tf.TensorShape([2**31]), tf.int32))
case("shape_int64", lambda tf: tf.convert_to_tensor(tf.TensorShape([2**31, 2])))
case(
    "static_values",
    lambda tf: [
        tf.constant([tf.contrib.util.constant_value(t) is None for t in tensors])
        for tensors in [
            [
                tf.identity(tf.constant(1)), tf.add(1, 2), tf.stack([1, 2]), tf.stack([1, 2], 1 - 1), tf.cast(1, tf.int64),
                tf.range(3), tf.fill([2], 1), tf.equal(1, 2), tf.less(1, 2), tf.concat([[1], [2]], 0), tf.reshape([1], []),
            ]
        ]
    ],
)  # fmt: skip
