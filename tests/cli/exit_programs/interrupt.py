"""KeyboardInterrupt on the main thread while threads train, caught by nobody."""

import os
import signal
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
os.kill(os.getpid(), signal.SIGINT)
threading.Event().wait(60)
