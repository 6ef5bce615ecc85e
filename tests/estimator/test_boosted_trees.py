"""Boosted trees against TensorFlow 1.15 (tests/oracle/record_canned.py): trees node for node, metrics, predictions."""

import pathlib

import numpy as np
import pytest
from oracle import golden

import tfcompat as tf
from estimator import boosted_trees_programs as programs
from estimator.test_canned import check
from tfcompat._src.base import errors
from tfcompat._src.train.boosted_trees_ops import QuantileAccumulator, TreeEnsemble
from tfcompat._src.variables import resources

RECORDED = golden.read(pathlib.Path(__file__).parent.parent / "golden" / "estimator" / "boosted_trees.json.gz")


@pytest.fixture(autouse=True)
def variables_as_before():
    """Training boosted trees makes resource variables the default of the process."""
    yield
    tf.disable_resource_variables()


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_boosted_trees(name, tmp_path):
    found = golden.unpack(golden.pack(programs.PROGRAMS[name](tf, str(tmp_path))))
    check(found, RECORDED["programs"][name], name, 2e-5)


def test_what_is_refused(tmp_path):
    assert programs.refusals(tf, str(tmp_path)) == RECORDED["refusals"]


def run_with_ensemble(build, serialized=b""):
    """What the operation gives that `build(raw_ops, handle)` makes."""
    with tf.Graph().as_default(), tf.Session() as session:
        ensemble = TreeEnsemble("trees", serialized_proto=serialized)
        session.run(ensemble.initializer)
        return session.run(build(tf.raw_ops, ensemble.resource_handle))


def update(ops, handle, nodes=(0,), features=(0,)):
    numbers = [[1.0] * len(nodes)]
    return ops.BoostedTreesUpdateEnsemble(
        tree_ensemble_handle=handle, feature_ids=list(features), node_ids=[list(nodes)], gains=numbers, thresholds=[[1] * len(nodes)],
        left_node_contribs=[[[0.1]] * len(nodes)], right_node_contribs=[[[0.1]] * len(nodes)], max_depth=2, learning_rate=0.1,
        pruning_mode=0,
    )  # fmt: skip


SPLIT_BY_5 = programs.message_class(tf)(tree_weights=[1.0])
SPLIT_BY_5.trees.add().nodes.add().bucketized_split.feature_id = 5
SPLIT_BY_5.trees[0].nodes[0].bucketized_split.left_id = 1
SPLIT_BY_5.trees[0].nodes[0].bucketized_split.right_id = 2
for _ in range(2):
    SPLIT_BY_5.trees[0].nodes.add().leaf.scalar = 1.0
LOOP = programs.message_class(tf)(tree_weights=[1.0])
LOOP.trees.add().nodes.add().bucketized_split.left_id = 0


@pytest.mark.parametrize(
    ("build", "state", "message"),
    [
        (lambda ops, h: ops.BoostedTreesSerializeEnsemble(tree_ensemble_handle=h), b"\xff\xff", "Unable to parse tree ensemble"),
        (lambda ops, h: update(ops, h, nodes=[3]), b"", "is no leaf of the last tree"),
        (lambda ops, h: predict(ops, h), SPLIT_BY_5.SerializeToString(), "not among the 1 that are given"),
        (lambda ops, h: predict(ops, h), LOOP.SerializeToString(), "not a later node"),
        (lambda ops, h: update(ops, h), SPLIT_BY_5.SerializeToString(), "metadata"),
    ],
)
def test_bad_ensembles_are_refused(build, state, message):
    with pytest.raises(errors.InvalidArgumentError, match=message):
        run_with_ensemble(build, state)


def predict(ops, handle):
    return ops.BoostedTreesPredict(tree_ensemble_handle=handle, bucketized_features=[[1, 2]], logits_dimension=1)


def test_nodes_and_buckets_outside_of_the_statistics_are_refused():
    def summary(node, bucket):
        found = tf.raw_ops.BoostedTreesMakeStatsSummary(
            node_ids=[node], gradients=[[1.0]], hessians=[[1.0]], bucketized_features_list=[[bucket]], max_splits=2, num_buckets=3
        )
        with tf.Session() as session:
            return session.run(found)

    with tf.Graph().as_default():
        assert summary(1, 2)[0, 1, 2].tolist() == [1.0, 1.0]
        for node, bucket in ((-1, 0), (2, 0), (0, -1), (0, 9)):
            with pytest.raises(errors.InvalidArgumentError, match="must be in"):
                summary(node, bucket)


def test_quantiles_are_saved_and_restored(tmp_path):
    with tf.Graph().as_default():
        streams = QuantileAccumulator(0.1, 2, 10, name="q")
        column = np.linspace(0, 1, 50).astype(np.float32)
        add = streams.add_summaries([column, column * 2], [1.0])
        flush, limits, saver = streams.flush(), streams.get_bucket_boundaries(), tf.train.Saver()
        initialize = resources.initialize_resources(resources.shared_resources())
        with tf.Session() as session:
            session.run(initialize)
            session.run(add)
            session.run(flush)
            made = session.run(limits)
            path = saver.save(session, str(tmp_path / "q"))
        with tf.Session() as session:
            session.run(initialize)
            assert [len(each) for each in session.run(limits)] == [0, 0]
            saver.restore(session, path)
            for before, after in zip(made, session.run(limits), strict=True):
                np.testing.assert_array_equal(before, after)
    assert sorted(name for name, _ in tf.train.list_variables(path)) == ["q:0_bucket_boundaries_0", "q:0_bucket_boundaries_1"]
