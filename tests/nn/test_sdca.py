"""Dual coordinate ascent, whose examples come in an order that is drawn, finds the weights of the closed formula."""

import numpy as np
import pytest

import tfcompat as tf

RANDOM = np.random.RandomState(3)
X = RANDOM.randn(24, 4).astype(np.float32)
Y = (X @ [1.0, -2.0, 0.5, 0.0] + 0.1 * RANDOM.randn(24)).astype(np.float32)
L2 = 0.7


@pytest.mark.parametrize("adaptative", [False, True])
def test_ridge_regression(adaptative):
    rows, columns = np.nonzero(np.ones([24, 2]))
    with tf.Graph().as_default(), tf.Session() as session:
        state, sparse, dense = (tf.placeholder(tf.float32, shape) for shape in ([24, 4], [2], [2]))
        step = tf.train.sdca_optimizer(
            [rows], [columns], [X[:, :2].reshape(-1)], [X[:, 2:]], np.ones(24, np.float32), Y, [np.arange(2)], [sparse], [dense], state,
            loss_type="squared_loss", l1=0.0, l2=L2, num_loss_partitions=1, num_inner_iterations=1, adaptative=adaptative,
        )  # fmt: skip
        values = {state: np.zeros([24, 4]), sparse: np.zeros(2), dense: np.zeros(2)}
        for _ in range(120):
            new, (sparse_delta,), (dense_delta,) = session.run(step, values)
            values = {state: new, sparse: values[sparse] + sparse_delta, dense: values[dense] + dense_delta}
    wanted = np.linalg.solve(X.T @ X + L2 * np.eye(4), X.T @ Y)
    np.testing.assert_allclose([*values[sparse], *values[dense]], wanted, atol=2e-3)
