"""TPUClusterResolver, and who asks it: TPUStrategy, initialize_tpu_system, RunConfig. Resolvers' values were recorded with TensorFlow 1.15.5."""

import json
import sys
import types
from pathlib import Path

import jax
import numpy as np
import pytest
import six

import tfcompat as tf
from distribute import tpu_resolvers
from tfcompat._src.distribute.cluster_resolver import tpu
from tfcompat._src.eager.mode import eager_mode
from tfcompat._src.runtime.devices import devices
from tfcompat._src.runtime.devices.devices import DeviceAttributes
from tfcompat._src.runtime.session.session import BaseSession

WANTED = json.loads((Path(__file__).resolve().parent.parent / "golden/distribute/tpu_resolvers.json").read_text())
Resolver = tf.distribute.cluster_resolver.TPUClusterResolver


@pytest.fixture(autouse=True)
def outside_of_the_cloud(monkeypatch):
    monkeypatch.setattr(tpu, "is_running_in_gce", lambda: False)
    monkeypatch.setattr(Resolver, "_request_compute_metadata", Resolver._request_compute_metadata)
    for key in ("TPU_NAME", "TPU_API_DISCOVERY_URL", "KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS"):
        monkeypatch.setenv(key, "")  # restores what tests set and remove
        monkeypatch.delenv(key)
    for name in ("googleapiclient.discovery", "oauth2client.client"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.parametrize("case", tpu_resolvers.CASES)
def test_resolvers(case):
    with tf.Graph().as_default():
        assert tpu_resolvers.outcome(tpu, case) == WANTED["graph"][case]
    with eager_mode():
        assert tpu_resolvers.outcome(tpu, case) == WANTED["eager"][case]


def test_another_task_of_the_same_resolver():
    found = Resolver(tpu="ready", **tpu_resolvers.HERE)
    found.task_id = 1
    assert found.master() == found.get_master() == "grpc://10.0.0.2:8470"
    found.task_id = None
    assert found.master() == "grpc://10.0.0.1:8470"


def test_the_coordinator_is_a_server_of_this_process(monkeypatch):
    monkeypatch.setattr(Resolver, "_request_compute_metadata", lambda self, path: {"instance/network-interfaces/0/ip": b"10.0.0.5"}[path])
    found = Resolver(tpu="ready", coordinator_name="c", **tpu_resolvers.HERE)
    (address,) = found.cluster_spec().as_dict()["c"]
    host, _, port = address.partition(":")
    assert host == "10.0.0.5"
    with tf.Graph().as_default(), tf.Session(f"grpc://localhost:{port}") as session:
        assert session.run(tf.constant(3)) == 3


def test_the_service_of_the_installed_client(monkeypatch):
    built = []

    def build(*args, **kwargs):
        built.append((args, kwargs))
        return tpu_resolvers.Service()

    class GoogleCredentials:
        get_application_default = staticmethod(lambda: "mine")

    for name, value in {"discovery": {"build": build}, "client": {"GoogleCredentials": GoogleCredentials}}.items():
        module = types.ModuleType(name)
        vars(module).update(value)
        monkeypatch.setitem(sys.modules, {"discovery": "googleapiclient.discovery", "client": "oauth2client.client"}[name], module)
        parent = {"discovery": "googleapiclient", "client": "oauth2client"}[name]
        monkeypatch.setitem(sys.modules, parent, types.ModuleType(parent))
    asked = {"project": "p", "zone": "z"}
    assert Resolver("ready", **asked).master() == "grpc://10.0.0.1:8470"
    assert Resolver("ready", credentials="given", discovery_url="https://x", **asked).master() == "grpc://10.0.0.1:8470"
    common = {"cache_discovery": False}
    assert built == [
        (("tpu", "v1"), {"credentials": "mine", **common}),
        (("tpu", "v1"), {"credentials": "given", "discoveryServiceUrl": "https://x", **common}),
    ]


@pytest.mark.parametrize(("headers", "wanted"), [({"Metadata-Flavor": "Google"}, True), ({}, False), (None, False)])
def test_the_metadata_server(monkeypatch, headers, wanted):
    asked = []

    class Reply:
        info = staticmethod(lambda: headers)
        read = staticmethod(lambda: b"zone")

    def urlopen(request, timeout=None):
        asked.append((request.full_url, request.get_header("Metadata-flavor"), timeout))
        if headers is None:
            raise six.moves.urllib.error.URLError("no such host")
        return Reply()

    monkeypatch.undo()
    monkeypatch.setattr(six.moves.urllib.request, "urlopen", urlopen)
    assert tpu.is_running_in_gce() is wanted
    assert asked == [("http://metadata.google.internal/computeMetadata/v1", "Google", 1)]
    if wanted:
        assert Resolver("local")._request_compute_metadata("instance/zone") == b"zone"
        assert asked[1:] == [("http://metadata.google.internal/computeMetadata/v1/instance/zone", "Google", None)]


def cores(*names):
    return lambda self: [DeviceAttributes(f"/job:w/replica:0/task:{name}", name.rpartition("device:")[-1][:3], 0, 0) for name in names]


def test_cores_of_tasks(monkeypatch):
    monkeypatch.setattr(BaseSession, "list_devices", cores("1/device:TPU:0", "0/device:TPU:1", "0/device:TPU:0", "1/device:TPU:1", "0/device:CPU:0"))
    assert Resolver("").num_accelerators() == {"TPU": 2}
    topology = tf.tpu.experimental.initialize_tpu_system(Resolver(""))
    assert topology.device_coordinates.tolist() == [[[0, 0, 0], [1, 0, 0]], [[2, 0, 0], [3, 0, 0]]]
    assert topology.mesh_shape.tolist() == [4, 1, 1]
    monkeypatch.setattr(BaseSession, "list_devices", cores("0/device:TPU:0", "0/device:TPU:1", "1/device:TPU:0"))
    with pytest.raises(RuntimeError, match="TPU cores on each device is not the same"):
        Resolver("").num_accelerators()
    with pytest.raises(RuntimeError, match="as many TPU cores"):
        tf.tpu.experimental.initialize_tpu_system()
    with pytest.raises(AssertionError, match="takes a TPUClusterResolver"):
        tf.tpu.experimental.initialize_tpu_system("local")


def test_a_master_that_does_not_answer(monkeypatch):
    def refuse(self):
        tries.append(self)
        raise tf.errors.DeadlineExceededError(None, None, "timeout")

    tries = []
    monkeypatch.setattr(BaseSession, "list_devices", refuse)
    with pytest.raises(RuntimeError, match=r"Failed to connect to master.*got \(\)"):
        Resolver("").num_accelerators()
    assert len(tries) == 121


def test_a_strategy_on_the_cores_of_a_server(monkeypatch):
    monkeypatch.setattr(BaseSession, "list_devices", cores("0/device:TPU:1", "0/device:CPU:0", "0/device:TPU:0"))
    with tf.Graph().as_default():
        strategy = tf.distribute.experimental.TPUStrategy(Resolver("grpc://a:1", job_name="w"))
        assert strategy.extended.worker_devices == tuple(f"/job:w/replica:0/task:0/device:TPU:{i}" for i in range(2))
        topology = tf.tpu.experimental.initialize_tpu_system()
        one = tf.tpu.experimental.DeviceAssignment(topology, [[[0, 0, 0]]])
        assert tf.contrib.distribute.TPUStrategy(Resolver(""), device_assignment=one).num_replicas_in_sync == 1
        for other in ([[[1, 0, 0]]], [[[0, 0, 0]], [[1, 0, 0]]], [[[0, 0, 0], [1, 0, 0]]]):
            with pytest.raises(ValueError, match="single core single replica"):
                tf.contrib.distribute.TPUStrategy(Resolver(""), device_assignment=tf.tpu.experimental.DeviceAssignment(topology, other))


def test_without_tpus():
    for call in (tf.distribute.experimental.TPUStrategy, tf.tpu.experimental.initialize_tpu_system):
        with pytest.raises(tf.errors.NotFoundError, match="A session on 'local' has no TPU.*doctor"):
            call(Resolver("local"))
    server = tf.train.Server.create_local_server()
    with pytest.raises(tf.errors.NotFoundError, match=f"A session on '{server.target}' has no TPU"):
        tf.distribute.experimental.TPUStrategy(Resolver(server.target, job_name="tpu"))


def model_fn(features, labels, mode, params):
    w = tf.get_variable("w", [1], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(features * w - labels))
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    optimizer = tf.contrib.tpu.CrossShardOptimizer(optimizer) if params["use_tpu"] else optimizer
    return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=optimizer.minimize(loss, tf.train.get_or_create_global_step()))


