"""Programs of the debugger's tests: both the real program and tfcompat run them. Each gives fetches, feeds and what initializes it."""

import numpy as np


def _values(*shape):
    return (np.arange(np.prod(shape)).reshape(shape) % 7 / 8.0 - 0.25).astype(np.float32)


def mlp(tf):
    """One step of Adam."""
    x, y = tf.placeholder(tf.float32, [None, 3], "x"), tf.placeholder(tf.float32, [None, 2], "y")
    w, b = tf.Variable(_values(3, 4), name="h/w"), tf.Variable(_values(4), name="h/b")
    v = tf.Variable(_values(4, 2), name="o/w")
    hidden = tf.nn.relu(tf.matmul(x, w, name="h/mm") + b, name="h/relu")
    loss = tf.reduce_mean(tf.square(tf.matmul(hidden, v, name="o/mm") - y), name="loss")
    train = tf.train.AdamOptimizer(0.1).minimize(loss, name="train")
    return [train, loss], {"x:0": _values(2, 3), "y:0": _values(2, 2)}, tf.global_variables_initializer()


def conv(tf):
    """A convolution, pooling and dropout."""
    x = tf.placeholder(tf.float32, [1, 4, 4, 1], "x")
    k = tf.Variable(_values(2, 2, 1, 2), name="k")
    pooled = tf.nn.max_pool(tf.nn.relu(tf.nn.conv2d(x, k, [1, 1, 1, 1], "SAME", name="c")), [1, 2, 2, 1], [1, 2, 2, 1], "SAME", name="p")
    out = tf.nn.dropout(pooled, rate=0.5, seed=3, name="drop")
    train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(out, name="loss"), name="train")
    return [train, out], {"x:0": _values(1, 4, 4, 1)}, tf.global_variables_initializer()


def recurrent(tf):
    """dynamic_rnn on sequences of several lengths."""
    x = tf.placeholder(tf.float32, [2, 3, 2], "x")
    with tf.variable_scope("rnn", initializer=tf.constant_initializer(0.25)):
        cell = tf.nn.rnn_cell.BasicRNNCell(2)
    outputs, _ = tf.nn.dynamic_rnn(cell, x, sequence_length=[3, 1], dtype=tf.float32)
    return tf.reduce_sum(outputs, name="total"), {"x:0": _values(2, 3, 2)}, tf.global_variables_initializer()


def branches(tf):
    """A conditional, of which one side is taken."""
    x, y = tf.Variable(10.0, name="x"), tf.Variable(20.0, name="y")
    return tf.cond(x > y, lambda: tf.add(x, 1, name="left"), lambda: tf.add(y, 1, name="right")), {}, tf.global_variables_initializer()


def loop(tf):
    """A loop that changes a variable."""
    u, v = tf.Variable(11.0, name="u"), tf.Variable(2.0, name="v")

    def body(i):
        with tf.control_dependencies([tf.assign_add(u, v, name="grown")]):
            return [tf.add(i, 1)]

    return tf.while_loop(lambda i: tf.less(i, 4), body, [tf.constant(0, name="i")]), {}, tf.global_variables_initializer()


def update(tf):
    """A variable before and after its update, and a node with two outputs."""
    v = tf.Variable([1, 3, 3, 7], name="v")
    unique, _ = tf.unique(tf.assign_add(v, [1, 1, 1, 1], name="added"), name="unique")
    return tf.add(unique, unique, name="twice"), {}, tf.global_variables_initializer()


def start(tf):
    """Initializers: a number, a string, and what the debugger sees before."""
    tf.Variable([[1.0, 2.0]], name="number")
    tf.Variable(b"text", name="string")
    return tf.global_variables_initializer(), {}, tf.no_op()


def resources(tf):
    """A resource variable, a queue, strings."""
    v = tf.get_variable("v", initializer=tf.constant([1.0, 2.0]), use_resource=True)
    queue = tf.FIFOQueue(3, tf.float32, shapes=[[]], name="queue")
    filled = queue.enqueue_many(([1.0, 2.0],), name="fill")
    joined = tf.string_join([tf.constant(b"a", name="a"), tf.constant(b"b", name="b")], name="joined")
    return [tf.assign_add(v, [1.0, 1.0], name="grown"), filled, joined], {}, tf.global_variables_initializer()


PROGRAMS = [mlp, conv, recurrent, branches, loop, update, start, resources]
