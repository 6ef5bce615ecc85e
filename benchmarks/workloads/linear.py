"""Linear regression, one fed example a step: nothing but the overhead of a step."""

from benchmarks.workloads.model import GraphModel, scalars


def batches():
    return scalars(64)


def build(tf):
    x = tf.placeholder(tf.float32)
    y = tf.placeholder(tf.float32)
    weight = tf.Variable(0.0, name="weight")
    bias = tf.Variable(0.0, name="bias")
    loss = tf.square(weight * x + bias - y)
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    return GraphModel((x, y), [train, loss], loss)
