"""Programs of Horovod over two processes. The values are those of Horovod 0.19.5 with Gloo and TensorFlow 1.15.5, running `horovod_program.py`."""

import pathlib
import sys

import children
import numpy as np
import pytest
from cluster import processes

PROGRAM = pathlib.Path(__file__).parent / "horovod_program.py"
MEAN, ODD = [[0, 1.5, 3], [4.5, 6, 7.5]], [[0, 1, 2], [3, 4, 5]]
WIDE = [32.679882, 5.958506, 2.2385616]
WIDE_W = [
    [0.0450130, 0.0067021, 0.0498929, 0.0657103], [-0.0025608, 0.0683804, 0.0295141, 0.0406471],
    [0.0932411, 0.1308645, 0.0965863, 0.0826524], [0.1021401, 0.0158656, 0.0812978, 0.1227414],
]  # fmt: skip
"""Losses and weights of the same training by MultiWorkerMirroredStrategy in TensorFlow 1.15.5 (`distribute/workers_program.py`)."""
NODES = [
    "HorovodAllreduce_x_0", "HorovodAllreduce_x_0_1", "HorovodAllreduce_Cast_3_0", "HorovodAllgather_mul_1_0", "sent",
    "HorovodAllgather_mul_0", "HorovodAllgather_Const_0", "HorovodAllreduce_x_0_2",
    "gradients/HorovodAllreduce_x_0_2_grad/HorovodAllreduce_gradients_mul_2_grad_Mul_0", "joined",
    "gradients_1/joined_grad/HorovodAllreduce_gradients_1_mul_3_grad_Reshape_0",
    "gradients_1/joined_grad/HorovodAllgather_gradients_1_joined_grad_Const_0", "sent_again",
    "gradients_2/sent_again_grad/HorovodAllreduce_gradients_2_mul_4_grad_Mul_0", "HorovodAllreduce_zeros_0",
]  # fmt: skip


def run(way, count=2, joined=False):
    """What each of `count` processes prints; `joined`: collectives are programs over all devices."""
    peers, (coordinator,) = ",".join(processes.free_addresses(count)), processes.free_addresses(1)
    started = [
        children.start(
            sys.executable, *children.RUN, PROGRAM, way, TFCOMPAT_PEERS=peers, HOROVOD_RANK=str(rank), HOROVOD_SIZE=str(count), XLA_FLAGS="",
            **(processes.together(rank, count, coordinator) if joined else {}),
        )
        for rank in range(count)
    ]  # fmt: skip
    ended = [children.end(process) for process in started]
    assert [process.returncode for process in started] == [0] * count, ended
    return [processes.printed(out) for out, _ in ended]


both = pytest.mark.parametrize("joined", [False, True], ids=["lines", "programs"])


@both
def test_operations_and_their_gradients(joined):
    own = {0: [[[0, 0, 0], [2, 2, 2]], np.full((2, 3), 6)], 1: [[[4, 4, 4], [6, 6, 6]], np.zeros((2, 3))]}
    for rank, found in enumerate(run("operations", joined=joined)):
        wanted = [MEAN, np.multiply(3, ODD), MEAN, [[0, 0], [1, 1], [1, 1]], np.multiply(2, ODD), [[0] * 3, [0] * 3, [0.5] * 3, [0.5] * 3]]
        for value, right in zip(found, [*wanted, np.full((2, 3), 4), *own[rank]], strict=False):
            np.testing.assert_array_equal(value, right)
        assert found[9:] == ["FailedPreconditionError", NODES]


@both
def test_a_graph_is_trained_by_a_monitored_session(joined):
    for found, wanted in zip(run("graph", joined=joined), ([0.467240, 0.438697, 0.116439], [0.713255, 0.085761, 0.093656]), strict=True):
        np.testing.assert_allclose(found[0], wanted, rtol=1e-5)


@both
def test_large_gradients(joined):
    texts = {False: "lines of servers, as jax.distributed is off", True: "programs over 2 cpu devices, by gloo"}
    found = run("wide", joined=joined)
    assert found[0] == found[1]
    np.testing.assert_allclose(found[0][0], WIDE, rtol=1e-5)
    np.testing.assert_allclose(found[0][1], WIDE_W, atol=1e-5)
    assert found[0][2] == [f"with the processes of 'horovod': {texts[joined]}"]


def test_a_keras_model_is_trained_with_callbacks():
    for metrics, values in run("keras"):
        np.testing.assert_allclose(metrics["loss"], [3.0975752, 0.9847882, 0.2490323, 0.4480000, 0.3545318], rtol=1e-5)
        np.testing.assert_allclose(metrics["lr"], [0.04 / 3, 0.05 / 3, 0.02, 0.01, 0.01], rtol=1e-6)
        assert values == [1.5, [0, 1], [1, 2]]


def test_a_tape_in_eager_mode():
    for found, wanted in zip(run("eager"), ([3.778864, 2.141374, 1.272857, 0.768762], [12.668936, 2.099983, 1.249677, 0.759108]), strict=True):
        np.testing.assert_allclose(found[0], wanted, rtol=1e-5)


def test_a_process_that_ends_early_is_named():
    waiting, gone = run("leaving")
    assert waiting == ["Horovod has been shut down"] and gone == []


def test_a_program_that_is_started_alone():
    assert run("operations", 1)[0][0] == ODD


@pytest.mark.parametrize("module", ["horovod", "horovod.tensorflow", "horovod.tensorflow.keras", "horovod.common.util"])
def test_modules_are_imported_without_a_package(module):
    found = children.python(*children.RUN, "-c", f"import {module} as m; print(m.__name__)")
    assert found.stdout == f"{module}\n", found.stderr
