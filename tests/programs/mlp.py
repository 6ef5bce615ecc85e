"""A multi-layer perceptron with Adam, written with low-level variables."""
import sys

import numpy as np
import tensorflow as tf

data = np.random.RandomState(0)
images = data.uniform(0, 1, [400, 784]).astype(np.float32)
labels = np.eye(10, dtype=np.float32)[data.randint(0, 10, 400)]

tf.set_random_seed(42)
x = tf.placeholder(tf.float32, [None, 784], name="x")
y = tf.placeholder(tf.float32, [None, 10], name="y")


def layer(inputs, size, name, activation=None):
    with tf.variable_scope(name):
        w = tf.get_variable("w", [inputs.shape[1], size])
        b = tf.get_variable("b", [size], initializer=tf.zeros_initializer())
        outputs = tf.matmul(inputs, w) + b
    return activation(outputs) if activation else outputs


hidden = layer(layer(x, 256, "first", tf.nn.relu), 256, "second", tf.nn.relu)
logits = layer(hidden, 10, "last")
loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits))
train = tf.train.AdamOptimizer(1e-3).minimize(loss)

losses = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    initial = {v.op.name: sess.run(v) for v in tf.trainable_variables()}
    for step in range(20):
        rows = slice(step * 20, step * 20 + 20)
        losses.append(sess.run([train, loss], {x: images[rows], y: labels[rows]})[1])
if len(sys.argv) > 1:
    np.savez_compressed(sys.argv[1], losses=np.array(losses), **initial)
print("final loss %.3f" % losses[-1])
