"""Elements and nodes of pipelines are those of TensorFlow 1.15."""

import json
import pathlib

import numpy as np
import pytest

import tfcompat as tf

from .pipelines import MOST, PIPELINES

GOLDEN = json.loads((pathlib.Path(__file__).parent.parent / "golden" / "data_pipelines.json").read_text())


def plain(value):
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    array = np.asarray(value)
    if array.dtype == object or isinstance(value, bytes):
        strings = np.asarray(value, object)
        return ["string", np.vectorize(bytes.decode, otypes=[object])(strings).tolist()]
    return [array.dtype.name, array.tolist()]


@pytest.mark.parametrize("name", sorted(PIPELINES))
def test_elements_and_nodes(name):
    with tf.Graph().as_default() as graph:
        element = PIPELINES[name](tf).make_one_shot_iterator().get_next()
        nodes = [[op.name, op.type] for op in graph.get_operations()]
        found = []
        with tf.Session() as session:
            while len(found) < MOST:
                try:
                    found.append(plain(session.run(element)))
                except tf.errors.OutOfRangeError:
                    break
    assert found == GOLDEN[name]["elements"]
    assert nodes == GOLDEN[name]["nodes"]
