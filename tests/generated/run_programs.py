"""Runs generated programs in child processes and counts how they end.

PYTHONPATH=.:tests python -m generated.run_programs --programs 100000 --seed 0 [--rows all] [--log FILE] [--show NUMBER]

Program NUMBER of seed S is drawn by the number S * 10**6 + NUMBER. A program that ends its process, or takes longer than the limit, is named.
"""

import argparse
import collections
import os
import pathlib
import pickle
import selectors
import signal
import subprocess
import sys
import tempfile

import tfcompat as tf
from generated.programs import usages

TESTS = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = (str(TESTS.parent), str(TESTS))
PROGRAMS, ROWS = "generated.program_worker", "generated.surroundings_worker"
PER_CHILD = 2000
"""So many programs run in one child, which keeps what it compiled."""
STARTS_IN = 120
"""Seconds that a child may take for its imports on a busy machine."""


class Child:
    """A worker process; `answers` are the lines that it writes, `stopped` says why there is no more."""

    def __init__(self, bank, seconds, folders, *options, worker=PROGRAMS):
        command = [sys.executable, "-m", worker, bank, *options]
        path = os.pathsep.join(folders)
        environment = {**os.environ, "PYTHONPATH": path, "JAX_PLATFORMS": "cpu"}
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, env=environment
        )
        self.seconds, self.stopped = seconds, None
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.process.stdout, selectors.EVENT_READ)

    def answers(self, first, count):
        """The lines for the programs from `first` on, until there is no more or the child ends."""
        with self.errors, self.selector, self.process:
            self.process.stdin.write(f"{first} {count}\n".encode())
            self.process.stdin.close()
            yield from self._lines()
            if self.stopped is None and self.process.wait():
                self.errors.seek(0)
                last = " ".join(self.errors.read()[-600:].decode("utf8", "replace").split())
                code = self.process.returncode
                name = signal.Signals(-code).name if code < 0 else f"exit status {code}"
                self.stopped = f"abort\t{name}: {last}"

    def _lines(self):
        text, limit = b"", self.seconds + STARTS_IN
        while self.selector.select(limit):
            limit = self.seconds
            read = os.read(self.process.stdout.fileno(), 1 << 16)
            if not read:
                return
            *lines, text = (text + read).split(b"\n")
            yield from (line.decode("utf8", "replace") for line in lines)
        self.process.kill()
        self.stopped = f"hang\t{self.seconds} s"


def run(bank, first, count, seconds=30, report=print, folders=FOLDERS, worker=PROGRAMS):
    """The outcomes of `count` programs from number `first` on: {word: [(number, types, text)]}. `folders` hold the worker."""
    found = collections.defaultdict(list)
    last = first + count
    while first < last:
        child = Child(bank, seconds, folders, worker=worker)
        number, at = first - 1, None
        for line in child.answers(first, min(PER_CHILD, last - first)):
            parts = line.split("\t", 3)
            number, at = int(parts[0]), int(parts[0]) if len(parts) == 1 else None
            if len(parts) == 4:
                found[parts[1]].append((number, *parts[2:]))
                report(line)
        if child.stopped is not None:
            word, text = child.stopped.split("\t", 1)
            found[word].append((at, "?", text))
            report(f"{at}\t{word}\t?\t{text}")
            if at is None:
                raise RuntimeError(f"a child ended without a program: {text}")
        first = number + 1
    return found


def write_bank(folder, families=None):
    """A file with the usages of the case tables."""
    path = os.path.join(folder, "bank")
    with open(path, "wb") as file:
        pickle.dump(usages(families), file)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=30, help="the limit for one program")
    parser.add_argument("--log", help="a file that gets a line for each program that gave no value")
    parser.add_argument("--rows", metavar="FAMILIES", help="instead of programs: variants of the rows of these tables (a,b,c or all)")
    parser.add_argument("--show", type=int, help="prints the steps of one program, and runs it")
    options = parser.parse_args()
    tf.logging.set_verbosity(tf.logging.FATAL)
    with tempfile.TemporaryDirectory() as folder:
        bank, worker = (options.rows, ROWS) if options.rows else (write_bank(folder), PROGRAMS)
        if options.show is not None:
            child = Child(bank, options.seconds, FOLDERS, "--show", worker=worker)
            print(*child.answers(options.show, 1), sep="\n")
            print(child.stopped or "")
            return
        log = open(options.log, "w") if options.log else None  # noqa: SIM115
        report = (lambda line: "\tvalue\t" in line or "\tsame\t" in line or print(line, file=log, flush=True)) if log else (lambda line: None)
        found = run(bank, options.seed * 10**6, options.programs, options.seconds, report, worker=worker)
    print({word: len(entries) for word, entries in sorted(found.items())})
    for word in ("abort", "hang", "internal"):
        for entry in found[word][:50]:
            print(word, *entry)


if __name__ == "__main__":
    main()
