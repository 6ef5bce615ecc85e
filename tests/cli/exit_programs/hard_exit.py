"""os._exit while threads train: nothing is flushed, nothing is waited for."""

import os
import sys
import threading

import tensorflow as tf

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
print("done")
sys.stdout.flush()
os._exit(7)
