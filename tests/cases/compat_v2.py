"""Functions of tf.compat.v2 whose arguments differ from tf's."""

import numpy as np

from cases.table import BOOL, F32, I32, Table

TABLE = Table("compat_v2")
case, error_case = TABLE.case, TABLE.error_case

PARTS = [np.arange(6, dtype=np.float32).reshape(3, 2), np.arange(6, 10, dtype=np.float32).reshape(2, 2)]
CLASSES = np.array([0, 2, 1], np.int32)
PLACES = np.array([[0, 1], [1, 0], [1, 2]], np.int64)


def sparse(tf, values):
    return tf.SparseTensor(PLACES, values, [2, 3])


# ---- arrays and sums ----

case("expand_dims", lambda tf, x: tf.compat.v2.expand_dims(x, -1, "e"), x=F32(2, 3))
case("shape_size", lambda tf, x: (tf.compat.v2.shape(x, tf.int64, "s"), tf.compat.v2.size(x, tf.int64, "n")), x=F32(2, 3))
case("likes", lambda tf, x: (tf.compat.v2.zeros_like(x, tf.int32, "z"), tf.compat.v2.ones_like(x, None, "o")), x=F32(2, 3))
case("pad", lambda tf, x: tf.compat.v2.pad(x, [[1, 0], [0, 2]], "CONSTANT", 3.0, "p"), x=F32(2, 3))
case("transpose", lambda tf, x: tf.compat.v2.transpose(x, [1, 0], False, "t"), x=F32(2, 3))
case("gather", lambda tf, x: tf.compat.v2.gather(x, [1, 0], None, 1, 0, "g"), x=F32(2, 3))
case("gather_nd", lambda tf, x: tf.compat.v2.gather_nd(x, [[1], [0]], 1, "g"), x=F32(2, 3))
case("boolean_mask", lambda tf, x, m: tf.compat.v2.boolean_mask(x, m, 1), x=F32(2, 3), m=BOOL(3), partial=False)
case("squeeze", lambda tf, x: tf.compat.v2.squeeze(x, 1, "s"), x=F32(2, 1, 3))
case("arg", lambda tf, x: (tf.compat.v2.argmax(x, 1, tf.int32, "a"), tf.compat.v2.math.argmin(x)), x=F32(2, 3))
case("reduce_sum", lambda tf, x: tf.compat.v2.reduce_sum(x, 1, True, "r"), x=F32(2, 3))
case("reduce_max", lambda tf, x: tf.compat.v2.math.reduce_max(x, [0]), x=F32(2, 3))
case("where", lambda tf, c, x: tf.compat.v2.where(c, x, 0.0), c=BOOL(3), x=F32(2, 3))
case("count_nonzero", lambda tf, x: tf.compat.v2.math.count_nonzero(x, 1, True, tf.int32), x=F32(2, 3), grad=False)
case("confusion_matrix", lambda tf, a, b: tf.compat.v2.math.confusion_matrix(a, b, 3, None, tf.int64), a=CLASSES, b=CLASSES[::-1])
case("bincount", lambda tf, x: tf.compat.v2.math.bincount(x, minlength=4, name="b"), x=np.array([1, 3, 1], np.int32))
case("norm", lambda tf, x: tf.compat.v2.norm(x, 2, 1, True, "n"), x=F32(2, 3))
case("l2_normalize", lambda tf, x: tf.compat.v2.math.l2_normalize(x, 1, 1e-6, "n"), x=F32(2, 3))
case("scalar_mul", lambda tf, x: tf.compat.v2.scalar_mul(3.0, x, "s"), x=F32(2))
case("reverse_sequence", lambda tf, x: tf.compat.v2.reverse_sequence(x, [2, 1], 1, 0, "r"), x=F32(2, 3))
case("convert", lambda tf, x: tf.compat.v2.convert_to_tensor([1, 2], None, tf.float32, "c") + x, x=F32(2))
case("space_to_batch", lambda tf, x: tf.compat.v2.space_to_batch(x, [2, 2], [[0, 0], [1, 1]], "s"), x=F32(1, 2, 4, 1))
case("batch_to_space", lambda tf, x: tf.compat.v2.batch_to_space(x, [2, 2], [[0, 0], [0, 1]], "s"), x=F32(4, 1, 2, 1))

