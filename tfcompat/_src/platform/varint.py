"""Base-128 varints."""

from __future__ import annotations

from typing import Any


def encode(value: int) -> bytes:
    """A number below 2^64 as a varint."""
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)


def decode(data: Any, at: int) -> tuple[int, int]:
    """The varint that begins at `at`, and where it ends.

    Raises:
      ValueError: the data ends inside it, or it is longer than 64 bits.
    """
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise ValueError("a number is cut off")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise ValueError("a number has more than 64 bits")
