"""LMDB databases, read in the order of their keys.

A file is pages of one size. Its first two are meta pages: the one with the higher transaction number says where the root of the B+ tree of
the unnamed database is. A page of the tree has the places of its nodes behind its header; a node of a branch has the number of a page, one
of a leaf a key and a value, or for a large value the number of the first of the pages that hold it. (`struct MDB_page`, `MDB_meta` and
`MDB_node` of LMDB 0.9, little-endian, 64 bits.)
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator
from typing import NamedTuple

from tfcompat._src.base import errors
from tfcompat._src.platform.file_io import local

_MAGIC, _VERSION = 0xBEEFC0DE, 1
_NO_PAGE = 0xFFFFFFFFFFFFFFFF
_BRANCH, _LEAF, _META = 0x01, 0x02, 0x08
_LARGE_VALUE, _OTHER_TREE = 0x01, 0x06
_HEADER = struct.Struct("<QHHHH")
_META_PAGE = struct.Struct("<IIQQ48s48sQQ")
_TREE = struct.Struct("<IHHQQQQQ")
_NODE = struct.Struct("<HHHH")
_PLACE = struct.Struct("<H")
_PAGE_NUMBER = struct.Struct("<Q")
_DEEPEST = 64
"""Levels of a tree beyond which it has a page in itself."""


class _Meta(NamedTuple):
    transaction: int
    page_size: int
    root: int


def read(filename: bytes | str) -> Iterator[tuple[bytes, bytes]]:
    """The keys and values of a database, in order of the keys.

    Args:
      filename: a data file, or a folder with a file data.mdb.

    Raises:
      errors.InvalidArgumentError: there is no such file, or it is no LMDB database.
    """
    path = local(filename)
    path = path if os.path.isfile(path) else local(os.path.join(path, "data.mdb"))
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield from _read(data)
    except (OSError, ValueError) as e:
        raise errors.InvalidArgumentError(None, None, getattr(e, "strerror", None) or str(e)) from None
    except struct.error:
        raise errors.InvalidArgumentError(None, None, f"{path}: a page of the LMDB database is cut off") from None


def _read(data: mmap.mmap) -> Iterator[tuple[bytes, bytes]]:
    first = _meta(data, 0)
    meta = max(first, _meta(data, first.page_size))
    if meta.root != _NO_PAGE:
        yield from _pairs(data, meta.page_size, meta.root, 0)


def _meta(data: mmap.mmap, begin: int) -> _Meta:
    flags = _HEADER.unpack_from(data, begin)[2]
    magic, version, _, _, free_tree, tree, _, transaction = _META_PAGE.unpack_from(data, begin + _HEADER.size)
    if not flags & _META or magic != _MAGIC or version & 0x7FFFFFFF != _VERSION:
        raise ValueError("MDB_INVALID: File is not an LMDB file")
    return _Meta(transaction, _TREE.unpack(free_tree)[0], _TREE.unpack(tree)[-1])


def _pairs(data: mmap.mmap, page_size: int, page: int, depth: int) -> Iterator[tuple[bytes, bytes]]:
    """The keys and values below a page."""
    begin = page * page_size
    _, _, flags, lower, _ = _HEADER.unpack_from(data, begin)
    if depth > _DEEPEST or not flags & (_BRANCH | _LEAF):
        raise ValueError("MDB_CORRUPTED: Located page was wrong type")
    for at in range(begin + _HEADER.size, begin + lower, _PLACE.size):
        node = begin + _PLACE.unpack_from(data, at)[0]
        low, high, kind, key_size = _NODE.unpack_from(data, node)
        if flags & _BRANCH:
            yield from _pairs(data, page_size, low | high << 16 | kind << 32, depth + 1)
            continue
        if kind & _OTHER_TREE:
            raise ValueError("MDB_INCOMPATIBLE: the database holds other databases, or several values for a key")
        key_at, size = node + _NODE.size, low | high << 16
        value_at = key_at + key_size
        if kind & _LARGE_VALUE:
            value_at = _PAGE_NUMBER.unpack_from(data, value_at)[0] * page_size + _HEADER.size
        if value_at + size > len(data):
            raise ValueError("MDB_CORRUPTED: a value is cut off")
        yield data[key_at : key_at + key_size], data[value_at : value_at + size]
