"""tf.layers and the contrib layers, with seeded initial values."""

import numpy as np

from cases.table import F32, Table

TABLE = Table("layers")
case, error_case = TABLE.case, TABLE.error_case
LOOSE = dict(rtol=1e-4, atol=1e-5, reason="initial values differ by one unit and sums have another order")


def layer(name, build, **options):
    """A case with a seed and the loose tolerance of sums."""
    settings = dict(LOOSE, seed=42)
    settings.update(options)
    case(name, build, **settings)


layer("dense", lambda tf, x: tf.layers.dense(x, 4), x=F32(2, 3))
layer("dense_relu", lambda tf, x: tf.layers.dense(x, 4, activation=tf.nn.relu, name="hidden"), x=F32(2, 3))
layer("dense_rank3", lambda tf, x: tf.layers.dense(x, 4), x=F32(2, 5, 3))
layer("dense_no_bias", lambda tf, x: tf.layers.dense(x, 4, use_bias=False), x=F32(2, 3))
layer(
    "dense_options",
    lambda tf, x: tf.layers.dense(
        x,
        4,
        tf.tanh,
        kernel_initializer=tf.truncated_normal_initializer(stddev=0.1),
        bias_initializer=tf.constant_initializer(0.5),
        kernel_regularizer=tf.contrib.layers.l2_regularizer(0.01),
        trainable=False,
    ),
    x=F32(2, 3),
)
layer(
    "dense_l1",
    lambda tf, x: [
        tf.layers.dense(x, 2, kernel_regularizer=tf.contrib.layers.l1_regularizer(0.1)),
        tf.losses.get_regularization_loss(),
    ],
    x=F32(2, 3),
)
layer(
    "dense_constraint",
    lambda tf, x: tf.layers.dense(x, 2, kernel_constraint=lambda w: tf.clip_by_value(w, 0, 1)),
    x=F32(2, 3),
)
layer(
    "dense_activity",
    lambda tf, x: tf.layers.dense(x, 2, activity_regularizer=tf.contrib.layers.l2_regularizer(0.1)),
    x=F32(2, 3),
    partial=False,
)
layer("dense_two", lambda tf, x: tf.layers.dense(tf.layers.dense(x, 4, tf.nn.relu), 2), x=F32(2, 3))
layer("dense_scope", lambda tf, x: _in_scope(tf, lambda: tf.layers.dense(x, 4)), x=F32(2, 3))
layer(
    "dense_reuse",
    lambda tf, x: [tf.layers.dense(x, 4, name="d"), tf.layers.dense(x, 4, name="d", reuse=True)],
    x=F32(2, 3),
)
layer("dense_object", lambda tf, x: _object(tf, x), x=F32(2, 3))
layer("dense_f64", lambda tf, x: tf.layers.dense(tf.cast(x, tf.float64), 4), x=F32(2, 3))
layer("conv1d", lambda tf, x: tf.layers.conv1d(x, 4, 3), x=F32(2, 7, 2))
layer("conv2d", lambda tf, x: tf.layers.conv2d(x, 4, 3), x=F32(2, 6, 6, 2))
layer(
    "conv2d_same",
    lambda tf, x: tf.layers.conv2d(
        x, filters=4, kernel_size=[5, 3], strides=(2, 1), padding="same", activation=tf.nn.relu
    ),
    x=F32(2, 6, 6, 2),
)
layer("conv2d_dilated", lambda tf, x: tf.layers.conv2d(x, 4, 3, dilation_rate=2, use_bias=False), x=F32(1, 8, 8, 2))
layer("conv3d", lambda tf, x: tf.layers.conv3d(x, 3, 2), x=F32(1, 4, 4, 4, 2))
layer(
    "conv2d_transpose", lambda tf, x: tf.layers.conv2d_transpose(x, 3, 3, strides=2, padding="same"), x=F32(2, 4, 4, 2)
)
layer("conv2d_transpose_valid", lambda tf, x: tf.layers.conv2d_transpose(x, 3, 3, strides=2), x=F32(2, 4, 4, 2))
layer("conv3d_transpose", lambda tf, x: tf.layers.conv3d_transpose(x, 2, 2, strides=2), x=F32(1, 2, 3, 2, 2))
layer("separable_conv1d", lambda tf, x: tf.layers.separable_conv1d(x, 4, 3), x=F32(2, 7, 2))
layer("separable_conv2d", lambda tf, x: tf.layers.separable_conv2d(x, 4, 3, depth_multiplier=2), x=F32(2, 6, 6, 2))
layer("max_pooling1d", lambda tf, x: tf.layers.max_pooling1d(x, 2, 2), x=F32(2, 7, 3))
layer("max_pooling2d", lambda tf, x: tf.layers.max_pooling2d(x, 2, 2), x=F32(2, 6, 6, 3))
layer(
    "max_pooling2d_same",
    lambda tf, x: tf.layers.max_pooling2d(inputs=x, pool_size=[3, 2], strides=[2, 1], padding="same", name="p"),
    x=F32(2, 6, 6, 3),
)
layer("max_pooling3d", lambda tf, x: tf.layers.max_pooling3d(x, 2, 2), x=F32(1, 4, 4, 4, 2))
layer("average_pooling1d", lambda tf, x: tf.layers.average_pooling1d(x, 2, 2, padding="same"), x=F32(2, 7, 3))
layer("average_pooling2d", lambda tf, x: tf.layers.average_pooling2d(x, 2, 2), x=F32(2, 6, 6, 3))
layer("average_pooling3d", lambda tf, x: tf.layers.average_pooling3d(x, 2, 2), x=F32(1, 4, 4, 4, 2))
layer("flatten", lambda tf, x: tf.layers.flatten(x), x=F32(2, 3, 4))
layer("flatten_matrix", lambda tf, x: tf.layers.flatten(x, name="f"), x=F32(2, 3))
layer("dropout_training", lambda tf, x: tf.layers.dropout(x, 0.4, training=True), x=F32(4, 5))
layer("dropout_inference", lambda tf, x: tf.layers.dropout(x, 0.4), x=F32(4, 5))
layer("dropout_switch", lambda tf, x, t: tf.layers.dropout(x, 0.4, training=t), x=F32(4, 5), t=np.array(True))
layer("batch_norm_training", lambda tf, x: tf.layers.batch_normalization(x, training=True), x=F32(6, 4), partial=False)
layer("batch_norm_inference", lambda tf, x: tf.layers.batch_normalization(x), x=F32(6, 4))
layer("batch_norm_fused", lambda tf, x: tf.layers.batch_normalization(x, training=True, name="bn"), x=F32(2, 3, 3, 4))
layer("batch_norm_fused_inference", lambda tf, x: tf.layers.batch_normalization(x, training=False), x=F32(2, 3, 3, 4))
layer(
    "batch_norm_switch",
    lambda tf, x, t: tf.layers.batch_normalization(x, training=t),
    x=F32(2, 3, 3, 4),
    t=np.array(True),
    grad=False,
)
layer(
    "batch_norm_options",
    lambda tf, x: tf.layers.batch_normalization(
        x, axis=1, momentum=0.9, epsilon=1e-5, center=False, fused=False, training=True
    ),
    x=F32(6, 4),
)
layer(
    "batch_norm_updates",
    lambda tf, x: tf.layers.batch_normalization(x, momentum=0.5, training=True),
    x=F32(6, 4),
    run=lambda tf, s, y, feed: _moving(tf, s, feed),
    partial=False,
)
layer("fully_connected", lambda tf, x: tf.contrib.layers.fully_connected(x, 4), x=F32(2, 3))
layer(
    "fully_connected_options",
    lambda tf, x: tf.contrib.layers.fully_connected(
        x, 4, activation_fn=None, weights_regularizer=tf.contrib.layers.l2_regularizer(0.1), scope="fc"
    ),
    x=F32(2, 3),
)
layer("contrib_conv2d", lambda tf, x: tf.contrib.layers.conv2d(x, 4, 3), x=F32(2, 6, 6, 2))
layer(
    "contrib_conv2d_options",
    lambda tf, x: tf.contrib.layers.conv2d(x, 4, [3, 3], stride=2, padding="VALID", activation_fn=None, scope="c"),
    x=F32(2, 6, 6, 2),
)
layer("contrib_flatten", lambda tf, x: tf.contrib.layers.flatten(x), x=F32(2, 3, 4))
layer("contrib_max_pool2d", lambda tf, x: tf.contrib.layers.max_pool2d(x, 2), x=F32(2, 6, 6, 2))
layer(
    "xavier",
    lambda tf: [
        tf.get_variable("w", [3, 4], initializer=tf.contrib.layers.xavier_initializer()),
        tf.get_variable("n", [3, 4], initializer=tf.contrib.layers.xavier_initializer(uniform=False)),
        tf.get_variable("c", [3, 3, 2, 4], initializer=tf.contrib.layers.xavier_initializer_conv2d()),
    ],
    grad=False,
)
layer(
    "regularizers",
    lambda tf, x: [
        tf.contrib.layers.l1_regularizer(0.1)(x),
        tf.contrib.layers.l2_regularizer(0.1)(x),
        tf.contrib.layers.l1_l2_regularizer(0.1, 0.2)(x),
        tf.contrib.layers.sum_regularizer([tf.contrib.layers.l1_regularizer(0.1)])(x),
    ],
    x=F32(2, 3),
)
layer(
    "regularizer_of_tensor",
    lambda tf, x, s: tf.contrib.layers.l2_regularizer(scale=s)(x),
    x=F32(2, 3),
    s=np.array(0.05, np.float32),
)
layer(
    "apply_regularization",
    lambda tf, x: [
        tf.layers.dense(x, 2),
        tf.contrib.layers.apply_regularization(tf.contrib.layers.l2_regularizer(0.1), tf.trainable_variables()),
    ],
    x=F32(2, 3),
)
layer(
    "input_layers",
    lambda tf, x: tf.layers.dense(
        tf.layers.flatten(tf.layers.max_pooling2d(tf.layers.conv2d(x, 2, 3, padding="same"), 2, 2)), 3
    ),
    x=F32(2, 4, 4, 1),
)


