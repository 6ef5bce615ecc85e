"""A convolutional network with tf.layers on images in MNIST's file format, watched in TensorBoard.

Writes scalars, histograms and images for TensorBoard, and reads its own event file back.

    tfcompat run examples/mnist_cnn.py --logdir /tmp/mnist_cnn
    tensorboard --logdir /tmp/mnist_cnn
"""

import glob
import gzip
import os
import struct
import tempfile

import numpy as np
import tensorflow as tf

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
flags = tf.app.flags
flags.DEFINE_string("logdir", "", "folder of the event files; a temporary one if empty")
flags.DEFINE_integer("steps", 300, "training steps")
flags.DEFINE_integer("batch_size", 50, "images per step")
FLAGS = flags.FLAGS


def read_idx(name):
    """The array in a gzipped idx file: magic number with the rank in its last byte, dimensions, bytes."""
    with gzip.open(os.path.join(DATA, name), "rb") as f:
        rank = struct.unpack(">HBB", f.read(4))[2]
        shape = struct.unpack(">" + "I" * rank, f.read(4 * rank))
        return np.frombuffer(f.read(), np.uint8).reshape(shape)


def read_part(prefix):
    """Images [n, 8, 8, 1] between 0 and 1, and labels [n]."""
    images = read_idx(prefix + "-images-idx3-ubyte.gz").astype(np.float32)[..., None] / 255.0
    return images, read_idx(prefix + "-labels-idx1-ubyte.gz").astype(np.int64)


def network(images, training):
    """Logits [n, 10]."""
    with tf.variable_scope("network"):
        hidden = tf.layers.conv2d(images, 16, 3, padding="same", activation=tf.nn.relu, name="conv1")
        hidden = tf.layers.conv2d(hidden, 16, 3, padding="same", activation=tf.nn.relu, name="conv2")
        hidden = tf.layers.max_pooling2d(hidden, 2, 2)
        hidden = tf.layers.dropout(tf.layers.flatten(hidden), 0.25, training=training)
        tf.summary.histogram("features", hidden)
        return tf.layers.dense(hidden, 10, name="logits")


def main(_):
    """Trains, writes summaries, and reports."""
    logdir = FLAGS.logdir or tempfile.mkdtemp()
    images, labels = read_part("train")
    test_images, test_labels = read_part("t10k")
    tf.set_random_seed(2)
    x = tf.placeholder(tf.float32, [None, 8, 8, 1], name="images")
    y = tf.placeholder(tf.int64, [None], name="labels")
    training = tf.placeholder_with_default(False, [], name="training")
    tf.summary.image("digits", x, max_outputs=3)
    logits = network(x, training)
    loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))
    tf.summary.scalar("loss", loss)
    tf.summary.scalar("accuracy", accuracy)
    global_step = tf.train.get_or_create_global_step()
    train = tf.train.AdamOptimizer(0.002).minimize(loss, global_step)
    summaries = tf.summary.merge_all()

    order = np.random.RandomState(2)
    with tf.Session() as sess, tf.summary.FileWriter(logdir, sess.graph) as writer:
        sess.run(tf.global_variables_initializer())
        for step in range(FLAGS.steps):
            batch = order.choice(len(images), FLAGS.batch_size, replace=False)
            feed = {x: images[batch], y: labels[batch], training: True}
            if step % 50 == 0:
                value, written, _ = sess.run([loss, summaries, train], feed)
                writer.add_summary(written, step)
                print("step %3d  loss %.4f" % (step, value))
            else:
                sess.run(train, feed)
        value, correct = sess.run([loss, accuracy], {x: test_images, y: test_labels})
        print("test loss %.4f  accuracy %.3f" % (value, correct))

    events = [e for path in glob.glob(os.path.join(logdir, "events*")) for e in tf.train.summary_iterator(path)]
    tags = sorted({value.tag for event in events for value in event.summary.value})
    print("TensorBoard shows:", ", ".join(tags))


if __name__ == "__main__":
    tf.app.run()
