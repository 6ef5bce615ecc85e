"""A dense network with dropout and Adam."""
import numpy as np
import tensorflow as tf

tf.set_random_seed(3)
x = tf.placeholder(tf.float32, [None, 3], name="x")
y = tf.placeholder(tf.float32, [None, 1], name="y")
hidden = tf.layers.dense(x, 8, tf.nn.relu)
hidden = tf.nn.dropout(hidden, keep_prob=0.5)
out = tf.layers.dense(hidden, 1)
loss = tf.reduce_mean(tf.square(out - y), name="loss")
step = tf.train.AdamOptimizer(0.01).minimize(loss, tf.train.get_or_create_global_step())
numbers = np.random.RandomState(0)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(3):
        rows = numbers.rand(16, 3).astype("f")
        session.run([loss, step], {x: rows, y: rows.sum(1, keepdims=True)})
