"""The nodes and seeds that the public functions make, against TensorFlow 1.15 (tests/oracle/record_random_nodes.py)."""

import json
import os
import sys

import pytest

import tfcompat as tf

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import random_programs as programs  # noqa: E402

with open(os.path.join(os.path.dirname(__file__), os.pardir, "golden", "random", "nodes.json")) as f:
    GOLDEN = json.load(f)


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_nodes(name):
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(programs.GRAPH_SEED)
        programs.PROGRAMS[name](tf)
    assert programs.describe(graph) == GOLDEN["nodes"][name]


def test_seeds():
    for (graph_seed, op_seed), wanted in zip(programs.EXTREME_SEEDS, GOLDEN["seeds"], strict=True):
        with tf.Graph().as_default():
            tf.set_random_seed(graph_seed)
            assert list(tf.get_seed(op_seed)) == wanted


@pytest.mark.parametrize(
    "call", [tf.random_uniform, lambda shape, dtype: tf.random.stateless_uniform(shape, [1, 2], dtype=dtype)]
)
def test_uniform_refuses(call):
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="Must specify maxval for integer dtype tf.int32"):
            call([3], dtype=tf.int32)
        with pytest.raises(ValueError, match="Invalid dtype tf.string"):
            call([3], dtype=tf.string)
