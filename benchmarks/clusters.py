"""Training clusters on this machine beside TensorFlow 1.15's: `TF1_PYTHON=path/to/python python -m benchmarks.clusters`.

Each cluster has one parameter server, and workers that are processes of their own (`scripts/cluster_task.py`, which both sides run
unchanged). The sides take turns; each round starts its processes anew and lets them take steps for a while before it counts.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.subjects import ROOT, SCRIPTS, environment, free_ports, last_lines


@dataclass(frozen=True)
class Kind:
    """A workload: its title, how many workers measure it unless told, and how their reports become its figure."""

    title: str
    workers: int
    measure: str

    def figure(self, reports: list[dict[str, float]]) -> float:
        """Steps of all workers, or updates of the global step, in a second; or milliseconds of a worker's median step."""
        if self.measure == "ms":
            return 1000 * statistics.fmean(report["median"] for report in reports)
        return sum(report["steps"] for report in reports) if self.measure == "steps/s" else reports[0]["updates"]

    def ratio(self, ours: float, theirs: float) -> float:
        """How many times as fast as TensorFlow tfcompat is."""
        return theirs / ours if self.measure == "ms" else ours / theirs


KINDS = {
    "mlp": Kind("perceptron, asynchronous", 2, "steps/s"),
    "word2vec": Kind("word2vec, gradients of rows", 2, "steps/s"),
    "sync": Kind("perceptron, SyncReplicas", 2, "updates/s"),
    "empty": Kind("a step that reads 4 numbers", 1, "ms"),
    "pull": Kind("a step that reads 100 MB", 1, "ms"),
}


class ClusterError(Exception):
    """A worker ended; the message ends with what it wrote to stderr."""


@contextlib.contextmanager
def running(command: list[str], kind: str, workers: int, seconds: float, warm_up: float) -> Iterator[list[Worker]]:
    """The workers of a cluster that is killed at the end of the `with` statement."""
    addresses = [f"127.0.0.1:{port}" for port in free_ports(1 + workers)]
    cluster = json.dumps({"ps": addresses[:1], "worker": addresses[1:]})
    tasks: list[Worker] = []
    try:
        for job, index in [("ps", 0), *[("worker", i) for i in range(workers)]]:
            tasks.append(Worker([*command, str(SCRIPTS / "cluster_task.py"), kind, job, str(index), cluster, str(seconds), str(warm_up)]))
        yield tasks[1:]
    finally:
        for task in tasks:
            task.end()


class Worker:
    """A task's process, which answers in lines."""

    def __init__(self, command: list[str]) -> None:
        self._errors = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            command, cwd=ROOT, env={**environment(), "TF_CPP_MIN_LOG_LEVEL": "3"},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True,
        )  # fmt: skip

    def answer(self) -> str:
        """The next line that the task prints. Raises ClusterError where its process ends instead."""
        line = self._process.stdout.readline()
        if not line:
            self._errors.seek(0)
            raise ClusterError(f"exit status {self._process.wait()}: {last_lines(self._errors.read())}")
        return line

    def go(self) -> None:
        """Lets the task measure."""
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def end(self) -> None:
        """Kills the process and frees what it was read by."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            pipe.close()



def figure(command: list[str], name: str, workers: int, seconds: float, warm_up: float) -> float:
    """The figure of one round of a workload on one side."""
    with running(command, name, workers, seconds, warm_up) as tasks:
        for task in tasks:
            task.answer()  # that it is ready
        for task in tasks:
            task.go()
        return KINDS[name].figure([json.loads(task.answer()) for task in tasks])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", help=f"of {', '.join(KINDS)}; all")
    parser.add_argument("--tf1-python", default=os.environ.get("TF1_PYTHON"), help="in place of TF1_PYTHON")
    parser.add_argument("--workers", type=int, nargs="+", help="numbers of workers; 2, and 1 for single steps")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=6, help="of steps that count in a round")
    parser.add_argument("--warm-up", type=float, default=15, help="seconds of steps before them: tfcompat evaluates a program before it compiles it")
    options = parser.parse_args()
    if not options.tf1_python:
        parser.error("name TensorFlow 1.15's interpreter by --tf1-python or TF1_PYTHON")
    if unknown := set(options.kinds) - set(KINDS):
        parser.error(f"there is no workload {', '.join(sorted(unknown))}")
    commands = ([sys.executable, "-m", "tfcompat", "run"], [options.tf1_python])
    print("| workload | workers | measure | tfcompat | TensorFlow 1.15 | times as fast, by round |\n|---|---|---|---|---|---|", flush=True)
    for name in options.kinds or KINDS:
        kind = KINDS[name]
        for workers in options.workers or [kind.workers]:
            rounds = [[figure(c, name, workers, options.seconds, options.warm_up) for c in commands] for _ in range(options.rounds)]
            ours, theirs = map(statistics.median, zip(*rounds))
            ratios = sorted(kind.ratio(*each) for each in rounds)
            by_round = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
            print(f"| {kind.title} | {workers} | {kind.measure} | {ours:.4g} | {theirs:.4g} | {by_round} |", flush=True)


if __name__ == "__main__":
    main()
