"""Lines of text files and fields of CSV files: the recorded results of TensorFlow 1.15.5."""

import gzip
import zlib

import pytest

import tfcompat as tf

TEXT = b"a\rb\nc\r\nd\r\r\ne\r"


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def elements(dataset):
    element, found = dataset.make_one_shot_iterator().get_next(), []
    with tf.Session() as session:
        while True:
            try:
                found.append(session.run(element))
            except tf.errors.OutOfRangeError:
                return found


@pytest.mark.parametrize("compression, write", [("", bytes), ("ZLIB", zlib.compress), ("GZIP", gzip.compress)])
def test_lines_of_a_dataset_have_no_carriage_returns(tmp_path, compression, write):
    (tmp_path / "file").write_bytes(write(TEXT))
    assert elements(tf.data.TextLineDataset(str(tmp_path / "file"), compression)) == [b"ab", b"c", b"d", b"e"]


def test_lines_of_a_reader_lose_one_carriage_return_at_their_end(tmp_path):
    (tmp_path / "file").write_bytes(TEXT)
    queue = tf.FIFOQueue(1, tf.string, shapes=[])
    line, found = tf.TextLineReader().read(queue)[1], []
    with tf.Session() as session:
        session.run(queue.enqueue(str(tmp_path / "file")))
        session.run(queue.close())
        with pytest.raises(tf.errors.OutOfRangeError):
            while True:
                found.append(session.run(line))
    assert found == [b"a\rb", b"c", b"d\r", b"e"]


@pytest.mark.parametrize("dtype, text, value", [(tf.int32, " 5", 5), (tf.int32, "-0", 0), (tf.float32, " 1.5 ", 1.5), (tf.float32, "+1.5", 1.5), (tf.float32, "inf", float("inf"))])
def test_numbers_of_csv_files(tmp_path, dtype, text, value):
    (tmp_path / "file").write_text(text + "\n")
    assert elements(tf.data.experimental.CsvDataset(str(tmp_path / "file"), [dtype])) == [(value,)]


@pytest.mark.parametrize("dtype, text", [*[(tf.int32, t) for t in ("+5", "1_0", "0x10", "--1", "5.0")], *[(tf.float32, t) for t in ("1_0.5", "-Infinity", "0x1p3", "1e")]])
def test_what_is_no_number_in_a_csv_file(tmp_path, dtype, text):
    (tmp_path / "file").write_text(text + "\n")
    kind = {"int32": "int32", "float32": "float"}[dtype.name]
    with pytest.raises(tf.errors.InvalidArgumentError) as raised:
        elements(tf.data.experimental.CsvDataset(str(tmp_path / "file"), [dtype]))
    assert raised.value.message.startswith(f"Field 0 in record is not a valid {kind}: {text}")
