"""`tfcompat replay`: runs a record here, compares, and names the first node that differs."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

from tfcompat._src.replay import report
from tfcompat._src.replay.differences import DIFFERS
from tfcompat._src.replay.record import Record, RecordError
from tfcompat._src.replay.replay import Replay, Verdict
from tfcompat._src.replay.settle import settle

ARGUMENTS = "RECORD [--engine E] [--device D] [--exact] [--shuffle-runs] [--twice] [--nodes DIR] [--long]"
SHORT = 40
"""Up to so many runs are listed though they agree."""
ENGINES = ("choose", "compile", "interpret")


def main(arguments: list[str]) -> int:
    """Replays a record; returns 0 where all runs agree, 1 where one differs, 2 where the record cannot be read."""
    parser = argparse.ArgumentParser(prog="tfcompat replay", description="Runs a record here and compares every run with the recorded one.")
    parser.add_argument("record", metavar="RECORD", help="folder that tf1_record.py or tfcompat run --record wrote, or a zip archive of one")
    parser.add_argument("--engine", choices=(*ENGINES, "all"), help="what computes: as TFCOMPAT_ENGINE; all: each in turn")
    parser.add_argument("--device", metavar="D", help="put all operations on this device, as /gpu:0")
    parser.add_argument("--exact", action="store_true", help="every bit must agree")
    parser.add_argument("--shuffle-runs", action="store_true", help="make the runs in another order too, each from its own variables")
    parser.add_argument("--twice", action="store_true", help="make the runs a second time, with what the first time has compiled and cached")
    parser.add_argument("--nodes", metavar="DIR", default="replay_nodes", help="where to write the inputs of a node that differs, and a program (replay_nodes)")
    parser.add_argument("--long", action="store_true", help="list values that agree up to rounding too")
    options = parser.parse_args(arguments)
    if options.engine is not None and options.engine != os.environ.get("TFCOMPAT_ENGINE"):
        return in_engines(ENGINES if options.engine == "all" else (options.engine,), arguments)
    try:
        return replay(options)
    except RecordError as e:
        sys.stderr.write(f"tfcompat replay: {e}\n")
        return 2


def in_engines(engines: tuple[str, ...], arguments: list[str]) -> int:
    """Replays in a process for each engine; returns the worst exit status."""
    worst = 0
    for engine in engines:
        print(f"engine {engine}", flush=True)
        command = [sys.executable, "-m", "tfcompat", "replay", *arguments, "--engine", engine]
        worst = max(worst, subprocess.run(command, env={**os.environ, "TFCOMPAT_ENGINE": engine}, check=False).returncode)
    return worst


def replay(options: argparse.Namespace) -> int:
    """Replays in this process, and prints the report."""
    record = Record(options.record)
    replays = Replay(record, options.device, options.exact)
    print(*report.about(record), *report.replaced(replays), sep="\n")
    verdicts: list[Verdict] = replays.in_order()
    if options.twice:
        verdicts += replays.again()
    if options.shuffle_runs:
        verdicts += replays.shuffled()
    explained = None
    for verdict in verdicts:
        found = settle(replays, verdict, options.nodes if explained is None else None) if verdict.verdict == DIFFERS else None
        if verdict.verdict == DIFFERS or options.long or len(verdicts) <= SHORT:
            print(*report.of_verdict(verdict, options.long), sep="\n")
        if verdict.verdict == DIFFERS and found is not None and explained is None:
            explained = found
            print(*report.of_explanation(found), sep="\n")
    print(report.summary(verdicts))
    replays.close()
    return int(any(v.verdict == DIFFERS for v in verdicts))
