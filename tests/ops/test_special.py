"""Special functions at the ends of their ranges."""

import numpy as np
import pytest

import tfcompat as tf


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_incomplete_gamma_functions_of_infinity(dtype):
    """What 1.15.5 gives."""
    x = np.array([0.0, 0.5, 1.0, 2.0, np.inf, -1.0, np.nan], dtype)
    a = np.full(7, np.inf, dtype)
    with tf.Session() as session:
        lower, upper = session.run([tf.igamma(a, x), tf.igammac(a, x)])
    np.testing.assert_array_equal(lower, [0, 0, np.nan, np.nan, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(upper, [1, 1, np.nan, np.nan, 0, np.nan, np.nan])
