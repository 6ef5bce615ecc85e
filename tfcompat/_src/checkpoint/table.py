"""Table files: sorted keys with values in checksummed blocks (LevelDB's format), which hold the index of a checkpoint."""

from __future__ import annotations

import bisect
import struct
from collections.abc import Iterator
from typing import Any

from tfcompat._src.checkpoint import snappy, varint
from tfcompat._src.platform import crc32c

BLOCK_SIZE = 262144
RESTART_INTERVAL = 16
MAGIC = 0xDB4775248B80FB57
FOOTER_SIZE = 48
TRAILER_SIZE = 5
UNCOMPRESSED = 0
SNAPPY = 1


class DamagedTable(Exception):
    """A table file that is not as it was written."""


# ---- writing ----


class _Block:
    """Entries with the part of each key that differs from the key before it."""

    def __init__(self, restart_interval: int) -> None:
        self.restart_interval = restart_interval
        self.body = bytearray()
        self.restarts = [0]
        self.since_restart = 0
        self.last_key = b""

    def add(self, key: bytes, value: bytes) -> None:
        shared = 0
        if self.since_restart < self.restart_interval:
            shared = _common_prefix(self.last_key, key)
        else:
            self.restarts.append(len(self.body))
            self.since_restart = 0
        unshared = key[shared:]
        for number in (shared, len(unshared), len(value)):
            self.body += varint.encode(number)
        self.body += unshared + value
        self.since_restart += 1
        self.last_key = key

    @property
    def size(self) -> int:
        return len(self.body) + 4 * len(self.restarts) + 4

    def finish(self) -> bytes:
        return bytes(self.body) + struct.pack(f"<{len(self.restarts) + 1}I", *self.restarts, len(self.restarts))


def _common_prefix(a: bytes, b: bytes) -> int:
    length = min(len(a), len(b))
    return next((i for i in range(length) if a[i] != b[i]), length)


def _separator(last: bytes, following: bytes | None) -> bytes:
    """A short key >= `last` and below `following`, where there is one."""
    if following is None:
        place = next((i for i, byte in enumerate(last) if byte != 255), None)
    else:
        place = _common_prefix(last, following)
        if place >= min(len(last), len(following)) or last[place] == 255 or last[place] + 1 >= following[place]:
            place = None
    return last if place is None else last[:place] + bytes((last[place] + 1,))


def build(entries: list[tuple[bytes, bytes]]) -> bytes:
    """The bytes of a table file with these (key, value) pairs, whose keys ascend."""
    found = bytearray()

    def store(block: _Block) -> bytes:
        body = block.finish() + bytes((UNCOMPRESSED,))
        handle = varint.encode(len(found)) + varint.encode(len(body) - 1)
        found.extend(body + struct.pack("<I", crc32c.masked(body)))
        return handle

    index = _Block(1)
    block = _Block(RESTART_INTERVAL)
    for i, (key, value) in enumerate(entries):
        block.add(key, value)
        following = entries[i + 1][0] if i + 1 < len(entries) else None
        if block.size >= BLOCK_SIZE or following is None:
            index.add(_separator(key, following), store(block))
            block = _Block(RESTART_INTERVAL)
    handles = store(_Block(RESTART_INTERVAL)) + store(index)
    return bytes(found) + handles.ljust(FOOTER_SIZE - 8, b"\0") + struct.pack("<Q", MAGIC)


# ---- reading ----


class Table:
    """A table in memory.

    Args:
      data: the bytes of the file.

    Raises:
      DamagedTable: the footer or the index block is damaged.
    """

    def __init__(self, data: Any) -> None:
        self._data = data
        if len(data) < FOOTER_SIZE:
            raise DamagedTable("file is too short to be an sstable")
        footer = bytes(data[-FOOTER_SIZE:])
        if struct.unpack("<Q", footer[-8:])[0] != MAGIC:
            raise DamagedTable("not an sstable (bad magic number)")
        try:
            at = _handle(footer, 0)[1]
            index_handle = _handle(footer, at)[0]
        except ValueError:
            raise DamagedTable("bad block handle") from None
        self._index = [(key, handle) for key, handle in self._entries(*index_handle)]
        self._blocks: dict[int, list[tuple[bytes, bytes]]] = {}

    def _entries(self, offset: int, size: int) -> Iterator[tuple[bytes, bytes]]:
        """The entries of a block, whose checksum is verified first."""
        body = bytes(self._data[offset : offset + size + TRAILER_SIZE])
        if len(body) != size + TRAILER_SIZE or size < 4:
            raise DamagedTable("truncated block read")
        if crc32c.masked(body[:-4]) != struct.unpack("<I", body[-4:])[0]:
            raise DamagedTable("block checksum mismatch")
        try:
            body = _content(body[:size], body[size])
            size = len(body)
            end = size - 4 - 4 * struct.unpack("<I", body[size - 4 :])[0]
            at, key = 0, b""
            while at < end:
                shared, at = varint.decode(body, at)
                unshared, at = varint.decode(body, at)
                length, at = varint.decode(body, at)
                if shared > len(key) or at + unshared + length > end:
                    raise ValueError("an entry ends outside its block")
                key = key[:shared] + body[at : at + unshared]
                at += unshared
                yield key, body[at : at + length]
                at += length
        except (ValueError, struct.error):
            raise DamagedTable("bad entry in block") from None

    def _block(self, i: int) -> list[tuple[bytes, bytes]]:
        if i not in self._blocks:
            try:
                handle = _handle(self._index[i][1], 0)[0]
            except ValueError:
                raise DamagedTable("bad block handle") from None
            self._blocks[i] = list(self._entries(*handle))
        return self._blocks[i]

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """All (key, value) pairs in the order of keys.

        Raises:
          DamagedTable: a block is damaged.
        """
        for i in range(len(self._index)):
            yield from self._block(i)

    def require(self, key: bytes) -> bytes:
        """`get` of a key that must be there; KeyError where it is not."""
        found = self.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def get(self, key: bytes) -> bytes | None:
        """The value of a key; None where there is none.

        Raises:
          DamagedTable: the block that would hold it is damaged.
        """
        i = bisect.bisect_left(self._index, key, key=lambda entry: entry[0])
        if i == len(self._index):
            return None
        block = self._block(i)
        at = bisect.bisect_left(block, key, key=lambda entry: entry[0])
        return block[at][1] if at < len(block) and block[at][0] == key else None


def _content(body: bytes, compression: int) -> bytes:
    """The entries of a block, decompressed; ValueError where it is damaged."""
    if compression == UNCOMPRESSED:
        return body
    if compression != SNAPPY:
        raise ValueError("a block has an unknown form")
    return snappy.decompress(body)


def _handle(data: bytes, at: int) -> tuple[tuple[int, int], int]:
    offset, at = varint.decode(data, at)
    size, at = varint.decode(data, at)
    return (offset, size), at
