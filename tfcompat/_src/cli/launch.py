"""`tfcompat launch`: a cluster on this machine or on several, one process for each task, that ends as a whole."""

from __future__ import annotations

import argparse
import contextlib
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

from tfcompat._src.base import jax_processes
from tfcompat._src.cli import nodes

ARGUMENTS = "[--np N | [--ps N] [--workers N] [--chief] [--evaluator]] [--nodes FILE | -H HOSTS] [--collectives WAY] [--grace SECONDS] SCRIPT [ARGS...]"
_DESCRIPTION = """Starts a cluster of processes, each as `tfcompat run SCRIPT ARGS...` with TF_CONFIG set to the cluster
and its task. In ARGS, {job}, {task}, {ps_hosts}, {worker_hosts} and {chief_hosts} stand for what programs take as flags:
`--job_name={job} --task_index={task} --ps_hosts={ps_hosts} --worker_hosts={worker_hosts}`. What the tasks print comes line by line,
after the name of the task. When a task fails, or when all but the parameter servers have ended, the others are ended too, all at once, within
the seconds of --grace; the status is that of the first task that failed. A second Ctrl-C kills them. Where a parameter server ends before the
others, a line says so. With --np, starts so many equal processes of a program of Horovod, as `horovodrun -np N` does; all are waited for.

Without --nodes and -H all tasks are on this machine. With them each machine is filled before the next, by the chief, the workers, the parameter
servers and the evaluator in this order. Others are reached by `ssh` (another command: TFCOMPAT_SSH); they need the same folder, Python and
tfcompat at the same paths, and get TF_CONFIG, PYTHONPATH and what begins with TFCOMPAT_, HOROVOD_, JAX_, XLA_FLAGS."""
_GRACE = 10.0
"""Seconds that all tasks have to end when they are asked to."""
_FIRST_PORT = 2222


class Task(NamedTuple):
    """A process of the cluster. `is_waited_for`: the cluster has work while it runs; parameter servers serve until they are ended."""

    job: str
    index: int
    process: subprocess.Popen[str]
    is_waited_for: bool

    @property
    def name(self) -> str:
        return f"{self.job}:{self.index}"

    def ask_to_end(self) -> None:
        """Asks it to end; a process on another machine does so when its input ends."""
        if self.process.stdin is None:
            self.process.terminate()
        else:
            self.process.stdin.close()


def main(arguments: list[str]) -> int:
    """Starts the cluster that `arguments` describe, waits for its end and returns the exit status."""
    options = _parse(arguments)
    task_nodes = _task_nodes(options)
    cluster = _cluster(task_nodes, None if options.nodes is None else options.port)
    settings = _task_settings if options.np is None else _process_settings
    together = _together(task_nodes, options)
    tasks: list[Task] = []
    previous = signal.signal(signal.SIGTERM, _exit)
    try:
        for i, task_node in enumerate(task_nodes):
            tasks.append(_start(task_node, cluster, options, settings(i, task_nodes, cluster) | together[i]))
        return _status(tasks)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except OSError as e:
        sys.stderr.write(f"tfcompat launch: a task could not be started: {e}\n")
        return 1
    finally:
        _end(tasks, options.grace)
        signal.signal(signal.SIGTERM, previous)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tfcompat launch", description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--np", type=int, metavar="N", help="how many processes of a program of Horovod, in place of a cluster")
    parser.add_argument("--ps", type=int, default=0, metavar="N", help="how many parameter servers")
    parser.add_argument("--workers", type=int, metavar="N", help="how many workers (default: 1)")
    parser.add_argument("--chief", action="store_true", help="a chief beside the workers")
    parser.add_argument("--evaluator", action="store_true", help="an evaluator, which is no part of the cluster")
    parser.add_argument("--nodes", type=_nodes_of_file, metavar="FILE", help="machines, a line `HOST slots=N` for each")
    parser.add_argument("-H", "--hosts", dest="nodes", type=_hosts, metavar="HOST:N,...", help="the same, in one argument")
    parser.add_argument("--port", type=int, default=_FIRST_PORT, metavar="N", help="the first port on machines of --nodes (default: 2222)")
    parser.add_argument(
        "--collectives", choices=jax_processes.WAYS, default=os.environ.get(jax_processes.COLLECTIVES, jax_processes.LINES),
        help="how arrays of all processes are summed: over the lines of servers, as programs over the devices of all by jax.distributed, or "
        "so where the devices are alike and no CPUs (default: $TFCOMPAT_COLLECTIVES, or lines)",
    )  # fmt: skip
    parser.add_argument("--env", action="append", default=[], metavar="NAME", help="a variable that tasks on other machines get too")
    parser.add_argument("--python", default=sys.executable, metavar="PATH", help="the Python of other machines (default: this one's path)")
    parser.add_argument("--grace", type=float, default=_GRACE, metavar="SECONDS", help="how long tasks have to end (default: 10)")
    parser.add_argument("script", metavar="SCRIPT")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGS")
    options = parser.parse_args(arguments)
    if options.np is not None:
        if options.np < 1 or options.ps or options.workers is not None or options.chief or options.evaluator:
            parser.error("--np takes a number from 1, and no other jobs beside it")
    options.workers = 1 if options.workers is None else options.workers
    if options.ps < 0 or options.workers < 0 or options.workers + options.chief == 0:
        parser.error("a cluster needs a worker or a chief, and no job has fewer than no tasks")
    try:
        nodes.assigned(options.nodes or [], len(_jobs(options)) if options.nodes is not None else 0)
    except ValueError as e:
        parser.error(str(e))
    return options


