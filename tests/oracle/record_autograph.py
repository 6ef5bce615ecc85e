"""Runs the programs of tests/autograph under TensorFlow 1.15.5 and writes tests/golden/autograph.json.

.venv-tf1/bin/python tests/oracle/record_autograph.py

For each program: what it gave, or the class of the exception.
"""

import json
import os
import sys
import warnings

warnings.simplefilter("ignore")
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TESTS)

import tensorflow as tf  # noqa: E402
from autograph import observe, programs  # noqa: E402

tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)


def main():
    found = {name: observe.observed(tf, fn) for name, fn in sorted(programs.PROGRAMS.items())}
    with open(os.path.join(TESTS, "golden", "autograph.json"), "w") as f:
        json.dump(found, f, indent=1, sort_keys=True)
        f.write("\n")


if __name__ == "__main__":
    main()
