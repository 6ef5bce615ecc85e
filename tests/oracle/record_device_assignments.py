"""Records how TensorFlow 1.15.5 assigns replicas to cores (tests/distribute/device_assignments.py); run it with Python 3.7."""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "distribute"))

import device_assignments  # noqa: E402
import tensorflow as tf  # noqa: E402

with open(os.path.join(HERE, "..", "golden", "distribute", "device_assignments.json"), "w") as file:
    json.dump(device_assignments.outcomes(tf), file, sort_keys=True)
    file.write("\n")
