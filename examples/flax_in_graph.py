"""A flax module inside a TensorFlow 1 training script, saved by tf.train.Saver and restored by JAX. Runs only here: TensorFlow has no flax.

tfcompat.interop.flax_layer makes the module's parameters variables of the graph: optimizers, collections and Saver know them. The
checkpoint is then read into the module without a graph.

    tfcompat run examples/flax_in_graph.py
"""

import os
import tempfile

import flax.linen as nn
import jax
import numpy as np
import tensorflow as tf

from tfcompat.interop import flax_layer

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
flags = tf.app.flags
flags.DEFINE_integer("steps", 100, "training steps")
FLAGS = flags.FLAGS
BATCH = 100


class Block(nn.Module):
    """A dense layer with normalization and dropout, and one for the ten digits."""

    units: int

    @nn.compact
    def __call__(self, x, train):
        x = nn.BatchNorm(use_running_average=not train, momentum=0.9)(nn.Dense(self.units)(x))
        return nn.Dense(10)(nn.Dropout(0.1, deterministic=not train)(nn.gelu(x)))


def read_digits():
    """Images [n, 64] between 0 and 1, and labels [n]."""
    with np.load(os.path.join(DATA, "digits.npz")) as data:
        return data["images"].reshape(-1, 64).astype(np.float32) / 16.0, data["labels"].astype(np.int64)


def main(_):
    """Trains the module in a graph, saves it, and lets JAX go on with the checkpoint."""
    images, labels = read_digits()
    tf.set_random_seed(15)
    x = tf.placeholder(tf.float32, [None, 64], name="images")
    y = tf.placeholder(tf.int64, [None], name="labels")
    layer = flax_layer(Block(32), name="block")
    loss = tf.losses.sparse_softmax_cross_entropy(y, layer(x, train=True))
    accuracy = tf.reduce_mean(tf.to_float(tf.equal(tf.argmax(layer(x, train=False), 1), y)))
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train = tf.train.AdamOptimizer(0.01).minimize(loss)
    checkpoint = os.path.join(tempfile.mkdtemp(), "model.ckpt")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(FLAGS.steps):
            first = step * BATCH % (len(images) - BATCH)
            sess.run(train, {x: images[first : first + BATCH], y: labels[first : first + BATCH]})
        print("accuracy in the graph %.3f" % sess.run(accuracy, {x: images, y: labels}))
        tf.train.Saver().save(sess, checkpoint)
    print("trained: %s" % ", ".join(v.op.name for v in layer.trainable_variables))

    reader = tf.train.load_checkpoint(checkpoint)
    params = layer.tree({name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()})
    logits = jax.jit(lambda params, x: Block(32).apply(params, x, train=False))(params, images)
    print("accuracy in JAX       %.3f" % np.mean(np.argmax(logits, 1) == labels))


if __name__ == "__main__":
    tf.app.run()
