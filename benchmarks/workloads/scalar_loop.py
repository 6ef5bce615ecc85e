"""A tf.while_loop of 500 steps on a fed scalar: x := cos(x) + 1e-3 i."""

from benchmarks.workloads.model import GraphModel, scalars

STEPS = 500


def batches():
    return [(x,) for x, _ in scalars(64)]


def build(tf):
    x = tf.placeholder(tf.float32, [])
    _, last = tf.while_loop(
        lambda i, _: i < STEPS, lambda i, value: (i + 1, tf.cos(value) + 1e-3 * tf.cast(i, tf.float32)), (tf.constant(0), x)
    )
    return GraphModel((x,), [last], last)
