"""Arithmetic on shapes in host steps: what is made of parts is what the operations give, and what only moves parts does not run."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.runtime.host import kernels


@pytest.fixture
def ran(monkeypatch):
    """The types of the operations whose kernels ran on the host."""
    found, call = [], kernels.call

    def noted(op, *rest):
        found.append(op.type)
        return call(op, *rest)

    monkeypatch.setattr(kernels, "call", noted)
    return found


def test_a_shape_with_a_new_size_is_made_at_once(ran):
    with tf.Graph().as_default() as graph:
        words = tf.placeholder(tf.string, [None, None])
        sizes = tf.shape(words)
        flat = tf.reshape(words, [sizes[0] * 1, sizes[1]])
        wide = tf.reshape(tf.strings.join([words, "!"]), tf.stack([sizes[1], sizes[0], 1]))
    with tf.Session(graph=graph) as session:
        a, b = session.run([flat, wide], {words: [["a", "b", "c"], ["d", "e", "f"]]})
    assert a.shape == (2, 3)
    np.testing.assert_array_equal(b.reshape(-1), [b"a!", b"b!", b"c!", b"d!", b"e!", b"f!"])
    assert b.shape == (3, 2, 1)
    assert not {"Shape", "Pack"} & set(ran)


def test_numbers_of_a_fed_vector(ran):
    with tf.Graph().as_default() as graph:
        words, sizes = tf.placeholder(tf.string, [None]), tf.placeholder(tf.int64, [3])
        target = tf.concat([tf.cast(sizes[::-1], tf.int32), [1]], 0)
        found = tf.reshape(words, target)
    with tf.Session(graph=graph) as session:
        value = session.run(found, {words: list("abcdef"), sizes: [3, 1, 2]})
    assert value.shape == (2, 1, 3, 1)
    assert not {"ConcatV2", "Cast", "StridedSlice"} & set(ran)


def test_what_is_fetched_has_its_value_and_dtype():
    with tf.Graph().as_default() as graph:
        words = tf.placeholder(tf.string, [None, 2])
        sizes = tf.shape(words, out_type=tf.int64)
        first, narrow = sizes[0], tf.cast(sizes + 0, tf.int32)
        joined = tf.strings.join([words, tf.as_string(tf.fill(sizes, 7))])
    with tf.Session(graph=graph) as session:
        found = session.run([sizes, first, narrow, joined], {words: [["a", "b"]] * 3})
    assert [(v.dtype, v.tolist()) for v in found[:3]] == [(np.int64, [3, 2]), (np.int64, 3), (np.int32, [3, 2])]
    assert found[3].tolist() == [[b"a7", b"b7"]] * 3


def test_a_number_beyond_int32_wraps_as_a_cast_does():
    with tf.Graph().as_default() as graph:
        words, sizes = tf.placeholder(tf.string, [None]), tf.placeholder(tf.int64, [2])
        text = tf.strings.join([tf.as_string(tf.cast(sizes, tf.int32)), words])
    with tf.Session(graph=graph) as session:
        assert session.run(text, {words: ["", ""], sizes: [2**31 + 5, -(2**31) - 1]}).tolist() == [b"-2147483643", b"2147483647"]


def test_an_index_outside_of_a_shape_is_still_an_error():
    with tf.Graph().as_default() as graph:
        words, at = tf.placeholder(tf.string, [None]), tf.placeholder(tf.int32, [])
        found = tf.reshape(words, [tf.gather(tf.shape(words), at)])
    with tf.Session(graph=graph) as session:
        assert session.run(found, {words: ["a"], at: 0}).tolist() == [b"a"]
        with pytest.raises(tf.errors.InvalidArgumentError, match="indices = 1 is not in"):
            session.run(found, {words: ["a"], at: 1})


def test_a_product_of_one_number_is_that_number_and_of_several_is_computed():
    with tf.Graph().as_default() as graph:
        words = tf.placeholder(tf.string, [None, None, 2])
        sizes = tf.shape(words)
        found = tf.reshape(words, [tf.reduce_prod(sizes[:1]), tf.reduce_prod(sizes[1:])])
    with tf.Session(graph=graph) as session:
        assert session.run(found, {words: np.full([3, 4, 2], "x", object)}).shape == (3, 8)
