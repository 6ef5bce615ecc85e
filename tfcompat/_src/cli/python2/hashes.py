"""`hash` of Python 2.7 on machines of 64 bits, where strings have the same hash in every process."""

from __future__ import annotations

import math
from typing import Any

from tfcompat._src.cli.python2.text import as_bytes

_MASK = 2**64 - 1


def _signed(value: int) -> int:
    value &= _MASK
    value -= (value >> 63) << 64
    return -2 if value == -1 else value


def _of_bytes(data: bytes) -> int:
    if not data:
        return 0
    value = data[0] << 7
    for byte in data:
        value = ((1000003 * value) ^ byte) & _MASK
    return _signed(value ^ len(data))


def _of_int(value: int) -> int:
    """A long is added up from digits of 30 bits, with the carry that leaves 64 bits put back in."""
    if -(2**63) <= value < 2**63:
        return -2 if value == -1 else value
    total = 0
    for shift in range((abs(value).bit_length() - 1) // 30 * 30, -1, -30):
        digit = (abs(value) >> shift) & (2**30 - 1)
        total = ((total << 30) & _MASK) | (total >> 34)
        total += digit
        total = total + 1 & _MASK if total > _MASK else total
    return _signed(total if value > 0 else -total)


def _of_float(value: float) -> int:
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return 314159 if value > 0 else -271828
    if value == int(value):
        return _of_int(int(value))
    fraction, exponent = math.frexp(value)
    fraction *= 2147483648.0
    high = int(fraction)
    return _signed(high + int((fraction - high) * 2147483648.0) + (exponent << 15))


def _of_tuple(values: tuple[Any, ...]) -> int:
    value, factor = 0x345678, 1000003
    for left, each in zip(range(len(values) - 1, -1, -1), values):
        value = ((value ^ python2_hash(each)) * factor) & _MASK
        factor += 82520 + left + left
    return _signed(value + 97531)


def python2_hash(value: Any) -> int:
    """`hash(value)`."""
    if isinstance(value, str):
        return _of_bytes(as_bytes(value))
    if isinstance(value, bytes):
        return _of_bytes(bytes(value))
    if isinstance(value, int):
        return _of_int(int(value))
    if type(value) is float:
        return _of_float(value)
    if type(value) is tuple:
        return _of_tuple(value)
    return hash(value)
