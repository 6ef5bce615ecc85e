"""Functions of the program that wait for each other in one run: TensorFlow calls them in threads."""

import threading

import numpy as np
import pytest

import tfcompat as tf


class Meeting:
    """A function that comes back when the other has been called, too."""

    def __init__(self):
        self.here, self.other = threading.Event(), None

    def __call__(self, *_):
        self.here.set()
        assert self.other.here.wait(60)
        return np.float32(1)


def meetings():
    first, second = Meeting(), Meeting()
    first.other, second.other = second, first
    return first, second


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


@pytest.mark.parametrize("make", [tf.py_func, tf.py_function])
def test_two_functions_of_a_run_may_wait_for_each_other(session, make):
    assert session.run([make(f, [], tf.float32) for f in meetings()]) == [1, 1]


def test_what_needs_them_runs_when_they_have_come_back(session):
    first, second = meetings()
    left = tf.py_func(first, [], tf.float32)
    right = tf.py_func(second, [tf.constant(2.0) * tf.random_uniform([])], tf.float32)
    assert session.run([left * 2 + right + 5, tf.py_func(lambda v: v + 1, [left], tf.float32)]) == [8, 2]


def test_functions_that_need_not_wait_are_called_in_the_order_of_their_nodes(session):
    seen = []
    calls = [tf.py_func(lambda i=i: seen.append(i) or np.int32(i), [], tf.int32) for i in range(5)]
    for _ in range(20):
        session.run(calls[::-1])
    assert seen == [0, 1, 2, 3, 4] * 20


def test_an_error_of_one_is_the_error_of_the_run(session):
    first, second = meetings()

    def failing():
        second()
        raise ValueError("it is wrong")

    with pytest.raises(tf.errors.InvalidArgumentError, match="it is wrong"):
        session.run([tf.py_func(f, [], tf.float32) for f in (first, failing)])


def test_functions_of_a_loop_may_wait_for_each_other(session):
    def body(i, total):
        first, second = meetings()
        return i + 1, total + tf.reshape(tf.py_func(first, [i], tf.float32) + tf.py_func(second, [i], tf.float32), [])

    total = tf.while_loop(lambda i, _: i < 1, body, [0, 0.0])[1]
    assert session.run(total) == 2
