"""tf.contrib.receptive_field against what TensorFlow 1.15.5 finds for the same networks."""

import json
from pathlib import Path

import pytest
from nn import receptive_fields

import tfcompat as tf

WANTED = json.loads((Path(__file__).resolve().parent.parent / "golden/nn/receptive_fields.json").read_text())
API = tf.contrib.receptive_field.receptive_field_api


@pytest.mark.parametrize("key", WANTED)
def test_network(key):
    network, _, options = key.partition("/")
    found = receptive_fields.outcome(tf, API, getattr(receptive_fields, network), receptive_fields.OPTIONS[options])
    assert json.loads(json.dumps(found)) == WANTED[key]


def test_coordinates():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, None, None, 1])
        y = receptive_fields.branches(tf, tf.contrib.slim, x)
        field = API.compute_receptive_field_from_graph_def(graph, x, y)
    assert list(field) == [3, 3, 4, 4, 1, 1]
    assert field.compute_input_center_coordinates([[0, 0], [2, 3]]).tolist() == [[0, 0], [8, 12]]
    assert field.compute_feature_coordinates([[0, 0], [8, 12]]).tolist() == [[0, 0], [2, 3]]
    assert field.compute_input_center_coordinates([3], axis=[1]).tolist() == [12]
    for call in (field.compute_input_center_coordinates, field.compute_feature_coordinates):
        with pytest.raises(ValueError, match=r"\(3\) does not match dimensionality of `axis` \(2\)"):
            call([1, 2, 3])


def test_an_output_that_is_not_there():
    graph = tf.Graph()
    with graph.as_default():
        tf.placeholder(tf.float32, [None, None, None, 1], name="image")
    with pytest.raises(ValueError, match="Output node was not found"):
        API.compute_receptive_field_from_graph_def(graph, "image", "output")
