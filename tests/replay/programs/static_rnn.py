"""A GRU unrolled over time, with clipped gradients and momentum."""
import numpy as np
import tensorflow as tf

tf.set_random_seed(5)
x = tf.placeholder(tf.float32, [2, 4, 3], name="x")
outputs, state = tf.nn.static_rnn(tf.nn.rnn_cell.GRUCell(3), tf.unstack(x, axis=1), dtype=tf.float32)
loss = tf.reduce_sum(tf.tanh(outputs[-1]), name="loss")
optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
gradients, variables = zip(*optimizer.compute_gradients(loss))
clipped, norm = tf.clip_by_global_norm(gradients, 0.1)
step = optimizer.apply_gradients(zip(clipped, variables))
numbers = np.random.RandomState(0)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(3):
        session.run([loss, norm, step], {x: numbers.rand(2, 4, 3)})
