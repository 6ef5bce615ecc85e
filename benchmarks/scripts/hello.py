"""TensorFlow's first program."""

import tensorflow as tf

hello = tf.constant("Hello, TensorFlow!")
with tf.Session() as sess:
    print(sess.run(hello))
    print(sess.run(tf.constant(40) + tf.constant(2)))
