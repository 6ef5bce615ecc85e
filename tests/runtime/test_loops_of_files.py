"""Graphs with loops, branches, TensorArrays and their gradients that TensorFlow 1.15.5 and 2.15.1 have made."""

from pathlib import Path

import numpy as np
import pytest
from oracle import golden

import tfcompat as tf

RECORDS = Path(__file__).parents[1] / "golden/loops"


@pytest.mark.parametrize("name", sorted(path.name.partition(".")[0] for path in RECORDS.iterdir()))
def test_same_values(name):
    record = golden.read(str(RECORDS / f"{name}.json.gz"))
    definition = tf.GraphDef.FromString(record["graph"])
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(definition, name="")
        found = session.run(record["fetches"], {key: value.array for key, value in record["feed"].items()})
    for ours, theirs in zip(found, record["values"], strict=True):
        np.testing.assert_allclose(ours, theirs.array, rtol=1e-5, atol=1e-6)


def test_a_backward_loop_of_tensorflow_is_recognized():
    record = golden.read(str(RECORDS / "network_nodes.json.gz"))
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(tf.GraphDef.FromString(record["graph"]), name="")
        text = session.explain(record["fetches"], {key: value.array for key, value in record["feed"].items()})
    assert "gradient of gradients/f_count" in text and "StackPop" not in text
