"""Processes of tfcompat with processes of TensorFlow 1.15, whose Python TF1_PYTHON names."""

import itertools
import re

import pytest
from cluster import processes
from cluster.processes import Process

pytestmark = pytest.mark.skipif(not processes.TF1_PYTHON, reason="TF1_PYTHON names no Python with TensorFlow 1.15")


def values(real_server, real_client):
    (address,) = processes.free_addresses(1)
    with processes.server({"local": [address]}, "local", 0, real=real_server), Process("client", f"grpc://{address}", real=real_client) as client:
        return dict(client.end())


@pytest.fixture(scope="module")
def wanted():
    return values(True, True)


@pytest.mark.parametrize("real_server, real_client", [(False, True), (True, False), (False, False)])
def test_a_session_at_a_server(real_server, real_client, wanted):
    found = values(real_server, real_client)
    assert found == wanted
    assert re.match("From /job:local/replica:0/task:0:", found["numerics"][1])


@pytest.mark.parametrize("reals", [r for r in itertools.product([False, True], repeat=3) if len(set(r)) > 1])
def test_tasks_of_both_train_together(reals, tmp_path):
    ps, *workers = processes.free_addresses(3)
    cluster = {"ps": [ps], "worker": workers}
    with processes.server(cluster, "ps", 0, real=reals[0]), Process("train", cluster, "0", str(tmp_path), "60", "5", "0", real=reals[1]) as chief:
        assert chief.line() == "paused"
        with Process("train", cluster, "1", str(tmp_path), "60", "5", "0", real=reals[2]) as worker:
            assert worker.line() == "paused"
            chief.say("go")
            worker.say("go")
            for result in (*worker.end(), *chief.end()):
                assert result["losses"][1] < result["losses"][0]


def found_on_two_tasks(program, reals):
    """What a program finds as a client of 1.15.5 of the first of two tasks, a worker and a ps; `reals`: which of them 1.15.5 runs."""
    addresses = processes.free_addresses(2)
    cluster = {"worker": addresses[:1], "ps": addresses[1:]}
    with processes.server(cluster, "worker", 0, real=reals[0]), processes.server(cluster, "ps", 0, real=reals[1]):
        with Process(program, f"grpc://{addresses[0]}", "/job:worker/task:0", "/job:ps/task:0", real=True) as client:
            return client.end()


@pytest.mark.parametrize("reals", [(True, False), (False, True), (False, False)])
def test_conditionals_and_partial_runs_over_tasks(reals):
    """What 1.15.5 gives where the master, or the other task, is of tfcompat."""
    assert found_on_two_tasks("conditionals", reals) == [
        ["both sides there", [16.0, 7.0, 11.5, 19.0]],
        ["one side there", [16.0, 7.0, 11.5, 19.0]],
        ["all there", [16.0, 7.0, 11.5, 19.0]],
        ["nested", [16.0, 7.0, 12.5, 19.0]],
        ["a matrix", [6.0, -1.0, 2.25, 11.0]],
        ["assignments", [3.0, 2.0, 2.5, 5.5]],
        ["training", [32.0, 5.84, 7.3344, 43.131]],
        ["variables", [3.5642, 5.5]],
        ["partial", [3.0, 15.0, 27.5]],
        ["partial", [3.0, 15.0, 42.5]],
    ]


@pytest.mark.parametrize("reals", [(True, False), (False, True), (False, False)])
def test_loops_over_tasks_that_use_tensor_arrays(reals):
    """What 1.15.5 gives where the master, or the other task, is of tfcompat. A master of tfcompat has a loop run whole, on the task of most nodes."""
    *found, (_, message) = found_on_two_tasks("loops", reals)
    assert found == [
        ["squares", [[4.0, 16.0, 36.0], [8.0, 16.0, 24.0]]],
        ["sums", [[1.0, 2.5, 4.25], [1.75, 1.5, 1.0]]],
        ["choices", [[0.0, 4.0, 9.0], [1.0, 4.0, 6.0]]],
        ["table", [[[1.0, 2.0, 3.0], [4.0, 6.0, 8.0]]]],
        ["doubled", [[1.0, 2.0, 4.0, 8.0, 16.0]]],
        ["outputs", [14.999]],
    ]
    where = "ps" if reals[0] else "worker"
    written = r"TensorArray TensorArray_1_\d+: Could not write to TensorArray index 0 because it has already been written to.\n\t \[\[node while_1/TensorArrayWrite/"
    assert re.match(rf"From /job:{where}/replica:0/task:0:\n{written}", message)
