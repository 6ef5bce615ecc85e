"""A tf.while_loop of 20 steps around one of 20 steps, on a fed 64-vector and a 64 x 64 variable."""

import numpy as np

from benchmarks.workloads.model import GraphModel

OUTER, INNER, SIZE = 20, 20, 64


def batches():
    rng = np.random.RandomState(0)
    return [(rng.rand(1, SIZE).astype(np.float32),) for _ in range(16)]


def build(tf):
    x = tf.placeholder(tf.float32, [1, SIZE])
    weights = tf.get_variable("weights", [SIZE, SIZE])

    def inner(i, value):
        return i + 1, tf.tanh(tf.matmul(value, weights))

    def outer(i, value):
        return i + 1, value + tf.while_loop(lambda j, _: j < INNER, inner, (tf.constant(0), value))[1]

    last = tf.reduce_sum(tf.while_loop(lambda i, _: i < OUTER, outer, (tf.constant(0), x))[1])
    return GraphModel((x,), [last], last)
