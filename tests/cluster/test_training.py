"""Asynchronous training by parameter servers and workers that are processes of their own."""

import glob

from cluster import processes
from cluster.processes import Process


def start(reals=(False, False, False)):
    ps, *workers = processes.free_addresses(len(reals))
    cluster = {"ps": [ps], "worker": workers}
    return cluster, processes.server(cluster, "ps", 0, real=reals[0])


def check(results, folder, last):
    """Both workers trained, together as far as they were to."""
    for result in results:
        first, final = result["losses"]
        assert final < first
        assert result["steps"] == sorted(result["steps"])
    assert max(step for result in results for step in result["steps"]) >= last - 1
    assert glob.glob(str(folder / "model.ckpt-*.index")) and glob.glob(str(folder / "events*"))


def test_a_chief_and_a_worker_train_together(tmp_path):
    cluster, ps = start()
    with ps, Process("train", cluster, "0", str(tmp_path), "60", "5", "0") as chief:
        assert chief.line() == "paused"  # the variables are initialized: the other one need not wait for that
        with Process("train", cluster, "1", str(tmp_path), "60", "5", "0") as worker:
            assert worker.line() == "paused"
            chief.say("go")
            worker.say("go")
            check([*worker.end(), *chief.end()], tmp_path, 60)


def test_an_update_takes_the_gradients_of_two_steps(tmp_path):
    cluster, ps = start()
    with ps, Process("train", cluster, "0", str(tmp_path), "40", "5", "1") as chief:
        assert chief.line() == "paused"
        with Process("train", cluster, "1", str(tmp_path), "40", "5", "1") as worker:
            assert worker.line() == "paused"
            chief.say("go")
            worker.say("go")
            results = [*worker.end(), *chief.end()]
    check(results, tmp_path, 40)
    assert 75 <= sum(len(result["steps"]) for result in results) <= 85  # two for each update, and those that end it


def test_training_goes_on_when_the_parameter_server_comes_back(tmp_path):
    cluster, ps = start()
    with Process("train", cluster, "0", str(tmp_path), "40", "25", "0") as chief:
        assert chief.line() == "paused"
        ps.kill()
        with processes.server(cluster, "ps", 0):
            chief.say("go")
            (result,) = chief.end()
    steps = result["steps"]
    again = next(i for i in range(1, len(steps)) if steps[i] <= steps[i - 1])
    assert steps[again - 1] >= 23 and steps[again] in (20, 21)  # the last checkpoint is of step 20
    assert max(steps) >= 39
