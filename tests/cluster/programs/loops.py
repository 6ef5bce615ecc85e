"""Loops over two tasks that write and read TensorArrays: loops.py TARGET HERE THERE, the devices of the two tasks."""

import json
import sys

import numpy as np
import tensorflow as tf

target, here, there = sys.argv[1:]


def at(device, make):
    with tf.device(device):
        return make()


class Cell(tf.nn.rnn_cell.BasicRNNCell):
    """A cell that computes on the other task."""

    def call(self, inputs, state):
        return at(there, lambda: super(Cell, self).call(inputs, state))


with tf.device(here):
    x = tf.placeholder(tf.float32, [3])
    squares = tf.map_fn(lambda e: at(there, lambda: e * e), x * 2)
    sums = tf.scan(lambda a, e: at(there, lambda: a * 0.5 + e), x)
    choices = tf.map_fn(lambda e: tf.cond(e > 1, lambda: at(there, lambda: e * e), lambda: e - 1), x)
    table = tf.map_fn(lambda r: tf.map_fn(lambda e: at(there, lambda: e * r[0]), r), tf.stack([x, x + 1]))
    sequences = tf.placeholder(tf.float32, [2, 4, 3])
    outputs, _ = tf.nn.dynamic_rnn(Cell(5), sequences, sequence_length=[2, 4], dtype=tf.float32)
    constants = [tf.assign(v, tf.ones_like(v) * 0.1) for v in tf.global_variables()]
array = at(there, lambda: tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[], colocate_with_first_write_call=False))
with tf.device(here):
    doubled = tf.while_loop(lambda i, a, t: a < 20, lambda i, a, t: (i + 1, a * 2, t.write(i, a)), [0, x[0], array])[2].stack()
    short = tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t.write(0, at(there, lambda: x[i]))), [0, tf.TensorArray(tf.float32, 3)])[1].stack()
results = {
    "squares": [squares, tf.gradients(squares, x)[0]], "sums": [sums, tf.gradients(sums, x)[0]], "choices": [choices, tf.gradients(choices, x)[0]],
    "table": [table], "doubled": [doubled], "outputs": [tf.reduce_sum(outputs)],
}  # fmt: skip
with tf.Session(target) as session:
    session.run(constants)
    feeds = {x: [1.0, 2.0, 3.0], sequences: np.ones([2, 4, 3])}
    for name, fetches in results.items():
        for _ in range(2):
            found = session.run(fetches, feeds)
        print(json.dumps([name, [np.round(np.float64(value), 3).tolist() for value in found]]), flush=True)
    try:
        session.run(short, feeds)
    except tf.errors.InvalidArgumentError as error:
        print(json.dumps(["short", error.message]), flush=True)
