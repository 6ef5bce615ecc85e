"""tf.contrib.linear_optimizer: the models converge to the least of the regularized loss, found by NumPy."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat import contrib

ROWS, SIZE = 20, 5
RANDOM = np.random.default_rng(5)
FEATURES = RANDOM.normal(size=(ROWS, SIZE)).astype(np.float32)
LABELS = (FEATURES @ np.arange(1.0, SIZE + 1) + RANDOM.normal(size=ROWS)).astype(np.float32)
WEIGHTS = RANDOM.uniform(0.5, 2.0, ROWS).astype(np.float32)


def least_squares(l2):
    """What makes `sum of weights * error^2 / 2 + l2 / 2 * w^2` least."""
    return np.linalg.solve((FEATURES * WEIGHTS[:, None]).T @ FEATURES + l2 * np.eye(SIZE), FEATURES.T @ (WEIGHTS * LABELS))


def logistic(l2):
    """Newton's method for the logistic loss of the signs of the labels."""
    w, y = np.zeros(SIZE), LABELS > 0
    for _ in range(20):
        p = 1 / (1 + np.exp(-FEATURES @ w))
        slope = FEATURES.T @ (WEIGHTS * (p - y)) + l2 * w
        w -= np.linalg.solve((FEATURES * (WEIGHTS * p * (1 - p))[:, None]).T @ FEATURES + l2 * np.eye(SIZE), slope)
    return w


def examples(kind, loss):
    """The rows as one matrix, or as a sparse column."""
    dense = [tf.constant(FEATURES)] if kind == "dense" else []
    rows, columns = (t.ravel() for t in np.meshgrid(np.arange(ROWS), np.arange(SIZE), indexing="ij"))
    column = contrib.linear_optimizer.SparseFeatureColumn(rows, columns, FEATURES.ravel())
    return {
        "sparse_features": [] if dense else [column], "dense_features": dense,
        "example_labels": LABELS if loss == "squared_loss" else (LABELS > 0).astype(np.float32), "example_weights": WEIGHTS,
        "example_ids": [str(i) for i in range(ROWS)],
    }  # fmt: skip


def variables(kind):
    parts = [tf.Variable(tf.zeros([n])) for n in ((3, 2) if kind == "parts" else (SIZE,))]
    sparse = [] if kind == "dense" else [parts if kind == "parts" else parts[0]]
    return parts, {"sparse_features_weights": sparse, "dense_features_weights": parts if kind == "dense" else []}


@pytest.mark.parametrize("kind", ["dense", "sparse", "parts"])
@pytest.mark.parametrize("loss, shards, adaptive", [("squared_loss", 1, False), ("logistic_loss", 3, True)])
def test_the_least_loss_is_found(kind, loss, shards, adaptive):
    with tf.Graph().as_default(), tf.Session() as session:
        given = examples(kind, loss)
        parts, shared = variables(kind)
        options = {
            "loss_type": loss, "symmetric_l1_regularization": 0.0, "symmetric_l2_regularization": 2.0,
            "num_table_shards": shards, "adaptive": adaptive,
        }  # fmt: skip
        model = contrib.linear_optimizer.SdcaModel(given, shared, options)
        step = tf.train.create_global_step()
        update = model.update_weights(model.minimize(global_step=step))
        session.run(tf.global_variables_initializer())
        for _ in range(40):
            session.run(update)
        found = np.concatenate(session.run(parts))
        expected = (least_squares if loss == "squared_loss" else logistic)(2.0)
        np.testing.assert_allclose(found, expected, atol=2e-2)
        assert abs(session.run(model.approximate_duality_gap())) < 1e-2
        assert session.run([step, model._hashtable.size()]) == [40, ROWS]
        product = FEATURES @ found
        shown = product if loss == "squared_loss" else 1 / (1 + np.exp(-product))
        np.testing.assert_allclose(session.run(model.predictions(given)), shown, rtol=1e-4, atol=1e-5)
        if loss == "squared_loss":
            mean = (WEIGHTS * (product - LABELS) ** 2).sum() / 2 / WEIGHTS.sum()
            np.testing.assert_allclose(session.run(model.unregularized_loss(given)), mean, rtol=1e-5)
            np.testing.assert_allclose(session.run(model.regularized_loss(given)), mean + (found**2).sum() / WEIGHTS.sum(), rtol=1e-5)


def test_the_penalty_of_absolute_values_leaves_zeros():
    with tf.Graph().as_default(), tf.Session() as session:
        parts, shared = variables("dense")
        options = {"loss_type": "squared_loss", "symmetric_l1_regularization": 30.0, "symmetric_l2_regularization": 1.0}
        model = contrib.linear_optimizer.SdcaModel(examples("dense", "squared_loss"), shared, options)
        update = model.update_weights(model.minimize())
        session.run(tf.global_variables_initializer())
        for _ in range(40):
            session.run(update)
        found = session.run(parts[0])
        slope = FEATURES.T @ (WEIGHTS * (FEATURES @ found - LABELS)) + found
        assert (found == 0).any() and (found != 0).any()
        np.testing.assert_allclose(slope[found != 0], -30.0 * np.sign(found[found != 0]), rtol=2e-2)
        assert (np.abs(slope[found == 0]) <= 30.1).all()


@pytest.mark.parametrize("change", [
    {"loss_type": "absolute_loss"}, {"symmetric_l1_regularization": -1.0}, {"symmetric_l2_regularization": None},
])  # fmt: skip
def test_bad_options(change):
    options = {"loss_type": "squared_loss", "symmetric_l1_regularization": 0.0, "symmetric_l2_regularization": 1.0, **change}
    with tf.Graph().as_default(), pytest.raises(ValueError):
        contrib.linear_optimizer.SdcaModel(examples("dense", "squared_loss"), variables("dense")[1], options)


def test_keys_of_unknown_shape():
    from tfcompat._src.estimator.canned.sharded_table import ShardedMutableDenseHashTable

    with tf.Graph().as_default():
        table = ShardedMutableDenseHashTable(tf.int64, tf.float32, 0.0, -1, -2, num_shards=2)
        with pytest.raises(ValueError, match="Key shape must be fully defined"):
            table.lookup(tf.placeholder(tf.int64, [None]))
        with pytest.raises(TypeError, match="Keys must be dtype"):
            table.lookup(tf.constant([1.0]))
