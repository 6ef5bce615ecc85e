"""How the data file of a checkpoint holds a string tensor: lengths, a checksum of them, then the bytes."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from tfcompat._src.checkpoint import varint
from tfcompat._src.platform import compat, crc32c


def _length_bytes(length: int) -> bytes:
    return struct.pack("<I" if length < 1 << 32 else "<Q", length)


def encode(array: np.ndarray) -> tuple[bytes, int]:
    """The stored bytes of an array of bytes or str, and their CRC."""
    values = [compat.as_bytes(v) for v in array.reshape(-1).tolist()]
    lengths = [len(v) for v in values]
    crc = crc32c.value(b"".join(map(_length_bytes, lengths)))
    stored_crc = struct.pack("<I", crc32c.mask(crc))
    content = b"".join(values)
    crc = crc32c.extend(crc32c.extend(crc, stored_crc), content)
    return b"".join(map(varint.encode, lengths)) + stored_crc + content, crc


def decode(data: Any, count: int) -> tuple[list[bytes], int]:
    """The `count` strings in `data`, and the CRC that they have.

    Raises:
      ValueError: the checksum of the lengths does not match. EOFError: the data is cut off.
    """
    lengths, at = [], 0
    for _ in range(count):
        length, at = varint.decode(data, at)
        lengths.append(length)
    crc = crc32c.value(b"".join(map(_length_bytes, lengths)))
    stored_crc = bytes(data[at : at + 4])
    if len(stored_crc) < 4 or crc32c.unmask(struct.unpack("<I", stored_crc)[0]) != crc:
        raise ValueError("the lengths of its strings do not match their checksum")
    content = bytes(data[at + 4 :])
    if len(content) < sum(lengths):
        raise EOFError("its strings are cut off")
    content = content[: sum(lengths)]
    crc = crc32c.extend(crc32c.extend(crc, stored_crc), content)
    found, at = [], 0
    for length in lengths:
        found.append(content[at : at + length])
        at += length
    return found, crc