# ---- nn ----

case("avg_pool2d", lambda tf, x: tf.compat.v2.nn.avg_pool2d(x, 2, 1, "SAME", "NHWC", "p"), x=F32(1, 3, 3, 2))
case("max_pool_with_argmax", lambda tf, x: tf.compat.v2.nn.max_pool_with_argmax(x, 2, [1, 2], "SAME"), x=F32(1, 3, 3, 2))
case("conv1d", lambda tf, x, f: tf.compat.v2.nn.conv1d(x, f, 1, "SAME", "NWC", None, "c"), x=F32(1, 5, 2), f=F32(3, 2, 2))
case("conv2d", lambda tf, x, f: tf.compat.v2.nn.conv2d(x, f, 1, "SAME", "NHWC", None, "c"), x=F32(1, 4, 4, 2), f=F32(3, 3, 2, 2))
case("conv3d", lambda tf, x, f: tf.compat.v2.nn.conv3d(x, f, [1] * 5, "SAME", name="c"), x=F32(1, 2, 2, 2, 1), f=F32(2, 2, 2, 1, 2))
case(
    "conv2d_transpose",
    lambda tf, x, f: tf.compat.v2.nn.conv2d_transpose(x, f, [1, 4, 4, 2], 2, "SAME", "NHWC", None, "c"),
    x=F32(1, 2, 2, 1), f=F32(2, 2, 2, 1),
)  # fmt: skip
case("convolution", lambda tf, x, f: tf.compat.v2.nn.convolution(x, f, 1, "VALID", None, 2, "c"), x=F32(1, 5, 2), f=F32(2, 2, 1))
case("pool", lambda tf, x: tf.compat.v2.nn.pool(x, [2], "MAX", [1], "SAME", "NWC", None, "p"), x=F32(1, 4, 2))
case(
    "depthwise_conv2d",
    lambda tf, x, f: tf.compat.v2.nn.depthwise_conv2d(x, f, [1, 1, 1, 1], "SAME", None, [1, 1], "d"),
    x=F32(1, 3, 3, 2), f=F32(2, 2, 2, 1),
)  # fmt: skip
case(
    "separable_conv2d",
    lambda tf, x, f, g: tf.compat.v2.nn.separable_conv2d(x, f, g, [1, 1, 1, 1], "SAME", None, [1, 1], "d"),
    x=F32(1, 3, 3, 2), f=F32(2, 2, 2, 1), g=F32(1, 1, 2, 3),
)  # fmt: skip
case(
    "dilations",
    lambda tf, x, f: (
        tf.compat.v2.nn.dilation2d(x, f, [1, 1, 1, 1], "SAME", "NHWC", [1, 1, 1, 1], "d"),
        tf.compat.v2.nn.erosion2d(x, f, [1, 1, 1, 1], "SAME", "NHWC", [1, 1, 1, 1], "e"),
    ),
    x=F32(1, 3, 3, 2), f=F32(2, 2, 2),
)  # fmt: skip
error_case(
    "dilation_format", lambda tf, x, f: tf.compat.v2.nn.dilation2d(x, f, [1] * 4, "SAME", "NCHW", [1] * 4),
    x=F32(1, 3, 3, 2), f=F32(2, 2, 2),
)  # fmt: skip
case("crelu", lambda tf, x: tf.compat.v2.nn.crelu(x, 0, "c"), x=F32(2, 3))
case("softmax", lambda tf, x: (tf.compat.v2.nn.softmax(x, 0, "s"), tf.compat.v2.nn.log_softmax(x)), x=F32(2, 3))
case("dropout", lambda tf, x: tf.compat.v2.nn.dropout(x, 0.4, [2, 1], 3, "d"), x=F32(2, 3), seed=7)
error_case("dropout_rate", lambda tf, x: tf.compat.v2.nn.dropout(x, 1.0), x=F32(2, 3))
case(
    "embedding_lookup",
    lambda tf, i: tf.compat.v2.nn.embedding_lookup([tf.constant(p) for p in PARTS], i, None, "e"),
    i=np.array([4, 0, 2, 3], np.int32),
)  # fmt: skip
case(
    "embedding_lookup_sparse",
    lambda tf, v: tf.compat.v2.nn.embedding_lookup_sparse([tf.constant(p) for p in PARTS], sparse(tf, v), None, "sum", None, "e"),
    v=np.array([4, 0, 2], np.int32), partial=False,
)  # fmt: skip
case("in_top_k", lambda tf, t, p: tf.compat.v2.nn.in_top_k(t, p, 1, "k"), t=np.array([1, 0], np.int32), p=F32(2, 3), grad=False)
case("moments", lambda tf, x: tf.compat.v2.nn.moments(x, [0], None, True, "m"), x=F32(2, 3))
case("weighted_moments", lambda tf, x, w: tf.compat.v2.nn.weighted_moments(x, [0], w, True, "m"), x=F32(2, 3), w=F32(2, 1))
case("sufficient_statistics", lambda tf, x: tf.compat.v2.nn.sufficient_statistics(x, [0], None, True, "s")[:3], x=F32(2, 3))
case("sigmoid_loss", lambda tf, y, x: tf.compat.v2.nn.sigmoid_cross_entropy_with_logits(y, x, "s"), y=F32(2), x=F32(2))
case(
    "sparse_loss", lambda tf, y, x: tf.compat.v2.nn.sparse_softmax_cross_entropy_with_logits(y, x, "s"),
    y=np.array([1, 0], np.int32), x=F32(2, 3),
)  # fmt: skip
case("softmax_loss", lambda tf, y, x: tf.compat.v2.nn.softmax_cross_entropy_with_logits(y, x, 0, "s"), y=F32(2, 3), x=F32(2, 3))
case(
    "nce_loss",
    lambda tf, w, b, y, x: tf.compat.v2.nn.nce_loss(
        tf.split(w, 2), b, y, x, 2, 6, 1, (tf.constant([0, 3], tf.int64), tf.fill([2, 1], 0.4), tf.fill([2], 0.3))
    ),
    w=F32(6, 2), b=F32(6), y=np.array([[1], [5]], np.int64), x=F32(2, 2), partial=False,
)  # fmt: skip
case(
    "global_normalization",
    lambda tf, x, m, v: tf.compat.v2.nn.batch_norm_with_global_normalization(x, m, v, m, v, 0.1, True, "b"),
    x=F32(1, 2, 2, 3), m=F32(3), v=np.array([0.5, 1, 2], np.float32),
)  # fmt: skip
case(
    "depth_and_space",
    lambda tf, x: tf.compat.v2.nn.depth_to_space(tf.compat.v2.nn.space_to_depth(x, 2, "NHWC", "s"), 2, "NHWC", "d"),
    x=F32(1, 2, 2, 1),
)  # fmt: skip

