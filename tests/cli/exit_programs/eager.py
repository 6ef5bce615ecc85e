"""Threads that compute eagerly."""

import threading

import tensorflow as tf

tf.enable_eager_execution()
x = tf.random.uniform([100, 100])
has_run = threading.Event()


def work():
    while True:
        y = tf.matmul(x, x) / 100.0
        float(tf.reduce_sum(y).numpy())
        has_run.set()


for _ in range(3):
    thread = threading.Thread(target=work)
    thread.daemon = True
    thread.start()
has_run.wait()
print("done")
raise SystemExit(9)
