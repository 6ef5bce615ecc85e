"""The training step of a TensorFlow 1 graph in a JAX loop, on a mesh of four devices. Runs only here: TensorFlow has no such function.

tfcompat.to_jax makes a pure function of the step that the graph describes: loss, gradients, optimizer, batch normalization, dropout. JAX
runs it with the batch divided among the devices and the variables on each of them; at the end the session takes the variables back.

    tfcompat run examples/jax_loop.py
"""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")

import jax  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

import tfcompat  # noqa: E402

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
flags = tf.app.flags
flags.DEFINE_integer("steps", 60, "training steps")
FLAGS = flags.FLAGS
BATCH = 100


def read_digits():
    """Images [n, 64] between 0 and 1, and labels [n]."""
    with np.load(os.path.join(DATA, "digits.npz")) as data:
        return data["images"].reshape(-1, 64).astype(np.float32) / 16.0, data["labels"].astype(np.int64)


def main(_):
    """Trains in JAX, and shows that the session would have come to the same."""
    images, labels = read_digits()
    tf.set_random_seed(15)
    x = tf.placeholder(tf.float32, [None, 64], name="images")
    y = tf.placeholder(tf.int64, [None], name="labels")
    hidden = tf.layers.batch_normalization(tf.layers.dense(x, 32, name="hidden"), training=True)
    logits = tf.layers.dense(tf.layers.dropout(tf.nn.relu(hidden), 0.1, training=True), 10, name="logits")
    loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
    step = tf.train.get_or_create_global_step()
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train = tf.train.AdamOptimizer(0.01).minimize(loss, global_step=step)

    def batch(number):
        first = number * BATCH % (len(images) - BATCH)
        return images[first : first + BATCH], labels[first : first + BATCH]

    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        fn, params = tfcompat.to_jax([loss, train], [x, y], sess)
        mesh = Mesh(np.array(jax.devices()[:4]), ("batch",))
        everywhere, divided = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("batch"))
        jitted = jax.jit(fn, in_shardings=(everywhere, divided, divided), out_shardings=everywhere)
        for number in range(FLAGS.steps):
            (value, _), params = jitted(params, *batch(number))
            expected, _ = sess.run([loss, train], dict(zip([x, y], batch(number))))
            if number in (0, FLAGS.steps - 1):
                print("step %3d  loss in JAX %.3f  in the session %.3f" % (number + 1, value, expected))
        print("devices of a variable: %d, global step: %d" % (len(params["trainable"]["hidden/kernel"].devices()), params["other"]["global_step"]))
        for variable in tf.global_variables():
            group = "trainable" if variable in tf.trainable_variables() else "other"
            variable.load(np.asarray(params[group][variable.op.name]), sess)
        print("the session goes on at step %d" % sess.run(step))


if __name__ == "__main__":
    tf.app.run()
