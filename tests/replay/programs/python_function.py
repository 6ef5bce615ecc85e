"""py_func with a gradient of its own, strings, and a summary."""
import numpy as np
import tensorflow as tf

x = tf.placeholder(tf.float32, [3], name="x")
w = tf.Variable([1.0, 2.0, 3.0], name="w")


@tf.custom_gradient
def cube(value):
    cubed = tf.py_func(lambda a: a ** 3, [value], tf.float32)
    cubed.set_shape(value.shape)
    return cubed, lambda slope: slope * 3.0 * value * value


loss = tf.reduce_sum(cube(w * x), name="loss")
words = tf.py_func(lambda a: np.array([b"%d" % int(n) for n in a]), [x], tf.string)
joined = tf.string_join([words, tf.as_string(w, precision=3)], "-")
summary = tf.summary.merge([tf.summary.scalar("loss", loss), tf.summary.histogram("w", w)])
step = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for number in range(3):
        session.run([loss, joined, summary, step], {x: np.arange(3) - number})
