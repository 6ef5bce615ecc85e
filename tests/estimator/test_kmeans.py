"""k-means and Gaussian mixtures as Estimators; numbers recorded from TensorFlow 1.15.5 where no formula gives them."""

import numpy as np
import pytest

import tfcompat as tf

RANDOM = np.random.RandomState(0)
POINTS = np.concatenate([RANDOM.randn(30, 2) + center for center in ([0, 0], [8, 8], [0, 9])]).astype(np.float32)
RANDOM.shuffle(POINTS)
CENTERS = [[8.0562325, 8.3208780], [-0.1364813, 9.1657038], [0.0800611, 0.0732735]]


def once():
    return tf.train.limit_epochs(tf.constant(POINTS), num_epochs=1)


@pytest.mark.parametrize("kind", [tf.estimator.experimental.KMeans, tf.contrib.factorization.KMeansClustering])
def test_training_with_inputs_of_one_epoch(kind, tmp_path):
    """The first call of train uses its epoch up for the choice of centers; the others go on from there."""
    seed = {"seed" if kind is tf.estimator.experimental.KMeans else "random_seed": 1}
    model = kind(3, str(tmp_path), use_mini_batch=False, config=tf.estimator.RunConfig(tf_random_seed=3), **seed)
    for _ in range(3):
        model.train(once)
    centers = model.cluster_centers()
    np.testing.assert_allclose(centers[centers[:, 1].argsort()], np.array(CENTERS)[[2, 0, 1]], rtol=1e-5)
    distances = np.square(POINTS[:, None] - centers).sum(-1)
    np.testing.assert_array_equal(list(model.predict_cluster_index(once)), distances.argmin(1))
    assert model.score(once) == pytest.approx(179.1137, rel=1e-5)
    expected = np.sqrt(distances) if kind is tf.estimator.experimental.KMeans else distances
    np.testing.assert_allclose(list(model.transform(once)), expected, rtol=1e-3, atol=1e-3)


def test_training_stops_when_the_loss_stays(tmp_path):
    model = tf.contrib.factorization.KMeansClustering(
        3, str(tmp_path), initial_clusters=POINTS[:3], use_mini_batch=False, relative_tolerance=1e-4
    )
    model.train(lambda: tf.constant(POINTS), steps=100)
    assert model.get_variable_value("global_step") == 4
    np.testing.assert_allclose(model.cluster_centers(), np.array(CENTERS)[[2, 0, 1]], rtol=1e-5)


def test_features_of_a_dict_and_cosine(tmp_path):
    model = tf.contrib.factorization.KMeansClustering(
        2, str(tmp_path), initial_clusters=np.eye(2, dtype=np.float32), distance_metric="cosine", use_mini_batch=False
    )
    model.train(lambda: {"b": tf.constant([[0.0], [1.0]]), "a": tf.constant([[3.0], [0.1]])}, steps=1)
    np.testing.assert_allclose(model.cluster_centers(), [[1, 0], [0.0995037, 0.9950372]], rtol=1e-5, atol=1e-6)


def test_a_step_with_a_batch():
    """x + (sum of the k new points - k x) / (n + k) for a center x of n points."""
    start, points = np.array([[0.0, 0.0], [9.0, 9.0]], np.float32), np.array([[1.0, 0.0], [2.0, 3.0], [9.0, 6.0]], np.float32)
    graph = tf.contrib.factorization.KMeans(tf.constant(points), 2, initial_clusters=start, use_mini_batch=True).training_graph()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(graph[4])
        assert session.run(graph[3])
        session.run(graph[5])
        np.testing.assert_allclose(session.run("clusters:0"), [[1.0, 1.0], [9.0, 7.5]], rtol=1e-6)
        np.testing.assert_array_equal(session.run("Variable:0"), [3, 2])


def test_choices_are_checked():
    with pytest.raises(ValueError, match="Unsupported initialization algorithm 'kmc2'"):
        tf.estimator.experimental.KMeans(3, initial_clusters="kmc2")
    with pytest.raises(ValueError, match="Unsupported distance metric 'l1'"):
        tf.contrib.factorization.KMeansClustering(3, distance_metric="l1")


def test_contrib_learn(tmp_path):
    model = tf.contrib.learn.KMeansClustering(3, str(tmp_path), initial_clusters=POINTS[:3], use_mini_batch=False)
    model.fit(input_fn=lambda: (tf.constant(POINTS), None), steps=4)
    np.testing.assert_allclose(model.clusters(), np.array(CENTERS)[[2, 0, 1]], rtol=1e-5)
    assert model.score(input_fn=lambda: (tf.constant(POINTS), None), steps=1) == pytest.approx(179.1137, rel=1e-5)
    assert model.transform(input_fn=lambda: (once(), None)).shape == (90, 3)


@pytest.mark.parametrize("covariance, score", [("full", 0.8588433), ("diag", 0.439371)])
def test_mixture(covariance, score, tmp_path):
    model = tf.contrib.factorization.GMM(3, str(tmp_path), initial_clusters=POINTS[:3], covariance_type=covariance)
    model.fit(input_fn=lambda: (tf.constant(POINTS), None), steps=10)
    assert model.score(input_fn=lambda: (tf.constant(POINTS), None), steps=1) == pytest.approx(score, rel=1e-4)
    assert model.weights().sum() == pytest.approx(1, rel=1e-5)
    classes = list(model.predict_assignments(input_fn=lambda: (once(), None)))
    nearest = np.square(POINTS[:, None] - model.clusters()).sum(-1).argmin(1)
    assert np.mean(classes == nearest) > 0.95
