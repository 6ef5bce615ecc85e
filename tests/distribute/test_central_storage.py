"""Strategies with variables on one device, without a cluster: expected values are 1.15.5's."""

import pytest

import tfcompat as tf
from tfcompat._src.distribute.cluster_resolver.cluster_resolver import SimpleClusterResolver
from tfcompat._src.distribute.collective_all_reduce_strategy import CollectiveAllReduceExtended, CollectiveCommunication
from tfcompat._src.distribute.parameter_server_strategy import CentralStorageStrategy
from tfcompat._src.distribute.variables import AggregatingVariable
from tfcompat._src.variables.resource_variable import ResourceVariable

CPU, GPU, SECOND = (f"/replica:0/task:0/device:{d}" for d in ("CPU:0", "GPU:0", "GPU:1"))


@pytest.mark.parametrize(
    ("make", "workers", "parameters", "kind", "place"),
    [
        (lambda: tf.distribute.experimental.CentralStorageStrategy(), (CPU,), "/device:CPU:0", ResourceVariable, "/device:CPU:0"),
        (lambda: tf.distribute.experimental.CentralStorageStrategy(["/gpu:0"]), (GPU,), "/gpu:0", ResourceVariable, "/device:GPU:0"),
        (lambda: CentralStorageStrategy._from_num_gpus(2), (GPU, SECOND), "/device:CPU:0", AggregatingVariable, "/device:CPU:0"),
        (lambda: tf.contrib.distribute.ParameterServerStrategy(1), (GPU,), "/device:GPU:0", ResourceVariable, "/device:GPU:0"),
        (lambda: tf.contrib.distribute.ParameterServerStrategy(2), (GPU, SECOND), "/device:CPU:0", AggregatingVariable, "/device:CPU:0"),
        (lambda: tf.distribute.experimental.ParameterServerStrategy(), (CPU,), "/device:CPU:0", ResourceVariable, "/device:CPU:0"),
    ],
)
def test_devices_and_variables(make, workers, parameters, kind, place):
    strategy = make()
    with tf.Graph().as_default(), strategy.scope():
        v = tf.get_variable("v", initializer=1.0)
        assert (strategy.extended.worker_devices, strategy.extended.parameter_devices) == (workers, (parameters,))
        assert (type(v), v.device, v._distribute_strategy is strategy) == (kind, place, True)
        (listed,) = tf.global_variables()
        assert listed is v
    assert strategy.extended.experimental_between_graph
    assert strategy.update_config_proto(tf.ConfigProto()).isolate_session_state


def test_a_resolver_says_how_many_gpus_a_worker_has():
    cluster = tf.train.ClusterSpec({"worker": ["a:1", "b:1", "c:1"]})
    resolver = SimpleClusterResolver(cluster, task_type="worker", task_id=0, num_accelerators={"GPU": 2})
    strategy = tf.distribute.Strategy.__new__(tf.distribute.experimental.MultiWorkerMirroredStrategy)
    tf.distribute.Strategy.__init__(strategy, CollectiveAllReduceExtended(strategy, CollectiveCommunication.AUTO, resolver))
    assert strategy.num_replicas_in_sync == 6
    assert strategy.extended.worker_devices == tuple(f"/job:worker/replica:0/task:0/device:GPU:{i}" for i in (0, 1))


def test_contrib_strategies_join_the_cluster_of_tf_config(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", '{"cluster": {"worker": ["a:1", "b:1"], "ps": ["c:1"]}, "task": {"type": "worker", "index": 1}}')
    extended = tf.contrib.distribute.ParameterServerStrategy(2).extended
    assert extended.parameter_devices == ("/job:ps/task:0",)
    assert extended.worker_devices == tuple(f"/job:worker/replica:0/task:1/device:GPU:{i}" for i in (0, 1))


def test_components_of_mirrored_variables_know_their_strategy():
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/gpu:0"])
    with tf.Graph().as_default(), strategy.scope():
        v = tf.get_variable("v", initializer=1.0)
    assert all(component._distribute_strategy is strategy for component in v.values)
