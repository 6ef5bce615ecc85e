"""Inputs of datasets that are numbers must be scalars: when the node is built where 1.15.5 looks at its shape there, else when it runs."""

import json
import pathlib
import types

import pytest

import tfcompat as tf
from tfcompat._src.graph import op_spec

RANKS = json.loads((pathlib.Path(__file__).parent.parent / "golden" / "dataset_ranks.json").read_text())
"""Op types of 1.15.5 that make datasets: for each input, the ranks of 0, 1 and 2 with which it builds a node."""


class _Inputs:
    def __init__(self, spec, name, rank):
        self.inputs, self.op = [], types.SimpleNamespace(outputs=[None])
        for arg in spec.signature.inputs:
            self.inputs.append((None,) * rank if arg.name == name else None)


@pytest.mark.parametrize("op_type", sorted(RANKS))
def test_ranks_that_build_a_node(op_type):
    spec = op_spec.find(op_type)
    for name, wanted in RANKS[op_type].items():
        found = []
        for rank in range(3):
            try:
                assert spec.shape(_Inputs(spec, name, rank)) == [()]
                found.append(rank)
            except ValueError as error:
                assert str(error).startswith("Shape must be")
        assert found == wanted, name


def test_messages():
    with tf.Graph().as_default():
        dataset = tf.data.Dataset.range(3)
        with pytest.raises(ValueError, match="Shape must be rank 0 but is rank 1 for 'RepeatDataset'"):
            dataset.repeat([1, 2])
        count = tf.placeholder_with_default(tf.constant([1, 2], tf.int64), None)
        iterator = tf.data.make_initializable_iterator(dataset.take(count))
        with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="count must be a scalar"):
            session.run(iterator.initializer)
