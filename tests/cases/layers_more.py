"""tf.layers, tf.losses and tf.contrib.layers with less usual arguments."""

import numpy as np

from cases.table import F32, Table

TABLE = Table("layers_more")
case, error_case = TABLE.case, TABLE.error_case
SETTINGS = dict(
    seed=7, rtol=1e-4, atol=1e-5, reason="initial values differ by one unit and sums have another order", partial=False
)


def layer(name, build, **options):
    """A case with a seed and the tolerance of sums in another order."""
    case(name, build, **{**SETTINGS, **options})


IMAGE = F32(2, 6, 6, 4)
TRUE = np.array(True)

layer("dense_activation_name", lambda tf, x: tf.layers.dense(x, 4, "tanh", kernel_initializer="he_normal"), x=F32(2, 3))
layer("conv1d_causal", lambda tf, x: tf.layers.conv1d(x, 4, 3, padding="causal", dilation_rate=2), x=F32(2, 7, 2))
layer("conv2d_dilated_same", lambda tf, x: tf.layers.conv2d(x, 3, 3, padding="same", dilation_rate=(2, 2)), x=IMAGE)
layer("conv3d_dilated", lambda tf, x: tf.layers.conv3d(x, 2, 2, dilation_rate=2), x=F32(1, 5, 5, 5, 2))
layer("separable_conv1d_dilated", lambda tf, x: tf.layers.separable_conv1d(x, 3, 3, dilation_rate=2), x=F32(2, 9, 2))
layer(
    "max_pooling1d_first", lambda tf, x: tf.layers.max_pooling1d(x, 2, 2, data_format="channels_first"), x=F32(2, 3, 8)
)
layer(
    "average_pooling3d_first",
    lambda tf, x: tf.layers.average_pooling3d(x, 2, 2, data_format="channels_first"),
    x=F32(1, 2, 4, 4, 4),
)
layer("flatten_first", lambda tf, x: tf.layers.flatten(x, data_format="channels_first"), x=F32(2, 3, 4, 5))
layer("dropout_noise_shape", lambda tf, x: tf.layers.dropout(x, noise_shape=[None, 1], training=True), x=F32(4, 5))
layer("dropout_learning_phase", lambda tf, x: tf.layers.dropout(x, training=None), x=F32(4, 5))
layer("renorm", lambda tf, x: tf.layers.batch_normalization(x, renorm=True, training=True), x=F32(6, 4))
layer(
    "renorm_clipping",
    lambda tf, x, t: tf.layers.batch_normalization(
        x, renorm=True, renorm_clipping={"rmax": 2.0, "rmin": 0.5, "dmax": 1.0}, training=t
    ),
    x=F32(6, 4),
    t=TRUE,
    grad=False,
)
layer(
    "virtual_batch", lambda tf, x: tf.layers.batch_normalization(x, virtual_batch_size=2, training=True), x=F32(6, 4)
)
layer("batch_norm_axes", lambda tf, x: tf.layers.batch_normalization(x, axis=[1, 3], training=True), x=IMAGE)
layer(
    "batch_norm_no_weights",
    lambda tf, x: tf.layers.batch_normalization(x, center=False, scale=False, training=True),
    x=IMAGE,
)
layer("batch_norm_frozen", lambda tf, x: tf.layers.batch_normalization(x, trainable=False, training=True), x=IMAGE)
layer(
    "batch_norm_adjustment",
    lambda tf, x: tf.layers.batch_normalization(
        x, training=True, adjustment=lambda shape: (tf.random_uniform([4]), tf.random_uniform([4]))
    ),
    x=F32(6, 4),
)
layer("partitioned", lambda tf, x: _partitioned(tf, lambda: tf.layers.dense(x, 4)), x=F32(2, 6))
layer("custom_layer", lambda tf, x: _custom(tf, x), x=F32(2, 3))
layer("keras_style", lambda tf, x: _keras_style(tf, x), x=F32(2, 3))
layer("weights_broadcast", lambda tf, a, b, w: _dynamic(tf, a, b, w), a=F32(4, 3), b=F32(4, 3), w=F32(4, 1))
layer("pairwise_weights", lambda tf, a, b: tf.losses.mean_pairwise_squared_error(a, b, 2.0), a=F32(4, 3), b=F32(4, 3))
layer("normalizer", lambda tf, x: tf.contrib.layers.conv2d(x, 3, 3, normalizer_fn=tf.contrib.layers.batch_norm), x=IMAGE)
layer("contrib_dropout", lambda tf, x: tf.contrib.layers.dropout(x, 0.6), x=F32(4, 5))
layer("contrib_bias_add", lambda tf, x: tf.contrib.layers.bias_add(x, tf.nn.relu), x=F32(4, 5))
layer("contrib_linear", lambda tf, x: tf.contrib.layers.linear(x, 3), x=F32(4, 5))
layer("contrib_conv1d", lambda tf, x: tf.contrib.layers.conv1d(x, 3, 3), x=F32(2, 7, 2))
layer("contrib_conv2d_transpose", lambda tf, x: tf.contrib.layers.conv2d_transpose(x, 3, 3, 2), x=IMAGE)
layer("contrib_separable", lambda tf, x: tf.contrib.layers.separable_conv2d(x, 3, 3, 2), x=IMAGE)
layer("contrib_depthwise", lambda tf, x: tf.contrib.layers.separable_conv2d(x, None, 3), x=IMAGE)
layer("contrib_in_plane", lambda tf, x: tf.contrib.layers.conv2d_in_plane(x, 3), x=IMAGE)
layer("contrib_avg_pool2d", lambda tf, x: tf.contrib.layers.avg_pool2d(x, [2, 2], padding="SAME"), x=IMAGE)
layer("contrib_pool", lambda tf, x: tf.contrib.slim.pool(x, 2, "MAX"), x=IMAGE)
layer("contrib_batch_norm", lambda tf, x: tf.contrib.layers.batch_norm(x, scale=True), x=IMAGE)
layer("contrib_batch_norm_rank2", lambda tf, x: tf.contrib.layers.batch_norm(x), x=F32(6, 4))
layer("contrib_batch_norm_inference", lambda tf, x: tf.contrib.layers.batch_norm(x, is_training=False), x=F32(6, 4))
layer(
    "contrib_batch_norm_in_place", lambda tf, x: tf.contrib.layers.batch_norm(x, updates_collections=None), x=F32(6, 4)
)
layer(
    "contrib_batch_norm_composed",
    lambda tf, x: tf.contrib.layers.batch_norm(x, updates_collections="mine", fused=False, data_format="NCHW"),
    x=F32(2, 3, 4, 4),
)
layer(
    "contrib_batch_norm_weights",
    lambda tf, x, w: tf.contrib.layers.batch_norm(x, batch_weights=w),
    x=F32(6, 4),
    w=F32(6, low=0.1, high=1),
)
layer("contrib_layer_norm", lambda tf, x: tf.contrib.layers.layer_norm(x, begin_norm_axis=-1), x=F32(4, 5))
layer("contrib_instance_norm", lambda tf, x: tf.contrib.layers.instance_norm(x), x=IMAGE)
layer("contrib_group_norm", lambda tf, x: tf.contrib.layers.group_norm(x, groups=2), x=IMAGE)
layer("contrib_one_hot", lambda tf: tf.contrib.layers.one_hot_encoding(tf.constant([0, 2]), 3))
layer("contrib_softmax", lambda tf, x: tf.contrib.layers.softmax(x), x=F32(2, 3, 4))
layer("contrib_maxout", lambda tf, x: tf.contrib.layers.maxout(x, 2), x=F32(3, 6))
layer("contrib_unit_norm", lambda tf, x: tf.contrib.layers.unit_norm(x, 1), x=F32(3, 6))
layer("contrib_spatial_softmax", lambda tf, x: tf.contrib.layers.spatial_softmax(x), x=IMAGE)
layer("contrib_repeat", lambda tf, x: tf.contrib.layers.repeat(x, 2, tf.contrib.layers.fully_connected, 3), x=F32(2, 3))
layer(
    "contrib_stack", lambda tf, x: tf.contrib.layers.stack(x, tf.contrib.layers.fully_connected, [3, 2]), x=F32(2, 3)
)
layer("contrib_legacy", lambda tf, x: tf.contrib.layers.legacy_fully_connected(x, 3, tf.tanh), x=F32(2, 4, 3))
layer("arg_scope", lambda tf, x: _arg_scope(tf, x), x=IMAGE)
layer(
    "variance_scaling",
    lambda tf: [
        tf.get_variable("a", [3, 4], initializer=tf.contrib.layers.variance_scaling_initializer()),
        tf.get_variable("b", [5], initializer=tf.contrib.layers.variance_scaling_initializer(uniform=True)),
        tf.get_variable("c", [3, 3, 2, 4], initializer=tf.contrib.layers.variance_scaling_initializer(mode="FAN_OUT")),
    ],
    grad=False,
)


