"""Two workers that are processes: collective nodes, and MultiWorkerMirroredStrategy. Values are those of TensorFlow 1.15.5 with `workers_program.py`."""

import glob
import json
import pathlib
import sys

import children
import numpy as np
import pytest
from cluster import processes

import tfcompat as tf

PROGRAM = pathlib.Path(__file__).parent / "workers_program.py"


def start(way, *arguments, count=2, joined=False):
    addresses, (coordinator,) = ",".join(processes.free_addresses(count)), processes.free_addresses(1)
    return [
        children.start(
            sys.executable, *children.RUN, PROGRAM, way, addresses, str(number), *arguments, XLA_FLAGS="",
            **(processes.together(number, count, coordinator) if joined else {}),
        )
        for number in range(count)
    ]  # fmt: skip


def run(way, *arguments, joined=False):
    """What each worker prints; `joined`: collectives are programs over all devices."""
    started = start(way, *arguments, joined=joined)
    ended = [children.end(process) for process in started]
    assert [process.returncode for process in started] == [0, 0], ended
    return [processes.printed(out) for out, _ in ended]


def test_collective_nodes_meet():
    started = start("collectives")
    for process in started:
        for _ in range(2):
            mean, product, rows, sent = json.loads(children.line(process))
            assert mean == [1.5, 3, 4.5] and rows == [[0, 0], [1, 1]] and sent == [7, 7]
            np.testing.assert_allclose(product, np.multiply([1.5, 6, 13.5], [3, 12, 27]))
        assert json.loads(children.line(process)) == ["InvalidArgumentError"]
    for process in started:
        process.stdin.write(b"\n")
    for process in started:
        children.end(process)
        assert process.returncode == 0


def test_a_loop_of_ones_own():
    for (found,) in run("loop"):
        *losses, w, rows = found
        np.testing.assert_allclose(losses, [0.092676, 0.115757, 0.101938], atol=1e-6)
        np.testing.assert_allclose(np.ravel(w), [0.41548, 0.41470], atol=1e-5)
        np.testing.assert_allclose(np.ravel(rows), [0.27833, 0.69669, 0.5], atol=1e-5)


WIDE = [32.679882, 5.958506, 2.2385616]
WIDE_W = [
    [0.0450130, 0.0067021, 0.0498929, 0.0657103], [-0.0025608, 0.0683804, 0.0295141, 0.0406471],
    [0.0932411, 0.1308645, 0.0965863, 0.0826524], [0.1021401, 0.0158656, 0.0812978, 0.1227414],
]  # fmt: skip


@pytest.mark.parametrize("joined", [False, True], ids=["lines", "programs"])
def test_gradients_that_are_large(joined):
    for (found,) in run("wide", joined=joined):
        *losses, w = found
        np.testing.assert_allclose(losses, WIDE, rtol=1e-6)
        np.testing.assert_allclose(w, WIDE_W, atol=1e-6)


def test_an_estimator_is_trained_and_the_first_worker_saves(tmp_path):
    assert run("estimator", str(tmp_path)) == [[["done"]], [["done"]]]
    reader = tf.train.load_checkpoint(str(tmp_path))
    wanted = {
        "batch_normalization/beta": [0.04911, 0.04121, 0.01321], "batch_normalization/moving_mean": [0.02859, -0.02160, -0.03868],
        "batch_normalization/moving_variance": [0.91907, 0.93756, 0.94706], "dense/kernel": [0.25736, 2.56498, 1.95580],
        "dense_1/kernel": [0.94772, 0.15159, 0.50863], "global_step": [20],
    }  # fmt: skip
    for name, values in wanted.items():
        np.testing.assert_allclose(np.ravel(reader.get_tensor(name))[:3], values, atol=2e-5)
    names = {pathlib.Path(path).name for path in glob.glob(str(tmp_path / "*.data*"))}
    assert names == {f"model.ckpt-{step}.data-00000-of-00001" for step in (0, 10, 20)}
    assert (tmp_path / "tmp_worker_1" / "checkpoint").exists()


def test_a_keras_model_is_trained():
    for (found,) in run("keras"):
        loss, error, *weights = found
        np.testing.assert_allclose(loss, [2.15811, 1.15736, 1.64373], atol=2e-5)
        np.testing.assert_allclose(error, [1.18652, 0.90629, 1.00317], atol=2e-5)
        np.testing.assert_allclose(weights, [0.14048, -0.00154, -0.16271, -0.42606], atol=2e-5)


@pytest.mark.parametrize(
    ("optimizer", "loss", "kernel"),
    [("graph", 1.677456, [0.05904572, 0.16547678, 0.10243697]), ("keras", 3.354911, [0.06355185, 0.1711433, 0.10851288])],
)
def test_an_estimator_of_a_keras_model_is_trained(tmp_path, optimizer, loss, kernel):
    assert run("converted", str(tmp_path), optimizer) == [[["done"]], [["done"]]]
    reader = tf.train.load_checkpoint(str(tmp_path))
    np.testing.assert_allclose(np.ravel(reader.get_tensor("dense/kernel"))[:3], kernel, atol=1e-5)
    assert reader.get_tensor("global_step") == 12
    (path,) = tmp_path.glob("events*")
    (first,) = [v.simple_value for e in tf.train.summary_iterator(str(path)) for v in e.summary.value if v.tag == "loss_1"]
    assert first == pytest.approx(loss, abs=1e-5)
