"""Resource variables, a Defun-like tf.function, half precision and float64."""
import numpy as np
import tensorflow as tf

tf.compat.v1.enable_resource_variables()
x = tf.placeholder(tf.float64, [2, 2], name="x")
w = tf.Variable(np.eye(2) * 0.5, name="w")
half = tf.Variable(np.array([1.0, 0.1], np.float16), name="half")


@tf.function
def layer(value):
    return tf.matmul(tf.sin(value), w)


loss = tf.reduce_sum(layer(layer(x))) + tf.cast(tf.reduce_sum(half * half), tf.float64)
step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for number in range(3):
        session.run([loss, step], {x: np.ones((2, 2)) * number})
