"""Has TensorFlow 1.15.5 read malformed and damaged inputs in a child process; writes tests/golden/malformed.json.gz.

    TF1_PYTHON=.venv-tf1/bin/python python tests/oracle/record_malformed.py

Run by the tests' own Python, which makes the inputs.
"""

import collections
import os
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.dirname(TESTS)]

from generated import fuzz, recorded  # noqa: E402

from oracle import golden  # noqa: E402


def main():
    worker = fuzz.Worker(os.environ["TF1_PYTHON"], "tensorflow")
    hand = {given.name: recorded.row(worker.read(given)) for given in recorded.by_hand()}
    sample = []
    for given in recorded.sample():
        outcome = recorded.row(worker.read(given))
        sample.append({"kind": given.kind, "name": given.name, "files": given.files, "outcome": outcome})
    worker.close()
    golden.write(str(recorded.PATH), {"by_hand": hand, "sample": sample})
    for name, rows in (("by hand", list(hand.values())), ("sample", [s["outcome"] for s in sample])):
        print(name, len(rows), dict(collections.Counter(outcome for outcome, _ in rows)))


if __name__ == "__main__":
    main()
