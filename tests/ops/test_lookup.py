"""Lookup tables that case tables cannot hold: vocabularies in files, buckets, sharing, and Sessions."""

import numpy as np
import pytest

import tfcompat as tf


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def vocabulary(tmp_path, text):
    path = tmp_path / "words.txt"
    path.write_bytes(text)
    return str(path)


def test_index_table_from_file_gives_line_numbers_then_buckets(tmp_path):
    table = tf.contrib.lookup.index_table_from_file(vocabulary(tmp_path, b"a\r\nb\nc"), num_oov_buckets=2)
    ids = table.lookup(tf.constant([["a", "c"], ["b", "other"]]))
    with tf.Session() as sess:
        sess.run(tf.tables_initializer())
        found = sess.run(ids)
        assert found[0].tolist() == [0, 2] and found[1, 0] == 1 and found[1, 1] in (3, 4)
        assert sess.run(table.size()) == 5


def test_files_are_assets_and_tables_of_one_file_are_shared(tmp_path):
    path = vocabulary(tmp_path, b"a\nb\n")
    tables = [tf.contrib.lookup.index_table_from_file(path) for _ in range(2)]
    assert [t.op.type for t in tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS)] == ["Const"] * 2
    with tf.Session() as sess:
        sess.run(tables[0].initializer)
        assert sess.run(tables[1].lookup(tf.constant(["b"]))).tolist() == [1]


def test_index_to_string_from_file_and_tensor(tmp_path):
    tables = [
        tf.contrib.lookup.index_to_string_table_from_file(vocabulary(tmp_path, b"x\ny\n"), default_value="?"),
        tf.contrib.lookup.index_to_string_table_from_tensor(["x", "y"], default_value="?"),
    ]
    with tf.Session() as sess:
        sess.run(tf.tables_initializer())
        for table in tables:
            assert sess.run(table.lookup(tf.constant([1, 0, 7], tf.int64))).tolist() == [b"y", b"x", b"?"]


def test_columns_of_a_file(tmp_path):
    path = vocabulary(tmp_path, b"one 1 0.5\ntwo 2 1.5\n")
    init = tf.lookup.TextFileInitializer(path, tf.string, 0, tf.float32, 2, delimiter=" ")
    table = tf.lookup.StaticHashTable(init, -1.0)
    with tf.Session() as sess:
        sess.run(table.initializer)
        np.testing.assert_array_equal(sess.run(table.lookup(tf.constant(["two", "three"]))), np.float32([1.5, -1]))


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (b"a\n\nb\n", {}, "empty line found at position 3"),
        (b"a\nb\n", {"vocab_size": 3}, "Invalid vocab_size in .*: expected 3 but got 2"),
        (b"a\nb\n", {"value_column_index": 1}, r"Invalid number of columns in .* line 0 \(a\) : expected 1 got 1"),
        (b"a x\n", {"value_column_index": 1, "key_column_index": 0, "delimiter": " "}, "Field x in line 0 is not a valid int64"),
    ],
)
def test_bad_files(tmp_path, text, options, message):
    table = tf.contrib.lookup.index_table_from_file(vocabulary(tmp_path, text), **options)
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match=message):
        sess.run(table.initializer)


def test_missing_file_is_not_found(tmp_path):
    table = tf.contrib.lookup.index_table_from_file(str(tmp_path / "none"))
    with tf.Session() as sess, pytest.raises(tf.errors.NotFoundError):
        sess.run(table.initializer)


def test_failing_initialization_leaves_the_table_unfilled(tmp_path):
    table = tf.contrib.lookup.index_table_from_file(vocabulary(tmp_path, b"a\n\n"))
    with tf.Session() as sess:
        with pytest.raises(tf.errors.InvalidArgumentError):
            sess.run(table.initializer)
        with pytest.raises(tf.errors.FailedPreconditionError, match="Table not initialized."):
            sess.run(table.lookup(tf.constant(["a"])))


def test_sessions_have_their_own_tables():
    table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1)
    insert, size = table.insert(["a"], [1]), table.size()
    with tf.Session() as first, tf.Session() as second:
        first.run(insert)
        assert first.run(size) == 1 and second.run(size) == 0


def test_shared_name_with_other_dtypes_is_refused():
    tables = [
        tf.raw_ops.MutableHashTableV2(key_dtype=tf.string, value_dtype=dtype, shared_name="t") for dtype in (tf.int64, tf.float32)
    ]
    sizes = [tf.raw_ops.LookupTableSizeV2(table_handle=t) for t in tables]
    with tf.Session() as sess:
        assert sess.run(sizes[0]) == 0
        with pytest.raises(tf.errors.InvalidArgumentError, match="Conflicting key/value dtypes"):
            sess.run(sizes[1])


def test_dense_table_grows():
    table = tf.contrib.lookup.MutableDenseHashTable(tf.int64, tf.int64, -1, 0, -1, initial_num_buckets=4)
    keys = tf.placeholder(tf.int64, [None])
    insert, found, exported = table.insert(keys, keys * 2), table.lookup(keys), table.export()
    with tf.Session() as sess:
        numbers = np.arange(1, 101)
        sess.run(insert, {keys: numbers})
        np.testing.assert_array_equal(sess.run(found, {keys: numbers}), numbers * 2)
        assert len(sess.run(exported)[0]) == 128
