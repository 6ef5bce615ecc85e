"""Branches whose predicate is fed: an assignment that a Merge gives out."""

import numpy as np
import pytest

import tfcompat as tf


@pytest.mark.parametrize("taken", [True, False])
def test_a_merge_gives_the_variable_that_the_branch_assigned(taken):
    with tf.Graph().as_default(), tf.Session() as sess:
        x, on = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.bool)
        v = tf.get_variable("v", [2], initializer=tf.zeros_initializer(), use_resource=False)
        changed = tf.cond(on, lambda: tf.assign_sub(v, x), lambda: v.read_value() + 7.0)
        doubled = tf.cond(on, lambda: 2 * x, lambda: x)
        sess.run(v.initializer)
        found = sess.run([changed, doubled], {x: [1.0, 2.0], on: taken})
        np.testing.assert_array_equal(found[0], [-1.0, -2.0] if taken else [7.0, 7.0])
        np.testing.assert_array_equal(found[1], [2.0, 4.0] if taken else [1.0, 2.0])
        np.testing.assert_array_equal(sess.run(v), [-1.0, -2.0] if taken else [0.0, 0.0])


def test_batch_normalization_that_a_placeholder_switches():
    with tf.Graph().as_default(), tf.Session() as sess:
        x, training = tf.placeholder(tf.float32, [4, 1]), tf.placeholder(tf.bool)
        layer = tf.layers.BatchNormalization(momentum=0.5, epsilon=0.0)
        out = layer.apply(x, training=training)
        sess.run(tf.global_variables_initializer())
        values = np.array([[0.0], [0.0], [4.0], [4.0]])
        normal = sess.run([out, *layer.updates], {x: values, training: True})[0]
        np.testing.assert_allclose(normal[:, 0], [-1, -1, 1, 1], rtol=1e-6)
        mean, variance = sess.run([layer.moving_mean, layer.moving_variance])
        np.testing.assert_allclose([mean[0], variance[0]], [1.0, 2.5], rtol=1e-6)
        np.testing.assert_allclose(sess.run(out, {x: values, training: False}), (values - 1.0) / np.sqrt(2.5), rtol=1e-6)
