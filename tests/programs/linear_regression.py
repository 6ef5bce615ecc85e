"""A line through noisy points, fed one point at a time."""
import sys

import numpy as np
import tensorflow as tf

data = np.random.RandomState(4)
xs = np.linspace(-1, 1, 20)
ys = 3.0 * xs + 1.0 + data.normal(0, 0.1, 20)

tf.set_random_seed(5)
x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
w = tf.Variable(tf.random_normal([]), name="w")
b = tf.Variable(0.0, name="b")
loss = tf.square(x * w + b - y)
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    initial = {v.op.name: sess.run(v) for v in tf.trainable_variables()}
    losses = [sess.run([train, loss], {x: a, y: b_})[1] for a, b_ in zip(xs, ys)]
    print("w %.3f b %.3f" % tuple(sess.run([w, b])))
if len(sys.argv) > 1:
    np.savez_compressed(sys.argv[1], losses=np.array(losses), **initial)
