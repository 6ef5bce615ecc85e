"""tf.nn.top_k of long rows against a stable sort: of equal elements the one with the lower index comes first."""

import numpy as np
import pytest

import tfcompat as tf


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint8])
@pytest.mark.parametrize("size, k, limit", [(10000, 10, 5), (5120, 10, 200), (700, 1, 3), (5119, 10, 200)])
def test_long_rows(dtype, size, k, limit):
    x = np.random.RandomState(0).randint(0, limit, (2, 3, size)).astype(dtype)
    if np.issubdtype(dtype, np.floating):
        x[0, 0] = -np.inf
        x[0, 1, ::3] = np.inf
    wanted = np.argsort(-x.astype(np.float64), axis=-1, kind="stable")[..., :k]
    with tf.Graph().as_default(), tf.Session() as sess:
        fed = tf.placeholder(dtype, x.shape)
        values, indices = sess.run(tf.nn.top_k(fed, k), {fed: x})
    np.testing.assert_array_equal(indices, wanted)
    np.testing.assert_array_equal(values, np.take_along_axis(x, wanted, axis=-1))
