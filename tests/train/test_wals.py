"""tf.contrib.factorization.WALSModel: each step solves the normal equations; values are those of NumPy's solver."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat import contrib

ENTRIES = {(0, 0): 0.5, (0, 2): 1.0, (1, 1): 2.0, (2, 0): -1.0, (2, 3): 0.25, (3, 2): 3.0, (3, 3): 1.5}
ROWS, COLS, RANK = 4, 4, 2
UNOBSERVED, REGULARIZATION = 0.1, 0.01


def matrix():
    dense, seen = np.zeros((ROWS, COLS), np.float32), np.zeros((ROWS, COLS))
    for place, value in ENTRIES.items():
        dense[place], seen[place] = value, 1
    return dense, seen


def sparse(transposed=False):
    indices = np.array([p[::-1] if transposed else p for p in ENTRIES], np.int64)
    order = np.lexsort(indices.T[::-1])
    return tf.SparseTensor(indices[order], np.array(list(ENTRIES.values()), np.float32)[order], [ROWS, COLS])


def solved(factors, dense, weights):
    """The rows u of least `sum of weights * (row - factors u)^2 + regularization u^2`."""
    found = []
    for row, w in zip(dense, weights):
        lhs = (factors * w[:, None]).T @ factors + REGULARIZATION * np.eye(RANK)
        found.append(np.linalg.solve(lhs, factors.T @ (w * row)))
    return np.array(found)


@pytest.mark.parametrize("shards, cached, transposed", [(1, True, False), (2, True, True), (3, False, False)])
def test_rows_then_columns(shards, cached, transposed):
    dense, seen = matrix()
    v = np.random.default_rng(0).normal(size=(COLS, RANK)).astype(np.float32)
    row_weights, col_weights = np.array([1.0, 2.0, 0.5, 1.5]), 3.0
    weights = UNOBSERVED + seen * row_weights[:, None] * col_weights
    with tf.Graph().as_default(), tf.Session() as session:
        parts = np.array_split(row_weights, shards)
        model = contrib.factorization.WALSModel(
            ROWS, COLS, RANK, UNOBSERVED, REGULARIZATION, col_init=v, num_row_shards=shards,
            row_weights=[list(p) for p in parts], col_weights=col_weights, use_factors_weights_cache=cached,
        )  # fmt: skip
        rows = model.update_row_factors(sparse(transposed), transpose_input=transposed)
        columns = model.update_col_factors(sparse(transposed), transpose_input=transposed)
        session.run([model.initialize_op, tf.local_variables_initializer()])
        session.run(model.worker_init)
        session.run(model.row_update_prep_gramian_op)
        session.run(model.initialize_row_update_op)
        loss, penalty, total, _ = session.run([rows[2], rows[3], rows[4], rows.update_op])
        u = np.concatenate(session.run(model.row_factors))
        np.testing.assert_allclose(u, solved(v, dense, weights), rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(loss, (weights * (dense - u @ v.T) ** 2).sum(), rtol=1e-3)
        np.testing.assert_allclose(penalty, REGULARIZATION * ((u**2).sum() + (v**2).sum()), rtol=1e-4)
        np.testing.assert_allclose(total, weights.sum(), rtol=1e-5)
        session.run(model.col_update_prep_gramian_op)
        session.run(model.initialize_col_update_op)
        session.run(columns.update_op)
        found = np.concatenate(session.run(model.col_factors))
        np.testing.assert_allclose(found, solved(u, dense.T, weights.T), rtol=1e-3, atol=1e-4)


def test_a_projection_takes_its_own_weights():
    v = np.random.default_rng(1).normal(size=(COLS, RANK)).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        model = contrib.factorization.WALSModel(ROWS, COLS, RANK, UNOBSERVED, REGULARIZATION, col_init=v)
        row = tf.SparseTensor([[9, 1], [9, 3]], [1.0, 2.0], [10, COLS])
        projected = model.project_row_factors(row, projection_weights=0.5)
        session.run([model.initialize_op, tf.local_variables_initializer()])
        for step in (model.worker_init, model.row_update_prep_gramian_op, model.initialize_row_update_op):
            session.run(step)
        dense, weights = np.array([[0.0, 1.0, 0.0, 2.0]]), UNOBSERVED + np.array([[0.0, 0.5, 0.0, 0.5]])
        np.testing.assert_allclose(session.run(projected), solved(v, dense, weights), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("options, error", [
    ({"row_weights": None}, AssertionError), ({"row_weights": -1}, ValueError), ({"row_weights": [[1.0], [2.0]]}, AssertionError),
    ({"col_init": [np.zeros((2, 2)), np.zeros((2, 2))]}, AssertionError),
])  # fmt: skip
def test_bad_arguments(options, error):
    with tf.Graph().as_default(), pytest.raises(error):
        contrib.factorization.WALSModel(ROWS, COLS, RANK, **options)
