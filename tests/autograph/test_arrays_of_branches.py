"""TensorArrays that branches and loops of functions give; values and gradients are TensorFlow 1.15.5's."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.eager.mode import eager_mode


def written_in_branches(x, n):
    array = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[])
    for i in tf.range(n):
        if tf.equal(i % 2, 0):
            array = array.write(i, x * tf.cast(i, tf.float32))
        else:
            array = array.write(i, -x)
    return array.stack()


def made_in_branches(x, first):
    if first:
        array = tf.TensorArray(tf.float32, size=2).unstack(tf.stack([x, x * x]))
    else:
        array = tf.TensorArray(tf.float32, size=2).write(0, x).write(1, 3 * x)
    return array.gather([1]) * array.read(0)


def one_of_two(x, first):
    outer = tf.TensorArray(tf.float32, size=2).unstack(tf.stack([1.0, 2.0]))
    fresh = lambda: tf.TensorArray(tf.float32, size=1, element_shape=[]).scatter([0], tf.stack([x * x]))
    return tf.cond(first, fresh, lambda: outer).stack()


CASES = {
    "loop": (written_in_branches, 5, [0.0, -3.0, 6.0, -3.0, 12.0], 4.0),
    "first": (made_in_branches, True, [27.0], 27.0),
    "second": (made_in_branches, False, [27.0], 18.0),
    "fresh": (one_of_two, True, [9.0], 6.0),
    "outer": (one_of_two, False, [1.0, 2.0], 0.0),
}


@pytest.mark.parametrize("mode", ["graph", "eager"])
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name, mode):
    function, argument, value, gradient = CASES[name]
    if mode == "eager":
        with eager_mode(), tf.GradientTape() as tape:
            x = tf.constant(3.0)
            tape.watch(x)
            found = tf.function(function)(x, tf.constant(argument))
            values = found.numpy(), tape.gradient(found, x).numpy()
    else:
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.constant(3.0)
            found = tf.function(function)(x, tf.constant(argument))
            values = session.run([found, tf.gradients(found, x)[0]])
    np.testing.assert_allclose(values[0], value)
    np.testing.assert_allclose(values[1], gradient)


def test_python_knows_no_values_of_calls():
    following = tf.function(lambda n: n + 1)
    with tf.Graph().as_default(), tf.Session() as session:
        assert tf.fill([following(2)], 1.0).shape.as_list() == [None]
        assert tf.range(following(tf.constant(2))).shape.as_list() == [None]
        np.testing.assert_array_equal(session.run(tf.fill([following(2)], 1.0)), np.ones(3))


def test_an_array_that_only_the_other_branch_reads_is_named():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(3.0)
        array = tf.TensorArray(tf.float32, size=2).unstack(tf.stack([x, 2 * x]))
        found = tf.cond(tf.constant(True), lambda: tf.stack([x, x]), array.stack)
        with pytest.raises(tf.errors.UnimplementedError, match=r"read it outside of the branch"):
            session.run(tf.gradients(found, x))


def test_gradients_of_elements_of_different_shapes_add_up():
    with tf.Graph().as_default(), tf.Session() as session:
        row, number = tf.constant([[4.0, 5.0]]), tf.constant(3.0)
        array = tf.TensorArray(tf.float32, size=3, infer_shape=False).write(0, row).write(1, number)
        given = [tf.constant([[2.0, 3.0]]), tf.constant([[1.0, -1.0]]), tf.constant(-2.0)]
        found = session.run(tf.gradients([array.read(0), array.read(0), array.read(1)], [row, number], given))
    np.testing.assert_array_equal(found[0], [[3.0, 2.0]])
    assert found[1] == -2.0


def test_second_derivatives_raise():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(4.0)
        read = tf.TensorArray(tf.float32, size=1, infer_shape=False).write(0, x).read(0)
        twice = tf.gradients(tf.gradients(read * read, x), x)
        with pytest.raises(tf.errors.UnimplementedError, match="no second derivative through the TensorArray"):
            session.run(twice)
