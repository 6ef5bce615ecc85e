"""`tfcompat launch`: a cluster of processes that ends as a whole."""

from pathlib import Path

import children
import pytest

PROGRAMS = Path(__file__).parent / "launch_programs"
FLAGS = ["--job_name={job}", "--task_index={task}", "--ps_hosts={ps_hosts}", "--worker_hosts={worker_hosts}"]


def launch(*arguments):
    return children.python("-m", "tfcompat", "launch", *arguments)


@pytest.mark.parametrize("arguments", [[], FLAGS], ids=["config", "flags"])
def test_workers_train_on_a_parameter_server(arguments):
    done = launch("--ps", "1", "--workers", "2", str(PROGRAMS / "counts.py"), *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    totals = sorted(line for line in done.stdout.splitlines() if "total" in line)
    assert totals == ["[worker:0] total 30.0", "[worker:1] total 30.0"]


def test_a_failing_task_ends_the_cluster():
    done = launch("--ps", "1", "--workers", "2", "--chief", "--evaluator", str(PROGRAMS / "fails.py"))
    assert done.returncode == 3
    assert done.stdout == "[worker:1] no more\n"
    assert done.stderr == "tfcompat launch: worker:1 failed with status 3; the cluster ends\n"


@pytest.mark.parametrize("arguments", [["--workers", "0", "x.py"], ["--ps", "-1", "x.py"], []])
def test_a_cluster_without_work_is_refused(arguments):
    done = launch(*arguments)
    assert done.returncode == 2
    assert "usage: tfcompat launch" in done.stderr
