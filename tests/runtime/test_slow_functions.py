"""Deadlines of runs whose Python functions return too late."""

import threading

import numpy as np
import pytest

import tfcompat as tf


@pytest.mark.parametrize("make", [tf.py_func, tf.py_function])
def test_a_function_that_returns_after_the_deadline_ends_its_run(make):
    """1.15.5 raises DeadlineExceededError when the function has returned; the variable behind it is not assigned."""
    returned = []

    def slow():
        threading.Event().wait(0.1)
        returned.append(1)
        return np.float64(1.0)

    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable(0.0)
        session.run(variable.initializer)
        assign = variable.assign(tf.cast(make(slow, [], tf.float64), tf.float32))
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(assign, options=tf.RunOptions(timeout_in_ms=50))
        assert returned and session.run(variable) == 0.0
        session.run(assign, options=tf.RunOptions(timeout_in_ms=60000))
        assert session.run(variable) == 1.0
