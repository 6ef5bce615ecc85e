"""Has the real TensorFlow 1.15 and 2 load the SavedModels that tfcompat writes, and compares what they give.

`TF1_PYTHON=path/to/python TF2_PYTHON=path/to/python python tests/oracle/saved_model_interchange.py`: a graph with signatures, a
vocabulary file and a table; an object with variables, tables and functions, saved in graph and in eager mode; a Keras model.
"""

import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "saved_model"))

import models  # noqa: E402
import numpy as np  # noqa: E402
import tables  # noqa: E402

BATCH = np.linspace(-1.0, 1.0, 6, dtype=np.float32).reshape(2, 3)


def save(folder):
    """Writes the SavedModels; what they give, by name."""
    import tfcompat as tf
    from tfcompat._src.eager.mode import eager_mode
    from tfcompat._src.lookup.static import StaticHashTable

    def file(name, text):
        path = os.path.join(folder, name)
        with open(path, "w") as handle:
            handle.write(text)
        return path

    labels, words = file("labels.txt", "\n".join(models.LABELS) + "\n"), file("words.txt", tables.VOCABULARY)
    found = models.save_classifier(tf, os.path.join(folder, "classifier"), labels)
    wanted = {"classifier": found["logits"].tolist(), "graph": tables.EXPECTED, "eager": tables.EXPECTED}
    tables.save_tables(tf, StaticHashTable, words, os.path.join(folder, "graph"))
    with eager_mode():
        tf.saved_model.save(tables.table_module(tf, StaticHashTable, words), os.path.join(folder, "eager"))
        layers = [tf.keras.layers.Dense(4, activation="relu", input_shape=(3,)), tf.keras.layers.BatchNormalization()]
        model = tf.keras.Sequential([*layers, tf.keras.layers.Dropout(0.5), tf.keras.layers.Dense(2)])
        model.compile("adam", "mse")
        model.fit(BATCH, np.ones([2, 2], np.float32), verbose=0)
        wanted["keras"] = model(BATCH).numpy().tolist()
        tf.saved_model.save(model, os.path.join(folder, "keras"))
    for path in (labels, words):
        os.unlink(path)
    return wanted


def load(folder):
    """What the SavedModels give in the TensorFlow that runs this."""
    import tensorflow as tf

    return load_v2(tf, folder) if tf.__version__.startswith("2") else load_v1(tf, folder)


def load_v1(tf, folder):
    found = {"classifier": models.run_classifier(tf, os.path.join(folder, "classifier"))["logits"].tolist()}
    for name in ("graph", "eager"):
        found[name] = tables.run_signature(tf, os.path.join(folder, name))
        if tables.run_objects(tf, os.path.join(folder, name)) != found[name]:
            raise AssertionError("the objects of {} differ from its signature".format(name))
    with tf.Graph().as_default(), tf.Session() as sess:
        signature = tf.saved_model.load(sess, ["serve"], os.path.join(folder, "keras")).signature_def["serving_default"]
        (given,), (taken,) = signature.inputs.values(), signature.outputs.values()
        found["keras"] = sess.run(taken.name, {given.name: BATCH}).tolist()
    return found


def load_v2(tf, folder):
    def root(name, tags=None):
        return tf.saved_model.load(os.path.join(folder, name), tags)

    found = {"classifier": root("classifier", ["serve"]).signatures["serving_default"](tf.constant(models.batch()))["logits"].numpy().tolist()}
    for name in ("graph", "eager"):
        module = root(name)
        values = module.look_up(tf.constant(tables.WORDS))
        found[name] = {key: value.numpy().tolist() for key, value in values.items()}
    model = root("keras")
    (taken,) = model.signatures["serving_default"](tf.constant(BATCH)).values()
    found["keras"] = taken.numpy().tolist()
    return found


def same(mine, theirs):
    if isinstance(mine, dict):
        return mine == theirs
    return np.allclose(mine, theirs, rtol=1e-5, atol=1e-6)


def main():
    folder = tempfile.mkdtemp()
    wanted, failed = save(folder), 0
    for variable in ("TF1_PYTHON", "TF2_PYTHON"):
        environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3")
        command = [os.environ[variable], __file__, folder]
        found = json.loads(subprocess.check_output(command, env=environment, stderr=subprocess.DEVNULL, text=True).splitlines()[-1])
        for name, values in wanted.items():
            is_same = same(values, found[name])
            failed += not is_same
            print(f"{name} in {variable}: {'same' if is_same else f'DIFFERENT: {values} {found[name]}'}")
    return failed


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(load(sys.argv[1])))
    else:
        sys.exit(main())
