"""Writes tests/golden/runtime/error_texts.json: the errors of tests/runtime/error_programs.py in TensorFlow 1.15.5."""

import json
import os
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "runtime"))
import error_programs  # noqa: E402
import tensorflow as tf  # noqa: E402

GOLDEN = os.path.join(TESTS, "golden", "runtime", "error_texts.json")


def main():
    with open(GOLDEN, "w") as sink:
        json.dump({name: error_programs.outcome(tf, name) for name in error_programs.PROGRAMS}, sink, indent=0, sort_keys=True)
        sink.write("\n")


if __name__ == "__main__":
    main()
