"""Writes tests/golden/runtime/nodes.json: what TensorFlow 1.15.5 gives for tests/runtime/node_programs.py."""

import json
import pathlib
import sys

import tensorflow as tf

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "runtime"))
import node_programs  # noqa: E402

if __name__ == "__main__":
    found = {name: node_programs.observed(tf, name) for name in sorted(node_programs.PROGRAMS)}
    (TESTS / "golden/runtime/nodes.json").write_text(json.dumps(found, indent=0, sort_keys=True) + "\n")
