"""Making, reshaping, joining and splitting tensors."""

import numpy as np

from cases.table import BOOL, C64, F32, F64, I32, I64, Table

TABLE = Table("array")
case, error_case, each = TABLE.case, TABLE.error_case, TABLE.each

case(
    "constant",
    lambda tf: [
        tf.constant(1),
        tf.constant(1.5),
        tf.constant([1, 2]),
        tf.constant("a"),
        tf.constant(True),
        tf.constant([[1.0, 2], [3, 4]], tf.float64),
        tf.constant(2, shape=[2, 2]),
        tf.constant(np.arange(4)),
        tf.constant(1 + 2j),
        tf.constant([b"x", b"yz"]),
    ],
)
case(
    "constant_fill",
    lambda tf: [
        tf.constant(1.0, tf.float16, [2, 3], "here"),
        tf.constant([1, 2, 3], shape=[2, 3]),
        tf.constant([], tf.float32),
        tf.constant(7, tf.uint8),
    ],
)
case(
    "zeros_ones",
    lambda tf: [
        tf.zeros([2, 3]),
        tf.ones([2], tf.int32),
        tf.zeros([]),
        tf.ones([2, 0], tf.float64),
        tf.zeros([2], tf.string),
        tf.zeros([2], tf.bool),
        tf.ones([2], tf.bool),
        tf.zeros([40, 40]),
        tf.zeros((2, 3), name="z"),
        tf.ones(3),
    ],
)
case("zeros_of_tensor_shape", lambda tf, x: [tf.zeros(tf.shape(x)), tf.ones(tf.shape(x), tf.int32)], x=F32(2, 3))
case("fill", lambda tf, x: tf.fill([2, 3], x), x=F32())
case("fill_constants", lambda tf: [tf.fill([2], 7), tf.fill([2, 2], "a"), tf.fill([0], 1.0)])
case(
    "range",
    lambda tf: [
        tf.range(5),
        tf.range(2, 8),
        tf.range(2, 9, 3),
        tf.range(0.0, 1.0, 0.25),
        tf.range(3, name="r"),
        tf.range(5, 0, -2),
        tf.range(3, dtype=tf.int64),
        tf.range(0),
    ],
)
case("range_tensor", lambda tf, n: tf.range(n), n=np.array(4, np.int32), partial=False)
case("linspace", lambda tf: [tf.linspace(0.0, 1.0, 5), tf.lin_space(-1.0, 1.0, 3), tf.linspace(2.0, 3.0, 1)])
case(
    "shape",
    lambda tf, x: [tf.shape(x), tf.size(x), tf.rank(x), tf.shape(x, out_type=tf.int64)],
    x=F32(2, 3),
    grad=False,
)
case(
    "shape_unoptimised",
    lambda tf, x: [tf.shape_n([x, x]), tf.shape(tf.placeholder_with_default(x, [None, 3]))],
    x=F32(2, 3),
    grad=False,
)
case("shape_arithmetic", lambda tf, x: tf.reshape(x, [tf.shape(x)[0], -1]), x=F32(2, 3, 4))
case("shape_product", lambda tf, x: tf.reshape(x, [tf.shape(x)[0] * tf.shape(x)[1], 4]), x=F32(2, 3, 4), partial=False)
case("static_shape", lambda tf, x: [x.shape, x.get_shape().as_list(), x.shape.ndims], x=F32(2, 3), partial=False)
case("reshape", lambda tf, x: [tf.reshape(x, [3, 2]), tf.reshape(x, [-1]), tf.reshape(x, (6, -1))], x=F32(2, 3))
case("reshape_empty", lambda tf, x: tf.reshape(x, [3, 0]), x=F32(0, 3))
case("reshape_scalar", lambda tf, x: [tf.reshape(x, []), tf.reshape(x, [1, 1])], x=F32(1))
case("reshape_tensor", lambda tf, x, s: tf.reshape(x, s), x=F32(2, 3), s=np.array([3, -1], np.int32), partial=False)
case("expand_dims", lambda tf, x: [tf.expand_dims(x, 0), tf.expand_dims(x, -1), tf.expand_dims(x, axis=1)], x=F32(2, 3))
case("expand_dims_dim", lambda tf, x: tf.expand_dims(x, dim=1, name="here"), x=F32(2))
case("squeeze", lambda tf, x: [tf.squeeze(x), tf.squeeze(x, [0]), tf.squeeze(x, axis=-1)], x=F32(1, 3, 1))
case("squeeze_dims", lambda tf, x: tf.squeeze(x, squeeze_dims=[2]), x=F32(1, 3, 1))
case(
    "transpose",
    lambda tf, x: [tf.transpose(x), tf.transpose(x, [1, 0, 2]), tf.transpose(x, perm=[2, 0, 1])],
    x=F32(2, 3, 4),
)
case("transpose_conjugate", lambda tf, x: tf.transpose(x, conjugate=True), x=C64(2, 3))
case("transpose_named", lambda tf, x: tf.transpose(x, name="t"), x=F32(2, 3))
case("concat", lambda tf, x, y: [tf.concat([x, y], 0), tf.concat([x, x], axis=-1)], x=F32(2, 3), y=F32(1, 3))
case("concat_one", lambda tf, x: tf.concat([x], 1), x=F32(2, 3))
case("concat_empty_part", lambda tf, x, y: tf.concat([x, y], 0), x=F32(0, 3), y=F32(2, 3))
case("concat_ints", lambda tf, x, y: tf.concat([x, y], 1), x=I32(2, 1), y=I32(2, 3))
case(
    "stack",
    lambda tf, x, y: [tf.stack([x, y]), tf.stack([x, y], axis=1), tf.stack([x, y], -1)],
    x=F32(2, 3),
    y=F32(2, 3),
)
case("stack_scalars", lambda tf, x: [tf.stack([x, 1.0, x]), tf.convert_to_tensor([x, 2.0]), tf.stack([1, 2])], x=F32())
case(
    "unstack",
    lambda tf, x: [tf.unstack(x), tf.unstack(x, axis=1), tf.unstack(x, num=3, axis=-1)],
    x=F32(2, 3),
    partial=False,
)
case(
    "split",
    lambda tf, x: [tf.split(x, 2, 1), tf.split(x, 2), tf.split(x, num_or_size_splits=4, axis=-1)],
    x=F32(2, 4),
    partial=False,
)
case("split_sizes", lambda tf, x: [tf.split(x, [1, 3], 1), tf.split(x, [1, -1], axis=1)], x=F32(2, 4), partial=False)
case("tile", lambda tf, x: [tf.tile(x, [2, 1]), tf.tile(x, [1, 0])], x=F32(2, 3))
case("tile_tensor", lambda tf, x, n: tf.tile(x, n), x=F32(2, 3), n=np.array([2, 2], np.int32), partial=False)
case("pad", lambda tf, x: [tf.pad(x, [[1, 0], [0, 2]]), tf.pad(x, [[1, 1], [1, 1]], constant_values=3.0)], x=F32(2, 3))
case("pad_reflect", lambda tf, x: tf.pad(x, [[1, 1], [2, 0]], "REFLECT"), x=F64(2, 3))
case("pad_symmetric", lambda tf, x: tf.pad(x, [[1, 1], [2, 0]], mode="symmetric"), x=F64(2, 3))
case("reverse", lambda tf, x: [tf.reverse(x, [0]), tf.reverse(x, axis=[-1]), tf.reverse_v2(x, [0, 1])], x=F32(2, 3))
case(
    "reverse_sequence",
    lambda tf, x: tf.reverse_sequence(x, [1, 3], seq_axis=1, batch_axis=0),
    x=F32(2, 4),
    partial=False,
)
case("broadcast_to", lambda tf, x: tf.broadcast_to(x, [2, 3, 4]), x=F32(3, 1))
case(
    "broadcast_shapes",
    lambda tf: [
        tf.broadcast_dynamic_shape([2, 1], [3]),
        tf.broadcast_static_shape(tf.TensorShape([2, 1]), tf.TensorShape([3])),
    ],
)
case(
    "meshgrid",
    lambda tf, x, y: [tf.meshgrid(x, y), tf.meshgrid(x, y, indexing="ij")],
    x=F32(2),
    y=F32(3),
    partial=False,
)
case(
    "one_hot",
    lambda tf, i: [
        tf.one_hot(i, 4),
        tf.one_hot(i, 4, axis=0),
        tf.one_hot(i, depth=3, on_value=5, off_value=-1),
        tf.one_hot(i, 3, dtype=tf.int64),
        tf.one_hot(i, 2, on_value=True, off_value=False),
    ],
    i=np.array([0, 2, -1, 5], np.int32),
)
case(
    "sequence_mask",
    lambda tf, n: [tf.sequence_mask(n, 5), tf.sequence_mask(n), tf.sequence_mask(n, 4, tf.float32)],
    n=I32(3, low=0, high=4),
    partial=False,
)
case(
    "space_to_depth",
    lambda tf, x: [tf.space_to_depth(x, 2), tf.depth_to_space(tf.space_to_depth(x, 2), 2)],
    x=F32(1, 4, 4, 2),
)
case("space_to_batch", lambda tf, x: tf.space_to_batch_nd(x, [2, 2], [[0, 0], [0, 0]]), x=F32(1, 4, 4, 1))
case("batch_to_space", lambda tf, x: tf.batch_to_space_nd(x, [2, 2], [[0, 0], [0, 0]]), x=F32(4, 2, 2, 1))
case("required_space_to_batch_paddings", lambda tf: tf.required_space_to_batch_paddings([4, 5], [2, 2]))
case("placeholder_with_default", lambda tf, x: tf.placeholder_with_default(tf.constant([1.0, 2]), [None]) * x, x=F32(2))
case(
    "placeholder_default_names",
    lambda tf: [tf.placeholder(tf.float32), tf.placeholder("int32", [2]), tf.placeholder(tf.string, name="s")],
    fetch=False,
)
case("identity_n", lambda tf, x, y: tf.identity_n([x, y]), x=F32(2), y=I32(3), grad=False)
case("identity", lambda tf, x: [tf.identity(x), tf.identity(x, name="i"), tf.identity([1, 2])], x=F32(2))
case("unique", lambda tf, x: tf.unique(x), x=np.array([3, 1, 3, 2, 1], np.int32))
case("unique_with_counts", lambda tf, x: tf.unique_with_counts(x), x=np.array([3, 1, 3, 2, 1], np.int32))
case("setdiff1d", lambda tf, x, y: tf.setdiff1d(x, y), x=np.array([3, 1, 4, 2], np.int32), y=np.array([1, 2], np.int32))
case("invert_permutation", lambda tf, x: tf.invert_permutation(x), x=np.array([2, 0, 1], np.int32))
case(
    "edit_shape_set", lambda tf, x: _set_shape(tf.placeholder_with_default(x, None), [2, 3]), x=F32(2, 3), partial=False
)
case("ensure_shape", lambda tf, x: tf.ensure_shape(x, [None, 3]), x=F32(2, 3))
case("guarantee_const", lambda tf, x: tf.guarantee_const(x), x=F32(2), grad=False)
case("quantize_like", lambda tf, x: tf.fake_quant_with_min_max_args(x, -1, 1), x=F32(5), grad=False)
case("no_op", lambda tf: [tf.no_op(), tf.no_op(name="n")], fetch=False)
case(
    "convert_to_tensor",
    lambda tf, x: [
        tf.convert_to_tensor(x),
        tf.convert_to_tensor([1, 2], tf.float32),
        tf.convert_to_tensor(3, preferred_dtype=tf.float32),
        tf.convert_to_tensor([x, x]),
        tf.convert_to_tensor([[1.0, x]], name="c"),
    ],
    x=F32(),
    partial=False,
)
case("expand_and_tile", lambda tf, x: tf.tile(tf.expand_dims(x, 1), [1, 3, 1]), x=F32(2, 4))
case(
    "flatten_by_hand",
    lambda tf, x: tf.reshape(x, [-1, int(np.prod(x.shape.as_list()[1:]))]),
    x=F32(2, 3, 4),
    partial=False,
)
case("boolean_types", lambda tf, x: [tf.concat([x, x], 0), tf.transpose(x), tf.reshape(x, [-1])], x=BOOL(2, 3))
case("name_scopes", lambda tf, x: _scoped(tf, x), x=F32(2))
case(
    "i64_arrays",
    lambda tf, x: [tf.concat([x, x], 0), tf.stack([x, x]), tf.tile(x, [2, 1]), tf.pad(x, [[0, 1], [1, 0]])],
    x=I64(2, 3),
)
case("parallel_stack", lambda tf, x: tf.parallel_stack([x, x]), x=F32(2), partial=False, grad=False)


