"""Strings hashed one by one, in groups of lengths, and in crosses: values recorded with TensorFlow 1.15.5."""

import hashlib
import json

import numpy as np
import pytest

import tfcompat as tf

TEXTS = [bytes((7 * i * i + 31 * n + i) % 256 for i in range(n)) for n in [*range(70), 127, 128, 129, 130, 192, 193, 300]]
DIGEST = "dc9acba00de3f51de942feadef7600c4d07176da482d04c6eb07904980e1673f"
"""SHA-256 of the hashes of TEXTS below 2**63 - 1, as a list in JSON."""


@pytest.mark.parametrize("size", [1, 10, 64, len(TEXTS)])
def test_a_hash_does_not_depend_on_what_else_is_hashed(size):
    with tf.Graph().as_default(), tf.Session() as session:
        texts = tf.placeholder(tf.string, [None])
        hashed = tf.strings.to_hash_bucket_fast(texts, 2**63 - 1)
        parts = [session.run(hashed, {texts: TEXTS[i : i + size]}).tolist() for i in range(0, len(TEXTS), size)]
    assert hashlib.sha256(json.dumps(sum(parts, [])).encode()).hexdigest() == DIGEST


def test_a_cross_of_rows_of_several_lengths():
    a = tf.SparseTensor([[0, 0], [0, 1], [2, 0], [2, 1], [2, 2]], ["a", "bb", "c", "dddd", "e" * 9], [4, 3])
    b = tf.SparseTensor([[0, 0], [1, 0], [2, 0], [2, 1]], tf.constant([5, 6, 7, 8], tf.int64), [4, 2])
    dense = tf.constant([["x", "y"], ["z", "w"], ["u", "v"], ["s", "t"]])
    with tf.Session() as session:
        found = session.run(tf.sparse.cross_hashed([a, b, dense], 1000))
    assert found.indices.tolist() == [[0, i] for i in range(4)] + [[2, i] for i in range(12)]
    assert found.values.tolist() == [831, 340, 277, 709, 220, 198, 220, 105, 418, 800, 790, 713, 414, 27, 462, 543]
    assert found.dense_shape.tolist() == [4, 12]


def test_rows_are_filled_in_the_order_of_rows():
    with tf.Session() as session:
        found = session.run(tf.raw_ops.SparseFillEmptyRows(indices=[[3, 0], [1, 1], [1, 0]], values=[5, 6, 7], dense_shape=[5, 2], default_value=9))
    assert [each.tolist() for each in found] == [
        [[0, 0], [1, 1], [1, 0], [2, 0], [3, 0], [4, 0]], [9, 6, 7, 9, 5, 9], [True, False, True, False, True], [4, 1, 2]
    ]  # fmt: skip


def test_a_cross_without_rows():
    a = tf.SparseTensor(np.zeros([0, 2], np.int64), np.zeros([0], str), [0, 3])
    with tf.Session() as session:
        found = session.run(tf.sparse.cross_hashed([a, a], 10))
    assert (found.indices.shape, found.values.shape, found.dense_shape.tolist()) == ((0, 2), (0,), [0, 0])
