"""A transformer language model of tf.layers.dense, tf.matmul and tf.nn.softmax on `[batch, positions, width]`; Adam."""

import collections
import math

from benchmarks.workloads.model import GraphModel, token_batches

Size = collections.namedtuple("Size", "layers width heads hidden batch positions vocabulary")
SMALL = Size(layers=4, width=256, heads=4, hidden=1024, batch=8, positions=128, vocabulary=1000)


def batches(size=SMALL):
    return token_batches(8, size.batch, size.positions, size.vocabulary)


def layer_norm(tf, x, width):
    scale = tf.get_variable("scale", [width], initializer=tf.ones_initializer())
    offset = tf.get_variable("offset", [width], initializer=tf.zeros_initializer())
    mean = tf.reduce_mean(x, axis=-1, keepdims=True)
    variance = tf.reduce_mean(tf.square(x - mean), axis=-1, keepdims=True)
    return (x - mean) * tf.rsqrt(variance + 1e-6) * scale + offset


def gelu(tf, x):
    return 0.5 * x * (1.0 + tf.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def attention(tf, x, size):
    def heads(name):
        projected = tf.layers.dense(x, size.width, name=name)
        split = tf.reshape(projected, [-1, size.positions, size.heads, size.width // size.heads])
        return tf.transpose(split, [0, 2, 1, 3])

    query, key, value = heads("query"), heads("key"), heads("value")
    scores = tf.matmul(query, key, transpose_b=True) / math.sqrt(size.width // size.heads)
    mixed = tf.transpose(tf.matmul(tf.nn.softmax(scores), value), [0, 2, 1, 3])
    return tf.layers.dense(tf.reshape(mixed, [-1, size.positions, size.width]), size.width, name="output")


def feed_forward(tf, x, size):
    hidden = tf.layers.dense(x, size.hidden, activation=lambda y: gelu(tf, y), name="hidden")
    return tf.layers.dense(hidden, size.width, name="output")


def build(tf, size=SMALL):
    tokens = tf.placeholder(tf.int32, [None, size.positions])
    targets = tf.placeholder(tf.int32, [None, size.positions])
    table = tf.get_variable("tokens", [size.vocabulary, size.width])
    places = tf.get_variable("positions", [size.positions, size.width])
    x = tf.nn.embedding_lookup(table, tokens) + places
    for i in range(size.layers):
        with tf.variable_scope("layer%d" % i):
            for name, part in (("attention", attention), ("feed_forward", feed_forward)):
                with tf.variable_scope(name):
                    x = x + part(tf, layer_norm(tf, x, size.width), size)
    with tf.variable_scope("final"):
        x = layer_norm(tf, x, size.width)
    logits = tf.layers.dense(x, size.vocabulary, name="logits")
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=targets, logits=tf.cast(logits, tf.float32))
    loss = tf.reduce_mean(losses)
    train = tf.train.AdamOptimizer(1e-4).minimize(loss)
    return GraphModel((tokens, targets), [train, loss], loss)
