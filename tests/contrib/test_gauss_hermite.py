"""The scheme of quadrature that 1.15.5 has and cannot run (it asks a dtype for its dtype): against its formula."""

import numpy as np

import tfcompat as tf


def test_points_and_weights():
    roots, weights = np.polynomial.hermite.hermgauss(6)
    loc, scale = np.array([[0.5], [-2.0]]), np.array([[1.0], [0.3]])
    with tf.Graph().as_default(), tf.Session() as session:
        scheme = tf.contrib.distributions.quadrature_scheme_softmaxnormal_gauss_hermite
        grid, probs = session.run(scheme(tf.constant(loc), tf.constant(scale), 6))
    first = 1 / (1 + np.exp(-(loc + np.sqrt(2) * scale * roots)))
    np.testing.assert_allclose(grid, np.stack([first, 1 - first], axis=1), rtol=1e-12)
    np.testing.assert_allclose(probs, weights / weights.sum(), rtol=1e-12)
