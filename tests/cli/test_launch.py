"""`tfcompat launch`: a cluster of processes that ends as a whole."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import children
import pytest

from tfcompat._src.cli import launch as launch_command
from tfcompat._src.cli import nodes

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
    launch_command._end([launch_command.Task("worker", i, process, True) for i, process in enumerate(processes)], 0.1)
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


def test_workers_are_told_how_their_collectives_go():
    options = launch_command._parse(["--workers", "2", "--ps", "1", "--chief", "--evaluator", "--collectives", "jax", "-H", "a:3,b:3", "x.py"])
    found = launch_command._together(launch_command._task_nodes(options), options)
    joined = {"TFCOMPAT_COLLECTIVES": "jax", "TFCOMPAT_COORDINATOR": "a:2225"}  # behind the ports of the tasks there
    assert found[:3] == [{**joined, "TFCOMPAT_PROCESS": f"{i}/3"} for i in range(3)]
    assert found[3:] == [{"TFCOMPAT_COLLECTIVES": "lines"}] * 2


# ---- several machines ----

SSH = f"{sys.executable} {PROGRAMS / 'ssh_here.py'}"
MACHINES = "127.0.0.2:2,127.0.0.3:1"
"""Addresses of this machine that count as others."""


def port():
    """A port that is free on this machine."""
    with socket.create_server(("localhost", 0)) as found:
        return str(found.getsockname()[1])


def test_tasks_run_on_several_machines(tmp_path):
    file = tmp_path / "nodes"
    file.write_text("# two machines\n127.0.0.2 slots=2\n\n127.0.0.3  # one task\n")
    command = ("-m", "tfcompat", "launch", "--ps", "1", "--workers", "2", "--nodes", str(file), "--port", port())
    done = children.python(*command, str(PROGRAMS / "counts.py"), TFCOMPAT_SSH=SSH)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(line for line in done.stdout.splitlines() if "total" in line) == ["[worker:0] total 30.0", "[worker:1] total 30.0"]
    assert sorted(line for line in done.stdout.splitlines() if "ssh to" in line) == [
        "[ps:0] ssh to 127.0.0.3", "[worker:0] ssh to 127.0.0.2", "[worker:1] ssh to 127.0.0.2",
    ]  # fmt: skip


def test_the_status_of_another_machine_comes_back():
    done = children.python(
        "-m", "tfcompat", "launch", "--workers", "2", "-H", MACHINES, "--port", port(), str(PROGRAMS / "fails.py"), TFCOMPAT_SSH=SSH
    )
    assert done.returncode == 3 and done.stderr == "tfcompat launch: worker:1 failed with status 3; the cluster ends\n"


def test_tasks_of_other_machines_end_with_the_launcher(tmp_path):
    os.mkfifo(tmp_path / "held")
    process = children.start(
        sys.executable, "-m", "tfcompat", "launch", "-H", "127.0.0.2", "--port", port(), str(PROGRAMS / "holds.py"), str(tmp_path / "held"),
        TFCOMPAT_SSH=SSH,
    )  # fmt: skip
    with open(tmp_path / "held") as held:
        assert held.readline() == "here\n"
        process.kill()
        assert held.read() == ""  # when nobody has it open any more
    process.communicate()


def test_tasks_are_placed_as_horovod_places_them():
    """`horovodrun -H a:2,b:1,c:3` of Horovod 0.19.5: ranks on the machine, machines of the rank."""
    machines = nodes.assigned(nodes.parse_hosts("a:2,b:1,c:3"), 6)
    assert nodes.local_numbers(machines) == [(0, 2, 0, 3), (1, 2, 0, 2), (0, 1, 1, 3), (0, 3, 2, 3), (1, 3, 1, 2), (2, 3, 0, 1)]
    assert nodes.ports(machines, 2222) == [2222, 2223, 2222, 2222, 2223, 2224]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-H", "a:0"], "'a:0' is to be a machine and how many tasks it takes, as HOST:N"),
        (["-H", "-oProxyCommand=x:1"], "expected one argument"),
        (["-H", "a:1"], "2 tasks do not fit on machines that take 1: name more, or more slots"),
        (["--nodes", "/nothing/here"], "No such file or directory: '/nothing/here'"),
    ],
)
def test_machines_that_do_not_do_are_refused(arguments, said):
    done = launch("--workers", "2", *arguments, "x.py")
    assert done.returncode == 2 and said in done.stderr
