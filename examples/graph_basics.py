"""The ideas of TensorFlow 1 in one file: a graph is built first, and a session runs the part of it that is asked for.

Placeholders, variables, gradients, control flow, assignments in order, and a second graph that knows nothing of the first.

    tfcompat run examples/graph_basics.py
"""

import numpy as np
import tensorflow as tf


def arithmetic():
    """Operations become nodes; values appear only in a run, and feeds may replace any tensor."""
    a = tf.constant(3.0, name="a")
    b = tf.placeholder_with_default(4.0, [], name="b")
    length = tf.sqrt(a * a + b * b, name="length")
    with tf.Session() as sess:
        print("a node:", length.op.type, length.name, length.dtype.name, length.shape)
        print("length %.4f, with b = 1: %.4f" % (sess.run(length), sess.run(length, {b: 1.0})))
        print("length, where a * a is fed: %.4f" % sess.run(length, {length.op.inputs[0].op.inputs[0]: 20.0}))


def newton_square_root(x):
    """The square root by Newton's method, as a loop inside the graph, and the number of its iterations."""
    return tf.while_loop(
        lambda guess, i: tf.abs(guess * guess - x) > 1e-5 * x,
        lambda guess, i: (0.5 * (guess + x / guess), i + 1),
        [x, tf.constant(0)],
    )


def control_flow():
    """A while loop, its derivative, and a choice that the data makes."""
    x = tf.placeholder(tf.float32, [], name="x")
    root, iterations = newton_square_root(x)
    slope = tf.gradients(root, x)[0]
    kind = tf.cond(x > 10.0, lambda: tf.constant("large"), lambda: tf.constant("small"))
    with tf.Session() as sess:
        for value in (2.0, 81.0):
            found = sess.run([root, iterations, slope, kind], {x: value})
            print(
                "root of %g: %.4f after %d iterations, slope %.4f, %s"
                % ((value,) + tuple(found[:3]) + (found[3].decode(),))
            )


def counter():
    """Variables keep their value from run to run; a control dependency says what happens first."""
    count = tf.get_variable("count", shape=[], dtype=tf.int32, initializer=tf.zeros_initializer())
    with tf.control_dependencies([tf.assign_add(count, 10)]):
        after = tf.identity(count.read_value())
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        print("counter:", [int(sess.run(after)) for _ in range(3)])


def line_fit():
    """Gradient descent, with the update written by hand from tf.gradients."""
    random = np.random.RandomState(0)
    xs = random.uniform(-1, 1, 100).astype(np.float32)
    ys = 1.5 * xs - 0.5 + random.normal(0, 0.1, 100).astype(np.float32)
    with tf.variable_scope("line"):
        w = tf.get_variable("w", [], initializer=tf.random_normal_initializer(seed=7))
        b = tf.get_variable("b", [], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(w * xs + b - ys))
    step = tf.group(*[tf.assign_sub(v, 0.3 * g) for v, g in zip([w, b], tf.gradients(loss, [w, b]))])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for i in range(31):
            if i % 10 == 0:
                print("step %2d  loss %.4f  w %.4f  b %.4f" % ((i,) + tuple(sess.run([loss, w, b]))))
            sess.run(step)


def main():
    """Runs each part in a graph of its own."""
    tf.set_random_seed(1)
    for part in (arithmetic, control_flow, counter, line_fit):
        with tf.Graph().as_default() as graph:
            part()
            print("-- %s made %d operations" % (part.__name__, len(graph.get_operations())))


if __name__ == "__main__":
    main()
