"""Writes tests/golden/gradient_registry.json: each op type for which TensorFlow 1.15.5 has registered that it has a gradient (true) or none (false)."""

import json
import os

import tensorflow.contrib
import tensorflow.contrib.factorization
import tensorflow.contrib.text
from tensorflow.python.framework import ops

GOLDEN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "golden", "gradient_registry.json")


def main():
    for module in dir(tensorflow.contrib):
        getattr(tensorflow.contrib, module)
    registry = ops._gradient_registry
    with open(GOLDEN, "w") as sink:
        json.dump({name: registry.lookup(name) is not None for name in registry.list()}, sink, indent=0, sort_keys=True)
        sink.write("\n")


if __name__ == "__main__":
    main()
