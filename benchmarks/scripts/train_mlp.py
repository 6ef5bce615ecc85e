"""Trains a 784-256-256-10 perceptron for 1,000 steps on random digits."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
images = rng.rand(2048, 784).astype(np.float32)
digits = rng.randint(0, 10, 2048).astype(np.int32)

x = tf.placeholder(tf.float32, [None, 784])
labels = tf.placeholder(tf.int32, [None])
hidden = tf.layers.dense(x, 256, activation=tf.nn.relu)
hidden = tf.layers.dense(hidden, 256, activation=tf.nn.relu)
logits = tf.layers.dense(hidden, 10)
loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
train = tf.train.AdamOptimizer(1e-3).minimize(loss)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(1000):
        batch = slice(i % 16 * 128, i % 16 * 128 + 128)
        _, value = sess.run([train, loss], feed_dict={x: images[batch], labels: digits[batch]})
    print("loss after 1,000 steps: %.4f" % value)
