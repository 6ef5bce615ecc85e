"""Daemon threads that train; sys.exit."""

import sys
import threading

import tensorflow as tf

w = tf.Variable(tf.random_uniform([300, 300]))
step = w.assign(tf.matmul(w, w) / 300.0)
sess = tf.Session()
sess.run(tf.global_variables_initializer())
started = [threading.Event() for _ in range(4)]
def work(event):
    while True:
        sess.run(step.op)
        event.set()
for event in started:
    thread = threading.Thread(target=work, args=(event,))
    thread.daemon = True
    thread.start()
for event in started:
    event.wait()
print("done")
sys.exit(3)
