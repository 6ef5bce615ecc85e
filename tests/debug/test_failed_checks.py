"""A failed `tf.check_numerics` says where the NaN was made, at which line, and from what."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.runtime.debugging import debugged_run


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def raised(fetch, feeds=None, session=None):
    """The message of the error of a run that begins with initialized variables, without the line that names the node."""
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError) as e:
            sess.run(fetch, feeds)
        if session is not None:
            session(sess)
    assert isinstance(e.value.op, tf.Operation) and e.value.op.type == "CheckNumerics" and e.value.node_def.op == "CheckNumerics"
    lines = e.value.message.split("\n")
    assert [line.partition(" (defined at")[0] for line in lines if line.startswith("\t [[")] == [f"\t [[node {e.value.op.name}"]
    return "\n".join(line for line in lines if not line.startswith("\t [["))


def test_add_check_numerics_ops():
    """1.15.5's message first, then the node, the line and the ranges; the failed step has changed nothing."""
    x = tf.placeholder(tf.float32, [None], name="x")
    w = tf.Variable(-2.0, name="w")
    loss = tf.reduce_mean(tf.log(w * x), name="loss")
    step = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    unchanged = lambda sess: np.testing.assert_array_equal(sess.run(w), -2.0)
    lines = raised([step, loss, tf.add_check_numerics_ops()], {x: [0.5, 2.0]}, unchanged).split("\n")
    assert lines[:2] == ["Log:0 : Tensor had NaN values", "Log:0 (op type Log) is the first in creation order that has elements that are not finite: 2 NaN of 2."]
    assert lines[2].startswith(f'  made in File "{__file__}", line ') and lines[2].endswith('loss = tf.reduce_mean(tf.log(w * x), name="loss")')
    assert lines[3:] == ["  input mul:0: float32 of shape (2,), from -4 to -1"]


def test_what_was_fed():
    x = tf.placeholder(tf.float32, [2], name="x")
    message = raised(tf.check_numerics(tf.square(x), "here"), {x: [np.inf, 1.0]})
    assert message.startswith("here : Tensor had Inf values\nx:0 (op type Placeholder) was fed with elements that are not finite: 1 infinite of 2.")


def test_random_numbers_are_those_of_the_run():
    """The failed run is looked at with its own random numbers, the second ones here; the next run draws the third, as in 1.15.5."""
    drawn = tf.random_uniform([3], seed=1, name="drawn")
    scale = tf.placeholder_with_default(1.0, [], name="scale")
    checked = tf.check_numerics(tf.log(drawn * scale, name="root"), "checked")
    with tf.Session() as sess:
        plain = [sess.run(drawn) for _ in range(3)]
    with tf.Session() as sess:
        sess.run(drawn)
        with pytest.raises(tf.errors.InvalidArgumentError) as e:
            sess.run(checked, {scale: -1.0})
        np.testing.assert_array_equal(sess.run(drawn), plain[2])
    assert f"from {-plain[1].max():g} to {-plain[1].min():g}" in e.value.message


class Unsafe:
    """Graphs of which nothing runs a second time: the error is the plain one."""

    @staticmethod
    def python(x):
        return tf.py_func(lambda a: -a, [x], tf.float32)

    @staticmethod
    def written(x):
        return tf.assign_sub(tf.Variable(0.0), x)

    @staticmethod
    def dequeued(x):
        queue = tf.FIFOQueue(2, tf.float32, shapes=[[]])
        with tf.control_dependencies([queue.enqueue(-x)]):
            return queue.dequeue()


@pytest.mark.parametrize("build", [Unsafe.python, Unsafe.written, Unsafe.dequeued])
def test_nothing_acts_twice(build):
    x = tf.placeholder(tf.float32, [], name="x")
    assert raised(tf.check_numerics(tf.sqrt(build(x)), "plain"), {x: 1.0}) == "plain : Tensor had NaN values"


def test_an_error_of_the_search_does_not_hide_that_of_the_run(monkeypatch):
    def no_memory(*arguments):
        raise tf.errors.ResourceExhaustedError(None, None, "no memory")

    monkeypatch.setattr(debugged_run.DebuggedRun, "_execute", no_memory)
    assert raised(tf.check_numerics(tf.log(-tf.random_uniform([2])), "first")) == "first : Tensor had NaN values"


def test_in_a_branch():
    x = tf.placeholder(tf.float32, [], name="x")
    taken = tf.cond(x < 0, lambda: tf.check_numerics(tf.sqrt(x), "in a branch"), lambda: x)
    assert raised(taken, {x: -1.0}).startswith("in a branch : Tensor had NaN values")
