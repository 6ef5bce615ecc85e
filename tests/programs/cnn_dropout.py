"""A convolutional network of tf.layers with dropout, momentum and normal initial values."""
import sys

import numpy as np
import tensorflow as tf

data = np.random.RandomState(1)
images = data.uniform(0, 1, [160, 12, 12, 1]).astype(np.float32)
labels = data.randint(0, 10, 160)

tf.set_random_seed(7)
x = tf.placeholder(tf.float32, [None, 12, 12, 1])
y = tf.placeholder(tf.int32, [None])
hidden = tf.layers.conv2d(x, 8, 5, padding="same", activation=tf.nn.relu, kernel_initializer=tf.truncated_normal_initializer(stddev=0.1))
hidden = tf.layers.max_pooling2d(hidden, 2, 2)
hidden = tf.layers.conv2d(hidden, 16, 3, activation=tf.nn.relu, kernel_initializer=tf.random_normal_initializer(stddev=0.1))
hidden = tf.layers.flatten(tf.layers.max_pooling2d(hidden, 2, 2))
hidden = tf.layers.dense(hidden, 32, activation=tf.nn.relu)
hidden = tf.layers.dropout(hidden, 0.4, training=True)
logits = tf.layers.dense(hidden, 10)
loss = tf.losses.sparse_softmax_cross_entropy(labels=y, logits=logits)
train = tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss)

losses = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    initial = {v.op.name: sess.run(v) for v in tf.trainable_variables()}
    for step in range(20):
        rows = slice(step * 8, step * 8 + 8)
        losses.append(sess.run([train, loss], {x: images[rows], y: labels[rows]})[1])
if len(sys.argv) > 1:
    np.savez_compressed(sys.argv[1], losses=np.array(losses), **initial)
print("final loss %.3f" % losses[-1])