def _partitioned(tf, build):
    with tf.variable_scope("parts", partitioner=tf.fixed_size_partitioner(2)):
        return build()


def _custom(tf, x):
    class Scale(tf.layers.Layer):
        def build(self, shape):
            self.scale = self.add_weight("scale", [], initializer=tf.ones_initializer(), regularizer=tf.nn.l2_loss)
            self.count = self.add_weight("count", [], initializer=tf.zeros_initializer(), trainable=False)
            super().build(shape)

        def call(self, inputs):
            self.add_update(tf.assign_add(self.count, 1.0))
            self.add_loss(tf.reduce_mean(inputs), inputs=inputs)
            return inputs * self.scale

    made = Scale(name="scale")
    first = made(x)
    return [first, made(first), made.losses, made.trainable_weights, made.non_trainable_weights, made.count_params()]


def _keras_style(tf, x):
    with tf.layers.experimental.keras_style_scope():
        return [tf.layers.Dense(2)(x), tf.layers.Dense(2)(x)]


def _dynamic(tf, a, b, w):
    open_shape = [tf.placeholder_with_default(t, None) for t in (a, b, w)]
    return tf.losses.mean_squared_error(*open_shape)


def _arg_scope(tf, x):
    layers = tf.contrib.layers
    arg_scope = tf.contrib.framework.arg_scope
    with arg_scope([layers.conv2d, layers.fully_connected], activation_fn=None, biases_initializer=None):
        with arg_scope([layers.conv2d], stride=2) as inner:
            first = layers.conv2d(x, 3, 3)
        second = layers.conv2d(x, 3, 3, activation_fn=tf.nn.relu)
    with arg_scope(inner):
        return [first, second, layers.conv2d(x, 2, 1), layers.fully_connected(layers.flatten(x), 2)]


