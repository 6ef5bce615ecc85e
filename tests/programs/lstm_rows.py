"""A classifier that reads images row by row with an LSTM."""
import sys

import numpy as np
import tensorflow as tf

data = np.random.RandomState(0)
images = data.uniform(0, 1, [400, 28, 28]).astype(np.float32)
labels = np.eye(10, dtype=np.float32)[data.randint(0, 10, 400)]

tf.set_random_seed(42)
x = tf.placeholder(tf.float32, [None, 28, 28], name="x")
y = tf.placeholder(tf.float32, [None, 10], name="y")

outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicLSTMCell(64), x, dtype=tf.float32)
weights = tf.get_variable("weights", [64, 10])
biases = tf.get_variable("biases", [10], initializer=tf.zeros_initializer())
logits = tf.matmul(outputs[:, -1], weights) + biases
loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits))
train = tf.train.AdamOptimizer(1e-2).minimize(loss)

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
