"""Cluster resolvers; expected values follow from the clusters that are given."""

import json
import sys
from types import SimpleNamespace

import pytest

import tfcompat as tf
from tfcompat._src.distribute.cluster_resolver.slurm import SlurmClusterResolver as Slurm
from tfcompat._src.eager.mode import eager_mode

resolvers = tf.distribute.cluster_resolver
SPEC = {"worker": ["a:1", "b:2"], "ps": ["c:3"]}


def test_simple():
    found = resolvers.SimpleClusterResolver(tf.train.ClusterSpec(SPEC), "m:9", "worker", 1, num_accelerators={"GPU": 2}, rpc_layer="grpc")
    assert found.cluster_spec().as_dict() == SPEC
    assert (found.master(), found.master("ps", 0), found.master("ps", 0, "http")) == ("grpc://m:9", "grpc://c:3", "http://c:3")
    assert (found.task_type, found.task_id, found.num_accelerators()) == ("worker", 1, {"GPU": 2})
    with pytest.raises(TypeError, match="ClusterSpec"):
        resolvers.SimpleClusterResolver(SPEC)


def test_union():
    simple = [resolvers.SimpleClusterResolver(tf.train.ClusterSpec(s)) for s in (SPEC, {"worker": ["d:4"]})]
    assert resolvers.UnionResolver(*simple).cluster_spec().as_dict() == {"worker": ["a:1", "b:2", "d:4"], "ps": ["c:3"]}
    assert resolvers.UnionResolver(*simple, task_id=5).task_id == 5
    numbered = resolvers.SimpleClusterResolver(tf.train.ClusterSpec({"worker": {1: "e:5"}}))
    with pytest.raises(KeyError, match="Duplicate keys"):
        resolvers.UnionResolver(simple[0], numbered).cluster_spec()
    with pytest.raises(ValueError, match="At least one"):
        resolvers.UnionResolver()
    with pytest.raises(TypeError):
        resolvers.UnionResolver("x")


