"""Computations of several calls: what one call has run is not run again, whatever waits for it."""

import pytest

import tfcompat as tf


def test_what_waits_for_an_operation_of_an_earlier_call_does_not_run_it_again():
    """22, 11 and 11 in TensorFlow 1.15.5."""
    with tf.Graph().as_default():
        a, v = tf.placeholder(tf.float32, []), tf.Variable(1.0)
        added = v.assign_add(a)
        twice = added * 2.0
        with tf.control_dependencies([added.op]):
            after = tf.identity(v) + 0.0
        with tf.Session() as session:
            session.run(v.initializer)
            handle = session.partial_run_setup([twice, after], [a])
            assert session.partial_run(handle, twice, {a: 10.0}) == 22.0
            assert session.partial_run(handle, after) == 11.0
            assert session.run(v) == 11.0


def test_a_fetch_that_needs_a_feed_of_a_later_call_is_refused_in_the_words_of_tensorflow():
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = tf.placeholder(tf.float32, [], name="a"), tf.placeholder(tf.float32, [], name="b")
        first = a + 1.0
        second = first * b
        handle = session.partial_run_setup([first, second], [a, b])
        assert session.partial_run(handle, first, {a: 2.0}) == 3.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="^Fetch b:0 can't be computed from the feeds that have been fed so far"):
            session.partial_run(handle, second)
