"""Slices, strided slices, gathers and scatters of tensors."""

import numpy as np

from cases.table import BOOL, F32, F64, I32, I64, Table

TABLE = Table("slicing")
case, error_case, each = TABLE.case, TABLE.error_case, TABLE.each

SLICES = {
    "first": np.s_[0],
    "last": np.s_[-1],
    "range": np.s_[1:3],
    "open": np.s_[1:],
    "upto": np.s_[:2],
    "negative": np.s_[-2:],
    "stride": np.s_[::2],
    "reverse": np.s_[::-1],
    "reverse_part": np.s_[3:0:-2],
    "two": np.s_[1, 2],
    "column": np.s_[:, 1],
    "ellipsis": np.s_[..., 0],
    "ellipsis_only": np.s_[...],
    "new_axis": np.s_[None, 1],
    "new_axes": np.s_[:, None, :, None],
    "mixed": np.s_[1:3, ..., None, -1],
    "empty": np.s_[3:1],
    "beyond": np.s_[2:99],
    "all": np.s_[:, :],
}
for _name, _key in SLICES.items():
    case("getitem_" + _name, lambda tf, x, _key=_key: x[_key], x=F32(4, 3, 5))
case("getitem_new_axis_name", lambda tf, x: x[tf.newaxis, :], x=F32(4))
case("getitem_tensor", lambda tf, x, i: [x[i], x[i:], x[:, i]], x=F32(4, 3), i=np.array(1, np.int32), partial=False)
case("getitem_bool_mask", lambda tf, x, m: tf.boolean_mask(x, m), x=F32(4, 3), m=BOOL(4), partial=False)
case("getitem_numpy_int", lambda tf, x: x[np.int64(1)], x=F32(4))
case("getitem_ints", lambda tf, x: [x[0], x[1:, 0]], x=I64(4, 3))
case("slice", lambda tf, x: [tf.slice(x, [1, 0], [2, 2]), tf.slice(x, [0, 1], [-1, 2])], x=F32(4, 3))
case("slice_tensor", lambda tf, x, b: tf.slice(x, b, [2, 2]), x=F32(4, 3), b=np.array([1, 0], np.int32), partial=False)
case(
    "strided_slice",
    lambda tf, x: [
        tf.strided_slice(x, [0], [4], [2]),
        tf.strided_slice(x, [1, 0], [3, 3], begin_mask=1, end_mask=2, shrink_axis_mask=0),
    ],
    x=F32(4, 3),
)
case("gather", lambda tf, x, i: tf.gather(x, i), x=F32(4, 3), i=np.array([2, 0, 2], np.int32))
case(
    "gather_axis",
    lambda tf, x, i: [tf.gather(x, i, axis=1), tf.gather(x, i, axis=-1)],
    x=F64(2, 3, 4),
    i=np.array([2, 0], np.int64),
)
case("gather_matrix", lambda tf, x, i: tf.gather(x, i), x=F64(4, 3), i=np.array([[2, 0], [1, 1]], np.int32))
case("gather_scalar", lambda tf, x: tf.gather(x, 1), x=F32(4, 3))
case(
    "gather_batch_dims",
    lambda tf, x, i: tf.gather(x, i, batch_dims=1),
    x=F32(2, 4),
    i=np.array([[2, 0], [1, 1]], np.int32),
    partial=False,
)
case("gather_nd", lambda tf, x, i: tf.gather_nd(x, i), x=F64(4, 3), i=np.array([[2, 0], [1, 1], [2, 0]], np.int32))
case("gather_nd_rows", lambda tf, x, i: tf.gather_nd(x, i), x=F64(4, 3), i=np.array([[2], [1]], np.int32))
case(
    "batch_gather",
    lambda tf, x, i: tf.batch_gather(x, i),
    x=F32(2, 4),
    i=np.array([[2, 0], [1, 1]], np.int32),
    partial=False,
)
case("gather_empty", lambda tf, x, i: tf.gather(x, i), x=F32(4, 3), i=np.zeros([0], np.int32))
case("gather_strings", lambda tf, i: tf.gather(["a", "b", "c"], i), i=np.array([2, 0], np.int32))
case("scatter_nd", lambda tf, i, u: tf.scatter_nd(i, u, [5, 2]), i=np.array([[1], [3], [1]], np.int32), u=F64(3, 2))
case(
    "tensor_scatter_update",
    lambda tf, x, i, u: tf.tensor_scatter_update(x, i, u),
    x=F32(4, 2),
    i=np.array([[1], [3]], np.int32),
    u=F32(2, 2),
)
case(
    "tensor_scatter_add",
    lambda tf, x, i, u: [tf.tensor_scatter_add(x, i, u), tf.tensor_scatter_sub(x, i, u)],
    x=F32(4, 2),
    i=np.array([[1], [1]], np.int32),
    u=F32(2, 2),
)
case(
    "boolean_mask_axis",
    lambda tf, x, m: tf.boolean_mask(x, m, axis=1),
    x=F32(4, 3),
    m=np.array([True, False, True]),
    partial=False,
)
case("boolean_mask_full", lambda tf, x, m: tf.boolean_mask(x, m), x=F32(4, 3), m=BOOL(4, 3), partial=False)
case(
    "dynamic_partition",
    lambda tf, x, p: tf.dynamic_partition(x, p, 3),
    x=F32(5, 2),
    p=np.array([0, 2, 0, 1, 2], np.int32),
)
case("dynamic_stitch", lambda tf, x, y: tf.dynamic_stitch([[0, 2], [1, 3]], [x, y]), x=F32(2, 2), y=F32(2, 2))
case("diagonal_by_gather_nd", lambda tf, x: tf.gather_nd(x, [[i, i] for i in range(3)]), x=F32(3, 3))
case("pick_by_one_hot", lambda tf, x, i: tf.reduce_sum(x * tf.one_hot(i, 3), 1), x=F32(4, 3), i=I32(4, low=0, high=3))
error_case("index_out_of_range", lambda tf, x: x[5], x=F32(4))
error_case("too_many_indices", lambda tf, x: x[0, 0], x=F32(4))
error_case("float_index", lambda tf, x: x[1.5], x=F32(4))
error_case("string_index", lambda tf, x: x["a"], x=F32(4))
error_case("two_ellipses", lambda tf, x: x[..., ...], x=F32(4, 3))
error_case("zero_stride", lambda tf, x: x[::0], x=F32(4))
error_case("assign_item", lambda tf, x: x.__setitem__(0, 1.0), x=F32(4))
error_case("slice_beyond", lambda tf, x: tf.slice(x, [1], [5]), x=F32(4))
error_case("gather_out_of_range", lambda tf, x, i: tf.gather(x, i), x=F32(4), i=np.array([4], np.int32))
error_case("gather_negative", lambda tf, x, i: tf.gather(x, i), x=F32(4), i=np.array([-1], np.int32))
error_case("gather_nd_out_of_range", lambda tf, x, i: tf.gather_nd(x, i), x=F32(4), i=np.array([[7]], np.int32))
error_case("gather_float_indices", lambda tf, x: tf.gather(x, [0.5]), x=F32(4))
error_case("scatter_nd_out_of_range", lambda tf, i, u: tf.scatter_nd(i, u, [2]), i=np.array([[5]], np.int32), u=F32(1))
error_case("boolean_mask_shape", lambda tf, x: tf.boolean_mask(x, [True, False]), x=F32(4))
error_case(
    "dynamic_partition_range", lambda tf, x, p: tf.dynamic_partition(x, p, 2), x=F32(3), p=np.array([0, 1, 2], np.int32)
)