def test_tf_config(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": SPEC, "task": {"type": "worker", "index": 1}, "rpc_layer": "grpc"}))
    found = resolvers.TFConfigClusterResolver()
    assert (found.task_type, found.task_id, found.rpc_layer, found.master()) == ("worker", 1, "grpc", "grpc://b:2")
    assert found.master("ps", 0) == "grpc://c:3"
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": {"worker": ["a:1"]}}))
    assert found.master() == ""
    monkeypatch.delenv("TF_CONFIG")
    assert found.cluster_spec().as_dict() == {} and found.master() == ""


def test_eager_programs_count_no_cpus(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    found = resolvers.TFConfigClusterResolver()
    with tf.Graph().as_default():
        assert found.num_accelerators() == {"CPU": 1}
    with eager_mode():
        assert found.num_accelerators() == {}


def test_a_mirrored_strategy_of_several_processes(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": SPEC, "task": {"type": "worker", "index": 0}}))
    for devices in (None, ["/job:worker/task:1/gpu:0"], ["/job:worker/task:0/cpu:0", "/job:worker/task:1/cpu:0"]):
        with pytest.raises(ValueError, match="In-graph multi-worker training"):
            tf.distribute.MirroredStrategy(devices)
    with pytest.raises(ValueError, match="Remote device string must have job"):
        tf.distribute.MirroredStrategy(["/job:worker/task:0/cpu:0", "/cpu:0"])
    one = tf.distribute.MirroredStrategy(["/job:worker/task:0/cpu:0"]).extended
    assert (one.worker_devices, one._default_device) == (("/job:worker/replica:0/task:0/device:CPU:0",), "/job:worker/task:0")
    reduces = tf.contrib.distribute.MultiWorkerAllReduce(["/job:worker/task:0", "/job:worker/task:1"], 0)
    two = tf.distribute.MirroredStrategy(cross_device_ops=reduces)
    assert two.extended.worker_devices == tuple(f"/job:worker/replica:0/task:{i}/device:CPU:0" for i in range(2))


def test_one_graph_over_two_workers():
    from tfcompat._src.testing.multi_worker_test_base import create_in_process_cluster

    cluster = create_in_process_cluster(num_workers=2, num_ps=0)
    reduces = tf.contrib.distribute.MultiWorkerAllReduce(["/job:worker/task:0", "/job:worker/task:1"], 0, ("pscpu/pscpu", 2, -1))
    with tf.Graph().as_default():
        strategy = tf.distribute.MirroredStrategy(cross_device_ops=reduces)
        strategy.configure(cluster_spec=cluster)
        with strategy.scope():
            weight = tf.get_variable("w", initializer=[2.0])
            iterator = strategy.make_dataset_iterator(tf.data.Dataset.from_tensors([1.0, 3.0]).repeat().apply(tf.data.experimental.ignore_errors()))

            def step(x):
                return tf.train.GradientDescentOptimizer(0.1).minimize(lambda: tf.reduce_sum(x * weight))

            train = strategy.group(strategy.experimental_run(step, iterator))
        assert [v.device for v in weight.values] == [f"/job:worker/replica:0/task:{i}/device:CPU:0" for i in range(2)]
        with tf.Session("grpc://" + cluster["worker"][0]) as session:
            session.run(tf.global_variables_initializer())
            session.run(iterator.initialize())
            for _ in range(2):
                session.run(train)
            assert [v.tolist() for v in session.run(weight.values)] == [pytest.approx([2.0 - 2 * 0.1 * 4.0])] * 2


def test_slurm(monkeypatch):
    for key, value in {"SLURM_PROCID": "2", "SLURM_NTASKS": "4", "SLURM_NTASKS_PER_NODE": "2"}.items():
        monkeypatch.setenv(key, value)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "none")
    monkeypatch.delenv("OMPI_COMM_WORLD_RANK", raising=False)
    monkeypatch.setattr(Slurm, "_resolve_hostnames", lambda self: ["x", "y"])
    found = resolvers.SlurmClusterResolver({"ps": 1, "worker": 3}, port_base=80, gpus_per_node=4, gpus_per_task=2)
    assert found.cluster_spec().as_dict() == {"ps": ["x:80"], "worker": ["x:81", "y:80", "y:81"]}
    assert found.get_task_info() == ("worker", 1) and found.master() == "grpc://y:80"
    assert found.num_accelerators() == {"GPU": 4}
    with pytest.raises(RuntimeError, match="more tasks"):
        resolvers.SlurmClusterResolver({"ps": 1}, gpus_per_node=4)
    with pytest.raises(RuntimeError, match="more GPUs"):
        resolvers.SlurmClusterResolver({"ps": 4})


class Reply:
    """What a request of the Compute Engine gives."""

    def __init__(self, value):
        self.value = value

    def execute(self):
        return self.value


class Engine:
    """A group of machines, told in two pages."""

    pages = [["m2", "m1"], ["m3"]]

    def instanceGroups(self):
        return self

    def listInstances(self, project, zone, instanceGroups, body, orderBy):
        assert (project, zone, instanceGroups, body, orderBy) == ("p", "z", "g", {"instanceState": "RUNNING"}, "name")
        return Reply({"items": [{"instance": f"https://x/{name}"} for name in self.pages[0]]})

    def listInstances_next(self, previous_request, previous_response):
        is_first = len(previous_response["items"]) == 2
        return Reply({"items": [{"instance": f"https://x/{name}"} for name in self.pages[1]]}) if is_first else None

    def instances(self):
        return self

    def get(self, project, zone, instance):
        return Reply({"networkInterfaces": [{"networkIP": f"10.0.0.{instance[1:]}"}]})


def test_gce():
    found = resolvers.GCEClusterResolver("p", "z", "g", 8470, service=Engine())
    assert found.cluster_spec().as_dict() == {"worker": ["10.0.0.1:8470", "10.0.0.2:8470", "10.0.0.3:8470"]}
    assert (found.master(), found.master("worker", 2), found.master("worker", 1, "http")) == (
        "grpc://10.0.0.1:8470", "grpc://10.0.0.3:8470", "http://10.0.0.2:8470",
    )  # fmt: skip
    found.task_id, found.rpc_layer = 1, ""
    assert (found.master(), found.task_type) == ("10.0.0.2:8470", "worker")
    with pytest.raises(RuntimeError, match="cannot reset the task_type"):
        found.task_type = "ps"


class Pods:
    """A cluster of pods by their labels."""

    def __init__(self, **phases):
        self.phases = phases

    def list_pod_for_all_namespaces(self, label_selector):
        found = [SimpleNamespace(metadata=SimpleNamespace(name=n), status=SimpleNamespace(phase=p, host_ip=f"{label_selector}-{n}"))
                 for n, p in self.phases.items()]  # fmt: skip
        return SimpleNamespace(items=found)


def test_kubernetes():
    found = resolvers.KubernetesClusterResolver({"worker": ["a", "b"], "ps": ["c"]}, 1, override_client=Pods(y="Running", x="Running"))
    assert found.cluster_spec().as_dict() == {"worker": ["a-x:1", "a-y:1", "b-x:1", "b-y:1"], "ps": ["c-x:1", "c-y:1"]}
    assert (found.master(), found.master("ps", 1)) == ("", "grpc://c-y:1")
    found = resolvers.KubernetesClusterResolver(override_client=Pods(x="Pending"))
    with pytest.raises(RuntimeError, match='Pod "x" is not running; phase: "Pending"'):
        found.cluster_spec()


@pytest.mark.parametrize("make", [lambda: resolvers.GCEClusterResolver("p", "z", "g", 1), resolvers.KubernetesClusterResolver])
def test_clouds_need_a_client(make, monkeypatch):
    for name in ("googleapiclient.discovery", "kubernetes"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="needs the package"):
        make()
