"""SciPy's methods on a loss of a graph: they reach the minimum of Rosenbrock's function, (1, 1)."""

import numpy as np
import pytest

import tfcompat as tf

METHODS = {
    "L-BFGS-B": {}, "CG": {"gtol": 1e-3}, "SLSQP": {}, "TNC": {"gtol": -5, "maxiter": 1000},
}  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_the_minimum_is_found(method):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.Variable([0.0, 0.0])
        loss = 100.0 * tf.square(x[1] - tf.square(x[0])) + tf.square(1.0 - x[0])
        optimizer = tf.contrib.opt.ScipyOptimizerInterface(loss, method=method, options=METHODS[method])
        session.run(tf.global_variables_initializer())
        optimizer.minimize(session)
        np.testing.assert_allclose(session.run(x), [1.0, 1.0], atol=1e-2)
