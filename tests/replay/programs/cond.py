"""A conditional that writes a variable in one branch, with its gradient."""
import numpy as np
import tensorflow as tf

x = tf.placeholder(tf.float32, [3], name="x")
flag = tf.placeholder(tf.bool, [], name="flag")
w = tf.Variable([1.0, 2.0, 3.0], name="w")
count = tf.Variable(0, trainable=False, name="count")


def on():
    with tf.control_dependencies([tf.assign_add(count, 1)]):
        return tf.reduce_sum(w * x)


loss = tf.cond(flag, on, lambda: tf.reduce_sum(tf.exp(-w) * x))
step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for number, taken in enumerate([True, False, False, True]):
        session.run([loss, step], {x: np.arange(3) + number, flag: taken})
