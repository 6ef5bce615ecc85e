"""A parallel map whose Python functions never come back, asked for by a thread."""

import threading

import tensorflow as tf

is_there = threading.Event()


def never(x):
    is_there.set()
    threading.Event().wait()
    return x


data = tf.data.Dataset.range(100).map(lambda x: tf.py_func(never, [x], tf.int64), 4).prefetch(1)
following = data.make_one_shot_iterator().get_next()
sess = tf.Session()
thread = threading.Thread(target=sess.run, args=(following,))
thread.daemon = True
thread.start()
is_there.wait()
print("done")
