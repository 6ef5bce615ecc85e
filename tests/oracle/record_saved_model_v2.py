"""Writes a SavedModel of functions with TensorFlow 2 into tests/golden/saved_model/module/, and what it gives.

Run with tensorflow==2.15 installed: python tests/oracle/record_saved_model_v2.py
"""

import json
import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf

GOLDEN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "golden", "saved_model")
X = np.linspace(-1.0, 1.0, 6, dtype=np.float32).reshape(2, 3)
WORDS = ["beta", "none", "alpha"]


class Model(tf.Module):
    """Variables, a branch, a loop, a function that calls another, and a table from a file."""

    def __init__(self, vocabulary):
        super().__init__()
        self.weight = tf.Variable(np.arange(6, dtype=np.float32).reshape(3, 2) / 10.0, name="weight")
        self.bias = tf.Variable([0.5, -0.5], name="bias")
        initializer = tf.lookup.TextFileInitializer(
            vocabulary, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER
        )
        self.table = tf.lookup.StaticHashTable(initializer, -1)

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, name="x")])
    def predict(self, x):
        y = tf.nn.relu(self.affine(x))
        total = tf.constant(0.0)
        while total < 3.0:
            total += tf.reduce_max(y) + 1.0
        if total > 4.0:
            y = y * 2.0
        return {"y": y, "total": total}

    @tf.function
    def affine(self, x):
        return x @ self.weight + self.bias

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="words")])
    def numbers(self, words):
        return {"ids": self.table.lookup(words)}


def main():
    folder = os.path.join(GOLDEN, "module")
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as scratch:
        vocabulary = os.path.join(scratch, "words.txt")
        with open(vocabulary, "w") as file:
            file.write("alpha\nbeta\n")
        model = Model(vocabulary)
        found = model.predict(X)
        ids = model.numbers(WORDS)["ids"]
        tf.saved_model.save(model, folder, {"serving_default": model.predict, "numbers": model.numbers})
    fingerprint = os.path.join(folder, "fingerprint.pb")
    if os.path.exists(fingerprint):
        os.remove(fingerprint)
    values = {
        "x": X.tolist(), "y": found["y"].numpy().tolist(), "total": float(found["total"]), "words": WORDS, "ids": ids.numpy().tolist()
    }
    with open(os.path.join(GOLDEN, "module.json"), "w") as file:
        json.dump(values, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
