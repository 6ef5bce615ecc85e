"""Goes on training from a checkpoint that TensorFlow 1.15.5 wrote: weights, Adam's moments and the step are restored.

The checkpoint ships in examples/data/checkpoint, whose README says how it was made: this program wrote it, with --make.
Its losses are those of a training that never stopped, to rounding.

    tfcompat run examples/resume_checkpoint.py
    tfcompat run examples/resume_checkpoint.py --make --folder /tmp/checkpoint      # writes one of your own
"""

import os
import tempfile

import numpy as np
import tensorflow as tf

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
flags = tf.app.flags
flags.DEFINE_string("folder", os.path.join(DATA, "checkpoint"), "where the checkpoint is, or goes to with --make")
flags.DEFINE_boolean("make", False, "train the first 100 steps and write the checkpoint")
FLAGS = flags.FLAGS
BATCH = 100


def read_digits():
    """Images [n, 64] between 0 and 1, and labels [n]."""
    with np.load(os.path.join(DATA, "digits.npz")) as data:
        return data["images"].reshape(-1, 64).astype(np.float32) / 16.0, data["labels"].astype(np.int64)


def main(_):
    """Trains 100 steps, from nothing with --make, else from the checkpoint."""
    images, labels = read_digits()
    tf.set_random_seed(5)
    x = tf.placeholder(tf.float32, [None, 64], name="images")
    y = tf.placeholder(tf.int64, [None], name="labels")
    hidden = tf.layers.dense(x, 16, activation=tf.tanh, name="hidden")
    logits = tf.layers.dense(hidden, 10, name="logits")
    loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
    global_step = tf.train.get_or_create_global_step()
    train = tf.train.AdamOptimizer(0.01).minimize(loss, global_step)
    saver = tf.train.Saver()

    with tf.Session() as sess:
        if FLAGS.make:
            sess.run(tf.global_variables_initializer())
            folder = FLAGS.folder
        else:
            path = tf.train.latest_checkpoint(FLAGS.folder)
            for name, shape in tf.train.list_variables(path):
                print("%-24s %s" % (name, shape))
            saver.restore(sess, path)
            folder = tempfile.mkdtemp()
        first = sess.run(global_step)
        for step in range(first, first + 100):
            rows = np.arange(step * BATCH, (step + 1) * BATCH) % len(images)
            value, _ = sess.run([loss, train], {x: images[rows], y: labels[rows]})
            if step % 20 == 0:
                print("step %3d  loss %.4f" % (step, value))
        written = saver.save(sess, os.path.join(folder, "model.ckpt"), global_step, write_meta_graph=False)
        print("all digits: loss %.4f" % sess.run(loss, {x: images, y: labels}))

    reader = tf.train.load_checkpoint(written)
    kernel = reader.get_tensor("logits/kernel")
    print(
        "%s holds step %d and a kernel of norm %.4f"
        % (os.path.basename(written), reader.get_tensor("global_step"), np.linalg.norm(kernel))
    )


if __name__ == "__main__":
    tf.app.run()
