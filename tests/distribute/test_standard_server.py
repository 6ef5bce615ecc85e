"""Servers that TF_CONFIG describes: settings and errors are 1.15.5's."""

import json
import threading
import time

import pytest

import tfcompat as tf
from tfcompat._src.distribute import distribute_coordinator


class Started:
    """A server that records how it is made."""

    def __init__(self, **settings):
        self.settings, self.starts = settings, 0

    def start(self):
        self.starts += 1


@pytest.fixture
def recorded(monkeypatch):
    monkeypatch.setattr(distribute_coordinator, "_run_std_server", Started)


@pytest.mark.usefixtures("recorded")
def test_the_server_is_told_the_leader_of_collective_operations(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", '{"cluster": {"worker": ["a:1"], "ps": ["b:1"]}, "task": {"type": "ps"}}')
    server = tf.contrib.distribute.run_standard_tensorflow_server(tf.ConfigProto(intra_op_parallelism_threads=1))
    made = server.settings
    assert (made["task_type"], made["task_id"], made["rpc_layer"], server.starts) == ("ps", 0, "grpc", 1)
    assert made["session_config"].experimental.collective_group_leader == "/job:worker/replica:0/task:0"
    assert made["session_config"].intra_op_parallelism_threads == 1


@pytest.mark.parametrize(
    ("tf_config", "message"),
    [
        ({}, '"cluster" is not found in TF_CONFIG.'),
        ({"cluster": {"worker": ["a:1"]}}, '"task" is not found in TF_CONFIG.'),
        ({"cluster": {"worker": ["a:1"]}, "task": {"index": 0}}, '"task_type" is not found in the `task` part of TF_CONFIG.'),
        ({"cluster": {"ps": ["a:1"]}, "task": {"type": "ps"}}, "You must have `chief` or `worker` jobs in the `cluster_spec`."),
    ],
)
@pytest.mark.usefixtures("recorded")
def test_an_incomplete_tf_config(monkeypatch, tf_config, message):
    monkeypatch.setenv("TF_CONFIG", json.dumps(tf_config))
    with pytest.raises(ValueError) as raised:
        tf.contrib.distribute.run_standard_tensorflow_server()
    assert str(raised.value) == message


@pytest.mark.usefixtures("recorded")
def test_sessions_keep_the_settings_of_the_server_but_its_device_filters():
    class Counted:
        class extended:
            experimental_between_graph = True

        def configure(self, session_config, cluster_spec=None, task_type=None, task_id=None):
            session_config.intra_op_parallelism_threads += 1
            session_config.device_filters.append("/job:ps")

    found = []

    def work(strategy):
        found.append(distribute_coordinator.get_current_worker_context().session_config)

    distribute_coordinator.run_distribute_coordinator(
        work, Counted(), mode="independent_worker", cluster_spec={"worker": ["a:1"], "ps": ["b:1"]}, task_type="worker", task_id=0
    )
    assert (found[0].intra_op_parallelism_threads, list(found[0].device_filters)) == (2, ["/job:ps"])


def test_an_environment_that_starts_servers(monkeypatch):
    class Ended(BaseException):
        """Ends the wait of the task."""

    def end(seconds):
        raise Ended

    monkeypatch.setenv("TF_CONFIG", '{"cluster": {"ps": ["localhost:1"], "worker": ["b:1"]}, "task": {"type": "ps", "index": 0}, "environment": "google"}')
    monkeypatch.setattr(distribute_coordinator, "_thread_local", threading.local())
    monkeypatch.setattr(time, "sleep", end)
    opened = []
    monkeypatch.setattr(distribute_coordinator, "Session", lambda target, config: opened.append(target))
    with pytest.raises(Ended):
        distribute_coordinator.run_distribute_coordinator(None, tf.distribute.experimental.ParameterServerStrategy(), mode="independent_worker")
    assert opened == ["grpc://localhost:1"]
