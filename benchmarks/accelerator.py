"""`python -m benchmarks --accelerator`: training on whatever accelerator is there, beside hand-written JAX, in eight minutes at most.

An accelerator's memory often belongs to one process at a time, so a subject's process has ended before the next begins.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from benchmarks.measure import Measure, rotated
from benchmarks.subjects import Subject, SubjectError

WORKLOADS = (
    "resnet:float32", "resnet:bfloat16", "base_transformer:float32", "base_transformer:bfloat16", "lstm", "word2vec", "fed_cnn",
)  # fmt: skip
TINY = ("resnet:float32:tiny", "resnet:bfloat16:tiny", "base_transformer:float32:tiny", "base_transformer:bfloat16:tiny")
"""Small models in place of the large ones, which need an accelerator."""
MINUTES = 8.0
ROUNDS = 3
SECONDS = 2.0
"""What the steps of a round may take."""
ENOUGH = {"step": 0.95, "first step": 0.8, "peak memory": 0.9}
"""JAX's figure over tfcompat's: a lower one has fallen short."""
SETTINGS = {
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false", "TFCOMPAT_CACHE_DIR": "",
    "JAX_DEFAULT_MATMUL_PRECISION": os.environ.get("JAX_DEFAULT_MATMUL_PRECISION", "highest"),
}  # fmt: skip
"""Both subjects compute products of float32 from all bits, as TensorFlow 1.15 did, unless the environment says otherwise."""

Log = Callable[[str], None]


def workloads(tiny: bool) -> list[str]:
    """What is measured."""
    large = [name for name in WORKLOADS if ":" in name]
    return [*TINY, *(name for name in WORKLOADS if name not in large)] if tiny else list(WORKLOADS)


def one(subject: Subject, workload: str, seconds: float) -> dict[str, float | list[float] | None]:
    """The first step, in seconds, the steps of each round, in milliseconds, the peak of the device's memory, in MiB, and the last loss."""
    worker = subject.start(**SETTINGS)
    try:
        worker.ask("build", workload=workload)
        worker.ask("initialize")
        first = worker.ask("steps", count=1)["seconds"]
        worker.ask("steps", count=2)
        count = max(3, int(seconds / worker.ask("steps", count=1)["seconds"]))
        rounds = [worker.ask("steps", count=count) for _ in range(ROUNDS)]
        peak = worker.ask("accelerator")["mebibytes"]
    finally:
        worker.close()
    return {"first step": first, "step": [1e3 * r["seconds"] / count for r in rounds], "peak memory": peak, "loss": rounds[-1]["loss"]}


def measure(workload: str, subjects: list[Subject], seconds: float) -> tuple[list[Measure], dict[str, str]]:
    """The measures of one workload, and by subject why it is missing."""
    units = {"step": "ms", "first step": "s", "peak memory": "MiB"}
    kept = {name: Measure(workload, name, unit) for name, unit in units.items()}
    failures = {}
    for subject in subjects:
        try:
            found = one(subject, workload, seconds)
        except SubjectError as e:
            failures[subject.name] = str(e)
            continue
        if not abs(found["loss"]) < float("inf"):
            failures[subject.name] = f"the loss became {found['loss']}"
            continue
        for name, measured in kept.items():
            for value in found[name] if name == "step" else [found[name]]:
                measured.add(subject.name, value)
    return [measured for measured in kept.values() if measured.values], failures


def measure_all(subjects: list[Subject], tiny: bool, log: Log) -> dict:
    """What `--out` stores of the workloads: those that no time is left for are named."""
    end = time.monotonic() + 60 * MINUTES
    results: dict = {"measures": [], "failures": {}, "left_out": []}
    longest = 0.0
    for number, workload in enumerate(workloads(tiny)):
        begun = time.monotonic()
        if begun + longest > end:
            results["left_out"].append(workload)
            continue
        log(f"{workload} ...")
        measures, failures = measure(workload, rotated(subjects, number), SECONDS)
        results["measures"] += measures
        if failures:
            results["failures"][workload] = failures
        longest = max(longest, time.monotonic() - begun)
    return results


def short(measures: list[dict]) -> list[str]:
    """A sentence for each measure whose ratio is below `ENOUGH`."""
    found = []
    for each in measures:
        ratio = each["summary"]["ratios"].get("jax")
        if ratio and ratio["median"] < ENOUGH[each["name"]]:
            found.append(f"{each['workload']}: {each['name']}, jax / tfcompat is {ratio['median']:.2f}; {ENOUGH[each['name']]} is wanted.")
    return found
