"""TFRecord files against those of TensorFlow 1.15.5, whole and damaged."""

import numpy as np
import pytest

import tfcompat as tf
from summary import shared
from summary.recorded import RECORDED


@pytest.mark.parametrize("name, options", shared.OPTIONS, ids=[name for name, _ in shared.OPTIONS])
def test_written_bytes_are_tensorflows(name, options, tmp_path):
    path = tmp_path / name
    with tf.io.TFRecordWriter(str(path), tf.io.TFRecordOptions(**options)) as writer:
        for record in shared.RECORDS:
            writer.write(record)
    assert path.read_bytes() == RECORDED["files"][name]


@pytest.mark.parametrize("name, compression", [*shared.DAMAGED, ("zlib_level", "ZLIB"), ("gzip_stored", "GZIP"), ("huffman", "ZLIB")])
def test_reads_tensorflows_files(name, compression, tmp_path):
    path = tmp_path / name
    path.write_bytes(RECORDED["files"][name])
    assert list(tf.python_io.tf_record_iterator(str(path), compression)) == shared.RECORDS


@pytest.mark.parametrize("name, compression", shared.DAMAGED)
def test_damaged_files_read_up_to_the_damage(name, compression, tmp_path):
    """A file cut off at each byte, and with each byte changed: records, error class and message are 1.15's."""
    found = shared.damaged(tf, RECORDED["files"][name], compression, str(tmp_path))
    assert found == RECORDED["damage"][name]


def test_large_records_pass_the_buffers(tmp_path):
    records = [bytes([i]) * size for i, size in enumerate((1 << 20, 3, 0, 700_001))]
    for compression in ("", "GZIP", "ZLIB"):
        path = str(tmp_path / f"large{compression}")
        with tf.io.TFRecordWriter(path, compression) as writer:
            for record in records:
                writer.write(record)
        assert list(tf.io.tf_record_iterator(path, tf.io.TFRecordOptions(compression))) == records


def test_flushed_records_can_be_read_while_the_file_is_open(tmp_path):
    for compression in ("", "GZIP"):
        path = str(tmp_path / f"open{compression}")
        writer = tf.io.TFRecordWriter(path, compression)
        writer.write(b"one")
        writer.flush()
        reader = tf.python_io.tf_record_iterator(path, compression)
        assert next(reader) == b"one"
        writer.write(b"two")
        writer.flush()
        assert list(reader) == [b"two"]
        writer.close()


def test_misuse(tmp_path):
    path = str(tmp_path / "file")
    with pytest.raises(tf.errors.NotFoundError):
        next(tf.python_io.tf_record_iterator(path))
    with pytest.raises(tf.errors.NotFoundError):
        tf.io.TFRecordWriter(str(tmp_path / "none" / "file"))
    with pytest.raises(ValueError, match='Not a valid compression_type: "LZ4"'):
        tf.io.TFRecordOptions("LZ4")
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.io.TFRecordWriter(path, tf.io.TFRecordOptions("ZLIB", window_bits=77))
    writer = tf.io.TFRecordWriter(path)
    with pytest.raises(TypeError, match="expected bytes, str found"):
        writer.write("text")
    writer.close()
    writer.close()
    with pytest.raises(tf.errors.FailedPreconditionError):
        writer.write(b"late")


def test_histograms_count_few_and_many_values_alike():
    x = np.float32([-3e38, -1, -1e-12, 0, 1e-13, 1e-12, 2.5, 2.5, 1e21, 3e38])
    with tf.Graph().as_default(), tf.Session() as session:
        written = session.run([tf.summary.histogram("h", x), tf.summary.histogram("h", np.tile(x, 400))])
    few, many = (tf.Summary.FromString(summary).value[0].histo for summary in written)
    assert few.bucket_limit == many.bucket_limit
    np.testing.assert_array_equal(400 * np.array(few.bucket), many.bucket)
