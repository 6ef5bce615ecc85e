"""Threads that wait for ever, in a queue and in a staging area."""

import sys
import threading

import tensorflow as tf

queue = tf.FIFOQueue(10, [tf.float32], [[]])
value = queue.dequeue() * 2.0
staged = tf.contrib.staging.StagingArea([tf.float32]).get()
x = tf.placeholder(tf.float32, [])
sess = tf.Session()
sess.run(x + 1, {x: 1})
for fetch in (value, staged):
    thread = threading.Thread(target=sess.run, args=(fetch,))
    thread.daemon = True
    thread.start()
print("done")
sys.exit("a text")
