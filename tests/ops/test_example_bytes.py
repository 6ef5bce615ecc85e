"""Serialized messages that are cut short or damaged: InvalidArgumentError or a value, never anything else."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.ops.parsing import wire

FEATURES = {
    "a": tf.FixedLenFeature([2], tf.float32, [0.0, 0.0]),
    "b": tf.VarLenFeature(tf.int64),
    "c": tf.FixedLenSequenceFeature([], tf.string, allow_missing=True),
}


def feature(**kwargs):
    kinds = {"f": ("float_list", tf.train.FloatList), "i": ("int64_list", tf.train.Int64List), "s": ("bytes_list", tf.train.BytesList)}
    ((kind, values),) = kwargs.items()
    name, message = kinds[kind]
    return tf.train.Feature(**{name: message(value=values)})


EXAMPLE = tf.train.Features(feature={"a": feature(f=[1.5, -2]), "b": feature(i=[3, -1, 300]), "c": feature(s=[b"x", b""])})
TEXT = tf.train.Example(features=EXAMPLE).SerializeToString(deterministic=True)
LISTS = {"b": tf.train.FeatureList(feature=[feature(i=[1]), feature(i=[2, 3])])}
SEQUENCE = tf.train.SequenceExample(
    context=EXAMPLE, feature_lists=tf.train.FeatureLists(feature_list=LISTS)
).SerializeToString(deterministic=True)


def damaged(text):
    for i in range(len(text)):
        yield text[:i]
        for bit in (0, 3, 7):
            yield text[:i] + bytes([text[i] ^ 1 << bit]) + text[i + 1 :]


def check(fetches, serialized, text, batched):
    with tf.Session(graph=serialized.graph) as sess:
        sess.run(fetches, {serialized: [text] if batched else text})
        for damage in damaged(text):
            try:
                sess.run(fetches, {serialized: [damage] if batched else damage})
            except tf.errors.InvalidArgumentError as e:
                assert e.op is not None


def test_damaged_examples():
    with tf.Graph().as_default():
        serialized = tf.placeholder(tf.string, [None])
        check(tf.parse_example(serialized, FEATURES), serialized, TEXT, True)


def test_damaged_sequence_examples():
    with tf.Graph().as_default():
        serialized = tf.placeholder(tf.string, [])
        context = {"a": FEATURES["a"], "b": tf.VarLenFeature(tf.int64)}
        found = tf.parse_single_sequence_example(serialized, context, {"b": tf.VarLenFeature(tf.int64)})
        check(found, serialized, SEQUENCE, False)


@pytest.mark.parametrize("values", [[0], [127, 128, 300], [-1, 2**63 - 1, -(2**63)], [1] * 50 + [-5], []])
def test_integers_are_read_back(values):
    text = tf.train.Feature(int64_list=tf.train.Int64List(value=values)).SerializeToString()
    found, counts = wire.decode([wire.feature_at(text, 0, len(text)), None], wire.INT64)
    np.testing.assert_array_equal(found, np.array(values, np.int64))
    assert counts.tolist() == [len(values), 0]


def test_unknown_fields_are_skipped():
    text = b"\x10\x05" + TEXT + b"\x19" + b"12345678" + b"\x25" + b"1234"
    wanted = {b"b": [None]}
    wire.read_example(text, wanted, 0)
    assert wire.decode(wanted[b"b"], wire.INT64)[0].tolist() == [3, -1, 300]
