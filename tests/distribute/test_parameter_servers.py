"""ParameterServerStrategy over processes. Values are those of TensorFlow 1.15.5 with `parameter_servers.py`."""

import json
import pathlib
import sys

import children
import numpy as np
import pytest
from cluster import processes

import tfcompat as tf

PROGRAM = pathlib.Path(__file__).parent / "parameter_servers.py"
CLIENT = PROGRAM.parent / "standalone_client.py"


def train(folder, workers):
    """What the chief and the workers print; the servers are ended with them."""
    addresses = processes.free_addresses(3 + workers)
    parts = [",".join(part) for part in (addresses[:2], addresses[2:3], addresses[3:]) if part]
    tasks = [("ps", 0), ("ps", 1), ("chief", 0), *(("worker", i) for i in range(workers))]
    started = [children.start(sys.executable, *children.RUN, PROGRAM, str(folder), job, str(i), *parts, XLA_FLAGS="") for job, i in tasks]
    try:
        ended = [children.end(process) for process in started[2:]]
        assert [process.returncode for process in started[2:]] == [0] * (1 + workers), ended
    finally:
        for process in started[:2]:
            process.kill()
            process.communicate()
    return [[json.loads(line) for line in out.splitlines()] for out, _ in ended]


def test_a_chief_trains_as_tensorflow_does(tmp_path):
    ((devices, done),) = train(tmp_path, 0)
    assert done == "done" and devices == {
        "global_step:0": "/job:ps/task:0", "dense/kernel:0": "/job:ps/task:1", "dense/bias:0": "/job:ps/task:0",
        "dense_1/kernel:0": "/job:ps/task:1", "dense_1/bias:0": "/job:ps/task:0",
    }  # fmt: skip
    reader = tf.train.load_checkpoint(str(tmp_path))
    wanted = {
        "beta1_power": [0.03815], "dense/bias": [0.09381, 0.19911, -0.00137], "dense/kernel": [0.97698, 0.87880, 0.93643],
        "dense/kernel/Adam": [-0.00507, 0.05161, 0.00348], "dense_1/bias": [-0.02662], "dense_1/kernel": [-0.04011, 0.81533, 0.91765],
        "global_step": [30],
    }  # fmt: skip
    for name, values in wanted.items():
        np.testing.assert_allclose(np.ravel(reader.get_tensor(name))[:3], values, atol=2e-5)
    assert (tmp_path / "model.ckpt-30.data-00001-of-00002").exists()


def test_workers_train_beside_the_chief(tmp_path):
    (_, done), worker = train(tmp_path, 1)
    assert (done, worker) == ("done", ["done"])
    assert tf.train.load_checkpoint(str(tmp_path)).get_tensor("global_step") >= 30


def test_a_cluster_without_parameter_servers_is_refused():
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(tf.train.ClusterSpec({"worker": ["a:1", "b:1"]}), task_type="worker", task_id=0)
    with pytest.raises(ValueError, match="The cluster spec needs to have `ps` jobs"):
        tf.distribute.experimental.ParameterServerStrategy(resolver)


def test_a_task_places_variables_on_the_servers_in_turn():
    spec = tf.train.ClusterSpec({"ps": ["a:1", "b:1"], "worker": ["c:1", "d:1"]})
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(spec, task_type="worker", task_id=1)
    strategy = tf.distribute.experimental.ParameterServerStrategy(resolver)
    with tf.Graph().as_default(), strategy.scope():
        a, b = tf.get_variable("a", [2]), tf.get_variable("b", [2])
        assert [a.device, b.device, (a + b).device] == ["/job:ps/task:0", "/job:ps/task:1", "/job:worker/task:1"]
    extended = strategy.extended
    assert extended.parameter_devices == ("/job:ps/task:0", "/job:ps/task:1")
    assert extended.worker_devices == ("/job:worker/replica:0/task:1/device:CPU:0",)
    assert (extended.should_checkpoint, extended.experimental_should_init, extended.experimental_between_graph) == (False, False, True)
    config = extended._update_config_proto(tf.ConfigProto(device_filters=["/job:x"]))
    assert list(config.device_filters) == ["/job:worker/task:1", "/job:ps"] and not config.isolate_session_state


def test_a_client_runs_the_workers_of_a_cluster(tmp_path):
    """Each of two workers adds its number plus one to the variable of the server, and then sees both."""
    parts = processes.free_addresses(3)
    started = [children.start(sys.executable, *children.RUN, CLIENT, *parts, job, str(i), XLA_FLAGS="") for job, i in (("ps", 0), ("worker", 0), ("worker", 1))]
    try:
        client = children.start(sys.executable, *children.RUN, CLIENT, *parts, XLA_FLAGS="")
        out, _ = children.end(client)
        assert json.loads(out) == {"results": [4.0, 4.0], "workers": [2, 2], "chiefs": [False, True]}
    finally:
        for process in started:
            process.kill()
            process.communicate()
