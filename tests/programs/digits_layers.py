"""Three hidden tf.layers with L2 regularisation from a collection, on the handwritten digits."""
import os
import sys

import numpy as np
import tensorflow as tf

with np.load(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/data/digits.npz")) as digits:
    images = digits["images"].reshape(-1, 64) / 16.0
    labels = np.eye(10)[digits["labels"]]

tf.set_random_seed(9)
scale = tf.placeholder(tf.float32, name="scale")
x = tf.placeholder(tf.float32, [None, 64])
y = tf.placeholder(tf.float32, [None, 10])
hidden = x
for number, size in enumerate([30, 25, 20]):
    with tf.variable_scope("hidden%d" % number):
        hidden = tf.layers.dense(hidden, size, activation=tf.nn.relu, kernel_regularizer=tf.contrib.layers.l2_regularizer(scale))
logits = tf.layers.dense(hidden, 10, name="output")
cross_entropy = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=logits))
loss = cross_entropy + tf.reduce_sum(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))
train = tf.train.AdamOptimizer(0.01).minimize(loss)
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), tf.argmax(y, 1)), tf.float32))

losses = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    initial = {v.op.name: sess.run(v) for v in tf.trainable_variables()}
    for step in range(20):
        rows = slice(step * 32, step * 32 + 32)
        losses.append(sess.run([train, loss], {x: images[rows], y: labels[rows], scale: 0.005})[1])
    print("accuracy %.2f" % sess.run(accuracy, {x: images, y: labels}))
if len(sys.argv) > 1:
    np.savez_compressed(sys.argv[1], losses=np.array(losses), **initial)
