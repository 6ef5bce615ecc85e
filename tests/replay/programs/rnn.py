"""dynamic_rnn over sequences of several lengths."""
import numpy as np
import tensorflow as tf

tf.set_random_seed(4)
x = tf.placeholder(tf.float32, [None, 6, 3], name="x")
lengths = tf.placeholder(tf.int32, [None], name="lengths")
cell = tf.nn.rnn_cell.LSTMCell(4)
outputs, state = tf.nn.dynamic_rnn(cell, x, lengths, dtype=tf.float32)
loss = tf.reduce_mean(tf.square(state.h - 0.5), name="loss")
step = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
numbers = np.random.RandomState(0)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for size in (2, 3, 2):
        session.run([loss, outputs, step], {x: numbers.rand(size, 6, 3), lengths: numbers.randint(1, 7, size)})
