"""Activations, pooling variants, transposed convolutions and what the other nn tables leave out."""

import numpy as np

from cases.table import F32, F64, I32, Table

TABLE = Table("nn_more")
case, error_case, each = TABLE.case, TABLE.error_case, TABLE.each
EDGES = np.array([-1e30, -100, -20, -1e-9, -0.0, 0, 1e-9, 5, 7, 20, 100], np.float32)
ACTIVATIONS = [
    "nn.relu",
    "nn.relu6",
    "nn.elu",
    "nn.selu",
    "nn.softplus",
    "nn.softsign",
    "nn.leaky_relu",
    "nn.crelu",
    "nn.swish",
    "math.softplus",
    "math.softsign",
]


def _second_derivative(tf, function, x):
    first = tf.gradients(function(x), x)[0]
    return tf.identity(tf.gradients(tf.square(first), x)[0])


each("", ACTIVATIONS, lambda f, x: f(x), x=F64(3, 4))
each("edges_", ACTIVATIONS, lambda f, x: f(x), x=EDGES, grad=False, atol=1e-6, reason="exp in other last bits")
for _name in ("relu", "relu6", "elu", "leaky_relu", "softplus"):
    case(
        "second_" + _name,
        lambda tf, x, n=_name: _second_derivative(tf, getattr(tf.nn, n), x),
        x=F64(3, 4),
        grad=False,
    )
