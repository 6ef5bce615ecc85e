import tensorflow as tf

a = tf.constant([1.0, 2.0], name="a")
b = tf.square(a, name="b")
c = tf.exp(tf.square(a, name="d"), name="c")
