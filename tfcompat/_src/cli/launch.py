"""`tfcompat launch`: a cluster on this machine, one process for each task, that ends as a whole."""

from __future__ import annotations

import argparse
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import IO, NamedTuple

ARGUMENTS = "[--np N | [--ps N] [--workers N] [--chief] [--evaluator]] SCRIPT [ARGS...]"
_DESCRIPTION = """Starts a cluster of processes on this machine, each as `tfcompat run SCRIPT ARGS...` with TF_CONFIG set to the cluster
and its task. In ARGS, {job}, {task}, {ps_hosts}, {worker_hosts} and {chief_hosts} stand for what programs take as flags:
`--job_name={job} --task_index={task} --ps_hosts={ps_hosts} --worker_hosts={worker_hosts}`. What the tasks print comes line by line,
after the name of the task. When a task fails, or when all but the parameter servers have ended, the others are ended too, within ten
seconds; the status is that of the first task that failed. Where a parameter server ends before the others, a line says so.
With --np, starts so many equal processes of a program of Horovod, as `horovodrun -np N` does; all are waited for."""
_LONGEST_END = 10.0
"""Seconds that all tasks have to end when they are asked to."""


class Task(NamedTuple):
    """A process of the cluster. `is_waited_for`: the cluster has work while it runs; parameter servers serve until they are ended."""

    job: str
    index: int
    process: subprocess.Popen[str]
    is_waited_for: bool

    @property
    def name(self) -> str:
        return f"{self.job}:{self.index}"


def main(arguments: list[str]) -> int:
    """Starts the cluster that `arguments` describe, waits for its end and returns the exit status."""
    options = _parse(arguments)
    sizes = {"chief": int(options.chief), "worker": options.workers, "ps": options.ps} if options.np is None else {"process": options.np}
    cluster = _cluster({job: size for job, size in sizes.items() if size})
    places = [(job, i) for job, hosts in cluster.items() for i in range(len(hosts))] + [("evaluator", 0)] * options.evaluator
    settings = _task_settings if options.np is None else _process_settings
    tasks: list[Task] = []
    previous = signal.signal(signal.SIGTERM, _exit)
    try:
        for job, index in places:
            tasks.append(_start(job, index, cluster, [options.script, *options.arguments], settings(job, index, cluster)))
        return _status(tasks)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    finally:
        _end([task.process for task in tasks])
        signal.signal(signal.SIGTERM, previous)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tfcompat launch", description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--np", type=int, metavar="N", help="how many processes of a program of Horovod, in place of a cluster")
    parser.add_argument("--ps", type=int, default=0, metavar="N", help="how many parameter servers")
    parser.add_argument("--workers", type=int, metavar="N", help="how many workers (default: 1)")
    parser.add_argument("--chief", action="store_true", help="a chief beside the workers")
    parser.add_argument("--evaluator", action="store_true", help="an evaluator, which is no part of the cluster")
    parser.add_argument("script", metavar="SCRIPT")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGS")
    options = parser.parse_args(arguments)
    if options.np is not None:
        if options.np < 1 or options.ps or options.workers is not None or options.chief or options.evaluator:
            parser.error("--np takes a number from 1, and no other jobs beside it")
        return options
    options.workers = 1 if options.workers is None else options.workers
    if options.ps < 0 or options.workers < 0 or options.workers + options.chief == 0:
        parser.error("a cluster needs a worker or a chief, and no job has fewer than no tasks")
    return options


def _cluster(sizes: dict[str, int]) -> dict[str, list[str]]:
    """The address of each task: ports of the loopback interface that are free."""
    sockets = {job: [socket.create_server(("localhost", 0)) for _ in range(size)] for job, size in sizes.items()}
    cluster = {job: [f"localhost:{s.getsockname()[1]}" for s in found] for job, found in sockets.items()}
    for found in sockets.values():
        for each in found:
            each.close()
    return cluster


def _task_settings(job: str, index: int, cluster: dict[str, list[str]]) -> dict[str, str]:
    """The environment of a task of a cluster."""
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": job, "index": index}})}


def _process_settings(job: str, index: int, cluster: dict[str, list[str]]) -> dict[str, str]:
    """The environment of a process of Horovod: as from `horovodrun`, and where the processes listen."""
    rank, size = str(index), str(len(cluster[job]))
    return {
        "TFCOMPAT_PEERS": ",".join(cluster[job]), "HOROVOD_RANK": rank, "HOROVOD_SIZE": size, "HOROVOD_LOCAL_RANK": rank,
        "HOROVOD_LOCAL_SIZE": size, "HOROVOD_CROSS_RANK": "0", "HOROVOD_CROSS_SIZE": "1",
    }  # fmt: skip


def _start(job: str, index: int, cluster: dict[str, list[str]], command: list[str], settings: dict[str, str]) -> Task:
    named = {"job": job, "task": str(index), **{f"{name}_hosts": ",".join(cluster.get(name, ())) for name in ("chief", "worker", "ps")}}
    for name, value in named.items():
        command = [part.replace(f"{{{name}}}", value) for part in command]
    process = subprocess.Popen(
        [sys.executable, "-m", "tfcompat", "run", *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", env={**os.environ, **settings, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    return Task(job, index, process, job != "ps")


def _status(tasks: list[Task]) -> int:
    """Shows what the tasks print until one fails, or all that are waited for have ended: 0, or the status of the one that failed."""
    ended: queue.SimpleQueue[Task] = queue.SimpleQueue()
    lock = threading.Lock()
    for task in tasks:
        threading.Thread(target=_follow, args=(task, ended, lock), daemon=True).start()
    left = sum(task.is_waited_for for task in tasks)
    while left:
        task = ended.get()
        status = task.process.returncode
        if status:
            by = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"failed with status {status}"
            sys.stderr.write(f"tfcompat launch: {task.name} {by}; the cluster ends\n")
            return 128 - status if status < 0 else status
        left -= task.is_waited_for
        if left and task.job == "ps":
            sys.stderr.write(f"tfcompat launch: {task.name} has ended while others run, which wait if they need its variables\n")
    return 0


def _follow(task: Task, ended: queue.SimpleQueue[Task], lock: threading.Lock) -> None:
    """Passes the lines of a task on, and says when it has ended."""
    output: IO[str] | None = task.process.stdout
    for line in output or ():
        with lock:
            sys.stdout.write(f"[{task.name}] {line if line.endswith(chr(10)) else line + chr(10)}")
            sys.stdout.flush()
    task.process.wait()
    ended.put(task)


def _end(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        process.terminate()
    end = time.monotonic() + _LONGEST_END
    for process in processes:
        try:
            process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _exit(*_: object) -> None:
    sys.exit(128 + signal.SIGTERM)
