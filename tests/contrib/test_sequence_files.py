"""Sequence files with texts whose lengths 1.15 reads as negative numbers; the format is Hadoop's (WritableUtils.writeVInt)."""

import struct

import pytest

import tfcompat as tf
from contrib import hadoop_programs as files


def read(path):
    dataset = tf.contrib.hadoop.SequenceFileDataset(str(path))
    element = tf.compat.v1.data.make_one_shot_iterator(dataset).get_next()
    with tf.Session() as session:
        return session.run(element)


@pytest.mark.parametrize("length", [127, 128, 194, 246, 255, 256, 70000])
def test_lengths(length, tmp_path):
    size = length.to_bytes((length.bit_length() + 7) // 8, "big")
    text = (size if length < 128 else bytes([256 - 112 - len(size)]) + size) + b"v" * length
    (tmp_path / "file").write_bytes(files.header() + struct.pack(">II", 2 + len(text), 2) + files.text(b"k") + text)
    with tf.Graph().as_default():
        assert read(tmp_path / "file") == (b"k", b"v" * length)


def test_a_length_past_the_end_is_not_read(tmp_path):
    """Eight bytes of length, as a damaged file may have them: the file ends there."""
    (tmp_path / "file").write_bytes(files.header() + struct.pack(">II", 9, 2) + files.text(b"k") + b"\x88" + b"\x7f" * 8)
    with tf.Graph().as_default(), pytest.raises(tf.errors.OutOfRangeError):
        read(tmp_path / "file")


def test_a_negative_length_is_refused(tmp_path):
    (tmp_path / "file").write_bytes(files.header() + struct.pack(">II", 9, 2) + b"\x87\x01")
    with tf.Graph().as_default(), pytest.raises(tf.errors.InvalidArgumentError, match="negative length"):
        read(tmp_path / "file")
