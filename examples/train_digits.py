"""Trains a small convolutional network on handwritten digits and prints its accuracy on digits that it has not seen.

A plain TensorFlow 1 script: `tfcompat run examples/train_digits.py`, or `python` where TensorFlow 1.15 is installed.
"""

import os
import time

import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_string(
    "data", os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "digits.npz"), "the digits"
)
flags.DEFINE_integer("epochs", 12, "passes over the training images")
flags.DEFINE_integer("batch_size", 50, "images per step")
flags.DEFINE_float("learning_rate", 0.003, "step size of Adam")
flags.DEFINE_integer("seed", 1, "seed of the graph and of the order of the images")
FLAGS = flags.FLAGS
TRAINING_IMAGES = 1500


def read_digits(path):
    """Images [n, 8, 8, 1] between 0 and 1 and labels [n], training and test parts."""
    with np.load(path) as data:
        images, labels = data["images"].astype(np.float32)[..., None] / 16.0, data["labels"].astype(np.int64)
    n = TRAINING_IMAGES
    return (images[:n], labels[:n]), (images[n:], labels[n:])


def network(images, training):
    """Logits [n, 10]."""
    hidden = tf.layers.conv2d(images, 16, 3, padding="same", activation=tf.nn.relu)
    hidden = tf.layers.max_pooling2d(hidden, 2, 2)
    hidden = tf.layers.dense(tf.layers.flatten(hidden), 64, activation=tf.nn.relu)
    hidden = tf.layers.dropout(hidden, 0.3, training=training)
    return tf.layers.dense(hidden, 10)


def main(_):
    """Builds the graph, trains and reports."""
    (images, labels), test = read_digits(FLAGS.data)
    tf.set_random_seed(FLAGS.seed)
    order = np.random.RandomState(FLAGS.seed)
    x = tf.placeholder(tf.float32, [None, 8, 8, 1], name="images")
    y = tf.placeholder(tf.int64, [None], name="labels")
    training = tf.placeholder_with_default(False, [], name="training")
    logits = network(x, training)
    loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
    train = tf.train.AdamOptimizer(FLAGS.learning_rate).minimize(loss)
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))
    start = time.time()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for epoch in range(FLAGS.epochs):
            shuffled = order.permutation(len(images))
            losses = []
            for first in range(0, len(images), FLAGS.batch_size):
                batch = shuffled[first : first + FLAGS.batch_size]
                losses.append(sess.run([train, loss], {x: images[batch], y: labels[batch], training: True})[1])
            print("epoch %2d  loss %.4f" % (epoch + 1, np.mean(losses)))
        print("test accuracy: %.3f" % sess.run(accuracy, {x: test[0], y: test[1]}))
    print("trained in %.1f s" % (time.time() - start))


if __name__ == "__main__":
    tf.app.run()
