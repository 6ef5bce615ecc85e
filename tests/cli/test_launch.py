"""`tfcompat launch`: a cluster of processes that ends as a whole."""

import signal
import subprocess
import sys
from pathlib import Path

import children
import pytest

from tfcompat._src.cli import launch as launch_command

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


DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); signal.pause()"


def test_tasks_that_will_not_end_are_ended_at_the_same_time(monkeypatch):
    """They share the limit: what one after another would get is three times as much."""
    waited = []
    wait = subprocess.Popen.wait

    def noted(process, timeout=None):
        if timeout is not None:
            waited.append(timeout)
        return wait(process, timeout)

    processes = [subprocess.Popen([sys.executable, "-c", DEAF], stdout=subprocess.PIPE) for _ in range(3)]
    for process in processes:
        with process.stdout as output:
            assert output.readline() == b"ready\n"
    monkeypatch.setattr(subprocess.Popen, "wait", noted)
    monkeypatch.setattr(launch_command, "_LONGEST_END", 0.1)
    launch_command._end(processes)
    assert [process.returncode for process in processes] == [-signal.SIGKILL] * 3
    assert 0 < waited[0] <= 0.1 and waited[1:] == [0, 0]


def test_a_parameter_server_that_ends_early_is_noticed(tmp_path):
    process = children.start(sys.executable, "-m", "tfcompat", "launch", "--ps", "1", "--workers", "1", str(PROGRAMS / "early.py"), str(tmp_path))
    said = process.stderr.readline()
    (tmp_path / "said").touch()  # the worker ends
    assert children.end(process) == ("", "") and process.returncode == 0
    assert said == b"tfcompat launch: ps:0 has ended while others run, which wait if they need its variables\n"


@pytest.mark.parametrize("arguments", [["--workers", "0", "x.py"], ["--ps", "-1", "x.py"], []])
def test_a_cluster_without_work_is_refused(arguments):
    done = launch(*arguments)
    assert done.returncode == 2
    assert "usage: tfcompat launch" in done.stderr
