"""The 128-bit fingerprint of strings: CityHash128 as FarmHash has it (github.com/google/farmhash)."""

from __future__ import annotations

_MASK = 2**64 - 1
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
_MURMUR = 0x9DDFEA08EB382D69

Pair = tuple[int, int]


def _word(data: bytes, at: int, size: int = 8) -> int:
    return int.from_bytes(data[at : at + size], "little")


def _rotate(x: int, by: int) -> int:
    x &= _MASK
    return (x >> by | x << 64 - by) & _MASK


def _shift(x: int) -> int:
    x &= _MASK
    return x ^ x >> 47


def _mix(u: int, v: int, mul: int = _MURMUR) -> int:
    a = _shift((u ^ v) * mul)
    return _shift((v ^ a) * mul) * mul & _MASK


def _short(data: bytes) -> int:
    """The 64-bit hash of up to 16 bytes."""
    size = len(data)
    mul = _K2 + size * 2
    if size >= 8:
        a, b = _word(data, 0) + _K2 & _MASK, _word(data, size - 8)
        return _mix(_rotate(b, 37) * mul + a & _MASK, (_rotate(a, 25) + b) * mul & _MASK, mul)
    if size >= 4:
        return _mix(size + (_word(data, 0, 4) << 3), _word(data, size - 4, 4), mul)
    if size:
        y, z = data[0] + (data[size >> 1] << 8), size + (data[-1] << 2)
        return _shift(y * _K2 & _MASK ^ z * _K0 & _MASK) * _K2 & _MASK
    return _K2


def _murmur(data: bytes, seed: Pair) -> Pair:
    """The hash of fewer than 128 bytes."""
    (a, b), size = seed, len(data)
    if size <= 16:
        a = _shift(a * _K1) * _K1 & _MASK
        c = b * _K1 + _short(data) & _MASK
        d = _shift(a + (_word(data, 0) if size >= 8 else c))
    else:
        c = _mix(_word(data, size - 8) + _K1 & _MASK, a)
        d = _mix(b + size & _MASK, c + _word(data, size - 16) & _MASK)
        a = a + d & _MASK
        for at in range(0, size - 16, 16):
            a = (a ^ _shift(_word(data, at) * _K1) * _K1 & _MASK) * _K1 & _MASK
            b ^= a
            c = (c ^ _shift(_word(data, at + 8) * _K1) * _K1 & _MASK) * _K1 & _MASK
            d ^= c
    a, b = _mix(a, c), _mix(d, b)
    return a ^ b, _mix(b, a)


def _weak(data: bytes, at: int, a: int, b: int) -> Pair:
    w, x, y, z = (_word(data, at + 8 * i) for i in range(4))
    a = a + w & _MASK
    b = _rotate(b + a + z, 21)
    c, a = a, a + x + y & _MASK
    return a + z & _MASK, b + _rotate(a, 44) + c & _MASK


def _long(data: bytes, seed: Pair) -> Pair:
    (x, y), z = seed, len(data) * _K1 & _MASK
    first = _rotate(y ^ _K1, 49) * _K1 + _word(data, 0) & _MASK
    v = first, _rotate(first, 42) * _K1 + _word(data, 8) & _MASK
    w = _rotate(y + z, 35) * _K1 + x & _MASK, _rotate(x + _word(data, 88), 53) * _K1 & _MASK
    end = len(data) // 128 * 128
    for at in range(0, end, 64):
        x = _rotate(x + y + v[0] + _word(data, at + 8), 37) * _K1 & _MASK ^ w[1]
        y = _rotate(y + v[1] + _word(data, at + 48), 42) * _K1 + v[0] + _word(data, at + 40) & _MASK
        z = _rotate(z + w[0], 33) * _K1 & _MASK
        v, w = _weak(data, at, v[1] * _K1, x + w[0]), _weak(data, at + 32, z + w[1], y + _word(data, at + 16))
        z, x = x, z
    x = x + _rotate(v[0] + z, 49) * _K0 & _MASK
    y = y * _K0 + _rotate(w[1], 37) & _MASK
    z = z * _K0 + _rotate(w[0], 27) & _MASK
    v, w = (v[0] * _K0 & _MASK, v[1]), (w[0] * 9 & _MASK, w[1])
    for done in range(32, len(data) - end + 32, 32):
        at = len(data) - done
        y = _rotate(x + y, 42) * _K0 + v[1] & _MASK
        w = w[0] + _word(data, at + 16) & _MASK, w[1]
        x = x * _K0 + w[0] & _MASK
        z = z + w[1] + _word(data, at) & _MASK
        w = w[0], w[1] + v[0] & _MASK
        v = _weak(data, at, v[0] + z, v[1])
        v = v[0] * _K0 & _MASK, v[1]
    x, y = _mix(x, v[0]), _mix(y + z & _MASK, w[0])
    return _mix(x + v[1] & _MASK, w[1]) + y & _MASK, _mix(x + w[1] & _MASK, y + v[1] & _MASK)


def fingerprint128(data: bytes) -> Pair:
    """The (low, high) 64 bits of the fingerprint."""
    seed = (_K0, _K1)
    if len(data) >= 16:
        seed, data = (_word(data, 0), _word(data, 8) + _K0 & _MASK), data[16:]
    return (_murmur if len(data) < 128 else _long)(data, seed)
