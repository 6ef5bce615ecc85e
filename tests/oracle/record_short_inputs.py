"""Writes tests/golden/keras/short_inputs.json: what each row of tests/keras/short_inputs.py gives in TensorFlow 1.15.5."""

import json
import os
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "keras"))
import short_inputs  # noqa: E402
import tensorflow as tf  # noqa: E402

GOLDEN = os.path.join(TESTS, "golden", "keras", "short_inputs.json")


def main():
    with open(GOLDEN, "w") as sink:
        json.dump({name: short_inputs.outcome(tf, name) for name in sorted(short_inputs.ROWS)}, sink, indent=0, sort_keys=True)
        sink.write("\n")


if __name__ == "__main__":
    main()
