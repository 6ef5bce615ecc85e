"""A thread that never comes back from a Python function."""

import threading

import tensorflow as tf

is_there = threading.Event()


def never(x):
    is_there.set()
    threading.Event().wait()
    return x


value = tf.py_func(never, [tf.random_uniform([4])], tf.float32) + 1.0
sess = tf.Session()
thread = threading.Thread(target=sess.run, args=(value,))
thread.daemon = True
thread.start()
is_there.wait()
print("done")
