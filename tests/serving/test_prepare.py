"""What happens before a version is available: all batch sizes are run and compiled, warm-up records replayed."""

import shutil

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.base import errors
from tfcompat._src.proto import messages
from tfcompat._src.runtime.passes.pipeline import Planner
from tfcompat._src.serving.prepare import WARMUP_FILE, prepare
from tfcompat._src.serving.servable import Servable

from conftest import GOLDEN  # isort: skip


@pytest.fixture
def half(tmp_path):
    """The folder of a copy of a model, and what loads it."""
    folder = tmp_path / "1"
    shutil.copytree(GOLDEN / "half_plus" / "00000003", folder)
    made = []

    def load():
        made.append(Servable("half", 1, str(folder), ["serve"]))
        return made[-1]

    yield folder, load
    for each in made:
        each.close()


@pytest.fixture(scope="module")
def layers(tmp_path_factory):
    """A SavedModel large enough to be compiled."""
    folder = str(tmp_path_factory.mktemp("layers") / "1")
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 64])
        y = x
        for _ in range(4):
            y = tf.layers.dense(y, 256, tf.nn.relu)
        sess.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(sess, folder, {"x": x}, {"y": y})
        feed = np.ones([8, 64], np.float32)
        return folder, feed, sess.run(y, {x: feed})


@pytest.fixture
def planned(monkeypatch):
    """What has been planned since a test began, one item for each plan."""
    found = []
    plan = Planner.plan
    monkeypatch.setattr(Planner, "plan", lambda self, *rest: found.append(rest) or plan(self, *rest))
    return found


def test_no_request_of_a_prepared_size_compiles(layers, compile_counter, planned):
    folder, feed, wanted = layers
    servable = Servable("layers", 1, folder, ["serve"])
    prepare(servable, (1, 8))
    before = compile_counter.count
    assert before and planned
    planned.clear()
    signature = servable.signatures["serving_default"]
    for size in (1, 8):
        for seconds in (0, 30) * 10:  # REST requests have a time limit
            (found,) = servable.run({signature.inputs["x"].name: feed[:size]}, [signature.outputs["y"].name], seconds)
        np.testing.assert_allclose(found, wanted[:size], rtol=1e-5, atol=1e-6)  # sums of 256 products in another order
    assert compile_counter.count == before and not planned
    servable.close()


def test_no_request_with_a_time_limit_compiles_a_loop(tmp_path, compile_counter, planned):
    """A loop heeds a time limit: it has another program than without one."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 64])
        weights = tf.get_variable("weights", initializer=np.eye(64, dtype=np.float32))
        y = tf.while_loop(lambda i, y: i < 50, lambda i, y: (i + 1, tf.tanh(tf.matmul(y, weights))), (0, x))[1]
        sess.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(sess, str(tmp_path / "1"), {"x": x}, {"y": y})
    servable = Servable("loop", 1, str(tmp_path / "1"), ["serve"])
    prepare(servable)
    before = compile_counter.count
    planned.clear()
    for seconds in (0, 30) * 10:
        servable.run({x.name: np.ones([1, 64], np.float32)}, [y.name], seconds)
    assert compile_counter.count == before and not planned
    servable.close()


def test_examples_are_made_for_what_the_graph_parses(half):
    servable = half[1]()
    found = tf.train.Example.FromString(servable.example_for("examples:0"))
    assert list(found.features.feature["x"].float_list.value) == [0.0]
    assert servable.example_for("x:0") == b""


def write(folder, *logs):
    (folder / "assets.extra").mkdir()
    with tf.python_io.TFRecordWriter(str(folder / WARMUP_FILE)) as writer:
        for log in logs:
            writer.write(log if isinstance(log, bytes) else log.SerializeToString())


def regress_log(signature="regress"):
    log = messages.serving.PredictionLog()
    request = log.regress_log.request
    request.model_spec.name, request.model_spec.signature_name = "half", signature
    request.input.example_list.examples.add().features.feature["x"].float_list.value.append(1.0)
    return log


def predict_log():
    log = messages.serving.PredictionLog()
    log.predict_log.request.model_spec.name = "half"
    log.predict_log.request.inputs["x"].CopyFrom(tf.make_tensor_proto([1.0, 2.0]))
    return log


def test_warmup_records_are_replayed(half, monkeypatch):
    folder, load = half
    write(folder, regress_log(), predict_log())
    servable, runs = load(), []
    run = servable.run
    monkeypatch.setattr(servable, "run", lambda feeds, *rest: runs.append(sorted(feeds)) or run(feeds, *rest))
    prepare(servable)
    assert runs == [["examples:0"]] * 4 + [["x:0"]] * 4
    runs.clear()
    prepare(servable, replays_warmup=False)
    assert not runs


@pytest.mark.parametrize("log, error, text", [
    (b"\xff", errors.InvalidArgumentError, "Failed to parse warmup record 0"),
    (regress_log("none"), errors.InvalidArgumentError, "No signature was found with the name: none"),
    (messages.serving.PredictionLog(), errors.UnimplementedError, "Unsupported log_type for warmup: None of record 0"),
])  # fmt: skip
def test_a_warmup_record_that_fails_fails_the_load(half, log, error, text):
    folder, load = half
    write(folder, log)
    with pytest.raises(error, match=text):
        prepare(load())


def test_there_are_at_most_1000_warmup_records(half, monkeypatch):
    folder, load = half
    write(folder, *[b""] * 1001)
    monkeypatch.setattr("tfcompat._src.serving.prepare._answer", lambda *_: None)
    with pytest.raises(errors.InvalidArgumentError, match=r"Number of warmup records exceeds the maximum \(1000\)"):
        prepare(load())
