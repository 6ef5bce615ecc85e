"""A memory-bound update of a 4,096 x 1,024 variable: logistic growth, x + 0.1 x (1 - x)."""

from benchmarks.workloads.model import GraphModel

SHAPE = (4096, 1024)


def batches():
    return [()]


def build(tf):
    x = tf.get_variable("x", SHAPE, initializer=tf.random_uniform_initializer(0.0, 1.0))
    update = tf.assign(x, x + 0.1 * x * (1.0 - x))
    return GraphModel((), [update.op], x[0, 0])
