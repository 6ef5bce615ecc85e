"""Reads thousands of damaged files in child processes and counts what comes of it.

    python -m generated.fuzz --count 5000 --seed 1 [--kinds graph,image] [--python PATH --module tensorflow]      (in tests/)
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from generated import mutations, seeds

HERE = Path(__file__).resolve().parent
LIMIT = 4 << 30
LARGE = 640 << 20
"""1.15.5 takes images of less than 2^29 pixels."""
SECONDS = 600
RUN_STAGES = frozenset(("run", "read", "open", "restore"))
ALLOWED = {
    "events": ("DecodeError",), "meta_graph": ("DecodeError",), "saved_model": ("DecodeError",), "graph": ("DecodeError",), "checkpoint_state": ("UnicodeDecodeError", "ValueError"),
    "keras_model": ("OSError", "KeyError", "ValueError", "TypeError", "JSONDecodeError", "UnicodeDecodeError"),
}  # fmt: skip
"""Classes that 1.15.5 too lets through from protobuf, json, h5py and text files, by kind."""
STATED = ("RuntimeError", "ValueError", "TypeError", "KeyError", "OSError", "NotImplementedError")


@dataclass(frozen=True)
class Input:
    """A damaged input: the kind of its reader, a name that says how it was made, and its files."""

    kind: str
    name: str
    files: dict[str, bytes]


def damaged(count: int, seed: int, kinds: tuple[str, ...] = ()) -> Iterator[Input]:
    """`count` inputs, as many of each kind; the same for the same seed."""
    by_kind = collections.defaultdict(list)
    for one in seeds.all_seeds():
        if not kinds or one.kind in kinds:
            by_kind[one.kind].append(one)
    names = sorted(by_kind)
    for i in range(count):
        rng = random.Random(f"{seed}/{i}")
        whole = rng.choice(by_kind[names[i % len(names)]])
        file = rng.choice(sorted(whole.damages))
        way = rng.choice(whole.damages[file])
        changed = mutations.DAMAGES[way](rng, whole.files[file])
        yield Input(whole.kind, f"{seed}/{i} {whole.kind} {whole.name} {file} {way}", whole.files | {file: changed})


class Worker:
    """A child process that reads inputs; it is started again where it crashes or hangs."""

    def __init__(self, python: str = sys.executable, module: str = "tfcompat", limit: int = LIMIT) -> None:
        self._command = [python, str(HERE / "worker.py"), module, str(limit)]
        self._process: subprocess.Popen | None = None

    def _started(self) -> subprocess.Popen:
        if self._process is None:
            environment = dict(os.environ)
            if "tensorflow" in self._command:
                environment.pop("PYTHONPATH", None)
            else:
                environment["PYTHONPATH"] = os.pathsep.join((str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")))
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
            )
            assert self._process.stdout.readline() == "ready\n"
        return self._process

    def read(self, given: Input, seconds: float = SECONDS) -> dict:
        """What comes of an input: see worker.outcome; "crash" and "hang" are outcomes too."""
        process = self._started()
        with tempfile.TemporaryDirectory() as folder:
            for name, data in given.files.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            process.stdin.write(f"{given.kind} {folder}\n")
            process.stdin.flush()
            ready, _, _ = select.select([process.stdout], [], [], seconds)
            line = process.stdout.readline() if ready else ""
        if line:
            return json.loads(line)
        self.close()
        return {"outcome": "crash" if ready else "hang", "stage": "", "memory": 0}

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def verdict(kind: str, found: dict) -> str:
    """How an outcome is judged: value, right, lacking (by name), large, or what is wrong: raw, MemoryError, crash, hang."""
    name = found["outcome"]
    if name in ("crash", "hang", "MemoryError"):
        return name
    if found["memory"] > LARGE:
        return "large"
    if name == "value":
        return name
    if name == "NotImplementedError" and found["stated"]:
        return "lacking"
    if found["is_op_error"] or name in ALLOWED.get(kind, ()):
        return "right"
    return "right" if found["stated"] and name in STATED and found["stage"] not in RUN_STAGES else "raw"


WRONG = ("raw", "MemoryError", "crash", "hang", "large")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", default="")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--module", default="tfcompat")
    parser.add_argument("--keep", default="", help="a file for all outcomes, one JSON object a line")
    options = parser.parse_args()
    worker = Worker(options.python, options.module)
    table: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    log = open(options.keep, "w") if options.keep else None
    for given in damaged(options.count, options.seed, tuple(filter(None, options.kinds.split(",")))):
        found = worker.read(given)
        judged = verdict(given.kind, found) if options.module == "tfcompat" else found["outcome"]
        table[given.kind][judged] += 1
        if judged in WRONG:
            print(given.name, judged, found, flush=True)
        if log:
            print(json.dumps({"name": given.name, **found, "verdict": judged}), file=log, flush=True)
    worker.close()
    for kind, counts in sorted(table.items()):
        print(f"{kind:20}", dict(counts))
    total = sum(table.values(), collections.Counter())
    print(f"{'all':20}", dict(total))
    return sum(total[w] for w in WRONG)


if __name__ == "__main__":
    sys.exit(main() > 0)
