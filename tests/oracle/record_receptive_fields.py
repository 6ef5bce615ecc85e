"""Records the receptive fields that TensorFlow 1.15.5 finds for the networks of tests/nn/receptive_fields.py; run it with Python 3.7."""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "nn"))

import receptive_fields  # noqa: E402
import tensorflow as tf  # noqa: E402
from tensorflow.contrib.receptive_field import receptive_field_api  # noqa: E402

with open(os.path.join(HERE, "..", "golden", "nn", "receptive_fields.json"), "w") as file:
    json.dump(receptive_fields.outcomes(tf, receptive_field_api), file, indent=0, sort_keys=True)
    file.write("\n")
