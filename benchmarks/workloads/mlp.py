"""A 784-256-256-10 perceptron with Adam, batch 128, of variables and matmuls."""

from benchmarks.workloads.model import GraphModel, images

SIZES = (784, 256, 256, 10)


def batches():
    return images(16, 128, (784,))


def build(tf):
    x = tf.placeholder(tf.float32, [None, SIZES[0]])
    labels = tf.placeholder(tf.int32, [None])
    hidden = x
    for i, (fan_in, fan_out) in enumerate(zip(SIZES, SIZES[1:])):
        weights = tf.get_variable("weights%d" % i, [fan_in, fan_out])
        biases = tf.get_variable("biases%d" % i, [fan_out], initializer=tf.zeros_initializer())
        hidden = tf.matmul(hidden, weights) + biases
        if fan_out != SIZES[-1]:
            hidden = tf.nn.relu(hidden)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=hidden))
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)
    return GraphModel((x, labels), [train, loss], loss)
