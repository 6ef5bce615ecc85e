"""How the data file of a checkpoint holds a variant tensor: for each element its length, a message, and a checksum of all so far."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from tfcompat._src.graph.variant import EncodedVariant
from tfcompat._src.platform import crc32c, varint
from tfcompat._src.proto import messages


def encode(array: np.ndarray) -> tuple[bytes, int]:
    """The stored bytes of an array of EncodedVariants, and their CRC.

    Raises:
      NotImplementedError: an element is another variant.
    """
    parts: list[bytes] = []
    crc = 0
    for value in array.reshape(-1).tolist():
        if not isinstance(value, EncodedVariant):
            raise NotImplementedError(f"tfcompat does not save variants that hold a {type(value).__name__}")
        message = messages.VariantTensorDataProto(type_name=value.type_name, metadata=value.metadata).SerializeToString()
        piece = varint.encode(len(message)) + message
        crc = crc32c.extend(crc, piece)
        checksum = struct.pack("<I", crc32c.mask(crc))
        crc = crc32c.extend(crc, checksum)
        parts += [piece, checksum]
    return b"".join(parts), crc


def decode(data: Any, count: int) -> tuple[list[EncodedVariant], int]:
    """The `count` variants in `data`, and the CRC that they have.

    Raises:
      ValueError: the data is cut off, or a checksum does not match.
    """
    found: list[EncodedVariant] = []
    crc = at = 0
    for _ in range(count):
        length, start = varint.decode(data, at)
        end = start + length
        if end + 4 > len(data):
            raise ValueError("its variants are cut off")
        crc = crc32c.extend(crc, bytes(data[at:end]))
        checksum = bytes(data[end : end + 4])
        if crc32c.unmask(struct.unpack("<I", checksum)[0]) != crc:
            raise ValueError("a variant does not match its checksum")
        crc = crc32c.extend(crc, checksum)
        message = messages.VariantTensorDataProto.FromString(bytes(data[start:end]))
        found.append(EncodedVariant(message.type_name, message.metadata))
        at = end + 4
    return found, crc
