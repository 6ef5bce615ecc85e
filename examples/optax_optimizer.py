"""An optax transformation as the optimizer of a TensorFlow 1 script. Runs only here: TensorFlow has no optax.

tfcompat.interop.OptaxOptimizer is a tf.train.Optimizer: compute_gradients, apply_gradients and minimize work as ever, the
optimizer's state is in variables of the graph, and tf.train.Saver saves it.

    tfcompat run examples/optax_optimizer.py
"""

import os
import tempfile

import numpy as np
import optax
import tensorflow as tf

from tfcompat.interop import OptaxOptimizer

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
flags = tf.app.flags
flags.DEFINE_integer("steps", 100, "training steps, half of them before the checkpoint")
flags.DEFINE_enum("optimizer", "lamb", ["lamb", "lion", "adamw"], "which of optax's optimizers")
FLAGS = flags.FLAGS
BATCH = 100


def read_digits():
    """Images [n, 64] between 0 and 1, and labels [n]."""
    with np.load(os.path.join(DATA, "digits.npz")) as data:
        return data["images"].reshape(-1, 64).astype(np.float32) / 16.0, data["labels"].astype(np.int64)


def transformation():
    """Clipped gradients, then the chosen optimizer with a rate that warms up and decays."""
    rate = optax.warmup_cosine_decay_schedule(0.0, 0.02, warmup_steps=10, decay_steps=FLAGS.steps)
    kinds = {"lamb": optax.lamb, "lion": optax.lion, "adamw": optax.adamw}
    return optax.chain(optax.clip_by_global_norm(1.0), kinds[FLAGS.optimizer](rate))


def main(_):
    """Trains, saves, goes on from the checkpoint in a new session, and compares with a training that never stopped."""
    images, labels = read_digits()
    tf.set_random_seed(15)
    x = tf.placeholder(tf.float32, [None, 64], name="images")
    y = tf.placeholder(tf.int64, [None], name="labels")
    logits = tf.layers.dense(tf.layers.dense(x, 32, tf.nn.relu, name="hidden"), 10, name="logits")
    loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
    step = tf.train.get_or_create_global_step()
    train = OptaxOptimizer(transformation()).minimize(loss, global_step=step)
    saver = tf.train.Saver()

    def run(sess, steps):
        value = None
        for _ in range(steps):
            first = sess.run(step) * BATCH % (len(images) - BATCH)
            value, _ = sess.run([loss, train], {x: images[first : first + BATCH], y: labels[first : first + BATCH]})
        return value

    half = FLAGS.steps // 2
    checkpoint = os.path.join(tempfile.mkdtemp(), "model.ckpt")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        print("step   1  loss %.4f" % run(sess, 1))
        print("step %3d  loss %.4f" % (half, run(sess, half - 1)))
        saver.save(sess, checkpoint)
        uninterrupted = run(sess, half)
    with tf.Session() as sess:
        saver.restore(sess, checkpoint)
        resumed = run(sess, half)
        print("step %3d  loss %.4f, from the checkpoint %.4f" % (2 * half, uninterrupted, resumed))
        print("all digits: loss %.4f" % sess.run(loss, {x: images, y: labels}))
    saved = [name for name, _ in tf.train.list_variables(checkpoint) if "optax" in name.lower()]
    print("%d variables of the optimizer are in the checkpoint" % len(saved))


if __name__ == "__main__":
    tf.app.run()
