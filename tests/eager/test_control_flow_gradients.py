"""Derivatives of tf.functions with branches and loops that write variables, by tapes outside of them: values of TensorFlow 1.15.5."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.eager.mode import eager_mode

X, Y = [0.3, -1.2], [2.0, 5.0]


@pytest.fixture(autouse=True)
def eagerly():
    with eager_mode():
        yield


def derivatives(function, variable, *arguments):
    """The result and the derivatives by the first argument and the variable, and the variable's value."""
    with tf.GradientTape() as tape:
        tape.watch(arguments)
        result = function(*arguments)
    return [t.numpy() for t in (result, *tape.gradient(result, [arguments[0], variable]), variable)]


def negative(a):
    return tf.reduce_sum(a) < 0


def adds_in_a_branch(v):
    @tf.function
    def function(a):
        if negative(a):
            v.assign_add(a)
            b = v * a
        else:
            b = a
        return b * v

    return function


def assigns_around_a_branch(v):
    @tf.function
    def function(a):
        v.assign(a * 2)
        if negative(v):
            b = a * v
        else:
            b = a
        v.assign_add([1.0, 1.0])
        return b * v

    return function


def adds_in_a_function(v):
    @tf.function
    def inner(a):
        if negative(a):
            v.assign_add(a)
            a = a * v
        return a

    return tf.function(lambda a: inner(a) * inner(a))


def called_twice(v):
    @tf.function
    def function(a):
        if tf.reduce_sum(a) < 10:
            v.assign_add(a)
            a = a * v
        return a * a * v

    return lambda a: function(function(a))


CASES = {
    "taken": (adds_in_a_branch, X, [[1.587, -3.888], [5.29, 3.24], [1.38, -4.32], [2.3, 1.8]]),
    "not_taken": (adds_in_a_branch, Y, [[4, 15], [2, 3], [2, 5], [2, 3]]),
    "around": (assigns_around_a_branch, X, [[0.288, -4.032], [0.96, 3.36], [0.66, 4.56], [1.6, -1.4]]),
    "function": (adds_in_a_function, X, [[0.5382, 1.5552], [3.588, -2.592], [0.441, 3.456], [2.6, 0.6]]),
    "called_twice": (called_twice, X, [[46.9227, 74802.3438], [625.6358, -249341.1406], [163.87, 271346.0], [3.395, 10.1981]]),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    make, x, wanted = CASES[name]
    v = tf.Variable([2.0, 3.0])
    found = derivatives(make(v), v, tf.constant(x))
    np.testing.assert_allclose(found, wanted, rtol=1e-4)


def test_a_counter_beside_a_loop():
    v, count = tf.Variable([2.0, 3.0]), tf.Variable(0)

    @tf.function
    def function(a):
        for _ in tf.range(2):
            a = a * v
            count.assign_add(1)
        return a

    found = derivatives(function, v, tf.constant(X))
    np.testing.assert_allclose(found[:3], [[1.2, -10.8], [4, 9], [1.2, -7.2]], rtol=1e-4)
    assert count.numpy() == 2


def test_derivatives_are_taken_with_the_values_of_the_call():
    v, x = tf.Variable([2.0, 3.0]), tf.constant(X)

    @tf.function
    def function(a):
        if negative(a):
            a = a * v
        return a * a * v

    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        result = function(x)
    for value in ([7.0, 7.0], [8.0, 8.0]):
        v.assign(value)
        found = [d.numpy() for d in tape.gradient(result, [x, v])]
        np.testing.assert_allclose(found, [[4.8, -64.8], [1.08, 38.88]], rtol=1e-4)


def test_loops_over_a_variable_that_they_write_are_not_differentiated():
    v = tf.Variable([2.0, 3.0])

    @tf.function
    def function(a):
        for _ in tf.range(3):
            a = a * v
            v.assign_add([1.0, 1.0])
        return a

    with pytest.raises(NotImplementedError, match="its results depend on a variable that it writes .*ReadVariableOp"):
        derivatives(function, v, tf.constant(X))


def test_second_derivatives_are_not_taken_where_variables_are_written():
    v, x = tf.Variable([2.0, 3.0]), tf.constant(X)
    function = adds_in_a_branch(v)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            result = function(x)
        with pytest.raises(NotImplementedError, match="VarHandleOp"):
            tape.gradient(result, x)
