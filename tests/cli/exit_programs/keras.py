"""Keras trains in a thread, from a generator with workers."""

import threading

import numpy as np
import tensorflow as tf

has_run = threading.Event()


def batches():
    while True:
        yield np.ones([8, 4], np.float32), np.ones([8, 1], np.float32)


class Tell(tf.keras.callbacks.Callback):
    def on_batch_end(self, batch, logs=None):
        if batch > 5:
            has_run.set()


model = tf.keras.Sequential([tf.keras.layers.Dense(8, input_shape=(4,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
graph, session = tf.get_default_graph(), tf.keras.backend.get_session()


def work():
    with graph.as_default(), session.as_default():
        model.fit_generator(batches(), 1000000, workers=2, verbose=0, callbacks=[Tell()])


thread = threading.Thread(target=work)
thread.daemon = True
thread.start()
has_run.wait()
print("done")
