"""Writes tests/golden/random/nodes.json with TensorFlow 1.15: `python tests/oracle/record_random_nodes.py`."""

import json
import os
import sys

import tensorflow as tf

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "random"))
import random_programs as programs  # noqa: E402


def main():
    golden = {"nodes": {}, "seeds": []}
    for name, program in programs.PROGRAMS.items():
        with tf.Graph().as_default() as graph:
            tf.set_random_seed(programs.GRAPH_SEED)
            program(tf)
            golden["nodes"][name] = programs.describe(graph)
    for graph_seed, op_seed in programs.EXTREME_SEEDS:
        with tf.Graph().as_default():
            tf.set_random_seed(graph_seed)
            golden["seeds"].append(tf.get_seed(op_seed))
    with open(os.path.join(ROOT, "golden", "random", "nodes.json"), "w") as f:
        json.dump(golden, f, indent=0)


main()
