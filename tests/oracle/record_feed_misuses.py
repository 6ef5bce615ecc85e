"""Writes tests/golden/runtime/feed_misuses.json: what TensorFlow 1.15.5 makes of each row of tests/runtime/feed_misuses.py, cold and warm."""

import json
import os
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "runtime"))
import feed_misuses  # noqa: E402
import tensorflow as tf  # noqa: E402

GOLDEN = os.path.join(TESTS, "golden", "runtime", "feed_misuses.json")


def warm(session, run, good, bad):
    for _ in range(50):
        run(good)


def main():
    tf.logging.set_verbosity("ERROR")
    rows = {}
    for row in feed_misuses.ROWS:
        cold = feed_misuses.observed(tf, row, lambda *_: None)
        assert feed_misuses.observed(tf, row, warm) == cold, row.name
        rows[row.name] = cold
    with open(GOLDEN, "w") as sink:
        json.dump(rows, sink, indent=0, sort_keys=True)
        sink.write("\n")


if __name__ == "__main__":
    main()