def _nodes_of_file(path: str) -> list[nodes.Node]:
    try:
        return nodes.read_nodes(path)
    except (ValueError, OSError) as e:
        raise argparse.ArgumentTypeError(str(e)) from None


def _hosts(text: str) -> list[nodes.Node]:
    try:
        return nodes.parse_hosts(text)
    except ValueError as e:
        raise argparse.ArgumentTypeError(str(e)) from None


class TaskNode(NamedTuple):
    """A task, and the machine that it is on."""

    job: str
    index: int
    node: nodes.Node


def _jobs(options: argparse.Namespace) -> list[tuple[str, int]]:
    """The tasks, by job and number."""
    sizes = {"chief": int(options.chief), "worker": options.workers, "ps": options.ps, "evaluator": int(options.evaluator)}
    return [(job, i) for job, size in (sizes if options.np is None else {"process": options.np}).items() for i in range(size)]


def _task_nodes(options: argparse.Namespace) -> list[TaskNode]:
    jobs = _jobs(options)
    machines = [nodes.Node("localhost", len(jobs))] if options.nodes is None else options.nodes
    return [TaskNode(job, index, node) for (job, index), node in zip(jobs, nodes.assigned(machines, len(jobs)))]


def _cluster(task_nodes: list[TaskNode], first_port: int | None) -> dict[str, list[str]]:
    """The address of each task of the cluster, by job: on each machine ports from the first one on, or free ones of this machine."""
    members = [task_node for task_node in task_nodes if task_node.job != "evaluator"]
    found = _free_ports(len(members)) if first_port is None else nodes.ports([task_node.node for task_node in members], first_port)
    cluster: dict[str, list[str]] = {}
    for task_node, port in zip(members, found):
        cluster.setdefault(task_node.job, []).append(f"{task_node.node.host}:{port}")
    return cluster


def _free_ports(count: int) -> list[int]:
    """Ports of the loopback interface that are free."""
    sockets = [socket.create_server(("localhost", 0)) for _ in range(count)]
    found = [int(s.getsockname()[1]) for s in sockets]
    for each in sockets:
        each.close()
    return found


def _task_settings(number: int, task_nodes: list[TaskNode], cluster: dict[str, list[str]]) -> dict[str, str]:
    """The environment of a task of a cluster."""
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": task_nodes[number].job, "index": task_nodes[number].index}})}


def _process_settings(number: int, task_nodes: list[TaskNode], cluster: dict[str, list[str]]) -> dict[str, str]:
    """The environment of a process of Horovod: as from `horovodrun`, and where the processes listen."""
    local_rank, local_size, cross_rank, cross_size = map(str, nodes.local_numbers([task_node.node for task_node in task_nodes])[number])
    return {
        "TFCOMPAT_PEERS": ",".join(cluster["process"]), "HOROVOD_RANK": str(number), "HOROVOD_SIZE": str(len(task_nodes)),
        "HOROVOD_LOCAL_RANK": local_rank, "HOROVOD_LOCAL_SIZE": local_size, "HOROVOD_CROSS_RANK": cross_rank, "HOROVOD_CROSS_SIZE": cross_size,
    }  # fmt: skip


def _together(task_nodes: list[TaskNode], options: argparse.Namespace) -> list[dict[str, str]]:
    """What the environment of each task says of how collectives go. Workers and the chief, or equal processes, take part in them."""
    if options.collectives == jax_processes.LINES:
        return [{jax_processes.COLLECTIVES: options.collectives}] * len(task_nodes)
    members = [i for i, task_node in enumerate(task_nodes) if task_node.job in ("process", "chief", "worker")]
    first = task_nodes[members[0]].node
    port = _free_ports(1)[0] if options.nodes is None else nodes.ports([*(t.node for t in task_nodes), first], options.port)[-1]
    common = {jax_processes.COLLECTIVES: options.collectives, jax_processes.COORDINATOR: f"{first.host}:{port}"}
    others = {jax_processes.COLLECTIVES: jax_processes.LINES}
    return [common | {jax_processes.PROCESS: f"{members.index(i)}/{len(members)}"} if i in members else others for i in range(len(task_nodes))]


def _start(task_node: TaskNode, cluster: dict[str, list[str]], options: argparse.Namespace, settings: dict[str, str]) -> Task:
    command = ["-m", "tfcompat", "run", options.script, *options.arguments]
    hosts = {f"{name}_hosts": ",".join(cluster.get(name, ())) for name in ("chief", "worker", "ps")}
    for name, value in {"job": task_node.job, "task": str(task_node.index), **hosts}.items():
        command = [part.replace(f"{{{name}}}", value) for part in command]
    settings = {**settings, "PYTHONUNBUFFERED": "1"}
    if task_node.node.is_here:
        command = [sys.executable, *command]
    else:
        command = nodes.remote_command(task_node.node, [options.python, *command], settings, options.env, options.grace)
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL if task_node.node.is_here else subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", env={**os.environ, **settings},
    )  # fmt: skip
    return Task(task_node.job, task_node.index, process, task_node.job != "ps")


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


def _end(tasks: list[Task], grace: float) -> None:
    """Asks all tasks to end at once, and kills those that have not within `grace` seconds, or at a second Ctrl-C."""
    for task in tasks:
        task.ask_to_end()
    end = time.monotonic() + grace
    try:
        for task in tasks:
            with contextlib.suppress(subprocess.TimeoutExpired):
                task.process.wait(max(0.0, end - time.monotonic()))
    finally:
        for task in tasks:
            if task.process.poll() is None:
                task.process.kill()
                task.process.wait()


def _exit(*_: object) -> None:
    sys.exit(128 + signal.SIGTERM)