def _in_scope(tf, build):
    with tf.variable_scope("outer"):
        with tf.variable_scope("inner", reuse=tf.AUTO_REUSE):
            first = build()
        with tf.name_scope("names"):
            return [first, build()]


def _object(tf, x):
    dense = tf.layers.Dense(4, name="mine")
    first = dense(x)
    return [first, dense(x), dense.kernel, dense.bias]


def _moving(tf, session, feed):
    session.run(tf.get_collection(tf.GraphKeys.UPDATE_OPS), feed)
    return session.run([v for v in tf.global_variables() if "moving" in v.name])


error_case(
    "dense_unknown_last", lambda tf, x: tf.layers.dense(tf.placeholder(tf.float32, [None, None]), 4), x=F32(2, 3)
)
error_case(
    "dense_twice_same_name",
    lambda tf, x: [tf.layers.dense(x, 4, name="d"), tf.layers.dense(x, 4, name="d")],
    x=F32(2, 3),
)
error_case(
    "dense_other_shape",
    lambda tf, x: [tf.layers.dense(x, 4, name="d"), tf.layers.dense(x, 5, name="d", reuse=True)],
    x=F32(2, 3),
)
error_case("conv2d_rank", lambda tf, x: tf.layers.conv2d(x, 4, 3), x=F32(2, 3))
error_case("conv2d_padding", lambda tf, x: tf.layers.conv2d(x, 4, 3, padding="full"), x=F32(1, 4, 4, 2))
error_case("reuse_missing", lambda tf, x: tf.layers.dense(x, 4, name="missing", reuse=True), x=F32(2, 3))
error_case("l2_negative", lambda tf: tf.contrib.layers.l2_regularizer(-1.0))
error_case("l2_integer", lambda tf: tf.contrib.layers.l2_regularizer(1))
