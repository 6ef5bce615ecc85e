"""Requests and replies in TFRecord files, as the LoggingConfig of a model says."""

import errno
import json
import shutil

import numpy as np
import pytest
from conftest import GOLDEN
from google.protobuf import text_format
from serving_golden import X

import tfcompat as tf
from tfcompat._src.cluster import wire
from tfcompat._src.proto import messages, pool
from tfcompat._src.serving import metrics
from tfcompat._src.serving.grpc_server import Services
from tfcompat._src.serving.manager import Loading, Manager
from tfcompat._src.serving.prepare import WARMUP_FILE, prepare
from tfcompat._src.serving.rest import RestApi
from tfcompat._src.serving.servable import Servable

serving = messages.serving
LOGGED = """
model_config_list { config {
  name: "half" base_path: "%s" model_platform: "tensorflow"
  logging_config { log_collector_config { type: "%s" filename_prefix: "%s" } sampling_config { sampling_rate: %s } }
} }
"""


def load(name, version, path):
    return Servable(name, version, path, ["serve"])


class Kit:
    def __init__(self, prefix, rate=1.0, kind="tfrecord", base=GOLDEN / "half_plus"):
        self.config = text_format.Parse(LOGGED % (base, kind, prefix, rate), serving.ModelServerConfig(), descriptor_pool=pool.POOL)
        self.manager = Manager(Loading(load, poll_seconds=0, retries=0))
        self.manager.start(self.config)
        self.rest, self.grpc = RestApi(self.manager, 30), Services(self.manager)

    def predict(self):
        reply = self.rest.answer("POST", "/v1/models/half:predict", json.dumps({"instances": X}).encode())
        assert reply.status == 200
        return json.loads(reply.body)["predictions"]


def logs_in(folder):
    return [serving.PredictionLog.FromString(record) for file in sorted(folder.glob("log-*")) for record in tf.python_io.tf_record_iterator(str(file))]


def regress_request():
    request = serving.RegressionRequest()
    request.model_spec.name, request.model_spec.signature_name = "half", "regress"
    request.input.example_list.examples.add().features.feature["x"].float_list.value.append(1.0)
    return request


def test_requests_of_both_interfaces_are_logged(tmp_path):
    kit = Kit(tmp_path / "log")
    predictions = kit.predict()
    request = regress_request()
    regressed = kit.grpc.Regress(request, 0)
    assert kit.rest.answer("POST", "/v1/models/half:regress", b'{"signature_name": "regress", "examples": [{"x": 1.0}]}').status == 200
    assert kit.rest.answer("POST", "/v1/models/half:predict", b"{}").status == 400  # a failure has no reply to log
    kit.manager.stop()
    first, second, third = logs_in(tmp_path)
    assert first.log_metadata.model_spec == serving.ModelSpec(name="half", signature_name="serving_default", version={"value": 3})
    assert (first.log_metadata.sampling_config.sampling_rate, list(first.log_metadata.saved_model_tags)) == (1.0, ["serve"])
    np.testing.assert_array_equal(wire.from_proto(first.predict_log.request.inputs["x"]), np.float32(X))
    np.testing.assert_array_equal(wire.from_proto(first.predict_log.response.outputs["y"]), np.float32(predictions))
    assert (second.regress_log.request, second.regress_log.response) == (request, regressed)
    assert third.regress_log.response == regressed


def test_a_log_is_a_warmup_file(tmp_path):
    kit = Kit(tmp_path / "log")
    kit.predict()
    kit.manager.stop()
    shutil.copytree(GOLDEN / "half_plus" / "00000003", tmp_path / "model")
    (tmp_path / "model" / WARMUP_FILE).parent.mkdir()
    (log,) = tmp_path.glob("log-*")
    log.rename(tmp_path / "model" / WARMUP_FILE)
    servable = load("half", 3, str(tmp_path / "model"))
    runs = metrics.WARMUP_LATENCY.values()
    prepare(servable)
    assert metrics.WARMUP_LATENCY.values() != runs
    servable.close()


@pytest.mark.parametrize("rate, drawn, count", [(0.0, 0.0, 0), (0.25, 0.24, 1), (0.25, 0.25, 0)])
def test_a_part_is_drawn(tmp_path, monkeypatch, rate, drawn, count):
    monkeypatch.setattr("tfcompat._src.serving.request_log.random.random", lambda: drawn)
    kit = Kit(tmp_path / "log", rate)
    kit.predict()
    kit.manager.stop()
    assert len(logs_in(tmp_path)) == count


def test_a_log_that_stays_goes_on_after_a_reload(tmp_path):
    kit = Kit(tmp_path / "log")
    kit.predict()
    kit.manager.reload(kit.config)
    kit.predict()
    kit.config.model_config_list.config[0].ClearField("logging_config")
    kit.manager.reload(kit.config)
    kit.predict()
    kit.manager.stop()
    assert len(list(tmp_path.glob("log-*"))) == 1 and len(logs_in(tmp_path)) == 2


def test_a_full_disk_fails_no_request(tmp_path):
    """Here: a folder that is not there. It is counted."""
    kit = Kit(tmp_path / "none" / "log")
    count = metrics.REQUEST_LOG_COUNT.values().get(("half", "NOT_FOUND"), 0)
    assert len(kit.predict()) == len(X)
    assert metrics.REQUEST_LOG_COUNT.values()["half", "NOT_FOUND"] == count + 1
    kit.manager.stop()


@pytest.mark.parametrize("prefix, rate, kind, text", [
    ("log", 1, "", "Cannot find LogCollector::Factory for type: . Model half can have type 'tfrecord'."),
    ("", 1, "tfrecord", "has no filename_prefix"), ("log", 1.5, "tfrecord", "The sampling_rate of model half is 1.5"),
])  # fmt: skip
def test_configurations_that_are_refused(prefix, rate, kind, text):
    with pytest.raises(tf.errors.OpError, match=text):
        Kit(prefix, rate, kind)


def test_a_log_that_was_moved_away_is_followed_by_another(tmp_path):
    kit = Kit(tmp_path / "log")
    kit.predict()
    (log,) = tmp_path.glob("log-*")
    log.rename(tmp_path / "log-0")
    kit.predict()
    kit.predict()
    kit.manager.stop()
    assert log.exists()
    assert len(logs_in(tmp_path)) == 3


def test_a_record_that_is_not_written_whole_is_taken_back(tmp_path, monkeypatch):
    kit = Kit(tmp_path / "log")
    kit.predict()
    flush = tf.python_io.TFRecordWriter.flush

    def full(writer):
        flush(writer)
        log = max(tmp_path.glob("log-*"))
        with log.open("r+b") as file:
            file.truncate(log.stat().st_size - 5)
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(tf.python_io.TFRecordWriter, "flush", full)
        for _ in range(3):
            kit.predict()
    kit.predict()
    kit.manager.stop()
    assert [len(list(tf.python_io.tf_record_iterator(str(log)))) for log in sorted(tmp_path.glob("log-*"))] == [1, 1]
