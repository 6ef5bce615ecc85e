"""A dataset with a Python function in it, and an initializable iterator, until its end."""
import numpy as np
import tensorflow as tf

dataset = tf.data.Dataset.range(6).map(lambda i: tf.py_func(lambda n: np.float32(n * n), [i], tf.float32)).batch(2)
iterator = tf.compat.v1.data.make_initializable_iterator(dataset)
squares = iterator.get_next()
total = tf.Variable(0.0, name="total")
added = tf.assign_add(total, tf.reduce_sum(squares))
with tf.Session() as session:
    session.run([iterator.initializer, total.initializer])
    while True:
        try:
            session.run(added)
        except tf.errors.OutOfRangeError:
            break
