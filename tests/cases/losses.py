"""tf.losses, clipping and numerical helpers of training."""

import numpy as np

from cases.table import F32, F64, Table

TABLE = Table("losses")
case, error_case, each = TABLE.case, TABLE.error_case, TABLE.each
PAIR = ["losses.mean_squared_error", "losses.absolute_difference", "losses.huber_loss", "losses.log_loss"]
PROBABLE = dict(a=F32(4, 3, low=0.05, high=0.95), b=F32(4, 3, low=0.05, high=0.95))
LABELS = np.array([0, 2, 1, 2], np.int32)

each("", PAIR, lambda f, a, b: f(a, b), **PROBABLE)
each("weights_scalar_", PAIR, lambda f, a, b: f(a, b, weights=0.5), **PROBABLE)
each("weights_rows_", PAIR, lambda f, a, b, w: f(a, b, weights=w), w=F32(4, 1, low=0, high=1), **PROBABLE)
each("named_", PAIR, lambda f, a, b: f(labels=a, predictions=b, scope="mine"), **PROBABLE)
for _reduction in (
    "none",
    "weighted_sum",
    "weighted_mean",
    "weighted_sum_over_batch_size",
    "weighted_sum_by_nonzero_weights",
):
    case(
        "reduction_" + _reduction,
        lambda tf, a, b, r=_reduction: tf.losses.mean_squared_error(
            a, b, weights=[[0.0], [1.0], [2.0], [1.0]], reduction=r
        ),
        **PROBABLE,
    )
case("mean_squared_f64", lambda tf, a, b: tf.losses.mean_squared_error(a, b), a=F64(4), b=F64(4))
case("hinge", lambda tf, y, x: tf.losses.hinge_loss(y, x), y=np.array([0, 1, 1, 0], np.float32), x=F32(4))
case("mean_pairwise", lambda tf, a, b: tf.losses.mean_pairwise_squared_error(a, b), **PROBABLE)
case("cosine", lambda tf, a, b: tf.losses.cosine_distance(a, b, axis=1), **PROBABLE)
case(
    "softmax",
    lambda tf, x, y: tf.losses.softmax_cross_entropy(y, x),
    x=F32(4, 3),
    y=np.eye(3, dtype=np.float32)[LABELS],
)
case(
    "softmax_smoothed",
    lambda tf, x, y: tf.losses.softmax_cross_entropy(y, x, label_smoothing=0.1),
    x=F32(4, 3),
    y=np.eye(3, dtype=np.float32)[LABELS],
    partial=False,
)
case(
    "softmax_int_labels",
    lambda tf, x: tf.losses.softmax_cross_entropy(tf.one_hot([0, 2, 1, 2], 3, dtype=tf.int32), x),
    x=F32(4, 3),
)
case("sparse_softmax", lambda tf, x, y: tf.losses.sparse_softmax_cross_entropy(y, x), x=F32(4, 3), y=LABELS)
case(
    "sparse_softmax_keywords",
    lambda tf, x, y: tf.losses.sparse_softmax_cross_entropy(labels=y, logits=x, weights=2.0),
    x=F32(4, 3),
    y=LABELS,
)
case("sigmoid", lambda tf, x, y: tf.losses.sigmoid_cross_entropy(y, x), x=F32(4, 3), y=F32(4, 3, low=0, high=1))
case(
    "sigmoid_smoothed",
    lambda tf, x, y: tf.losses.sigmoid_cross_entropy(y, x, label_smoothing=0.1),
    x=F32(4, 3),
    y=F32(4, 3, low=0, high=1),
)
case("compute_weighted", lambda tf, x: tf.losses.compute_weighted_loss(x, weights=[1.0, 0.0, 2.0]), x=F32(3))
case("collections", lambda tf, a, b: _total(tf, a, b), **PROBABLE)
case(
    "add_loss",
    lambda tf, x: [tf.losses.add_loss(tf.reduce_sum(x)), tf.losses.get_total_loss(), len(tf.losses.get_losses())],
    x=F32(3),
)


def _total(tf, a, b):
    tf.losses.mean_squared_error(a, b)
    tf.losses.absolute_difference(a, b)
    tf.get_variable("w", [2], initializer=tf.ones_initializer(), regularizer=tf.contrib.layers.l2_regularizer(0.1))
    return [tf.losses.get_total_loss(), tf.losses.get_regularization_losses(), tf.losses.get_losses()]


case("clip_by_value", lambda tf, x: tf.clip_by_value(x, -0.5, 0.7), x=F64(3, 4))
case("clip_by_value_tensors", lambda tf, x, a: tf.clip_by_value(x, -a, a), x=F64(3, 4), a=F64(4, low=0.5, high=1))
case("clip_by_value_ints", lambda tf: tf.clip_by_value(tf.constant([1, 5, 9]), 2, 6))
case("clip_by_norm", lambda tf, x: tf.clip_by_norm(x, 1.0), x=F64(3, 4))
case("clip_by_norm_axes", lambda tf, x: tf.clip_by_norm(x, 1.0, axes=[1], name="clip"), x=F32(3, 4))
case("clip_by_norm_zero", lambda tf, x: tf.clip_by_norm(x, 1.0), x=np.zeros([3], np.float32))
case("clip_by_average_norm", lambda tf, x: tf.clip_by_average_norm(x, 0.1), x=F32(3, 4))
case("clip_by_global_norm", lambda tf, x, y: tf.clip_by_global_norm([x, None, y], 1.0), x=F64(3, 4), y=F64(2))
case(
    "clip_by_global_norm_given",
    lambda tf, x: tf.clip_by_global_norm([x], 1.0, use_norm=tf.global_norm([x]), name="g"),
    x=F32(3),
)
case(
    "clip_indexed_slices",
    lambda tf, x: tf.clip_by_global_norm([tf.IndexedSlices(x, tf.constant([1, 3]))], 1.0)[0],
    x=F32(2, 3),
)
case("verify_finite", lambda tf, x: tf.verify_tensor_all_finite(x, "bad"), x=F32(3))
error_case("mse_shapes", lambda tf, a, b: tf.losses.mean_squared_error(a, b), a=F32(4, 3), b=F32(4, 2))
error_case("mse_none", lambda tf, a: tf.losses.mean_squared_error(None, a), a=F32(4))
error_case(
    "weights_shape",
    lambda tf, a, b: tf.losses.mean_squared_error(a, b, weights=[1.0, 2.0, 3.0]),
    a=F32(4, 2),
    b=F32(4, 2),
)
error_case(
    "weights_shape_at_run",
    lambda tf, a, b, w: tf.losses.mean_squared_error(a, b, weights=tf.placeholder_with_default(w, None)),
    a=F32(4, 2),
    b=F32(4, 2),
    w=F32(3, 2),
)
error_case("reduction", lambda tf, a, b: tf.losses.mean_squared_error(a, b, reduction="mean"), a=F32(4), b=F32(4))
error_case("cosine_axis", lambda tf, a, b: tf.losses.cosine_distance(a, b), a=F32(4), b=F32(4))
error_case("clip_global_norm_of_tensor", lambda tf, x: tf.clip_by_global_norm(x, 1.0), x=F32(4))
