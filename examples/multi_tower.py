"""Data parallelism of 2016: a tower for each device computes gradients of its part of a batch, and their means are applied.

Variables are shared by name and live on the first CPU. Without GPUs the towers go to one CPU, or to several that are
asked for with --devices; the mean gradient of the towers is that of the whole batch.

    tfcompat run examples/multi_tower.py --towers 2
    tfcompat run examples/multi_tower.py --devices 2            # towers on /cpu:0 and /cpu:1
"""

import os

import numpy as np
import tensorflow as tf
from tensorflow.python.client import device_lib

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
flags = tf.app.flags
flags.DEFINE_integer("towers", 2, "how many towers")
flags.DEFINE_integer("devices", 1, "how many CPU devices, if there is no GPU")
flags.DEFINE_integer("steps", 150, "training steps")
flags.DEFINE_integer("batch_size", 64, "images per step, of all towers together")
FLAGS = flags.FLAGS


def read_digits():
    """Images [n, 8, 8, 1] between 0 and 1, and labels [n]."""
    with np.load(os.path.join(DATA, "digits.npz")) as data:
        return data["images"].astype(np.float32)[..., None] / 16.0, data["labels"].astype(np.int64)


def devices(config):
    """The names of the devices that towers go to: GPUs, or CPUs."""
    local = [device.name for device in device_lib.list_local_devices(config) if device.device_type == "GPU"]
    return local or ["/cpu:%d" % i for i in range(FLAGS.devices)]


def network(images):
    """Logits [n, 10]."""
    hidden = tf.layers.conv2d(images, 16, 3, activation=tf.nn.relu, name="conv1")
    hidden = tf.layers.conv2d(hidden, 16, 3, strides=2, activation=tf.nn.relu, name="conv2")
    return tf.layers.dense(tf.layers.flatten(hidden), 10, name="logits")


def tower_loss(images, labels, scope):
    """Cross entropy of a tower, and the weight decay of that tower's scope."""
    logits = network(images)
    tf.losses.sparse_softmax_cross_entropy(labels, logits)
    decay = 1e-4 * tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables() if v.op.name.endswith("kernel")])
    return tf.add_n(tf.get_collection(tf.GraphKeys.LOSSES, scope) + [decay], name="total_loss")


def average_gradients(tower_gradients):
    """[(mean gradient, variable), ...] of what compute_gradients gave in each tower."""
    averaged = []
    for pairs in zip(*tower_gradients):
        gradients = [gradient for gradient, _ in pairs]
        averaged.append((tf.reduce_mean(tf.stack(gradients), 0), pairs[0][1]))
    return averaged


def main(_):
    """Builds the towers, trains, and shows where the operations are."""
    images, labels = read_digits()
    tf.set_random_seed(10)
    config = tf.ConfigProto(device_count={"CPU": FLAGS.devices}, allow_soft_placement=True)
    with tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [None, 8, 8, 1], name="images")
        y = tf.placeholder(tf.int64, [None], name="labels")
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.MomentumOptimizer(tf.train.piecewise_constant(step, [100], [0.1, 0.02]), 0.9)

    losses, gradients, places = [], [], devices(config)
    for i, (part_x, part_y) in enumerate(zip(tf.split(x, FLAGS.towers), tf.split(y, FLAGS.towers))):
        worker = places[i % len(places)]
        setter = tf.train.replica_device_setter(ps_tasks=1, ps_device="/cpu:0", worker_device=worker)
        with tf.device(setter), tf.name_scope("tower_%d" % i) as scope:
            with tf.variable_scope(tf.get_variable_scope(), reuse=i > 0):
                loss = tower_loss(part_x, part_y, scope)
            losses.append(loss)
            gradients.append(optimizer.compute_gradients(loss))
    with tf.device("/cpu:0"):
        train = optimizer.apply_gradients(average_gradients(gradients), global_step=step)
        mean_loss = tf.reduce_mean(tf.stack(losses))

    order = np.random.RandomState(10)
    with tf.Session(config=config) as sess:
        sess.run(tf.global_variables_initializer())
        for i in range(FLAGS.steps):
            batch = order.choice(len(images), FLAGS.batch_size, replace=False)
            values = sess.run([train, step, mean_loss] + losses, {x: images[batch], y: labels[batch]})
            if i % 25 == 0 or i == FLAGS.steps - 1:
                print("step %3d  loss %.4f  towers %s" % (i, values[2], " ".join("%.4f" % v for v in values[3:])))
        size = FLAGS.towers * 100
        print("loss of %d digits: %.4f" % (size, sess.run(mean_loss, {x: images[:size], y: labels[:size]})))
    for name in ("conv1/kernel", "tower_0/conv1/Conv2D", "tower_%d/conv1/Conv2D" % (FLAGS.towers - 1)):
        print("%-22s on %s" % (name, tf.get_default_graph().get_operation_by_name(name).device))


if __name__ == "__main__":
    tf.app.run()
