"""tf.map_fn over 1,000 rows of 64 numbers: softmax of each row, scaled."""

import numpy as np

from benchmarks.workloads.model import GraphModel

ROWS, SIZE = 1000, 64


def batches():
    rng = np.random.RandomState(0)
    return [(rng.rand(ROWS, SIZE).astype(np.float32),) for _ in range(8)]


def build(tf):
    x = tf.placeholder(tf.float32, [ROWS, SIZE])
    last = tf.reduce_sum(tf.map_fn(lambda row: tf.nn.softmax(row) * tf.reduce_max(row), x))
    return GraphModel((x,), [last], last)
