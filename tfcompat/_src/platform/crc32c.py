"""CRC-32C, and the masked form of it that TensorFlow's files store."""

from __future__ import annotations

from typing import Any

import google_crc32c
import numpy as np

_DELTA = 0xA282EAD8
_WORD = 0xFFFFFFFF


def extend(crc: int, data: Any) -> int:
    """The CRC of what gave `crc` followed by `data`: bytes or a contiguous uint8 array."""
    return google_crc32c.extend(crc, data if isinstance(data, (bytes, np.ndarray)) else bytes(data))


def value(data: object) -> int:
    """The CRC of `data`: bytes or a contiguous uint8 array."""
    return extend(0, data)


def mask(crc: int) -> int:
    """The form in which files store a CRC: rotated by 15 bits, plus a constant."""
    return (((crc >> 15) | (crc << 17)) + _DELTA) & _WORD


def unmask(masked: int) -> int:
    """The CRC that `mask` was given."""
    rotated = (masked - _DELTA) & _WORD
    return ((rotated >> 17) | (rotated << 15)) & _WORD


def masked(data: object) -> int:
    """The masked CRC of `data`."""
    return mask(value(data))
