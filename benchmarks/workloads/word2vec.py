"""Skip-gram word vectors, 50,000 x 128, nce_loss with 64 sampled classes, gradient descent, batch 128."""

import math

from benchmarks.workloads.model import GraphModel, word_pairs

VOCABULARY, SIZE, BATCH, SAMPLED = 50000, 128, 128, 64


def batches():
    return word_pairs(16, BATCH, VOCABULARY)


def build(tf):
    words = tf.placeholder(tf.int32, [BATCH])
    contexts = tf.placeholder(tf.int32, [BATCH, 1])
    vectors = tf.Variable(tf.random_uniform([VOCABULARY, SIZE], -1.0, 1.0))
    weights = tf.Variable(tf.truncated_normal([VOCABULARY, SIZE], stddev=1.0 / math.sqrt(SIZE)))
    biases = tf.Variable(tf.zeros([VOCABULARY]))
    loss = tf.reduce_mean(
        tf.nn.nce_loss(
            weights=weights, biases=biases, labels=contexts, inputs=tf.nn.embedding_lookup(vectors, words),
            num_sampled=SAMPLED, num_classes=VOCABULARY,
        )
    )  # fmt: skip
    train = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    return GraphModel((words, contexts), [train, loss], loss)
