"""Unique of short vectors, which a dictionary finds, and of long ones, which a sort finds; values recorded from TensorFlow 1.15.5."""

import numpy as np
import pytest

import tfcompat as tf


@pytest.mark.parametrize("times", [1, 400])
def test_signed_zeros_are_one_value_and_each_nan_is_its_own(times):
    given = np.array([np.nan, 1.0, -0.0, 0.0, 1.0] * times, np.float32)
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None])
        values, places, counts = sess.run(tf.unique_with_counts(x), {x: given})
    assert np.isnan(values[0]) and values[1] == 1.0 and np.signbit(values[2]) and np.isnan(values[3:]).all()
    assert places.tolist() == [at for n in range(times) for at in (n + 2 if n else 0, 1, 2, 2, 1)]
    assert counts.tolist() == [1, 2 * times, 2 * times] + [1] * (times - 1)


def test_strings_come_in_the_order_of_their_first_places():
    with tf.Graph().as_default(), tf.Session() as sess:
        values, places = sess.run(tf.unique(tf.placeholder_with_default(["b", "a", "b"], [None])))
    assert (values.tolist(), places.tolist()) == ([b"b", b"a"], [0, 1, 0])
