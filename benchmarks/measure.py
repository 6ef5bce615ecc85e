"""The measurements: every subject in turn within a round, several rounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks.subjects import Subject, SubjectError, Worker
from benchmarks.workloads import op

Log = Callable[[str], None]

STEPS = {
    "linear": 1000, "mlp": 100, "cnn": 5, "word2vec": 100, "transformer": 3, "elementwise": 40, "queue_fed": 100, "lstm": 20, "unrolled_lstm": 20,
    "language": 3, "attention": 10, "scalar_loop": 200, "nested_loops": 50, "map_rows": 50,
}  # fmt: skip
"""Steps of a training workload in one round."""
COLD = ("mlp", "cnn", "transformer", "unrolled_lstm")
"""Workloads whose first run and peak memory are measured."""
OPS = tuple(f"op:{name}" for name in op.OPS)
"""Workloads of one operation."""
OP_STEPS = 10
WARM_UP = 20.0
"""Seconds of steps before the rounds. tfcompat evaluates a program in NumPy until what that took would have paid for compiling it, which takes as long."""
SHORT_WARM_UP = 2.0
"""Those of one operation, and of subjects that have made up their mind in the first steps."""
SCRIPTS = {"hello": "hello", "mlp_1000": "train_mlp"}
WORKLOADS = (*STEPS, *OPS, *(f"{name}_cold" for name in COLD), "big_graph", "import", *SCRIPTS)


@dataclass
class Measure:
    """One quantity of one workload: a list of values by subject, entry i of each list from round i."""

    workload: str
    name: str
    unit: str
    values: dict[str, list[float]] = field(default_factory=dict)

    def add(self, subject: str, value: float | None) -> None:
        if value is not None:
            self.values.setdefault(subject, []).append(value)


@dataclass
class Outcome:
    """The measures of a workload, the loss after its first step and why a subject is missing, by subject."""

    measures: list[Measure]
    first_losses: dict[str, float] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)


def measure(workload: str, subjects: list[Subject], rounds: int, log: Log) -> Outcome:
    """Measures one of `WORKLOADS`."""
    if workload in STEPS:
        return _steps(workload, STEPS[workload], subjects, rounds, log, WARM_UP)
    if workload in OPS:
        return _steps(workload, OP_STEPS, [s for s in subjects if s.name != "jax"], rounds, log, SHORT_WARM_UP)
    if workload.endswith("_cold"):
        return _cold(workload, subjects, rounds, log)
    if workload == "big_graph":
        return _big_graph(subjects, rounds, log)
    if workload == "import":
        kept = Measure(workload, "import", "s")
        return _processes([kept], subjects, rounds, log, lambda s: [s.import_seconds()])
    kept = Measure(workload, "whole process", "s")
    return _processes([kept], subjects, rounds, log, lambda s: [s.script_seconds(SCRIPTS[workload])])


def rotated(items: list, by: int) -> list:
    """The items from another start, so that no subject is always the first of a round."""
    by %= max(len(items), 1)
    return items[by:] + items[:by]


def _steps(workload: str, count: int, subjects: list[Subject], rounds: int, log: Log, warm_up: float) -> Outcome:
    kept = Measure(workload, "step", "ms")
    outcome = Outcome([kept])
    workers: dict[Subject, Worker] = {}
    try:
        for subject in subjects:
            workers[subject] = subject.start()
            try:
                workers[subject].ask("build", workload=workload)
                workers[subject].ask("initialize")
                outcome.first_losses[subject.name] = workers[subject].ask("steps", count=1)["loss"]
                workers[subject].ask("warm_up", count=count, seconds=warm_up if subject.name == "tfcompat" else SHORT_WARM_UP)
            except SubjectError as e:
                _fail(outcome, subject, e, log)
        for number in range(rounds):
            for subject in rotated(_working(subjects, outcome), number):
                seconds = workers[subject].ask("steps", count=count)["seconds"]
                kept.add(subject.name, 1e3 * seconds / count)
    finally:
        for worker in workers.values():
            worker.close()
    return outcome


def _cold(workload: str, subjects: list[Subject], rounds: int, log: Log) -> Outcome:
    name = workload[: -len("_cold")]
    kept = [
        Measure(workload, "initializer, first run", "s"),
        Measure(workload, "first step", "s"),
        Measure(workload, "peak memory", "MiB"),
    ]

    def one(subject: Subject) -> list[float]:
        worker = subject.start()
        try:
            worker.ask("build", workload=name)
            initialized = worker.ask("initialize")["seconds"]
            first = worker.ask("steps", count=1)["seconds"]
            worker.ask("steps", count=STEPS[name])
            return [initialized, first, worker.ask("peak")["mebibytes"]]
        finally:
            worker.close()

    return _processes(kept, subjects, rounds, log, one)


def _big_graph(subjects: list[Subject], rounds: int, log: Log) -> Outcome:
    kept = [Measure("big_graph", "build", "s"), Measure("big_graph", "nodes", "")]

    def one(subject: Subject) -> list[float | None]:
        worker = subject.start()
        try:
            built = worker.ask("build", workload="big_graph")
            return [built["seconds"], built["nodes"]]
        finally:
            worker.close()

    return _processes(kept, subjects, rounds, log, one)


def _processes(
    kept: list[Measure], subjects: list[Subject], rounds: int, log: Log, one: Callable[[Subject], list]
) -> Outcome:
    """Rounds of `one(subject)`, in fresh processes, that give a value for each of `kept`; one before does not count."""
    outcome = Outcome(kept)
    for number in range(-1, rounds):
        for subject in rotated(_working(subjects, outcome), number):
            try:
                values = one(subject)
                for quantity, value in zip(kept, values if number >= 0 else ()):
                    quantity.add(subject.name, value)
            except SubjectError as e:
                _fail(outcome, subject, e, log)
    return outcome


def _working(subjects: list[Subject], outcome: Outcome) -> list[Subject]:
    return [s for s in subjects if s.name not in outcome.failures]


def _fail(outcome: Outcome, subject: Subject, error: SubjectError, log: Log) -> None:
    outcome.failures[subject.name] = str(error)
    log(f"  {subject.name} is left out: {error}")
