"""Records tests/golden/keras/modes.json, what the programs of tests/keras/mode_programs.py give, from TensorFlow 1.15.5."""

import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "keras"))

import mode_programs  # noqa: E402
import tensorflow as tf  # noqa: E402
from tensorflow.python.eager import context  # noqa: E402


def main():
    found = {name: mode_programs.run(tf, name) for name in mode_programs.GRAPH}
    with context.eager_mode():
        found.update({name: mode_programs.run(tf, name) for name in mode_programs.EAGER})
    with open(os.path.join(ROOT, "tests", "golden", "keras", "modes.json"), "w") as f:
        json.dump(found, f, sort_keys=True, indent=1)


if __name__ == "__main__":
    main()
