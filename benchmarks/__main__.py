"""`python -m benchmarks`: tfcompat beside TensorFlow 1.15, TensorFlow 2 and hand-written JAX, in one run."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks import accelerator, report
from benchmarks.measure import OPS, WORKLOADS, measure
from benchmarks.subjects import TITLES, Subject, SubjectError


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=f"of {', '.join(WORKLOADS)}; ops for each op:...; all by default")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of each workload (7)")
    parser.add_argument("--subjects", default=",".join(TITLES), help="comma-separated; all by default")
    for name in ("tf1", "tf2"):
        variable = f"{name.upper()}_PYTHON"
        given = os.environ.get(variable)
        parser.add_argument(f"--{name}-python", default=given, help=f"interpreter with {TITLES[name]}; or {variable}")
    parser.add_argument("--out", type=Path, help="JSON file to store every value in")
    parser.add_argument("--from", dest="stored", type=Path, help="measure nothing: report what --out has stored")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also put the table between the markers of FILE")
    parser.add_argument("--accelerator", action="store_true", help="training on the accelerator that is there, beside JAX; 8 minutes at most")
    parser.add_argument("--tiny", action="store_true", help="with --accelerator: small models, also on a CPU")
    options = parser.parse_args(arguments)
    options.workloads = [name for w in options.workloads for name in (OPS if w == "ops" else (w,))]
    unknown = [w for w in options.workloads if w not in WORKLOADS]
    unknown += [s for s in options.subjects.split(",") if s not in TITLES]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}")
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    if options.tiny and not options.accelerator:
        parser.error("--tiny goes with --accelerator")
    if options.accelerator:
        options.subjects = "tfcompat,jax"
    return options


def find_subjects(options: argparse.Namespace) -> tuple[list[Subject], dict[str, dict], dict[str, str]]:
    """The subjects that are there, their versions, and why the others are not."""
    pythons = {"tfcompat": sys.executable, "tf1": options.tf1_python, "tf2": options.tf2_python, "jax": sys.executable}
    found, versions, absent = [], {}, {}
    for name in (n for n in TITLES if n in options.subjects.split(",")):
        if not pythons[name]:
            absent[name] = f"no interpreter is given by {name.upper()}_PYTHON or --{name}-python"
            continue
        subject = Subject(name, pythons[name])
        try:
            worker = subject.start()
            versions[name] = worker.ask("version")
            worker.close()
            found.append(subject)
        except (SubjectError, OSError) as e:
            absent[name] = str(e)
    return found, versions, absent


def machine() -> dict:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    models = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    processor = models[0].split(":")[1].strip() if models else platform.machine()
    return {"processor": processor, "cores": os.cpu_count(), "memory_gib": memory, "system": platform.system()}


def run(options: argparse.Namespace) -> dict:
    """Measures and gives what `--out` stores."""
    subjects, versions, absent = find_subjects(options)
    for name, reason in absent.items():
        print(f"{name} is left out: {reason}", file=sys.stderr)
    results = {
        "date": datetime.date.today().isoformat(), "machine": machine(), "rounds": options.rounds, "versions": versions,
        "absent": absent, "measures": [], "first_losses": {}, "failures": {},
    }  # fmt: skip
    for workload in options.workloads or WORKLOADS:
        print(f"{workload} ...", file=sys.stderr)
        outcome = measure(workload, subjects, options.rounds, lambda text: print(text, file=sys.stderr))
        results["measures"] += [asdict(m) for m in outcome.measures]
        for name, found in (("first_losses", outcome.first_losses), ("failures", outcome.failures)):
            if found:
                results[name][workload] = found
    for stored in results["measures"]:
        stored["summary"] = report.summarize(stored)
    return results


def run_on_accelerator(options: argparse.Namespace) -> dict:
    """Measures training on JAX's first device and gives what `--out` stores. Raises SystemExit where that is a CPU, without `--tiny`."""
    subjects, versions, absent = find_subjects(options)
    worker = subjects[0].start(**accelerator.SETTINGS)
    device = worker.ask("accelerator")
    worker.close()
    if device["platform"] == "cpu" and not options.tiny:
        raise SystemExit("JAX sees no accelerator here. `python -m benchmarks --accelerator --tiny` measures small models on the CPU.")
    found = accelerator.measure_all(subjects, options.tiny, lambda text: print(text, file=sys.stderr))
    results = {
        "date": datetime.date.today().isoformat(), "machine": {**machine(), "accelerator": f"{device['count']} x {device['kind']}"},
        "rounds": accelerator.ROUNDS, "versions": versions, "absent": absent, "first_losses": {}, **found,
        "measures": [asdict(m) for m in found["measures"]],
    }  # fmt: skip
    for stored in results["measures"]:
        stored["summary"] = report.summarize(stored)
    return {**results, "short": accelerator.short(results["measures"])}


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    measured = run_on_accelerator if options.accelerator else run
    results = json.loads(options.stored.read_text()) if options.stored else measured(options)
    if options.out:
        options.out.write_text(json.dumps(results, indent=1) + "\n")
    print(report.as_text(results))
    if options.markdown:
        report.write_into(options.markdown, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