def input_fn(params):
    return tf.data.Dataset.from_tensors((np.float32([1.0]), np.float32([2.0]))).repeat().batch(params["batch_size"], drop_remainder=True)


@pytest.mark.parametrize("where", ["", "local", "server"])
def test_an_estimator(tmp_path, where):
    server = tf.train.Server.create_local_server() if where == "server" else None
    resolver = Resolver(server.target if server else where)
    config = tf.contrib.tpu.RunConfig(cluster=resolver, model_dir=str(tmp_path))
    assert (config.master, config.cluster) == (server.target if server else where, resolver)
    tf.contrib.tpu.TPUEstimator(model_fn, config=config, use_tpu=False, train_batch_size=2).train(input_fn, max_steps=3)
    # Each step multiplies what is missing of 2 by 1 - 2 * 0.1.
    assert tf.train.load_variable(str(tmp_path), "w") == pytest.approx([2.0 - 2.0 * 0.8**3])


@pytest.mark.parametrize("where", ["", "local", "server"])
def test_training_on_cores(monkeypatch, where):
    # The CPU stands in for two cores.
    monkeypatch.setattr(devices, "_accelerators", lambda: [("TPU", device) for device in jax.local_devices(backend="cpu")[:1] * 2])
    server = tf.train.Server.create_local_server() if where == "server" else None
    resolver, task = (Resolver(server.target, job_name="tpu"), "/job:tpu") if server else (Resolver(where), "/job:localhost")
    config = tf.ConfigProto(cluster_def=resolver.cluster_spec().as_cluster_def()) if server else None
    assert resolver.num_accelerators(config_proto=config) == {"TPU": 2}
    assert tf.tpu.experimental.initialize_tpu_system(resolver).num_tpus_per_task == 2
    with tf.Graph().as_default():
        strategy = tf.distribute.experimental.TPUStrategy(resolver)
        with strategy.scope():
            weight = tf.get_variable("w", initializer=[2.0])
            iterator = strategy.make_dataset_iterator(tf.data.Dataset.from_tensors([1.0]).repeat(4).batch(2))
            step = lambda x: tf.train.GradientDescentOptimizer(0.1).minimize(lambda: tf.reduce_sum(x * weight))  # noqa: E731
            train = strategy.group(strategy.experimental_run(step, iterator))
        assert [v.device for v in weight.values] == [f"{task}/replica:0/task:0/device:TPU:{i}" for i in range(2)]
        with tf.Session(resolver.master(), config=config) as session:
            session.run([tf.global_variables_initializer(), iterator.initialize()])
            session.run(train)
            assert [v.tolist() for v in session.run(weight.values)] == [pytest.approx([2.0 - 0.1 * 2 * 1.0])] * 2
