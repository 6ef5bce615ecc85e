"""Paths that whole kinds of programs live on, beside TensorFlow 1.15: `TF1_PYTHON=path/to/python python -m benchmarks.paths [PATH ...]`.

Each path (`workloads/path.py`) stays in one process per subject; the subjects take turns. Prints the median CPU milliseconds of a step, of all
threads, and TensorFlow's divided by tfcompat's: above 1 tfcompat needs less.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys

from benchmarks.subjects import Subject, SubjectError
from benchmarks.workloads.path import PATHS


def measure(path: str, subjects: list[Subject], options: argparse.Namespace) -> dict[str, list[float]]:
    """CPU milliseconds of a step in each round, by subject. Raises SubjectError if a subject's process fails."""
    workers = {subject.name: subject.start(**options.settings) for subject in subjects}
    try:
        counts = {name: w.ask("prepare_path", path=path, warm_up=options.warm_up, seconds=options.seconds)["steps"] for name, w in workers.items()}
        rounds = [
            {name: w.ask("path_steps", count=counts[name])["milliseconds"] for name, w in workers.items()}
            for _ in range(options.rounds)
        ]  # fmt: skip
        return {name: [r[name] for r in rounds] for name in workers}
    finally:
        for worker in workers.values():
            worker.close()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paths", description=__doc__)
    parser.add_argument("paths", nargs="*", metavar="PATH", help=f"of {', '.join(PATHS)}; all by default")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--warm-up", type=float, default=10.0, help="seconds of steps before the rounds (10)")
    parser.add_argument("--seconds", type=float, default=1.0, help="of each round (1)")
    parser.add_argument("--engine", help="TFCOMPAT_ENGINE of tfcompat's process")
    parser.add_argument("--tf1-python", default=os.environ.get("TF1_PYTHON"), help="interpreter with TensorFlow 1.15; or TF1_PYTHON")
    options = parser.parse_args()
    unknown = [p for p in options.paths if p not in PATHS]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}")
    options.settings = {"TFCOMPAT_ENGINE": options.engine} if options.engine else {}
    subjects = [Subject("tfcompat", sys.executable)]
    if options.tf1_python:
        subjects.append(Subject("tf1", options.tf1_python))
    failed = 0
    print(f"{'path':32}{'tfcompat, ms':>14}{'1.15, ms':>12}{'1.15 / tfcompat':>18}")
    for path in options.paths or PATHS:
        try:
            values = measure(path, subjects, options)
        except SubjectError as e:
            failed += 1
            print(f"{path:32}failed: {e}", flush=True)
            continue
        ours, theirs = values["tfcompat"], values.get("tf1", [])
        line = f"{path:32}{statistics.median(ours):14.3f}"
        if theirs:
            ratios = [other / own for own, other in zip(ours, theirs)]
            line += f"{statistics.median(theirs):12.3f}{statistics.median(ratios):8.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        print(line, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
