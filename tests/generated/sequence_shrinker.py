"""Prints the smallest program of `sequences` for which tfcompat and TensorFlow 1.15 differ, as a script that runs alone.

TF1_PYTHON=PYTHON PYTHONPATH=.:tests python -m generated.sequence_shrinker SEED [--run NUMBER]

Statements (also inner ones), runs, fetches and feeds are dropped, and tensors take each other's places, while the first difference is of the same kind.
TFCOMPAT_ENGINE says the engine. TF1_PYTHON is the Python that has TensorFlow 1.15.5 (tests/oracle/README.md).
"""

import argparse
import base64
import json
import os
import pickle
import selectors
import subprocess
import sys

from generated import sequence_drawing, sequences
from generated.sequence_programs import NAME, Program, Run, names

NOT_FED = "You must feed a value"
"""What a program without a feed gives in one of both: 1.15 may have folded away what needs it."""
SECONDS = 90
"""The limit for a program in one of both."""


class Worker:
    """A process that runs programs with one of both: `outcome` of a program, or a text where the process ends or hangs."""

    def __init__(self, python):
        self.python, self.process = python, None

    def outcome(self, program):
        """What the program gives (see `sequences.outcome`), or None where it ends its process or takes too long."""
        if self.process is None:
            self.process = subprocess.Popen(
                [self.python, "-m", "generated.sequences", "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        self.process.stdin.write(base64.b64encode(pickle.dumps(program, 2)) + b"\n")
        self.process.stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            line = self.process.stdout.readline() if selector.select(SECONDS) else b""
        if line:
            return json.loads(line)
        self.close()
        return None

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


class Shrinker:
    """Makes a program smaller while `word` is the first difference."""

    def __init__(self, ours, theirs, report=lambda text: None):
        self.ours, self.theirs, self.report, self.tried, self.word = ours, theirs, report, 0, None

    def differences(self, program):
        self.tried += 1
        a, b = self.ours.outcome(program), self.theirs.outcome(program)
        if a is None or b is None:
            return [(None, "ends" if a is None else "1.15 ends", "")] if (a is None) != (b is None) else []
        return sequences.differences(program, a, b)

    def differs(self, program):
        found = bool(program.statements) and self.differences(program)
        return bool(found) and found[0][1] == self.word and NOT_FED not in found[0][2]

    def shrink(self, program):
        """The smallest program that was found."""
        found = self.differences(program)
        if not found:
            return None
        number, self.word = found[0][:2]
        if number is not None:
            program = self.better(program.with_runs(program.runs[: number + 1]), program)
        size = None
        while size != _size(program):
            size = _size(program)
            for step in (self.fewer_runs, self.fewer_fetches, self.fewer_statements, self.fewer_feeds, self.merged_names):
                program = step(program)
                self.report("%s: %r after %d programs" % (step.__name__, _size(program), self.tried))
        return program

    def better(self, smaller, program):
        return smaller if _size(smaller) < _size(program) and self.differs(smaller) else program

    def fewer_runs(self, program):
        count = max(len(program.runs) // 2, 1)
        while count:
            at = 0
            while at < len(program.runs):
                smaller = program.with_runs(program.runs[:at] + program.runs[at + count :])
                kept, program = program, self.better(smaller, program)
                at += count if kept is program else 0
            count //= 2
        return program

    def fewer_fetches(self, program):
        for at in range(len(program.runs)):
            for fetch in list(program.runs[at].fetches):
                run = program.runs[at]
                left = list(run.fetches)
                left.remove(fetch)
                if left:
                    program = self.better(_with_run(program, at, Run(run.call, left, run.feeds)), program)
            run = program.runs[at]
            if run.call != "run":
                plain = _with_run(program, at, Run("run", run.fetches, run.feeds))
                program = plain if self.differs(plain) else program
        return program

    def fewer_feeds(self, program):
        for at in range(len(program.runs)):
            for feed in list(program.runs[at].feeds):
                run = program.runs[at]
                program = self.better(_with_run(program, at, Run(run.call, run.fetches, [f for f in run.feeds if f != feed])), program)
        return program

    def fewer_statements(self, program):
        used = set().union(*[names(f) for run in program.runs for f in run.fetches])
        unused = {s.name for s in program.statements} - used.union(*[s.uses() for s in program.statements])
        program = self.better(program.without(unused), program)
        for name in [inner.name for s in reversed(program.statements) for inner in s.all()]:
            program = self.better(program.without({name}), program)
        return program

    def merged_names(self, program):
        """Tensors whose place one takes that they are made of."""
        for statement in [inner for s in reversed(program.statements) for inner in s.all()]:
            kinds = {inner.name: inner.kind for s in program.statements for inner in s.all()}
            for other in sorted(names(statement.text)):
                if kinds.get(other) == statement.kind:
                    program = self.better(_renamed(program, statement.name, other).without({statement.name}), program)
        return program


def _with_run(program, at, run):
    return program.with_runs(program.runs[:at] + [run] + program.runs[at + 1 :])


def _renamed(program, old, new):
    swap = lambda text: NAME.sub(lambda m: new if m.group() == old else m.group(), text)  # noqa: E731
    runs = [Run(r.call, dict.fromkeys(map(swap, r.fetches)), [f for f in r.feeds if f[0] != old]) for r in program.runs]
    return Program([s.renamed(old, new) for s in program.statements], runs, program.config, program.graph_seed)


def _size(program):
    """What is to be small: statements with inner ones, runs, and all that they fetch and feed."""
    statements = sum(len(s.all()) for s in program.statements)
    return statements + len(program.runs) + sum(len(run.fetches) + len(run.feeds) for run in program.runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("--run", type=int, help="the last run to look at")
    options = parser.parse_args()
    program = sequence_drawing.draw(options.seed)
    if options.run is not None:
        program = program.with_runs(program.runs[: options.run + 1])
    ours, theirs = Worker(sys.executable), Worker(os.environ["TF1_PYTHON"])
    try:
        shrinker = Shrinker(ours, theirs, lambda text: print("#", text, file=sys.stderr, flush=True))
        smallest = shrinker.shrink(program)
        if smallest is None:
            print("Seed %d: no difference." % options.seed)
            return
        print(smallest.script(), end="")
        for number, word, text in shrinker.differences(smallest):
            print("# run %s: %s: %s" % (number, word, text))
    finally:
        ours.close()
        theirs.close()


if __name__ == "__main__":
    main()