case("relu_ints", lambda tf, x: [tf.nn.relu(x), tf.nn.relu6(x), tf.nn.leaky_relu(x)], x=I32(6))
case("leaky_relu_alpha", lambda tf, x: tf.nn.leaky_relu(x, alpha=1.5, name="leak"), x=F32(6))
case("crelu_axis", lambda tf, x: tf.nn.crelu(x, axis=0, name="both"), x=F32(2, 3))
case("relu_layer", lambda tf, x, w, b: tf.nn.relu_layer(x, w, b), x=F64(2, 3), w=F64(3, 4), b=F64(4))
case("xw_plus_b", lambda tf, x, w, b: tf.nn.xw_plus_b(x, w, b, name="affine"), x=F64(2, 3), w=F64(3, 4), b=F64(4))
case("l2_loss", lambda tf, x: tf.nn.l2_loss(x), x=F64(3, 4))
case("zero_fraction", lambda tf, x: tf.nn.zero_fraction(tf.nn.relu(x)), x=F32(3, 4), grad=False)
case("bias_add_second", lambda tf, x, b: tf.gradients(tf.square(tf.nn.bias_add(x, b)), b)[0], x=F64(2, 3), b=F64(3))
case(
    "softmax_xent_second",
    lambda tf, x: tf.gradients(
        tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.constant([[0.2, 0.3, 0.5]], tf.float64), logits=x), x
    )[0],
    x=F64(1, 3),
)
case("max_pool_second", lambda tf, x: tf.gradients(tf.square(tf.nn.max_pool(x, 2, 2, "SAME")), x)[0], x=F64(1, 4, 4, 2))
case("avg_pool_second", lambda tf, x: tf.gradients(tf.square(tf.nn.avg_pool(x, 2, 2, "SAME")), x)[0], x=F64(1, 4, 4, 2))
each("", ["nn.max_pool1d", "nn.avg_pool1d"], lambda f, x: f(x, 2, 2, "SAME"), x=F32(2, 5, 3))
each("", ["nn.max_pool_v2", "nn.avg_pool_v2"], lambda f, x: f(x, 2, 2, "VALID"), x=F32(2, 4, 4, 3), partial=False)
each("line_", ["nn.max_pool_v2", "nn.avg_pool_v2"], lambda f, x: f(x, 2, 1, "VALID"), x=F32(2, 4, 3), partial=False)
case("max_pool2d", lambda tf, x: tf.nn.max_pool2d(x, [2, 2], 1, "SAME"), x=F32(1, 4, 4, 2))
case("avg_pool2d", lambda tf, x: tf.nn.avg_pool2d(x, 3, 2, "SAME", name="mean"), x=F32(1, 5, 5, 2))
case(
    "max_pool_depth", lambda tf, x: tf.nn.max_pool(x, [1, 1, 1, 2], [1, 1, 1, 2], "SAME"), x=F32(1, 2, 2, 4), grad=False
)
case(
    "conv1d_transpose",
    lambda tf, x, w: tf.nn.conv1d_transpose(x, w, [2, 8, 3], 2),
    x=F64(2, 4, 2),
    w=F64(3, 3, 2),
    partial=False,
)
case(
    "conv3d_transpose",
    lambda tf, x, w: tf.nn.conv3d_transpose(x, w, [1, 4, 4, 4, 3], [1, 2, 2, 2, 1]),
    x=F64(1, 2, 2, 2, 2),
    w=F64(3, 3, 3, 3, 2),
    partial=False,
)
case(
    "atrous_conv2d_transpose",
    lambda tf, x, w: tf.nn.atrous_conv2d_transpose(x, w, [1, 5, 5, 3], 2, "SAME"),
    x=F32(1, 5, 5, 2),
    w=F32(3, 3, 3, 2),
    partial=False,
)
case(
    "depthwise_rate",
    lambda tf, x, w: tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME", rate=[2, 2]),
    x=F32(1, 6, 6, 2),
    w=F32(3, 3, 2, 2),
    partial=False,
)
case(
    "fused_batch_norm_second",
    lambda tf, x, s, o: tf.gradients(tf.nn.fused_batch_norm(x, s, o, epsilon=0.1)[0] ** 2, x)[0],
    x=F32(2, 2, 3, 2),
    s=F32(2),
    o=F32(2),
    atol=1e-4,
    reason="sums in another order",
    partial=False,
)
case(
    "fused_batch_norm_frozen_second",
    lambda tf, x, s, o, m, v: tf.gradients(
        tf.nn.fused_batch_norm(x, s, o, m, v, epsilon=0.1, is_training=False)[0] ** 2, s
    )[0],
    x=F32(2, 2, 3, 2),
    s=F32(2),
    o=F32(2),
    m=F32(2),
    v=F32(2, low=0.5, high=2),
    atol=1e-4,
    reason="sums in another order",
    partial=False,
)
case("in_top_k_edges", lambda tf: tf.nn.in_top_k([[1.0, float("inf"), 2.0], [1, 2, 3], [3, 3, 1]], [0, 5, 1], 1))
case("nth_element_reverse", lambda tf, x: tf.contrib.nn.nth_element(x, 1, reverse=True), x=F32(2, 5))
case(
    "sparse_to_dense",
    lambda tf, v: [tf.sparse_to_dense([[0, 1], [2, 0]], [3, 2], v, -1.0), tf.sparse_to_dense([1, 3], [5], 1, 0)],
    v=F32(2),
)
case(
    "embedding_lookup_sparse_weighted",
    lambda tf, w: [
        tf.nn.embedding_lookup_sparse(
            w,
            tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([1, 3, 2], tf.int64), [2, 2]),
            tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([0.5, 2.0, 1.5]), [2, 2]),
            combiner=c,
        )
        for c in ("sum", "mean", "sqrtn")
    ],
    w=F32(5, 3),
    partial=False,
    grad=False,
)
error_case("sparse_to_dense_order", lambda tf: tf.sparse_to_dense([3, 1], [5], 1, 0))
error_case("sparse_to_dense_range", lambda tf: tf.sparse_to_dense([7], [5], 1, 0))
error_case(
    "conv_transpose_shape",
    lambda tf, x, w: tf.nn.conv2d_transpose(x, w, [1, 9, 9, 3], 2),
    x=F32(1, 4, 4, 2),
    w=F32(3, 3, 3, 2),
)
error_case("max_pool_zero", lambda tf, x: tf.nn.max_pool(x, 0, 1, "SAME"), x=F32(1, 4, 4, 1))
error_case("pool_rank", lambda tf, x: tf.nn.max_pool_v2(x, 2, 1, "SAME"), x=F32(4, 4))
error_case(
    "dilation_depth",
    lambda tf, x, w: tf.nn.dilation2d(x, w, [1] * 4, [1] * 4, "SAME"),
    x=F32(1, 3, 3, 2),
    w=F32(2, 2, 3),
)
error_case("lrn_rank", lambda tf, x: tf.nn.lrn(x), x=F32(3, 4))
error_case("batch_norm_channels", lambda tf, x, s: tf.nn.fused_batch_norm(x, s, s), x=F32(2, 3, 3, 4), s=F32(3))
error_case("nth_element_range", lambda tf, x: tf.contrib.nn.nth_element(x, 9), x=F32(2, 5))
error_case("in_top_k_sizes", lambda tf, x: tf.nn.in_top_k(x, [0, 1], 1), x=F32(3, 4))
error_case("dropout_none", lambda tf, x: tf.nn.dropout(x), x=F32(3))
