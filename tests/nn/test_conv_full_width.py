"""Convolutions whose window is as wide as their input, against their definition."""

import numpy as np
import pytest

import tfcompat as tf


@pytest.mark.parametrize("channels, stride", [(1, 1), (3, 2)])
def test_values_and_gradients(channels, stride):
    random = np.random.RandomState(0)
    x, w = random.rand(2, 7, 4, channels), random.rand(3, 4, channels, 5)
    rows = [x[:, i : i + 3] for i in range(0, 5, stride)]
    expected = np.stack([np.einsum("nhwc,hwco->no", row, w) for row in rows], 1)[:, :, None]
    of_input, of_filter = np.zeros_like(x), np.zeros_like(w)
    for i, row in enumerate(rows):
        of_input[:, i * stride : i * stride + 3] += np.einsum("no,hwco->nhwc", expected[:, i, 0], w)
        of_filter += np.einsum("nhwc,no->hwco", row, expected[:, i, 0])
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = tf.placeholder(tf.float32, x.shape), tf.placeholder(tf.float32, w.shape)
        y = tf.nn.conv2d(a, b, [1, stride, 1, 1], "VALID")
        found = session.run([y, *tf.gradients(y * y / 2.0, [a, b])], {a: x, b: w})
    for value, wanted in zip(found, (expected, of_input, of_filter)):
        np.testing.assert_allclose(value, wanted, rtol=1e-5)
