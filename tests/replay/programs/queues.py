"""Queue runners feed a training step."""
import numpy as np
import tensorflow as tf

rows = tf.train.slice_input_producer([np.arange(12, dtype="f").reshape(6, 2), np.arange(6)], shuffle=False)
batch, labels = tf.train.batch(rows, 3)
w = tf.get_variable("w", [2, 1], initializer=tf.ones_initializer())
loss = tf.reduce_mean(tf.square(tf.matmul(batch, w)[:, 0] - tf.to_float(labels)), name="loss")
step = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
with tf.Session() as session:
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    coordinator = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coordinator)
    for _ in range(3):
        session.run([loss, labels, step])
    coordinator.request_stop()
    coordinator.join(threads)