# ---- checks ----

case("assert_equal", lambda tf, x: tf.compat.v2.assert_equal(x, x, "text", 2, "a"), x=I32(2))
case("assert_less", lambda tf, x: tf.compat.v2.debugging.assert_less(x, x + 1, "text", 2, "a"), x=I32(2))
case("assert_none_equal", lambda tf, x: tf.compat.v2.debugging.assert_none_equal(x, x + 1, 2, "text", "a"), x=I32(2))
case("assert_near", lambda tf, x: tf.compat.v2.debugging.assert_near(x, x, 0.1, 0.2, "text", 2, "a"), x=F32(2))
case("assert_positive", lambda tf, x: tf.compat.v2.debugging.assert_positive(x * x + 1.0, "text", 2, "a"), x=F32(2), grad=False)
case("assert_rank", lambda tf, x: tf.compat.v2.debugging.assert_rank(x, 1, "text", "a"), x=I32(2))
case("assert_rank_in", lambda tf, x: tf.compat.v2.debugging.assert_rank_in(x, (1, 2), "text", "a"), x=I32(2))
case("assert_all_finite", lambda tf, x: tf.compat.v2.debugging.assert_all_finite(x, "text", "a"), x=F32(2))
error_case("assert_equal_fails", lambda tf, x: tf.compat.v2.debugging.assert_equal(tf.constant(1), 2, "text"), x=I32(2))
error_case("assert_rank_fails", lambda tf, x: tf.compat.v2.debugging.assert_rank(x, 2, "text"), x=I32(2))
error_case("assert_scalar_fails", lambda tf, x: tf.compat.v2.debugging.assert_scalar(x, "text"), x=I32(2))

# ---- sparse tensors, strings, control flow, gradients ----

