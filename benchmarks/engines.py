"""The two engines of tfcompat: `python -m benchmarks.engines [--rounds N] [--steps N] [WORKLOAD ...]`.

Each round starts a fresh process for each engine, in turn, that keeps no compiled programs, and prints the median seconds of building the
graph, running its initializers, the first step and a step after it, with those of the compiled engine in units of the interpreter's.
"""

import argparse
import statistics
import sys

from benchmarks.subjects import Subject

WORKLOADS = ("mlp", "cnn", "small_transformer", "unrolled_lstm")
ENGINES = ("interpret", "compile")
COLUMNS = ("build", "initialize", "first step", "step")
WARM_UP = 40
"""Runs after which the compiled engine has replaced what it compiled in a short time."""


def measure(engine: str, workload: str, steps: int) -> tuple[float, ...]:
    """Seconds of each of COLUMNS in a process of its own."""
    worker = Subject("tfcompat", sys.executable).start(
        TFCOMPAT_ENGINE=engine, TFCOMPAT_CACHE_DIR="", JAX_COMPILATION_CACHE_DIR=""
    )
    try:
        build = worker.ask("build", workload=workload)["seconds"]
        initialize = worker.ask("initialize")["seconds"]
        first = worker.ask("steps", count=1)["seconds"]
        worker.ask("steps", count=WARM_UP if engine == "compile" else 1)
        return build, initialize, first, worker.ask("steps", count=steps)["seconds"] / steps
    finally:
        worker.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", default=WORKLOADS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    for workload in options.workloads:
        found = {engine: [] for engine in ENGINES}
        for _ in range(options.rounds):
            for engine in ENGINES:
                found[engine].append(measure(engine, workload, options.steps))
        medians = {engine: list(map(statistics.median, zip(*found[engine]))) for engine in ENGINES}
        cells = [f"{c} {i:.4f} : {j:.4f} s ({j / i:.2f})" for c, i, j in zip(COLUMNS, *medians.values())]
        print(f"{workload}: {'; '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
