"""Derivatives of tf.functions that call tf.py_function, asked of tapes outside of them: values of TensorFlow 1.15.5."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.eager.mode import eager_mode


@pytest.fixture(autouse=True)
def eagerly():
    with eager_mode():
        yield


def cube(v):
    return v * v * v


def called(function, *inputs):
    return tf.py_function(function, list(inputs), tf.float32)


def derivatives(function, *inputs):
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        result = function(*inputs)
    return [result, *tape.gradient(result, list(inputs))]


def second_of_two(a, b):
    return tf.py_function(lambda a, b: (a * b, a + b * b), [a, b], [tf.float32] * 2)[1]


def one_asked_of_a_persistent_tape(a):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(a)
        result = tf.function(lambda a: called(cube, a))(a) * 2
    return [tape.gradient(result, a)]


X, Y = [0.3, -1.2], [2.0, 5.0]
inner = tf.function(lambda a: called(cube, a))
CASES = {
    "one": (lambda x, y: derivatives(inner, x), [0.027, -1.728, 0.27, 4.32]),
    "second_output": (lambda x, y: derivatives(tf.function(second_of_two), x, y), [4.3, 23.8, 1, 1, 4, 10]),
    "two_nodes_in_turn": (lambda x, y: derivatives(tf.function(lambda a: called(cube, called(tf.square, a))), x), [0.000729, 2.985984, 0.01458, -14.92992]),
    "two_nodes": (lambda x, y: derivatives(tf.function(lambda a, b: called(cube, a) * called(cube, b)), x, y), [0.216, -216, 2.16, 540, 0.324, -129.6]),
    "two_tapes": (lambda x, y: derivatives(inner, x) + derivatives(inner, y), [0.027, -1.728, 0.27, 4.32, 8, 125, 12, 75]),
    "persistent_tape": (lambda x, y: one_asked_of_a_persistent_tape(x), [0.54, 8.64]),
    "function_in_function": (lambda x, y: derivatives(tf.function(lambda a: inner(a) * a), x), [0.0081, 2.0736, 0.108, -6.912]),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    found, wanted = CASES[name]
    values = found(tf.constant(X), tf.constant(Y))
    np.testing.assert_allclose(np.concatenate([v.numpy() for v in values]), wanted, rtol=1e-4)


def test_variables():
    v, x = tf.Variable([2.0, 3.0]), tf.constant(X)
    function = tf.function(lambda a: called(cube, a * v))
    with tf.GradientTape() as tape:
        tape.watch(x)
        result = function(x)
    found = [d.numpy() for d in tape.gradient(result, [x, v])]
    np.testing.assert_allclose(found, [[2.16, 116.64], [0.324, -46.656]], rtol=1e-4)


def test_the_function_is_called_once():
    sums = []

    def square(v):
        sums.append(round(float(v.numpy().sum()), 4))
        return v * v

    found = derivatives(tf.function(lambda a: called(square, a)), tf.constant(X))
    np.testing.assert_allclose([v.numpy() for v in found], [[0.09, 1.44], [0.6, -2.4]], rtol=1e-4)
    assert sums == [-0.9]


def test_the_last_call_has_a_derivative_once():
    x, y = tf.constant(X), tf.constant(Y)
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        result = inner(x) + inner(y)
    with pytest.raises(tf.errors.UnknownError, match="KeyError: .*can be taken once, for its last call"):
        tape.gradient(result, [x, y])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        result = inner(x)
    np.testing.assert_allclose(tape.gradient(result, x).numpy(), [0.27, 4.32], rtol=1e-4)
    with pytest.raises(tf.errors.UnknownError, match="KeyError"):
        tape.gradient(result, x)
