"""Records the elements of tests/data/pipelines.py with TensorFlow 1.15: `python tests/oracle/record_data_pipelines.py`."""

import json
import pathlib
import sys

import numpy as np
import tensorflow as tf

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "data"))

import pipelines  # noqa: E402


def plain(value):
    """An element as JSON: arrays as [dtype, list], strings decoded."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    array = np.asarray(value)
    strings = array.dtype.kind in "SO"
    return ["string" if strings else array.dtype.name, np.vectorize(bytes.decode, otypes=[object])(array).tolist() if strings else array.tolist()]


def elements(make):
    with tf.Graph().as_default():
        element = make(tf).make_one_shot_iterator().get_next()
        nodes = [[op.name, op.type] for op in tf.get_default_graph().get_operations()]
        found = []
        with tf.Session() as session:
            while len(found) < pipelines.MOST:
                try:
                    found.append(plain(session.run(element)))
                except tf.errors.OutOfRangeError:
                    break
    return {"nodes": nodes, "elements": found}


if __name__ == "__main__":
    recorded = {name: elements(make) for name, make in pipelines.PIPELINES.items()}
    (TESTS / "golden" / "data_pipelines.json").write_text(json.dumps(recorded, separators=(",", ":")) + "\n")