def _set_shape(tensor, shape):
    tensor.set_shape(shape)
    return tensor


def _scoped(tf, x):
    with tf.name_scope("outer"):
        a = x + 1.0
        with tf.name_scope("inner"):
            b = a * 2.0
        with tf.name_scope("inner"):
            c = b - 1.0
        with tf.name_scope(None):
            d = tf.identity(c)
    with tf.name_scope("outer") as scope:
        e = tf.identity(d, name=scope)
    with tf.name_scope("outer/"):
        f = tf.identity(e, name="last")
    with tf.name_scope("n", "default", [x]), tf.name_scope(None, "default"):
        return tf.negative(f)


error_case("reshape_size", lambda tf, x: tf.reshape(x, [4, 2]), x=F32(2, 3))
error_case("reshape_two_unknown", lambda tf, x: tf.reshape(x, [-1, -1]), x=F32(2, 3))
error_case("reshape_at_run", lambda tf, x, s: tf.reshape(x, s), x=F32(2, 3), s=np.array([4, 2], np.int32))
error_case("concat_shapes", lambda tf, x, y: tf.concat([x, y], 0), x=F32(2, 3), y=F32(2, 4))
error_case("concat_axis", lambda tf, x: tf.concat([x, x], 2), x=F32(2, 3))
error_case("concat_dtypes", lambda tf, x, y: tf.concat([x, y], 0), x=F32(2), y=I32(2))
error_case("concat_old_order", lambda tf, x: tf.concat(0, [x, x]), x=F32(2))
error_case("stack_shapes", lambda tf, x, y: tf.stack([x, y]), x=F32(2), y=F32(3))
error_case("squeeze_not_one", lambda tf, x: tf.squeeze(x, [1]), x=F32(1, 3))
error_case("expand_dims_axis", lambda tf, x: tf.expand_dims(x, 4), x=F32(2))
error_case("transpose_permutation", lambda tf, x: tf.transpose(x, [0, 0]), x=F32(2, 3))
error_case("split_uneven", lambda tf, x: tf.split(x, 3, 1), x=F32(2, 4))
error_case("unstack_unknown", lambda tf, x: tf.unstack(tf.placeholder_with_default(x, [None])), x=F32(2))
error_case("tile_multiples", lambda tf, x: tf.tile(x, [2]), x=F32(2, 3))
error_case("pad_rank", lambda tf, x: tf.pad(x, [[1, 1]]), x=F32(2, 3))
error_case("pad_reflect_too_far", lambda tf, x: tf.pad(x, [[3, 0], [0, 0]], "REFLECT"), x=F32(2, 3))
error_case("pad_mode", lambda tf, x: tf.pad(x, [[1, 1]], "WRAP"), x=F32(2))
error_case("broadcast_to_shape", lambda tf, x: tf.broadcast_to(x, [2, 4]), x=F32(3))
error_case("constant_shape", lambda tf: tf.constant([1, 2, 3], shape=[2]))
error_case("constant_ragged", lambda tf: tf.constant([[1, 2], [3]]))
error_case("constant_dtype", lambda tf: tf.constant(1.5, tf.int32))
error_case("constant_none", lambda tf: tf.constant(None))
error_case("convert_wrong_dtype", lambda tf, x: tf.convert_to_tensor(x, tf.int32), x=F32(2))
error_case("set_shape_conflict", lambda tf, x: x.set_shape([4]), x=F32(2))
error_case("ensure_shape_conflict", lambda tf, x: tf.ensure_shape(tf.placeholder_with_default(x, None), [3]), x=F32(2))
error_case("range_zero_step", lambda tf: tf.range(0, 5, 0))
error_case("negative_fill", lambda tf: tf.fill([-1], 0))
error_case("bad_node_name", lambda tf, x: tf.identity(x, name="a b"), x=F32(2))
