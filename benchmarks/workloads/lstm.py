"""An LSTM of 128 units that reads 28 x 28 images row by row with dynamic_rnn, Adam, batch 128."""

from benchmarks.workloads.model import GraphModel, images

BATCH, ROWS, COLUMNS, UNITS, CLASSES = 128, 28, 28, 128, 10


def batches():
    return images(16, BATCH, (ROWS, COLUMNS))


def build(tf, last_output=None):
    """`last_output(cell, x)` is what the cell gives for the last row, with dynamic_rnn where it is not given."""
    if last_output is None:
        last_output = lambda cell, x: tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)[0][:, -1]
    x = tf.placeholder(tf.float32, [BATCH, ROWS, COLUMNS])
    labels = tf.placeholder(tf.int32, [BATCH])
    logits = tf.layers.dense(last_output(tf.nn.rnn_cell.BasicLSTMCell(UNITS), x), CLASSES)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)
    return GraphModel((x, labels), [train, loss], loss)
