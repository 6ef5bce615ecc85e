"""A thread in a run of many seconds."""

import threading

import tensorflow as tf

loop = tf.while_loop(lambda i, x: i < 2000000000, lambda i, x: (i + 1, tf.tanh(x + 1.0)), [0, tf.zeros([100])])
is_there = threading.Event()
start = tf.py_func(lambda: is_there.set() or 0, [], tf.int64)
with tf.control_dependencies([start]):
    first = tf.no_op()
sess = tf.Session()


def work():
    sess.run(first)
    sess.run(loop)


thread = threading.Thread(target=work)
thread.daemon = True
thread.start()
is_there.wait()
print("done")
raise SystemExit(8)
