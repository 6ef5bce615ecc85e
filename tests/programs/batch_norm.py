"""Batch normalisation with its update operations, an exponentially decayed rate and gradients clipped by their norm."""
import sys

import numpy as np
import tensorflow as tf

data = np.random.RandomState(10)
values = data.normal(0, 2, [320, 6]).astype(np.float32)
targets = np.sin(values.sum(1, keepdims=True)).astype(np.float32)

tf.set_random_seed(11)
x = tf.placeholder(tf.float32, [None, 6])
y = tf.placeholder(tf.float32, [None, 1])
hidden = tf.layers.dense(x, 24, kernel_initializer=tf.variance_scaling_initializer())
hidden = tf.nn.relu(tf.layers.batch_normalization(hidden, momentum=0.9, training=True))
loss = tf.losses.mean_squared_error(y, tf.layers.dense(hidden, 1))
step = tf.train.get_or_create_global_step()
optimizer = tf.train.RMSPropOptimizer(tf.train.exponential_decay(0.02, step, 5, 0.8))
gradients, variables = zip(*optimizer.compute_gradients(loss))
clipped, norm = tf.clip_by_global_norm(gradients, 1.0)
with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    train = optimizer.apply_gradients(zip(clipped, variables), global_step=step)

losses = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    initial = {v.op.name: sess.run(v) for v in tf.global_variables()}
    for number in range(20):
        rows = slice(number * 16, number * 16 + 16)
        losses.append(sess.run([train, loss], {x: values[rows], y: targets[rows]})[1])
    print("steps %d" % sess.run(step))
if len(sys.argv) > 1:
    np.savez_compressed(sys.argv[1], losses=np.array(losses), **initial)
