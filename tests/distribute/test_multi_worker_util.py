"""Questions about a task of a cluster; expected values and messages are those of TensorFlow 1.15.5."""

import pytest

import tfcompat as tf
from tfcompat._src.distribute import multi_worker_util

FULL = {"chief": ["c:1"], "worker": ["a:1", "b:2"], "ps": ["p:1"], "evaluator": ["e:1"]}
WORKERS = {"worker": ["a:1", "b:2"]}


def test_specs_of_each_kind():
    spec = tf.train.ClusterSpec(WORKERS)
    for given in (WORKERS, spec, spec.as_cluster_def()):
        assert multi_worker_util.normalize_cluster_spec(given).as_dict() == WORKERS
    for given in (5, None):
        with pytest.raises(ValueError, match="`cluster_spec' should be dict or a `tf.train.ClusterSpec` or a `tf.train.ClusterDef` object"):
            multi_worker_util.normalize_cluster_spec(given)


@pytest.mark.parametrize(
    ("spec", "chiefs", "count"),
    [(FULL, [("chief", 0), ("evaluator", 0)], {"chief": 3, "worker": 3, "evaluator": 1}), (WORKERS, [("worker", 0)], {"worker": 2})],
)
def test_chiefs_and_counts(spec, chiefs, count):
    tasks = [(kind, i) for kind, addresses in spec.items() for i in range(len(addresses))]
    assert [task for task in tasks if multi_worker_util.is_chief(spec, *task)] == chiefs
    assert {kind: multi_worker_util.worker_count(spec, kind) for kind in spec if kind != "ps"} == count


@pytest.mark.parametrize(
    ("spec", "task", "text"),
    [
        (FULL, (None, None), "None of `cluster_spec`, `task_type`, and `task_id` should be `None`."),
        (FULL, ("worker", 2), "The `task_id` 2 exceeds the maximum id of worker."),
        ({"master": ["m:1"]}, ("master", 0), "Unrecognized task_type: 'master', valid task types are: \"chief\", \"worker\", "),
        (WORKERS, ("chief", 0), "`task_type` 'chief' not found in cluster_spec."),
        ({"chief": ["a:1", "b:2"]}, ("chief", 0), "There must be at most one 'chief' job."),
    ],
)  # fmt: skip
def test_tasks_that_are_not_there(spec, task, text):
    with pytest.raises(ValueError) as raised:
        multi_worker_util.is_chief(spec, *task)
    assert str(raised.value).startswith(text)


def test_parameter_servers_train_nothing():
    with pytest.raises(ValueError, match="Unexpected `task_type` 'ps'"):
        multi_worker_util.worker_count(FULL, "ps")
