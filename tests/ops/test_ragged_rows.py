"""Rows picked out of ragged tensors, and ragged tensors in eager mode; expected values were printed by TensorFlow 1.15.5."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.eager.mode import eager_mode
from tfcompat._src.ops.ragged.rows import batch_gather_with_default, gather_nd

PAIRS = [[["a", "b"], ["c", "d"]], [["e", "f"]]]
WORDS = [[["a", "b"], ["c"]], [["e", "f"]]]


def ragged(rows, ragged_rank=None):
    return tf.ragged.constant(rows, ragged_rank=ragged_rank)


def as_bytes(rows):
    return [as_bytes(r) for r in rows] if isinstance(rows, list) else rows.encode()


def value_of(result):
    with tf.Session() as session:
        value = session.run(result)
    return value.to_list() if hasattr(value, "to_list") else value.tolist()


@pytest.mark.parametrize("params, indices, default, ragged_rank, expected", [
    (lambda: ragged(PAIRS, 1), lambda: ragged([[1, -1], [0, 7]]), ["X", "Y"], 1, [[["c", "d"], ["X", "Y"]], [["e", "f"], ["X", "Y"]]]),
    (lambda: ragged(WORDS), lambda: ragged([[1, -1], [0, 7]]), "X", 2, [[["c"], ["X"]], [["e", "f"], ["X"]]]),
    (lambda: ragged([["a", "b"], ["c"]]), lambda: [1, -1, 5], "X", 1, [["c"], ["X"], ["X"]]),
    (lambda: tf.constant(["a", "b", "c"]), lambda: [1, -1, 5], "X", 0, ["b", "X", "X"]),
    (lambda: tf.constant([["a", "b", "c"], ["d", "e", "f"]]), lambda: [[1, -1, 5], [0, 4, 2]], "X", 0,
     [["b", "X", "X"], ["d", "X", "f"]]),
    (lambda: ragged([["a", "b"], ["c"]]), lambda: tf.constant([[0, 2], [-1, 0]]), "X", 0, [["a", "X"], ["X", "c"]]),
    (lambda: tf.constant([["a", "b"], ["c", "d"]]), lambda: ragged([[0, 2], [-1, 0, 1]]), "X", 1, [["a", "X"], ["X", "c", "d"]]),
])  # fmt: skip
def test_a_default_stands_for_what_is_not_there(params, indices, default, ragged_rank, expected):
    with tf.Graph().as_default():
        result = batch_gather_with_default(params(), indices(), default)
        if ragged_rank:
            assert getattr(result, "ragged_rank", 0) == ragged_rank
        assert value_of(result) == as_bytes(expected)


@pytest.mark.parametrize("default", ["X", [["X"]]])
def test_a_default_of_another_rank_is_refused(default):
    with tf.Graph().as_default(), pytest.raises(ValueError):
        batch_gather_with_default(ragged(PAIRS, 1), ragged([[1, -1], [0, 7]]), default)


def test_indices_without_entries_give_all():
    with tf.Graph().as_default():
        places = tf.RaggedTensor.from_row_splits(np.zeros([3, 0], np.int32), [0, 2, 3])
        assert value_of(gather_nd(tf.constant(["a"]), places)) == [[[b"a"], [b"a"]], [[b"a"]]]
        assert value_of(tf.gather_nd(tf.constant(["a", "b"]), np.zeros([2, 0], np.int32))) == [[b"a", b"b"]] * 2


def test_eager_rows():
    with eager_mode():
        rows = ragged([[1, 2], [3], []])
        assert repr(rows) == "<tf.RaggedTensor [[1, 2], [3], []]>"
        assert rows.to_list() == [[1, 2], [3], []]
        assert [r.numpy().tolist() for r in rows] == [[1, 2], [3], []]
        with pytest.raises(IndexError, match="Row key 3 out of bounds"):
            rows[3]
        with pytest.raises(tf.errors.InvalidArgumentError, match="out of bounds"):
            rows[0, 5]


def test_a_ragged_tensor_of_a_graph_has_no_list():
    with tf.Graph().as_default(), pytest.raises(ValueError, match="only supported in eager mode"):
        ragged([[1], []]).to_list()
