"""A server that is left open, with a session whose threads train."""

import threading

import tensorflow as tf

server = tf.train.Server.create_local_server()
w = tf.Variable(tf.random_uniform([200, 200]))
step = w.assign(tf.matmul(w, w) / 200.0)
sess = tf.Session(server.target)
sess.run(tf.global_variables_initializer())
has_run = threading.Event()


def work():
    while True:
        sess.run(step.op)
        has_run.set()


for _ in range(3):
    thread = threading.Thread(target=work)
    thread.daemon = True
    thread.start()
has_run.wait()
print("done")
