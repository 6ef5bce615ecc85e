"""LeNet with dropout in tf.layers: 5x5 convolutions (32, 64), 2x2 pooling, 1,024 units, 10 classes; Adam, batch 128."""

from benchmarks.workloads.model import GraphModel, images

DROPPED = 0.4


def batches():
    return images(8, 128, (28, 28, 1))


def training(tf, x, labels):
    """The operation that trains the network on images and labels, and the loss."""
    hidden = x
    for filters in (32, 64):
        hidden = tf.layers.conv2d(hidden, filters, 5, padding="same", activation=tf.nn.relu)
        hidden = tf.layers.max_pooling2d(hidden, 2, 2)
    hidden = tf.layers.dense(tf.layers.flatten(hidden), 1024, activation=tf.nn.relu)
    hidden = tf.layers.dropout(hidden, rate=DROPPED, training=True)
    logits = tf.layers.dense(hidden, 10)
    loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
    return tf.train.AdamOptimizer(1e-4).minimize(loss), loss


def build(tf):
    x = tf.placeholder(tf.float32, [None, 28, 28, 1])
    labels = tf.placeholder(tf.int32, [None])
    train, loss = training(tf, x, labels)
    return GraphModel((x, labels), [train, loss], loss)
