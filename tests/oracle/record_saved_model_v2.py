"""Writes SavedModels with TensorFlow 2 into tests/golden/saved_model/, and what they give: functions (module/), a Keras model
that was trained (keras/), tables and containers (tables2/).

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


def emptied(name):
    folder = os.path.join(GOLDEN, name)
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def without_fingerprint(folder):
    fingerprint = os.path.join(folder, "fingerprint.pb")
    if os.path.exists(fingerprint):
        os.remove(fingerprint)


def save_keras():
    """A model of some layers after one step of Adam; its outputs for a batch."""
    tf.keras.utils.set_random_seed(1)
    layers = [
        tf.keras.layers.Dense(4, activation="relu", input_shape=(3,)), tf.keras.layers.BatchNormalization(),
        tf.keras.layers.Dropout(0.5), tf.keras.layers.Dense(2, activation="softmax"),
    ]  # fmt: skip
    model = tf.keras.Sequential(layers)
    model.compile("adam", "mse")
    model.fit(X, np.eye(2, dtype=np.float32), verbose=0)
    folder = emptied("keras")
    model.save(folder, save_format="tf")
    without_fingerprint(folder)
    os.remove(os.path.join(folder, "keras_metadata.pb"))
    return model(X).numpy().tolist()


class Tables(tf.Module):
    """A table that was changed, one with buckets, variables in a list and a dict, and a function with a choice in Python."""

    def __init__(self):
        super().__init__()
        self.changed = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
        self.changed.insert(tf.constant(["alpha", "gamma"]), tf.constant([5, 6], tf.int64))
        pairs = tf.lookup.KeyValueTensorInitializer(["alpha", "beta"], tf.constant([0, 1], tf.int64), tf.string, tf.int64)
        self.buckets = tf.lookup.StaticVocabularyTable(pairs, 3)
        self.listed = [tf.Variable(1.0), tf.Variable(3.0)]
        self.named = {"a": tf.Variable(4.0)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="words")])
    def look_up(self, words):
        return {"changed": self.changed.lookup(words), "buckets": self.buckets.lookup(words)}

    @tf.function
    def combined(self, x, product=False):
        return x * self.named["a"] if product else x + self.listed[0] + self.listed[1]


def save_tables():
    model = Tables()
    found = {"combined": [float(model.combined(tf.constant(2.0))), float(model.combined(tf.constant(2.0), product=True))]}
    found.update((key, value.numpy().tolist()) for key, value in model.look_up(tf.constant(WORDS)).items())
    folder = emptied("tables2")
    tf.saved_model.save(model, folder, {"serving_default": model.look_up})
    without_fingerprint(folder)
    return found


def main():
    folder = emptied("module")
    with tempfile.TemporaryDirectory() as scratch:
        vocabulary = os.path.join(scratch, "words.txt")
        with open(vocabulary, "w") as file:
            file.write("alpha\nbeta\n")
        model = Model(vocabulary)
        found = model.predict(X)
        ids = model.numbers(WORDS)["ids"]
        tf.saved_model.save(model, folder, {"serving_default": model.predict, "numbers": model.numbers})
    without_fingerprint(folder)
    values = {
        "x": X.tolist(), "y": found["y"].numpy().tolist(), "total": float(found["total"]), "words": WORDS, "ids": ids.numpy().tolist(),
        "keras": save_keras(), "tables": save_tables(),
    }
    with open(os.path.join(GOLDEN, "module.json"), "w") as file:
        json.dump(values, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
