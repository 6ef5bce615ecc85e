"""A while_loop whose length is fed, and its gradient."""
import numpy as np
import tensorflow as tf

x = tf.placeholder(tf.float32, [2, 2], name="x")
n = tf.placeholder(tf.int32, [], name="n")
w = tf.get_variable("w", initializer=np.array([[0.5, 0.1], [-0.2, 0.7]], "f"))
_, power = tf.while_loop(lambda i, p: i < n, lambda i, p: (i + 1, tf.tanh(tf.matmul(p, w))), [0, x])
loss = tf.reduce_sum(power, name="loss")
step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for length in (3, 0, 5):
        session.run([loss, step], {x: np.eye(2) * length + 0.3, n: length})
