"""The LSTM of `lstm`, unrolled over the rows with static_rnn."""

from benchmarks.workloads import lstm
from benchmarks.workloads.lstm import batches  # noqa: F401


def build(tf):
    return lstm.build(tf, lambda cell, x: tf.nn.static_rnn(cell, tf.unstack(x, axis=1), dtype=tf.float32)[0][-1])
