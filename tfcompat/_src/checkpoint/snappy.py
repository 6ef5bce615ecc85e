"""Snappy's compression of blocks, read only. Format: github.com/google/snappy/blob/main/format_description.txt"""

from __future__ import annotations

from tfcompat._src.checkpoint import varint

_MOST_PER_BYTE = 64
"""No element of a stream gives more bytes for each of its own."""


def decompress(data: bytes) -> bytes:
    """The content of a compressed block.

    Raises:
      ValueError: it is damaged.
    """
    size, at = varint.decode(data, 0)
    if size > _MOST_PER_BYTE * len(data):
        raise ValueError("a compressed block is shorter than its content")
    found = bytearray()
    while at < len(data):
        at = _element(data, at, found)
        if len(found) > size:
            raise ValueError("a compressed block holds more than it says")
    if len(found) != size:
        raise ValueError("a compressed block is cut off")
    return bytes(found)


def _element(data: bytes, at: int, found: bytearray) -> int:
    """Appends what the element at `at` stands for: bytes of its own, or a copy of earlier ones; returns where it ends."""
    tag = data[at]
    kind, length = tag & 3, tag >> 2
    at += 1
    if kind == 0:
        extra = max(length - 59, 0)
        length = _number(data, at, extra) if extra else length
        start, end = at + extra, at + extra + length + 1
        if end > len(data):
            raise ValueError("a literal is cut off")
        found += data[start:end]
        return end
    extra = (0, 1, 2, 4)[kind]
    offset = _number(data, at, extra)
    if kind == 1:
        offset, length = offset | (tag >> 5) << 8, (length & 7) + 3
    if not 0 < offset <= len(found):
        raise ValueError("a copy of what is not there")
    for _ in range(length + 1):
        found.append(found[-offset])
    return at + extra


def _number(data: bytes, at: int, size: int) -> int:
    if at + size > len(data):
        raise ValueError("a number is cut off")
    return int.from_bytes(data[at : at + size], "little")
