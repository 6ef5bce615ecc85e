"""Writes tests/golden/training.json.gz with TensorFlow 1.15.5: what can be seen of training loops.

.venv-tf1/bin/python tests/oracle/record_training.py
"""

import os
import sys
import tempfile

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TESTS)

import tensorflow as tf  # noqa: E402
from train import training_scripts  # noqa: E402

from oracle import golden  # noqa: E402


def main():
    found = {}
    for name in training_scripts.SCRIPTS:
        with tempfile.TemporaryDirectory() as folder:
            found[name] = training_scripts.observe(tf, name, folder)
    golden.write(os.path.join(TESTS, "golden", "training.json.gz"), found)


if __name__ == "__main__":
    main()
