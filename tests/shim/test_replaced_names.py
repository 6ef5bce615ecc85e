"""Programs replace functions of TensorFlow's internal modules, and what calls them there calls the replacement."""

import importlib
from unittest import mock

import numpy as np
import pytest

import tfcompat as tf

tf.install_as_tensorflow()


def _module(name):
    return importlib.import_module(f"tensorflow.python.ops.{name}")


@pytest.mark.parametrize(
    ("distribution", "function"),
    [("truncated_normal", "truncated_normal"), ("untruncated_normal", "random_normal"), ("uniform", "random_uniform")],
)
def test_initializers_call_what_stands_in_random_ops(distribution, function):
    random_ops = _module("random_ops")
    original = getattr(random_ops, function)
    initializer = tf.variance_scaling_initializer(distribution=distribution)
    with tf.Graph().as_default():
        with mock.patch.object(random_ops, function, wraps=original) as replacement:
            initializer([2, 3])
        assert replacement.called
        assert getattr(random_ops, function) is original
        with mock.patch.object(random_ops, function, wraps=original) as replacement:
            pass
        initializer([2, 3])
        assert not replacement.called


def test_the_public_name_stays_what_it_was():
    with mock.patch.object(_module("math_ops"), "reduce_sum", side_effect=AssertionError):
        with tf.Graph().as_default(), tf.Session() as session:
            assert session.run(tf.reduce_sum(np.arange(3))) == 3


def test_an_assigned_function_is_called_until_the_first_is_assigned_again(monkeypatch):
    gradients_module = importlib.import_module("tensorflow.python.ops.gradients_impl")
    calls, original = [], gradients_module.gradients

    def noting(*args, **kwargs):
        calls.append(args)
        return original(*args, **kwargs)

    with tf.Graph().as_default():
        v = tf.get_variable("v", [], tf.float32)
        monkeypatch.setattr(gradients_module, "gradients", noting)
        tf.train.GradientDescentOptimizer(1.0).compute_gradients(v * v)
        assert len(calls) == 1
        monkeypatch.undo()
        tf.train.GradientDescentOptimizer(1.0).compute_gradients(v * v)
        assert len(calls) == 1
