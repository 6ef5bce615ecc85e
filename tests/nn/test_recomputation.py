"""Gradients that compute activations again are the gradients of the plain functions."""

import numpy as np
import pytest

import tfcompat as tf


def _dense(x, name=None):
    return tf.layers.dense(x, 4, activation=tf.tanh, kernel_initializer=tf.random_normal_initializer(seed=3), name=name)


def _values(build):
    """The outputs of `build(x)`, and the gradients of x and of the variables, by name."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(np.random.RandomState(1).normal(size=(3, 4)))
        outputs = build(x)
        variables = tf.trainable_variables()
        gradients = tf.gradients(outputs, [x, *variables])
        session.run(tf.global_variables_initializer())
        return session.run([outputs, gradients[0], {v.name: g for v, g in zip(variables, gradients[1:])}])


def _assert_equal(ours, plain):
    assert ours[2].keys() == plain[2].keys() != set()
    for one, other in zip(tf.contrib.framework.nest.flatten(ours), tf.contrib.framework.nest.flatten(plain)):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("num_layers", [1, 3])
def test_reversible_layers(num_layers):
    def build(x, is_training):
        return tf.contrib.layers.rev_block(x, 2 * x, _dense, _dense, num_layers=num_layers, is_training=is_training)

    _assert_equal(_values(lambda x: build(x, True)), _values(lambda x: build(x, False)))


@pytest.mark.parametrize("options", [{}, {"tupleize_grads": True}, {"use_data_dep": True, "tupleize_grads": True}])
def test_recomputed_function(options):
    def function(x):
        return _dense(_dense(x, "first"), "second")

    def build(x, decorate):
        with tf.variable_scope("layers", use_resource=True):
            return decorate(function)(x)

    _assert_equal(
        _values(lambda x: build(x, tf.contrib.layers.recompute_grad(**options))), _values(lambda x: build(x, lambda f: f))
    )


def test_recomputation_with_other_variables_raises():
    with tf.Graph().as_default(), tf.variable_scope("layers", use_resource=True):
        x = tf.ones([2, 4])
        function = tf.contrib.layers.recompute_grad(lambda t: _dense(t))
        y = function(function(x))
        with pytest.raises(ValueError, match="dense_2/kernel does not exist"):
            tf.gradients(y, x)


def test_reversible_layers_give_back_their_inputs():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([[1.0, 2.0]])
        layer = tf.contrib.layers.RevBlock([lambda t: t * 2.0, tf.sin], tf.cos, num_layers=2, use_efficient_backprop=False)
        outputs = layer.forward(x, x + 1.0)
        np.testing.assert_allclose(session.run(layer.backward(*outputs)), [[[1, 2]], [[2, 3]]], rtol=1e-5)


def test_scaled_gradient():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([1.0, 2.0, 3.0])
        y = tf.contrib.layers.scale_gradient(x, tf.constant(0.5))
        assert y.shape == [3]
        np.testing.assert_array_equal(session.run(y), [1, 2, 3])
        np.testing.assert_array_equal(session.run(tf.gradients(y * y, x)[0]), [1, 2, 3])


def test_divisive_normalization_with_channels_first_in_three_dimensions():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(np.random.RandomState(1).normal(size=(1, 2, 3, 2, 4)).astype(np.float32))
        first = tf.contrib.layers.gdn(tf.transpose(x, [0, 4, 1, 2, 3]), data_format="channels_first")
        last = tf.contrib.layers.gdn(x)
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(*session.run([tf.transpose(first, [0, 2, 3, 4, 1]), last]), rtol=1e-6)
