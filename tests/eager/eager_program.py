"""A program that runs eagerly: training, random numbers, recurrent cells, functions, loops, sparse gradients.

`.venv-tf1/bin/python tests/eager/eager_program.py > tests/golden/eager_program.json` records what TensorFlow 1.15.5 gives.
"""

import json

import numpy as np


def floats(tensor):
    return [float(v) for v in np.ravel(tensor.numpy())]


def training(tf):
    """Losses of two dense layers under Adam."""
    layer, head = tf.layers.Dense(4, activation=tf.nn.tanh), tf.layers.Dense(1)
    opt = tf.train.AdamOptimizer(0.05)
    x = np.random.RandomState(0).uniform(-1, 1, (8, 3)).astype("float32")
    y = x.sum(1, keepdims=True) ** 2
    losses = []
    for _ in range(5):
        with tf.GradientTape() as tape:
            loss = tf.losses.mean_squared_error(y, head(layer(x)))
        variables = layer.variables + head.variables
        opt.apply_gradients(zip(tape.gradient(loss, variables), variables))
        losses.append(float(loss))
    return losses


def draws(tf):
    """Random numbers: without a seed of their own, with one twice, and after the seed was set again."""
    found = [tf.random_uniform([3]), tf.random_normal([2], seed=5), tf.random_normal([2], seed=5)]
    tf.set_random_seed(7)
    return [floats(t) for t in found + [tf.random_uniform([3])]]


def recurrent(tf):
    """Sums of what an LSTM gives for rows of different lengths."""
    cell = tf.nn.rnn_cell.BasicLSTMCell(5)
    outputs, state = tf.nn.dynamic_rnn(cell, tf.ones([2, 4, 3]), sequence_length=[4, 2], dtype=tf.float32)
    return [float(tf.reduce_sum(outputs)), float(tf.reduce_sum(state.c))]


def functions(tf):
    """A function with a Python argument and random numbers in it."""

    @tf.function
    def dropped(a, training):
        return tf.nn.dropout(a, rate=0.5, seed=3) if training else a * 2

    return [floats(dropped(tf.ones([6]), True)), floats(dropped(tf.ones([6]), True)), floats(dropped(tf.ones([6]), False))]


def loop(tf):
    """Gradients through a function with a loop, to its argument and to a variable that the loop reads."""
    v = tf.Variable([1.0, 2.0, 3.0])

    @tf.function
    def looped(a):
        return tf.reduce_sum(tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t * a + v), [0, v])[1])

    a = tf.constant(0.5)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(a)
        result = looped(a)
    return [float(result), float(tape.gradient(result, a)), floats(tape.gradient(result, v))]


def branch(tf):
    """Gradients through a function with a conditional, on both sides."""

    @tf.function
    def chosen(x):
        return tf.cond(x > 0, lambda: x * x, lambda: x * 3)

    found = []
    for start in (2.0, -2.0):
        x = tf.constant(start)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = chosen(x)
        found.append([float(y), float(tape.gradient(y, x))])
    return found


def second(tf):
    """Second derivatives: through operations, and through a function that keeps values."""
    x, v = tf.constant(3.0), tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x * x * x
        slope = inner.gradient(y, x)
    function = tf.function(lambda a: tf.reduce_sum(tf.nn.relu(tf.matmul(a, v)) ** 2))
    a = tf.ones([3, 2])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            inner.watch(a)
            result = function(a)
        slopes = inner.gradient(result, a)
    return [float(outer.gradient(slopes, v)[0, 0]), float(slope), float(result)]


def sparse(tf):
    """An embedding after one step of Adagrad: rows are updated alone."""
    embedding = tf.Variable(np.arange(8.0).reshape(4, 2).astype("float32"))
    opt = tf.train.AdagradOptimizer(0.5)
    opt.minimize(lambda: tf.reduce_sum(tf.nn.embedding_lookup(embedding, [1, 3, 1]) ** 2))
    return floats(embedding)


def own_gradient(tf):
    """A custom gradient, and a Python function in a graph that runs eagerly."""

    @tf.custom_gradient
    def doubled(x):
        return x * 2, lambda dy: dy * 100

    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = doubled(x)
    return [float(y), float(tape.gradient(y, x)), floats(tf.py_function(lambda a: a + 1, [x], tf.float32))]


def results(tf):
    """All of it, in this order, from one seed."""
    tf.set_random_seed(7)
    parts = (training, draws, recurrent, functions, loop, branch, second, sparse, own_gradient)
    return {part.__name__: part(tf) for part in parts}


if __name__ == "__main__":
    import tensorflow

    tensorflow.enable_eager_execution()
    print(json.dumps(results(tensorflow), indent=1))
