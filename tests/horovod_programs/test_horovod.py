"""Programs of Horovod over two processes. The values are those of Horovod 0.19.5 with Gloo and TensorFlow 1.15.5, running `horovod_program.py`."""

import json
import pathlib
import sys

import children
import numpy as np
import pytest
from cluster import processes

PROGRAM = pathlib.Path(__file__).parent / "horovod_program.py"
MEAN, ODD = [[0, 1.5, 3], [4.5, 6, 7.5]], [[0, 1, 2], [3, 4, 5]]
NODES = [
    "HorovodAllreduce_x_0", "HorovodAllreduce_x_0_1", "HorovodAllreduce_Cast_3_0", "HorovodAllgather_mul_1_0", "sent",
    "HorovodAllgather_mul_0", "HorovodAllgather_Const_0", "HorovodAllreduce_x_0_2",
    "gradients/HorovodAllreduce_x_0_2_grad/HorovodAllreduce_gradients_mul_2_grad_Mul_0", "joined",
    "gradients_1/joined_grad/HorovodAllreduce_gradients_1_mul_3_grad_Reshape_0",
    "gradients_1/joined_grad/HorovodAllgather_gradients_1_joined_grad_Const_0", "sent_again",
    "gradients_2/sent_again_grad/HorovodAllreduce_gradients_2_mul_4_grad_Mul_0", "HorovodAllreduce_zeros_0",
]  # fmt: skip


def run(way, count=2):
    """What each of `count` processes prints."""
    peers = ",".join(processes.free_addresses(count))
    started = [
        children.start(
            sys.executable, *children.RUN, PROGRAM, way, TFCOMPAT_PEERS=peers, HOROVOD_RANK=str(rank), HOROVOD_SIZE=str(count), XLA_FLAGS=""
        )
        for rank in range(count)
    ]  # fmt: skip
    ended = [children.end(process) for process in started]
    assert [process.returncode for process in started] == [0] * count, ended
    return [[json.loads(text) for text in out.splitlines()] for out, _ in ended]


def test_operations_and_their_gradients():
    own = {0: [[[0, 0, 0], [2, 2, 2]], np.full((2, 3), 6)], 1: [[[4, 4, 4], [6, 6, 6]], np.zeros((2, 3))]}
    for rank, found in enumerate(run("operations")):
        wanted = [MEAN, np.multiply(3, ODD), MEAN, [[0, 0], [1, 1], [1, 1]], np.multiply(2, ODD), [[0] * 3, [0] * 3, [0.5] * 3, [0.5] * 3]]
        for value, right in zip(found, [*wanted, np.full((2, 3), 4), *own[rank]], strict=False):
            np.testing.assert_array_equal(value, right)
        assert found[9:] == ["FailedPreconditionError", NODES]


def test_a_graph_is_trained_by_a_monitored_session():
    for found, wanted in zip(run("graph"), ([0.467240, 0.438697, 0.116439], [0.713255, 0.085761, 0.093656]), strict=True):
        np.testing.assert_allclose(found[0], wanted, rtol=1e-5)


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