error_case("activation_number", lambda tf, x: tf.layers.dense(x, 4, activation=5), x=F32(2, 3))
error_case("activation_name", lambda tf, x: tf.layers.dense(x, 4, activation="foo"), x=F32(2, 3))
error_case("initializer_name", lambda tf, x: tf.layers.dense(x, 4, kernel_initializer="foo"), x=F32(2, 3))
error_case("dense_integers", lambda tf: tf.layers.dense(tf.constant([[1]]), 3))
error_case("dense_keyword", lambda tf: tf.layers.Dense(3, bad=1))
error_case("data_format", lambda tf, x: tf.layers.conv2d(x, 3, 3, data_format="foo"), x=IMAGE)
error_case("kernel_size", lambda tf, x: tf.layers.conv2d(x, 3, (3, 3, 3)), x=IMAGE)
error_case("batch_norm_axis", lambda tf, x: tf.layers.batch_normalization(x, axis=(1,)), x=IMAGE)
error_case("batch_norm_axis_range", lambda tf, x: tf.layers.batch_normalization(x, axis=7), x=IMAGE)
error_case(
    "renorm_keys", lambda tf, x: tf.layers.batch_normalization(x, renorm=True, renorm_clipping={"a": 1}), x=IMAGE
)
error_case("scope_name", lambda tf: tf.layers.Dense(3).scope_name)
error_case("count_params", lambda tf: tf.layers.Dense(3).count_params())
error_case("rank_unknown", lambda tf: tf.layers.flatten(tf.placeholder(tf.float32)))
error_case("output_of_layer", lambda tf: tf.layers.Dense(3).output)
error_case("num_outputs", lambda tf, x: tf.contrib.layers.fully_connected(x, 2.5), x=F32(2, 3))
error_case("not_scoped", lambda tf: tf.contrib.framework.arg_scope([tf.layers.dense], a=1).__enter__())
error_case("group_norm_groups", lambda tf, x: tf.contrib.layers.group_norm(x, groups=3), x=IMAGE)
error_case("no_losses", lambda tf: tf.losses.get_total_loss())
