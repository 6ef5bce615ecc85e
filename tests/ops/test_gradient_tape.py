"""tf.GradientTape in graphs: what it records, and 1.15's answers where it recorded nothing."""

import numpy as np
import pytest

import tfcompat as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def run(fetches):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches)


def test_only_what_is_recorded_counts():
    x = tf.constant(3.0)
    outside = x * x
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = outside * x
        with tape.stop_recording():
            z = 5 * x
        total = y + z
    assert run(tape.gradient(total, x)) == 9
    with tf.GradientTape() as tape:
        y = x * x
    assert tape.gradient(y, x) is None


def test_variables_are_watched():
    v = tf.get_variable("v", initializer=2.0, use_resource=True)
    w = tf.get_variable("w", initializer=2.0, use_resource=True, trainable=False)
    with tf.GradientTape(persistent=True) as tape:
        y = v * v * w
    assert tape.watched_variables() == (v,)
    assert tape.gradient(y, w) is None
    assert run(tape.gradient(y, v)) == 8
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        y = v * v
    assert tape.gradient(y, v) is None


def test_second_derivatives_and_structures():
    x = tf.constant(3.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = {"cube": x * x * x, "double": 2 * x}
        first = inner.gradient(y, {"x": x, "other": [tf.constant(1.0)]}, unconnected_gradients="zero")
    found = run([first, outer.gradient(first["x"], x)])
    assert found == [{"x": 29, "other": [0]}, 18]


def test_jacobians():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    whole, by_row = run([tape.jacobian(y, x), tape.batch_jacobian(y, x)])
    slopes = 2 * np.array([[1, 2], [3, 4]])
    np.testing.assert_array_equal(whole.reshape(4, 4), np.diag(slopes.reshape(-1)))
    np.testing.assert_array_equal(by_row, [np.diag(row) for row in slopes])


def test_errors():
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        with pytest.raises(ValueError, match="Tape is already recording."):
            tape.__enter__()
        with pytest.raises(ValueError, match="Passed in object of type <class 'float'>, not tf.Tensor"):
            tape.watch(1.0)
    tape.gradient(x, x)
    with pytest.raises(RuntimeError, match="can only be called once on non-persistent tapes"):
        tape.gradient(x, x)
