"""The perceptron of mlp.py fed by a queue: 4 threads draw examples from memory into tf.train.shuffle_batch, batch 128."""

from benchmarks.workloads.mlp import SIZES
from benchmarks.workloads.model import GraphModel, images

BATCH, EXAMPLES = 128, 4096


def batches():
    return [()]


def build(tf):
    ((pixels, classes),) = images(1, EXAMPLES, SIZES[:1])
    rows = tf.train.range_input_producer(EXAMPLES // BATCH, capacity=64).dequeue() * BATCH
    examples = [tf.constant(values)[rows : rows + BATCH] for values in (pixels, classes)]
    x, labels = tf.train.shuffle_batch(
        examples, BATCH, capacity=20 * BATCH, min_after_dequeue=8 * BATCH, num_threads=4, enqueue_many=True,
        shapes=[SIZES[:1], []],
    )  # fmt: skip
    hidden = x
    for units in SIZES[1:-1]:
        hidden = tf.layers.dense(hidden, units, activation=tf.nn.relu)
    loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=tf.layers.dense(hidden, SIZES[-1]))
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)
    return GraphModel((), [train, loss], loss)
