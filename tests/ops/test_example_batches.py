"""Batches of Examples from one writer, which are read side by side, and batches that differ: the values that went in."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.ops.parsing import alike, wire

COUNT = 40
RANDOM = np.random.RandomState(0)
IMAGES = RANDOM.rand(COUNT, 50).astype(np.float32)
NUMBERS = RANDOM.randint(-(2**62), 2**62, COUNT) >> RANDOM.randint(0, 62, COUNT)
LISTS = [RANDOM.randint(0, 10 ** (1 + i % 4), i % 7 * 20).tolist() for i in range(COUNT)]
NAMES = [b"n" * (3 * i) for i in range(COUNT)]
FEATURES = {
    "image": tf.FixedLenFeature([5, 10], tf.float32),
    "number": tf.FixedLenFeature([], tf.int64, -1),
    "list": tf.VarLenFeature(tf.int64),
    "name": tf.FixedLenFeature([], tf.string),
    "absent": tf.FixedLenFeature([2], tf.float32, [1.0, 2.0]),
}
KINDS = {b"image": wire.FLOAT, b"number": wire.INT64, b"list": wire.INT64, b"name": wire.BYTES, b"absent": wire.FLOAT}


def example(i, without=()):
    features = {
        "image": tf.train.Feature(float_list=tf.train.FloatList(value=IMAGES[i])),
        "number": tf.train.Feature(int64_list=tf.train.Int64List(value=[NUMBERS[i]])),
        "list": tf.train.Feature(int64_list=tf.train.Int64List(value=LISTS[i])),
        "name": tf.train.Feature(bytes_list=tf.train.BytesList(value=[NAMES[i]])),
        "unwanted": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"a", b"b"])),
    }
    kept = {key: value for key, value in features.items() if key not in without}
    return tf.train.Example(features=tf.train.Features(feature=kept)).SerializeToString(deterministic=True)


def parsed(texts):
    with tf.Graph().as_default(), tf.Session() as sess:
        serialized = tf.placeholder(tf.string, [None])
        return sess.run(tf.parse_example(serialized, FEATURES), {serialized: texts})


def check(found, numbers):
    np.testing.assert_array_equal(found["image"], IMAGES.reshape(COUNT, 5, 10))
    np.testing.assert_array_equal(found["number"], numbers)
    np.testing.assert_array_equal(found["list"].values, sum(LISTS, []))
    wanted = [(i, j) for i, values in enumerate(LISTS) for j in range(len(values))]
    np.testing.assert_array_equal(found["list"].indices, wanted)
    np.testing.assert_array_equal(found["list"].dense_shape, [COUNT, 120])
    assert found["name"].tolist() == NAMES
    np.testing.assert_array_equal(found["absent"], np.tile([1.0, 2.0], (COUNT, 1)))


def test_alike():
    texts = [example(i) for i in range(COUNT)]
    columns = alike.read(texts, KINDS)
    assert columns is not None and set(columns) == {b"image", b"number", b"list", b"name"}
    check(parsed(texts), NUMBERS)


def test_different():
    texts = [example(i, without=("number",) if i % 3 == 1 else ()) for i in range(COUNT)]
    assert alike.read(texts, KINDS) is None
    check(parsed(texts), [-1 if i % 3 == 1 else n for i, n in enumerate(NUMBERS)])


def test_another_kind():
    texts = [example(i) for i in range(COUNT)]
    feature = tf.train.Feature(float_list=tf.train.FloatList(value=[1.0]))
    extra = tf.train.Example(features=tf.train.Features(feature={"number": feature})).SerializeToString()
    texts[7] += extra
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Key: number, Index: 7\.  Data types don't match"):
        parsed(texts)


def test_damaged_in_a_batch():
    texts = [example(i) for i in range(COUNT)]
    whole = parsed(texts)
    for i in range(0, len(texts[3]), 5):
        for damage in (texts[3][:i], texts[3][:i] + bytes([texts[3][i] ^ 0x88]) + texts[3][i + 1 :]):
            one, many = alike.read([damage] * 16, KINDS), [*texts[:3], damage, *texts[4:]]
            assert one is None or set(one) <= set(KINDS)
            try:
                found = parsed(many)
            except tf.errors.InvalidArgumentError:
                continue
            others = np.arange(COUNT) != 3
            np.testing.assert_array_equal(found["image"][others], whole["image"][others])
            np.testing.assert_array_equal(found["number"][others], whole["number"][others])
