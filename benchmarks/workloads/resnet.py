"""ResNet-50 with the strides in the 3x3 convolutions, tf.layers, batch normalization, momentum; in float32 or bfloat16."""

import collections

from benchmarks.workloads.model import GraphModel, cast_variables, images

Size = collections.namedtuple("Size", "blocks width batch pixels classes")
SIZES = {
    "whole": Size(blocks=(3, 4, 6, 3), width=64, batch=64, pixels=224, classes=1000),
    "tiny": Size(blocks=(1, 1, 1, 1), width=8, batch=4, pixels=32, classes=10),
}
MOMENTUM, EPSILON = 0.9, 1e-5
EXPANSION = 4  # of the channels in the last convolution of a block


def batches(dtype="float32", size="whole"):
    return images(2, SIZES[size].batch, (SIZES[size].pixels, SIZES[size].pixels, 3))


def normalized_convolution(tf, x, filters, kernel_size, strides=1):
    initializer = tf.variance_scaling_initializer(scale=2.0, mode="fan_out")
    x = tf.layers.conv2d(x, filters, kernel_size, strides, padding="same", use_bias=False, kernel_initializer=initializer)
    return tf.layers.batch_normalization(x, momentum=MOMENTUM, epsilon=EPSILON, training=True)


def block(tf, x, filters, strides):
    shortcut = x
    if strides != 1 or x.shape[-1] != EXPANSION * filters:
        shortcut = normalized_convolution(tf, x, EXPANSION * filters, 1, strides)
    x = tf.nn.relu(normalized_convolution(tf, x, filters, 1))
    x = tf.nn.relu(normalized_convolution(tf, x, filters, 3, strides))
    return tf.nn.relu(normalized_convolution(tf, x, EXPANSION * filters, 1) + shortcut)


def logits_of(tf, x, size):
    x = tf.nn.relu(normalized_convolution(tf, x, size.width, 7, 2))
    x = tf.layers.max_pooling2d(x, 3, 2, padding="same")
    for stage, count in enumerate(size.blocks):
        for i in range(count):
            x = block(tf, x, size.width * 2**stage, 2 if stage and not i else 1)
    return tf.layers.dense(tf.reduce_mean(x, [1, 2]), size.classes)


def build(tf, dtype="float32", size="whole"):
    size = SIZES[size]
    x = tf.placeholder(tf.float32, [size.batch, size.pixels, size.pixels, 3])
    labels = tf.placeholder(tf.int32, [size.batch])
    with tf.variable_scope("model", custom_getter=cast_variables(tf)):
        logits = tf.cast(logits_of(tf, tf.cast(x, dtype), size), tf.float32)
    loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train = tf.train.MomentumOptimizer(0.01, MOMENTUM).minimize(loss)
    return GraphModel((x, labels), [train, loss], loss)
