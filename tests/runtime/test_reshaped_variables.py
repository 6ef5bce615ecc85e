"""Variables whose shape an assignment without `validate_shape` changes between two runs of one fetch."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.runtime.engines import choice


@pytest.fixture(params=choice.ENGINES, autouse=True)
def engine(request, monkeypatch):
    monkeypatch.setattr(choice, "ENGINE", request.param)


def test_a_store_grows():
    """Values are appended to a variable that gets room for them when they no longer fit; what was there stays."""
    batch = tf.placeholder(tf.float32, [4])
    store = tf.Variable(np.zeros([6], np.float32), validate_shape=False)
    length = tf.Variable(0)
    new_length = length + 4

    def grown():
        old = store.value()
        with tf.control_dependencies([old]):
            moved = tf.assign(store, tf.zeros([new_length * 2]), validate_shape=False)
        with tf.control_dependencies([moved]):
            copied = store[:length].assign(old[:length])
        with tf.control_dependencies([copied]):
            return tf.no_op()

    with tf.control_dependencies([tf.cond(new_length > tf.size(store), grown, tf.no_op)]):
        appended = store[length:new_length].assign(batch)
    with tf.control_dependencies([appended]):
        append = length.assign(new_length)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for i in range(6):
            session.run(append, {batch: np.arange(4.0) + 4 * i})
            found = session.run(store)
            assert len(found) == (6, 16, 16, 16, 40, 40)[i]
            np.testing.assert_array_equal(found[: 4 * (i + 1)], np.arange(4.0 * (i + 1)))


def test_one_run_between_two_shapes():
    value = tf.placeholder(tf.float32, [None])
    variable = tf.Variable(np.zeros([2], np.float32), validate_shape=False)
    change = tf.assign(variable, value, validate_shape=False)
    fetches = [tf.size(variable), tf.reduce_mean(variable), tf.shape(tf.concat([variable, [0.0]], 0))[0] * 2]
    with tf.Session() as session:
        session.run(variable.initializer)
        for size in (2, 5, 3, 5, 2):
            session.run(change, {value: np.full([size], 7.0)})
            assert session.run(fetches) == [size, 7.0, 2 * size + 2]


def test_random_numbers_go_on_as_far_as_each_run_drew():
    """For several shapes in turn; the first number of each run, as 1.15.5 gives it."""
    value = tf.placeholder(tf.float32, [None])
    variable = tf.Variable(np.zeros([2], np.float32), validate_shape=False)
    change = tf.assign(variable, value, validate_shape=False)
    drawn = tf.random_uniform(tf.shape(variable), seed=3) + 0.0 * tf.reduce_sum(variable)
    first = []
    with tf.Session() as session:
        session.run(variable.initializer)
        for size in (300, 5, 300, 5, 300, 2):
            session.run(change, {value: np.ones([size])})
            first.append(session.run(drawn)[0])
    np.testing.assert_array_equal(np.float32(first), np.float32([0.386929393, 0.474233747, 0.653193831, 0.622392893, 0.166102409, 0.950419188]))


def test_a_program_whose_repeats_are_rolled_into_loops():
    """Each round is y <- y / 2 + scale * v, for which the sum of 300 rounds from 0 is 2 * scale * v to float32's precision."""
    v = tf.Variable(np.zeros(3, np.float32), validate_shape=False)
    given = tf.placeholder(tf.float32, [None])
    scale = tf.Variable(1.0)
    y = tf.zeros_like(v)
    for _ in range(300):
        y = y * 0.5 + v * scale
    grown, reshaped = scale.assign(scale * 2.0), tf.assign(v, given, validate_shape=False)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for number, value in enumerate(([1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0, 8.0], [9.0, 1.0], [1.0, 2.0, 4.0])):
            session.run(reshaped, {given: value})
            np.testing.assert_allclose(session.run(y), 2.0 * 2.0**number * np.array(value), rtol=1e-6)
            session.run(grown)
