"""tf.contrib.tensor_forest: checkpoints, an estimator, and what is refused."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.contrib.tensor_forest import random_forest, tensor_forest
from tfcompat._src.contrib.tensor_forest.growth import hashed_order
from tfcompat._src.nodes import raw
from tfcompat._src.variables import resources

X = np.random.RandomState(1).rand(200, 3).astype(np.float32)
Y = (X[:, 1] > 0.5).astype(np.float32)


def forest(**kwargs):
    values = {
        "num_classes": 2,
        "num_features": 3,
        "num_trees": 2,
        "max_nodes": 40,
        "split_after_samples": 20,
        "base_random_seed": 2,
    }
    params = tensor_forest.ForestHParams(**{**values, **kwargs}).fill()
    return tensor_forest.RandomForestGraphs(params)


def initialize(session):
    session.run([tf.global_variables_initializer(), resources.initialize_resources(resources.shared_resources())])


def test_a_checkpoint_holds_trees_and_statistics(tmp_path):
    with tf.Graph().as_default():
        graphs = forest(checkpoint_stats=True)
        train, (probabilities, _, _), size = (
            graphs.training_graph(X, Y),
            graphs.inference_graph(X),
            graphs.average_size(),
        )
        saver = tf.train.Saver()
        with tf.Session() as session:
            initialize(session)
            for _ in range(4):
                session.run(train)
            path = saver.save(session, str(tmp_path / "forest"))
            at_save = session.run(probabilities)
            for _ in range(3):
                session.run(train)
            later = session.run([probabilities, size])
        with tf.Session() as session:
            saver.restore(session, path)
            np.testing.assert_array_equal(session.run(probabilities), at_save)
            for _ in range(3):
                session.run(train)
            resumed = session.run([probabilities, size])
    np.testing.assert_array_equal(resumed[0], later[0])
    assert resumed[1] == later[1] > 3


def test_creating_again_keeps_what_there_is():
    with tf.Graph().as_default(), tf.Session() as session:
        graphs = forest()
        train, size = graphs.training_graph(X, Y), graphs.average_size()
        initialize(session)
        for _ in range(4):
            session.run(train)
        before = session.run(size)
        initialize(session)
        assert session.run(size) == before > 1


def test_a_forest_learns_without_a_seed():
    with tf.Graph().as_default(), tf.Session() as session:
        graphs = forest(base_random_seed=0, num_trees=5)
        train, (probabilities, _, _) = graphs.training_graph(X, Y), graphs.inference_graph(X)
        initialize(session)
        for _ in range(12):
            session.run(train)
        assert (session.run(probabilities).argmax(1) == Y).mean() > 0.95


def test_the_estimator_of_contrib_learn(tmp_path):
    params = tensor_forest.ForestHParams(
        num_classes=2, num_features=3, num_trees=2, max_nodes=40, split_after_samples=20, base_random_seed=2
    )
    estimator = random_forest.TensorForestEstimator(params, model_dir=str(tmp_path))
    estimator.fit(x=X, y=Y.astype(np.int32), steps=10, batch_size=200)
    assert estimator.evaluate(x=X, y=Y.astype(np.int32), steps=1)["accuracy"] > 0.95


@pytest.mark.parametrize(
    ("labels", "text"),
    [(Y + 1, "Got label greater than indicated number of classes"), (Y[:7], "leaf_ids|labels")],
)
def test_wrong_labels_are_errors_and_no_crash(labels, text):
    with tf.Graph().as_default(), tf.Session() as session:
        train = forest().training_graph(X, labels)
        initialize(session)
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            session.run(train)


def test_what_is_not_initialized_is_not_found():
    with tf.Graph().as_default(), tf.Session() as session:
        size = forest().trees[0].size()
        with pytest.raises(tf.errors.NotFoundError, match="tree-0"):
            session.run(size)


def test_broken_configurations_are_errors():
    with tf.Graph().as_default(), tf.Session() as session:
        params = tensor_forest.ForestHParams(num_classes=2, num_features=3, num_trees=1).fill()
        tensor_forest.RandomForestGraphs(params, tree_configs=[b"\xff\xff"])
        with pytest.raises(tf.errors.InvalidArgumentError, match="Unable to parse tree  config."):
            initialize(session)


def test_models_that_are_not_done_say_so():
    with tf.Graph().as_default(), tf.Session() as session:
        forest(model_name="sparse_then_dense")
        with pytest.raises(tf.errors.UnimplementedError, match="MODEL_SPARSE_OR_DENSE_CLASSIFICATION"):
            initialize(session)


def test_finalizing_a_tree_of_classes_is_refused():
    with tf.Graph().as_default(), tf.Session() as session:
        graphs = forest()
        variables = graphs.variables[0]
        finalize = raw.FinalizeTree(variables.tree, variables.stats, params=graphs.params.serialized_params_proto)
        initialize(session)
        with pytest.raises(tf.errors.UnimplementedError, match="FinalizeTreeOp is disabled for now."):
            session.run(finalize)


def test_scatter_add_ndim_adds_at_places_and_to_rows():
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable(np.zeros((2, 3), np.float32), use_resource=False)
        session.run(variable.initializer)
        session.run(raw.ScatterAddNdim(variable._ref(), [[0, 1], [1, 2], [0, 1]], [1.0, 2.0, 3.0]))
        session.run(raw.ScatterAddNdim(variable._ref(), [[1]], [[10.0, 20.0, 30.0]]))
        np.testing.assert_array_equal(session.run(variable), [[0, 4, 0], [10, 20, 32]])
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="Number of updates should be same as number of indices."
        ):
            session.run(raw.ScatterAddNdim(variable._ref(), [[0, 1], [1, 2]], [1.0]))


def test_the_order_of_a_hash_set_as_1_15_gave_it():
    assert hashed_order([6, 3, 4, 5]) == [5, 4, 6, 3]
    assert hashed_order([11, 14, 9, 8]) == [8, 9, 11, 14]


def test_strings_become_the_numbers_of_1_15():
    recorded = [
        6.142509119745032e18,
        4.993892752916742e18,
        1.2194222768291578e19,
        7.353465596844966e18,
        1.0613591240479867e19,
    ]
    texts = [b"", b"a", b"yy", b"zzz zzz zz", b"0123456789abcdef"]
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(raw.ReinterpretStringToFloat(texts))
    np.testing.assert_array_equal(found, np.array(recorded, np.float32))
