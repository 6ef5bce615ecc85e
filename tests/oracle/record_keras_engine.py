"""Records tests/golden/keras from TensorFlow 1.15.5.

`engine.json.gz` is what the programs of tests/keras/engine_programs.py give, `model.h5` a trained model.
"""

import gzip
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "keras"))

import engine_programs  # noqa: E402
import tensorflow as tf  # noqa: E402


def main():
    tf.keras.backend.set_session(
        tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1))
    )
    folder = os.path.join(ROOT, "tests", "golden", "keras")
    found = {name: engine_programs.run(tf, name) for name in engine_programs.PROGRAMS}
    found["saved_model"] = engine_programs.save_trained(tf, os.path.join(folder, "model.h5"))
    path = os.path.join(folder, "engine.json.gz")
    with open(path, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as packed:
        packed.write(json.dumps(found, sort_keys=True).encode())


if __name__ == "__main__":
    main()
