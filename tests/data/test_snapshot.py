"""Snapshots: the layout of files and which of them are read, as TensorFlow 1.15.5 has them."""

import gzip
import struct

import pytest

import tfcompat as tf
from tfcompat._src.data.experimental.snapshot import snapshot
from tfcompat._src.proto import messages

COUNT = 4


def noisy(dataset):
    return dataset.map(lambda x: x + tf.cast(tf.random.uniform([], 0, 10**6, tf.int32), tf.int64))


def taken(folder, count=COUNT, make=noisy, **settings):
    with tf.Graph().as_default():
        dataset = make(tf.data.Dataset.range(COUNT)).apply(snapshot(str(folder), **settings))
        element = tf.data.make_one_shot_iterator(dataset).get_next()
        with tf.Session() as session:
            return [int(session.run(element)) for _ in range(count)]


def metadata(folder):
    (path,) = folder.glob("*/snapshot.metadata")
    data = path.read_bytes()
    assert struct.unpack("<Q", data[:8]) == (len(data) - 8,)
    return path.parent, messages.data.experimental.SnapshotMetadataRecord.FromString(data[8:])


@pytest.mark.parametrize("compression", [None, "GZIP"])
def test_files(compression, tmp_path):
    first = taken(tmp_path, compression=compression)
    assert taken(tmp_path, compression=compression) == first
    folder, record = metadata(tmp_path)
    assert (record.graph_hash, record.finalized) == (folder.name, True)
    (path,) = (folder / record.run_id).iterdir()
    assert path.name == "00000000.snapshot"
    data = gzip.decompress(path.read_bytes()) if compression else path.read_bytes()
    # A record of 1.15.5 for one int64 scalar: 8 bytes of length, then SnapshotRecord{tensor{dtype: 9, tensor_shape{}, content}}.
    records = [b"\x10" + bytes(7) + b'\n\x0e\x08\t\x12\x00"\x08' + struct.pack("<q", x) for x in first]
    assert data == b"".join(records)


def test_runs_that_do_not_end_write_nothing_that_is_read(tmp_path):
    taken(tmp_path, COUNT - 2)
    folder, record = metadata(tmp_path)
    assert not record.finalized
    assert taken(tmp_path) != taken(tmp_path), "another run is under way: elements pass through"
    assert metadata(tmp_path)[1] == record
    record.creation_timestamp -= 2 * 10**6
    data = record.SerializeToString()
    (folder / "snapshot.metadata").write_bytes(struct.pack("<Q", len(data)) + data)
    assert taken(tmp_path, pending_snapshot_expiry_seconds=1) == taken(tmp_path), "the run is too old: another one takes its place"
    assert metadata(tmp_path)[1].finalized


def test_other_pipelines_have_other_snapshots(tmp_path):
    assert taken(tmp_path, make=lambda d: d.map(lambda x: x + 1)) == [1, 2, 3, 4]
    assert taken(tmp_path, make=lambda d: d.map(lambda x: x + 2)) == [2, 3, 4, 5]
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"compression": "X"}, "compression must be either '' or 'GZIP'."),
        ({"shard_size_bytes": 1}, "shard_size_bytes must be at least 1 MiB."),
        ({"pending_snapshot_expiry_seconds": 0}, "pending_snapshot_expiry_seconds must be at least 1 second."),
    ],
)
def test_settings(settings, message, tmp_path):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        taken(tmp_path, **settings)


def test_shards_and_strings(tmp_path):
    with tf.Graph().as_default():
        texts = [str(i).encode() * (1 << 19) for i in range(3)]
        dataset = tf.data.Dataset.range(3).map(lambda i: tf.zeros([1 << 17], tf.int64) + i).apply(snapshot(str(tmp_path), shard_size_bytes=1 << 20))
        words = tf.data.Dataset.from_tensor_slices([t[:3] for t in texts]).apply(snapshot(str(tmp_path / "words")))
        for _ in range(2):
            numbers, word = (tf.data.make_one_shot_iterator(d).get_next() for d in (dataset, words))
            with tf.Session() as session:
                assert [int(session.run(numbers)[-1]) for _ in range(3)] == [0, 1, 2]
                assert [session.run(word) for _ in range(3)] == [b"000", b"111", b"222"]
    folder, record = metadata(tmp_path)
    assert len(list((folder / record.run_id).iterdir())) == 3
