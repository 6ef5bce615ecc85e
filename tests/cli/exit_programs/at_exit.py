"""Functions that run at exit and use the session, while threads use it too."""

import atexit
import threading

atexit.register(lambda: print(float(sess.run(total, {x: [5.0, 6.0]}))))

import tensorflow as tf  # noqa: E402

x = tf.placeholder(tf.float32, [None])
total = tf.reduce_sum(x)
product = tf.matmul(tf.random_uniform([200, 200]), tf.random_uniform([200, 200]))
sess = tf.Session()
has_run = threading.Event()


def work():
    while True:
        sess.run(product)
        has_run.set()


for _ in range(2):
    thread = threading.Thread(target=work)
    thread.daemon = True
    thread.start()
has_run.wait()
atexit.register(lambda: print(float(sess.run(total, {x: [1.0, 2.0]}))))
raise SystemExit(5)
