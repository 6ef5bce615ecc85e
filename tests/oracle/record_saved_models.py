"""Writes SavedModels and frozen graphs with the real TensorFlow into tests/golden/saved_model/.

Run with tensorflow==1.15.5 installed: python tests/oracle/record_saved_models.py
"""

import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.python.ops.lookup_ops import StaticHashTable

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GOLDEN = os.path.join(TESTS, "golden", "saved_model")
sys.path.insert(0, os.path.join(TESTS, "saved_model"))

import models  # noqa: E402
import tables  # noqa: E402


def main():
    folder = os.path.join(GOLDEN, "classifier")
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as scratch:
        vocabulary = os.path.join(scratch, "labels.txt")
        with open(vocabulary, "w") as file:
            file.write("".join(label + "\n" for label in models.LABELS))
        found = models.save_classifier(tf, folder, vocabulary)
        vocabulary = os.path.join(scratch, "words.txt")
        with open(vocabulary, "w") as file:
            file.write(tables.VOCABULARY)
        shutil.rmtree(os.path.join(GOLDEN, "tables"), ignore_errors=True)
        tables.save_tables(tf, StaticHashTable, vocabulary, os.path.join(GOLDEN, "tables"))
    for run in (tables.run_signature, tables.run_objects):
        assert run(tf, os.path.join(GOLDEN, "tables")) == tables.EXPECTED
    found["labels"] = found["labels"].astype("S")
    np.savez_compressed(os.path.join(GOLDEN, "classifier.npz"), **found)
    show = [sys.executable, "-m", "tensorflow.python.tools.saved_model_cli", "show", "--dir", folder, "--all"]
    with open(os.path.join(GOLDEN, "classifier_show.txt"), "wb") as file:
        file.write(subprocess.check_output(show))
    graph_def, found = models.freeze_detector(tf)
    with open(os.path.join(GOLDEN, "detector.pb"), "wb") as file:
        file.write(graph_def.SerializeToString())
    np.savez_compressed(os.path.join(GOLDEN, "detector.npz"), **found)


if __name__ == "__main__":
    main()