case("sparse_add", lambda tf, v: tf.compat.v2.sparse.add(sparse(tf, v), sparse(tf, v)).values, v=F32(3), partial=False)
case(
    "sparse_concat", lambda tf, v: tf.compat.v2.sparse.concat(1, [sparse(tf, v), sparse(tf, v)], False, "c").values,
    v=F32(3), partial=False,
)  # fmt: skip
case("sparse_reduce", lambda tf, v: tf.compat.v2.sparse.reduce_sum(sparse(tf, v), 1, True, False, "r"), v=F32(3), partial=False)
case(
    "sparse_reduce_sparse", lambda tf, v: tf.compat.v2.sparse.reduce_max(sparse(tf, v), 1, False, True, "r").values,
    v=F32(3), grad=False, partial=False,
)  # fmt: skip
case("segment_sum", lambda tf, x: tf.compat.v2.sparse.segment_sum(x, [0, 2], [0, 2], 4, "s"), x=F32(3, 2), grad=False)
case("segment_mean", lambda tf, x: tf.compat.v2.sparse.segment_mean(x, [0, 2], [0, 1], None, "s"), x=F32(3, 2))
case("string_length", lambda tf: tf.compat.v2.strings.length([b"\xc3\xa9a"], "UTF8_CHAR", "l"))
case("reduce_join", lambda tf: tf.compat.v2.strings.reduce_join([["a", "b"], ["c", "d"]], 1, True, "-", "j"))
case("to_number", lambda tf: tf.compat.v2.strings.to_number(input=["1.5"], name="n"))
case("cond", lambda tf, p, x: tf.compat.v2.cond(p, lambda: [x], lambda: [x * 2.0], "c")[0], p=BOOL(), x=F32(2))
case(
    "while_loop",
    lambda tf, x: tf.compat.v2.while_loop(
        lambda i: tf.reduce_sum(i) < 9.0, lambda i: [i * i + 1.0], [x], maximum_iterations=3, name="w"
    )[0],
    x=F32(2),
)  # fmt: skip
case("tuple", lambda tf, x: tf.compat.v2.tuple([x, x + 1.0], None, "t"), x=F32(2))


def drawn(tf, x):
    tf.compat.v2.random.set_seed(11)
    return x + tf.random.uniform([2])


case("set_seed", drawn, x=F32(2))

# ---- initializers ----


def initial(make):
    return lambda tf: make(tf.compat.v2)([3, 2])


case("initial_zeros", lambda tf: tf.compat.v2.zeros_initializer()([2], tf.int32))
case("initial_ones", lambda tf: tf.compat.v2.initializers.Ones()([2], tf.bool))
case("initial_constant", lambda tf: tf.compat.v2.constant_initializer([1, 2])([2]))
case("initial_uniform", initial(lambda v2: v2.random_uniform_initializer()), seed=3)
case("initial_uniform_seed", initial(lambda v2: v2.random_uniform_initializer(seed=4)))
case("initial_integers", lambda tf: tf.compat.v2.random_uniform_initializer(0, 9, seed=4)([4], tf.int32))
case("initial_normal", initial(lambda v2: v2.random_normal_initializer(1.0)), seed=3)
case("initial_normal_seed", initial(lambda v2: v2.random_normal_initializer(seed=0)))
case("initial_truncated", initial(lambda v2: v2.initializers.TruncatedNormal(seed=4)))
case("initial_scaling", initial(lambda v2: v2.initializers.VarianceScaling(2.0, "fan_out", "uniform", 4)))
case("initial_glorot", initial(lambda v2: v2.initializers.GlorotUniform(4)))
case("initial_glorot_normal", initial(lambda v2: v2.keras.initializers.GlorotNormal()), seed=3)
case("initial_he", initial(lambda v2: v2.initializers.he_normal(4)))
case("initial_identity", initial(lambda v2: v2.initializers.Identity(2.0)))
error_case("initial_strings", lambda tf, x: tf.compat.v2.ones_initializer()([2], tf.string), x=F32(2))
error_case("initial_bools", lambda tf, x: tf.compat.v2.random_uniform_initializer()([2], tf.bool), x=F32(2))
error_case("initial_ints", lambda tf, x: tf.compat.v2.initializers.GlorotUniform()([2], tf.int32), x=F32(2))
