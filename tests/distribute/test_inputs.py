"""Datasets are given to the replicas of strategies as in TensorFlow 1.15: by the same nodes, in the same order."""

import json
import pathlib

import pytest

import tfcompat as tf

from .inputs import INPUTS, TWO, observed

GOLDEN = json.loads((pathlib.Path(__file__).parent.parent / "golden" / "distribute_inputs.json").read_text())


@pytest.mark.parametrize("name", sorted(INPUTS))
def test_nodes_and_values(name):
    assert observed(tf, INPUTS[name]) == GOLDEN[name]


def test_elements_that_are_no_batches():
    strategy = tf.distribute.MirroredStrategy(TWO)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="not batched"):
        strategy.make_dataset_iterator(tf.data.Dataset.range(4))


def test_an_input_function_that_gives_no_dataset():
    strategy = tf.distribute.MirroredStrategy(TWO)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="must return"):
        strategy.make_input_fn_iterator(lambda context: 3)


def test_numpy_dataset():
    with tf.Graph().as_default(), tf.Session() as session:
        strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
        dataset = strategy.experimental_make_numpy_dataset(([[1.0, 2.0], [3.0, 4.0]], [5, 6]), session=session)
        iterator = tf.data.make_initializable_iterator(dataset)
        element = iterator.get_next()
        session.run(iterator.initializer)
        assert [[part.tolist() for part in session.run(element)] for _ in range(2)] == [[[1.0, 2.0], 5], [[3.0, 4.0], 6]]
