"""A coordinator that nobody stops, and an exception that nobody catches."""

import tensorflow as tf

number = tf.train.string_input_producer(["%d" % i for i in range(100)])
image = tf.random_uniform([32, 32, 3]) * tf.string_to_number(number.dequeue())
batch = tf.train.shuffle_batch([tf.image.random_brightness(image, 0.5)], 8, 200, 50, num_threads=4)
mean = tf.reduce_mean(batch)
sess = tf.Session()
sess.run(tf.local_variables_initializer())
coordinator = tf.train.Coordinator()
tf.train.start_queue_runners(sess, coordinator)
for _ in range(3):
    sess.run(mean)
print("done")
raise ValueError("nobody catches this")
