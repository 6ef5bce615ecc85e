"""tf.estimator.experimental.LinearSDCA; weights, names and texts of TensorFlow 1.15.5 after 40 steps, where they no longer change."""

import numpy as np
import pytest

import tfcompat as tf

fc = tf.feature_column


def _columns():
    weighted = fc.weighted_categorical_column(fc.categorical_column_with_identity("ids", 4), "iw")
    return [
        fc.numeric_column("price"), fc.numeric_column("sq", shape=2), fc.categorical_column_with_hash_bucket("country", 5), weighted,
        fc.bucketized_column(fc.numeric_column("w"), [1.5]),
    ]  # fmt: skip


def _input(labels):
    def input_fn():
        places = [[0, 0], [1, 0], [1, 1], [2, 0]]
        features = {
            "example_id": tf.constant(["1", "2", "3"]), "price": tf.constant([[0.6], [0.8], [0.3]]),
            "sq": tf.constant([[1.0, 2.0], [0.0, 1.0], [3.0, 1.0]]), "w": tf.constant([[1.0], [2.0], [1.0]]),
            "country": tf.SparseTensor([[0, 0], [1, 3], [2, 1]], ["IT", "US", "GB"], [3, 5]),
            "ids": tf.SparseTensor(places, tf.constant([1, 2, 1, 3], tf.int64), [3, 2]),
            "iw": tf.SparseTensor(places, [0.5, 2.0, 1.0, 1.0], [3, 2]),
        }  # fmt: skip
        return features, tf.constant(labels)

    return input_fn


def _optimizer(l2=2.0, shards=1, **settings):
    return tf.estimator.experimental.LinearSDCA("example_id", num_table_shards=shards, symmetric_l2_regularization=l2, **settings)


def _weights(estimator):
    prefix = "linear/linear_model/"
    names = [name for name in estimator.get_variable_names() if name.startswith(prefix)]
    return {name.removeprefix(prefix): estimator.get_variable_value(name).ravel() for name in names}


def test_regression_gives_the_ridge_solution(tmp_path):
    """Of (X'DX + 2I) b = X'Dy with example weights D and a penalized bias."""
    estimator = tf.estimator.LinearRegressor(_columns()[:2], str(tmp_path), optimizer=_optimizer(), weight_column="w")
    input_fn = _input([[1.2], [-0.4], [2.0]])
    estimator.train(input_fn, steps=60)
    x = np.array([[0.6, 1, 2, 1], [0.8, 0, 1, 1], [0.3, 3, 1, 1]])
    d = np.diag([1.0, 2.0, 1.0])
    expected = np.linalg.solve(x.T @ d @ x + 2 * np.eye(4), x.T @ d @ [1.2, -0.4, 2.0])
    found = _weights(estimator)
    np.testing.assert_allclose(np.concatenate([found["price/weights"], found["sq/weights"], found["bias_weights"]]), expected, atol=1e-4)


def test_classification_with_l1(tmp_path):
    optimizer = _optimizer(shards=None, symmetric_l1_regularization=0.05)
    estimator = tf.estimator.LinearClassifier(_columns(), str(tmp_path), optimizer=optimizer)
    estimator.train(_input([[1], [0], [1]]), steps=40)
    expected = {
        "bias_weights": [0.03229], "country/weights": [-0.13657, 0.0, 0.10972, 0.05914, 0.0], "price/weights": [0.0],
        "ids_weighted_by_iw/weights": [0.0, -0.06921, -0.29815, 0.05914], "sq/weights": [0.36214, 0.16701],
        "w_bucketized/weights": [0.19386, -0.13657],
    }  # fmt: skip
    found = _weights(estimator)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, atol=2e-5, err_msg=name)
    unshrunk = "linear/linear/linear_model/price/weights/part_0_unshrunk"
    np.testing.assert_allclose(estimator.get_variable_value(unshrunk), [[-0.02318]], atol=2e-5)
    results = estimator.evaluate(_input([[1], [0], [1]]), steps=1)
    np.testing.assert_allclose([results["loss"], results["prediction/mean"]], [0.88851, 0.62847], atol=2e-5)


def test_settings_that_do_not_suit():
    with pytest.raises(ValueError, match="LinearSDCA cannot be used in a multi-class setting"):
        tf.estimator.LinearClassifier(_columns(), optimizer=_optimizer(), n_classes=3)
    with pytest.raises(ValueError, match='sparse_combiner must be "sum" when optimizer is a LinearSDCA object'):
        tf.estimator.LinearClassifier(_columns(), optimizer=_optimizer(), sparse_combiner="mean")
    with pytest.raises(ValueError, match="LinearSDCA can only be used with one-dimensional label"):
        tf.estimator.LinearRegressor(_columns(), optimizer=_optimizer(), label_dimension=2)


@pytest.mark.parametrize(
    ("shape", "settings", "text"),
    [
        ((2, 1), {}, "Column NumericColumn has rank 2, larger than 1"),
        (2, {"l2": 0.0}, "symmetric_l2_regularization should be positive"),
        (2, {"symmetric_l1_regularization": -1.0}, "symmetric_l1_regularization should be non-negative"),
    ],
)
def test_training_refuses(tmp_path, shape, settings, text):
    estimator = tf.estimator.LinearRegressor([fc.numeric_column("sq", shape=shape)], str(tmp_path), optimizer=_optimizer(**settings))
    with pytest.raises(ValueError, match=text):
        estimator.train(_input([[1.0], [0.0], [1.0]]), steps=1)
