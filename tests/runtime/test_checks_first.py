"""A check that fails is the error of a run, where a later operation cannot even be compiled for the shapes that were fed."""

import numpy as np
import pytest

import tfcompat as tf


def test_an_assertion_is_reported_before_the_shapes_that_it_is_about():
    with tf.Graph().as_default(), tf.Session() as session:
        weights = tf.placeholder(tf.float32)
        loss = tf.losses.compute_weighted_loss(np.ones((3, 2, 4), np.float32), weights=weights)
        assert session.run(loss, {weights: np.ones((3, 2, 4))}) == 1.0
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(loss, {weights: [[1.0, 2.0]]})
        assert caught.value.message.startswith("assertion failed: [weights can not be broadcast to values.]")
        assert caught.value.op.type == "Assert"


def test_a_check_on_data_that_holds_gives_way_to_the_error_and_no_variable_changes():
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        variable = tf.Variable([1.0, 2.0])
        add = variable.assign_add([1.0, 1.0])
        with tf.control_dependencies([tf.Assert(tf.reduce_all(x > 0.0), [x])]):
            total = x + y
        session.run(variable.initializer)
        for fed, text in ((1.0, "Incompatible shapes"), (-1.0, "assertion failed")):
            with pytest.raises(tf.errors.InvalidArgumentError, match=text):
                session.run([add, total], {x: np.full(2, fed), y: np.ones(3)})
            np.testing.assert_array_equal(session.run(variable), [1.0, 2.0])
        session.run([add, total], {x: np.ones(3), y: np.ones(3)})
        np.testing.assert_array_equal(session.run(variable), [2.0, 3.0])
