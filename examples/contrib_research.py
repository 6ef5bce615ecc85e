"""A research script of 2018: a variational autoencoder with tf.contrib and SciPy.

slim's layers under an arg_scope, tf.contrib.distributions with a bijector, layers.optimize_loss with clipped gradients,
SciPy for a whitened data set, and L-BFGS by tf.contrib.opt.ScipyOptimizerInterface at the end.

    tfcompat run examples/contrib_research.py
"""

import os

import numpy as np
import scipy.linalg
import scipy.stats
import tensorflow as tf
import tensorflow.contrib.slim as slim

ds = tf.contrib.distributions
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
flags = tf.app.flags
flags.DEFINE_integer("steps", 200, "training steps of Adagrad")
flags.DEFINE_integer("polish", 20, "iterations of L-BFGS at the end")
FLAGS = flags.FLAGS
COMPONENTS, LATENT, BATCH = 12, 2, 100


def whitened_digits():
    """The leading principal components of the digits [n, COMPONENTS], each with variance 1, and labels [n]."""
    with np.load(os.path.join(DATA, "digits.npz")) as data:
        pixels, labels = data["images"].reshape(-1, 64) / 16.0, data["labels"]
    _, values, directions = scipy.linalg.svd(pixels - pixels.mean(0), full_matrices=False)
    directions *= np.sign(directions.sum(1, keepdims=True))
    scores = (pixels - pixels.mean(0)).dot(directions[:COMPONENTS].T) / values[:COMPONENTS] * np.sqrt(len(pixels))
    return scores.astype(np.float32), labels


def encoder(x):
    """The distribution of codes q(z | x)."""
    net = slim.stack(x, slim.fully_connected, [32, 16], scope="hidden")
    mean = slim.fully_connected(net, LATENT, activation_fn=None, scope="mean")
    scale = slim.fully_connected(net, LATENT, activation_fn=tf.nn.softplus, scope="scale")
    return ds.MultivariateNormalDiag(mean, scale + 1e-3)


def decoder(z):
    """The distribution of data p(x | z)."""
    net = slim.stack(z, slim.fully_connected, [16, 32], scope="hidden")
    mean = slim.fully_connected(net, COMPONENTS, activation_fn=None, scope="mean")
    log_scale = slim.model_variable("log_scale", [COMPONENTS], initializer=tf.zeros_initializer())
    return ds.MultivariateNormalDiag(mean, tf.exp(log_scale))


def model(x, noise):
    """The negative evidence lower bound, and the code distribution."""
    arguments = slim.arg_scope(
        [slim.fully_connected],
        activation_fn=tf.nn.elu,
        weights_initializer=slim.variance_scaling_initializer(factor=1.0, mode="FAN_AVG", seed=14),
        weights_regularizer=slim.l2_regularizer(1e-4),
    )
    with arguments:
        with tf.variable_scope("encoder"):
            code = encoder(x)
        z = code.mean() + code.stddev() * noise
        with tf.variable_scope("decoder"):
            data = decoder(z)
    divergence = ds.kl_divergence(code, ds.MultivariateNormalDiag(tf.zeros([LATENT]), tf.ones([LATENT])))
    tf.losses.add_loss(tf.reduce_mean(divergence - data.log_prob(x)))
    return tf.losses.get_total_loss(), code


def log_normal_tail():
    """Checks a transformed distribution against SciPy."""
    log_normal = ds.TransformedDistribution(ds.Normal(0.5, 0.8), ds.bijectors.Exp())
    with tf.Session() as sess:
        ours = sess.run([log_normal.log_prob(2.0), log_normal.cdf(3.0)])
    theirs = scipy.stats.lognorm(0.8, scale=np.exp(0.5))
    print("log normal: %.4f %.4f, by SciPy %.4f %.4f" % (tuple(ours) + (theirs.logpdf(2.0), theirs.cdf(3.0))))


def main(_):
    """Trains by gradient steps, polishes with L-BFGS, and looks at the codes."""
    log_normal_tail()
    points, labels = whitened_digits()
    tf.set_random_seed(14)
    x = tf.placeholder(tf.float32, [None, COMPONENTS], name="x")
    noise = tf.placeholder(tf.float32, [None, LATENT], name="noise")
    loss, code = model(x, noise)
    step = tf.train.get_or_create_global_step()
    train = tf.contrib.layers.optimize_loss(
        loss, step, learning_rate=0.1, optimizer="Adagrad", clip_gradients=5.0, summaries=[],
        learning_rate_decay_fn=lambda rate, step: tf.train.exponential_decay(rate, step, 100, 0.7),
    )  # fmt: skip
    polish = tf.contrib.opt.ScipyOptimizerInterface(loss, method="L-BFGS-B", options={"maxiter": FLAGS.polish})
    slim.model_analyzer.analyze_vars(slim.get_model_variables(), print_info=True)

    random = np.random.RandomState(14)
    fixed = random.normal(size=[len(points), LATENT])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for i in range(FLAGS.steps):
            rows = random.choice(len(points), BATCH, replace=False)
            value = sess.run(train, {x: points[rows], noise: random.normal(size=[BATCH, LATENT])})
            if i % 40 == 0 or i == FLAGS.steps - 1:
                print("step %3d  loss %.4f" % (i, value))
        everything = {x: points, noise: fixed}
        print("all points: %.4f" % sess.run(loss, everything))
        polish.minimize(sess, feed_dict=everything)
        value, means = sess.run([loss, code.mean()], everything)
        print("after L-BFGS: %.3f" % value)
        between = np.var([means[labels == digit].mean(0) for digit in range(10)], 0)
        within = np.mean([means[labels == digit].var(0) for digit in range(10)], 0)
        print("codes: spread between digits over spread within", np.round(between / within, 2))


if __name__ == "__main__":
    tf.app.run()
