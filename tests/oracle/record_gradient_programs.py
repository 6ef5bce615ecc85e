"""Writes tests/golden/framework/gradient_registry_programs.json: what tests/framework/gradient_registry_programs.py returns in TensorFlow 1.15.5."""

import json
import os
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "framework"))
import gradient_registry_programs  # noqa: E402
import tensorflow as tf  # noqa: E402
from tensorflow.python.framework import ops  # noqa: E402

GOLDEN = os.path.join(TESTS, "golden", "framework", "gradient_registry_programs.json")


def main():
    found = {}
    for name, program in gradient_registry_programs.PROGRAMS.items():
        with tf.Graph().as_default():
            found[name] = program(tf, ops)
    with open(GOLDEN, "w") as sink:
        json.dump(found, sink, indent=0, sort_keys=True)
        sink.write("\n")


if __name__ == "__main__":
    main()
