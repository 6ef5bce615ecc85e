"""LMDB databases: pages are written here by the definition of the format, as LMDB 0.9 has it on 64 bits, little-endian."""

import struct

import pytest

import tfcompat as tf
from tfcompat._src.io import lmdb

PAGE = 4096
BRANCH, LEAF, OVERFLOW, META = 1, 2, 4, 8
NONE = 2**64 - 1


def meta_page(number, root, transaction, last):
    free = struct.pack("<IHHQQQQQ", PAGE, 0, 0, 0, 0, 0, 0, NONE)
    tree = struct.pack("<IHHQQQQQ", 0, 0, 0, 0, 0, 0, 0, root)
    header = struct.pack("<QHHHH", number, 0, META, 0, 0)
    return (header + struct.pack("<IIQQ", 0xBEEFC0DE, 1, 0, 1 << 20) + free + tree + struct.pack("<QQ", last, transaction)).ljust(PAGE, b"\0")


def tree_page(number, flags, nodes):
    """Nodes stand at the end of the page, the last one first; their places follow the header."""
    places, body = [], b""
    for node in nodes:
        body = node + b"\0" * (len(node) % 2) + body
        places.append(PAGE - len(body))
    lower = 16 + 2 * len(places)
    head = struct.pack("<QHHHH", number, 0, flags, lower, PAGE - len(body)) + struct.pack(f"<{len(places)}H", *places)
    return head + b"\0" * (PAGE - len(head) - len(body)) + body


def leaf(key, value, kind=0, size=None):
    size = len(value) if size is None else size
    return struct.pack("<HHHH", size & 0xFFFF, size >> 16, kind, len(key)) + key + value


def branch(key, page):
    return struct.pack("<HHHH", page & 0xFFFF, page >> 16 & 0xFFFF, page >> 32, len(key)) + key


LARGE = bytes(range(256)) * 40


@pytest.fixture
def database(tmp_path):
    """Two leaves below a branch, one value on pages of its own, and an older meta page that says another root."""
    first = tree_page(3, LEAF, [leaf(b"a", b"1"), leaf(b"b", struct.pack("<Q", 5), kind=1, size=len(LARGE))])
    second = tree_page(4, LEAF, [leaf(b"c", b""), leaf(b"dd", b"22")])
    large = (struct.pack("<QHHI", 5, 0, OVERFLOW, 3) + LARGE).ljust(3 * PAGE, b"\0")
    root = tree_page(2, BRANCH, [branch(b"", 3), branch(b"c", 4)])
    path = tmp_path / "data.mdb"
    path.write_bytes(meta_page(0, 3, 6, 7) + meta_page(1, 2, 7, 7) + root + first + second + large)
    return path


PAIRS = [(b"a", b"1"), (b"b", LARGE), (b"c", b""), (b"dd", b"22")]


def test_keys_and_values_come_in_order(database):
    assert list(lmdb.read(str(database))) == PAIRS
    assert list(lmdb.read(str(database.parent))) == PAIRS


def test_an_empty_database(tmp_path):
    (tmp_path / "data.mdb").write_bytes(meta_page(0, NONE, 0, 1) + meta_page(1, NONE, 0, 1))
    assert list(lmdb.read(str(tmp_path))) == []


@pytest.mark.parametrize("damage, message", [
    (lambda data: b"x" * len(data), "MDB_INVALID: File is not an LMDB file"),
    (lambda data: b"", "cannot mmap an empty file"),
    (lambda data: data[: 4 * PAGE + 10], "is cut off"),
    (lambda data: data[: 6 * PAGE], "MDB_CORRUPTED: a value is cut off"),
    (lambda data: data[: 2 * PAGE] + tree_page(2, BRANCH, [branch(b"", 2)]), "MDB_CORRUPTED"),
    (lambda data: data[: 3 * PAGE] + tree_page(3, LEAF, [leaf(b"a", b"1", kind=4)]), "several values for a key"),
])  # fmt: skip
def test_a_damaged_file_raises(database, damage, message):
    database.write_bytes(damage(database.read_bytes()))
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        list(lmdb.read(str(database)))


def test_a_file_that_is_not_there_raises_as_in_1_15_5(tmp_path):
    with pytest.raises(tf.errors.InvalidArgumentError, match="No such file or directory"):
        list(lmdb.read(str(tmp_path)))


def test_dataset_and_reader(database):
    with tf.Session() as session:
        element = tf.compat.v1.data.make_one_shot_iterator(tf.contrib.data.LMDBDataset([str(database)] * 2)).get_next()
        assert [session.run(element) for _ in range(8)] == PAIRS * 2
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(element)
        queue = tf.FIFOQueue(2, tf.string)
        session.run(queue.enqueue([str(database.parent)]))
        reader = tf.LMDBReader()
        record = reader.read(queue)
        assert [tuple(session.run(record)) for _ in range(4)] == PAIRS
        assert session.run(reader.num_records_produced()) == 4
