"""Two graphs, a variable that is fed, soft placement on devices that do not exist, and towers that share variables."""
import sys

import numpy as np
import tensorflow as tf

first, second = tf.Graph(), tf.Graph()
with first.as_default():
    tf.set_random_seed(1)
    a = tf.random_uniform([3], name="a")
with second.as_default():
    tf.set_random_seed(1)
    w = tf.get_variable("w", [2, 2], initializer=tf.random_uniform_initializer(-1, 1))
    x = tf.placeholder(tf.float32, [None, 2])
    towers = []
    for device in ("/gpu:0", "/gpu:1"):
        with tf.device(device), tf.name_scope("tower"):
            towers.append(tf.reduce_mean(tf.square(tf.matmul(x, w) - 1.0)))
    with tf.device("/cpu:0"):
        loss = tf.add_n(towers) / 2.0
        train = tf.train.GradientDescentOptimizer(0.2).minimize(loss)

config = tf.ConfigProto(allow_soft_placement=True)
config.gpu_options.allow_growth = True
with tf.Session(graph=first) as one, tf.Session(graph=second, config=config) as two:
    two.run(w.initializer)
    initial = {"a": one.run(a), "w": two.run(w)}
    feed = {x: [[1.0, 2.0], [-1.0, 0.5]]}
    losses = [two.run([train, loss], feed)[1] for _ in range(20)]
    print("fed %.3f" % two.run(loss, {x: feed[x], w: np.eye(2)}))
    print("kept %.3f" % two.run(loss, feed))
if len(sys.argv) > 1:
    np.savez_compressed(sys.argv[1], losses=np.array(losses), **initial)
