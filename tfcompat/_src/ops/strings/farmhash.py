"""Hash functions of byte strings, 64 bits wide, over many strings at once: FarmHash64, MurmurHash64A, SipHash-2-4.

FarmHash is Google's (farmhash.h, Fingerprint64), MurmurHash64A Austin Appleby's, SipHash that of Aumasson and Bernstein
(2012). FarmHash takes strings of one range of lengths together, the others strings of one length, as the rows of a matrix of bytes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable

import numpy as np

_U64 = np.uint64
_K0, _K1, _K2 = _U64(0xC3A5C85C97CB3127), _U64(0xB492B66FBE98F273), _U64(0x9AE16A3B2F90404F)
_MURMUR = _U64(0xC6A4A7935BD1E995)
_MURMUR_SEED = 0xDECAFCAFFE
_SIP_INITIAL = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)


def _by_length(texts: Iterable[bytes], function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """uint64[n]: `function` of the uint8 matrix of the strings of each length."""
    texts = list(texts)
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    found = np.empty(len(texts), _U64)
    for length in np.unique(lengths):
        places = np.flatnonzero(lengths == length)
        joined = b"".join([texts[i] for i in places])
        found[places] = function(np.frombuffer(joined, np.uint8).reshape(len(places), length))
    return found


def _word(data: np.ndarray, start: int, size: int = 8) -> np.ndarray:
    """The little-endian integer in `size` bytes of each row, as uint64."""
    part = np.ascontiguousarray(data[:, start : start + size])
    return part.view(f"<u{size}")[:, 0].astype(_U64)


def _rotate_right(x: np.ndarray, by: int) -> np.ndarray:
    return (x >> _U64(by)) | (x << _U64(64 - by))


def _mix(x: np.ndarray) -> np.ndarray:
    return x ^ (x >> _U64(47))


# ---- FarmHash64 ----


class _Texts:
    """Byte strings side by side, to be read at offsets of their own; `length` is int64[n]."""

    def __init__(self, texts: list[bytes], length: np.ndarray) -> None:
        self.length = length
        self._starts = np.cumsum(length) - length
        memory = b"".join(texts) + bytes(8)
        self._words = np.ndarray(len(memory) - 7, "<u8", memory, strides=(1,))

    def word(self, offset: int | np.ndarray, size: int = 8) -> np.ndarray:
        """uint64[n]: the little-endian integer in `size` bytes of each string from an offset on."""
        found = self._words[self._starts + offset]
        return found if size == 8 else found & _U64(256**size - 1)


def _pair(u: np.ndarray, v: np.ndarray, mul: np.ndarray) -> np.ndarray:
    a = _mix((u ^ v) * mul)
    return _mix((v ^ a) * mul) * mul


def _multiplier(texts: _Texts) -> np.ndarray:
    return _K2 + (texts.length << 1).view(_U64)


def _farm_empty(texts: _Texts) -> np.ndarray:
    return np.full(len(texts.length), _K2)


def _farm_to_3(texts: _Texts) -> np.ndarray:
    length = texts.length
    first, middle, last = (texts.word(i, 1) for i in (0, length >> 1, length - 1))
    y, z = first + (middle << _U64(8)), (last << _U64(2)) + length.view(_U64)
    return _mix(y * _K2 ^ z * _K0) * _K2


def _farm_to_7(texts: _Texts) -> np.ndarray:
    length = texts.length
    return _pair((texts.word(0, 4) << _U64(3)) + length.view(_U64), texts.word(length - 4, 4), _multiplier(texts))


def _farm_to_16(texts: _Texts) -> np.ndarray:
    mul = _multiplier(texts)
    a, b = texts.word(0) + _K2, texts.word(texts.length - 8)
    return _pair(_rotate_right(b, 37) * mul + a, (_rotate_right(a, 25) + b) * mul, mul)


def _farm_to_32(texts: _Texts) -> np.ndarray:
    length, mul = texts.length, _multiplier(texts)
    a, b = texts.word(0) * _K1, texts.word(8)
    c, d = texts.word(length - 8) * mul, texts.word(length - 16) * _K2
    return _pair(_rotate_right(a + b, 43) + _rotate_right(c, 30) + d, a + _rotate_right(b + _K2, 18) + c, mul)


def _farm_to_64(texts: _Texts) -> np.ndarray:
    length, mul = texts.length, _multiplier(texts)
    a, b = texts.word(0) * _K2, texts.word(8)
    c, d = texts.word(length - 8) * mul, texts.word(length - 16) * _K2
    y = _rotate_right(a + b, 43) + _rotate_right(c, 30) + d
    z = _pair(y, a + _rotate_right(b + _K2, 18) + c, mul)
    e, f = texts.word(16) * mul, texts.word(24)
    g, h = (y + texts.word(length - 32)) * mul, (z + texts.word(length - 24)) * mul
    return _pair(_rotate_right(e + f, 43) + _rotate_right(g, 30) + h, e + _rotate_right(f + a, 18) + g, mul)


def _weak_pair(texts: _Texts, start: int | np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    w, x, y, z = (texts.word(start + 8 * i) for i in range(4))
    a = a + w
    b = _rotate_right(b + a + z, 21)
    total = a + x + y
    return total + z, b + _rotate_right(total, 44) + a


def _farm_block(texts: _Texts, start: int | np.ndarray, state: tuple, mul: np.ndarray, factor: int) -> tuple:
    """One step over 64 bytes; the last one has its own multiplier and factor."""
    x, y, z, v, w = state
    factor = _U64(factor)
    x = _rotate_right(x + y + v[0] + texts.word(start + 8), 37) * mul
    y = _rotate_right(y + v[1] + texts.word(start + 48), 42) * mul
    x = x ^ w[1] * factor
    y = y + v[0] * factor + texts.word(start + 40)
    z = _rotate_right(z + w[0], 33) * mul
    v = _weak_pair(texts, start, v[1] * mul, x + w[0])
    w = _weak_pair(texts, start + 32, z + w[1], y + texts.word(start + 16))
    return z, y, x, v, w


def _farm_long(texts: _Texts) -> np.ndarray:
    """Of strings that have as many whole blocks of 64 bytes before their last one."""
    length = texts.length
    zero = np.zeros(len(length), _U64)
    y = zero + _U64(81) * np.full(1, _K1) + _U64(113)
    z = _mix(y * _K2 + _U64(113)) * _K2
    x = (zero + _U64(81)) * _K2 + texts.word(0)
    state = (x, y, z, (zero, zero), (zero, zero))
    whole = int(length[0] - 1) // 64 * 64
    for start in range(0, whole, 64):
        state = _farm_block(texts, start, state, _K1, 1)
    x, y, z, v, w = state
    mul = _K1 + ((z & _U64(0xFF)) << _U64(1))
    first = w[0] + ((length - 1) & 63).view(_U64)
    v = (v[0] + first, v[1])
    w = (first + v[0], w[1])
    x, y, z, v, w = _farm_block(texts, length - 64, (x, y, z, v, w), mul, 9)
    return _pair(_pair(v[0], w[0], mul) + _mix(y) * _K0 + z, _pair(v[1], w[1], mul) + x, mul)


_FARM = [(0, _farm_empty), (3, _farm_to_3), (7, _farm_to_7), (16, _farm_to_16), (32, _farm_to_32), (64, _farm_to_64)]
"""The function of strings up to each length, which are hashed together; longer ones with those of as many blocks of 64 bytes."""
_LIMITS = np.array([limit for limit, _ in _FARM])


_FEW = 64
"""Short strings that Python hashes one by one in less time than NumPy takes to begin: categories and words come again."""
_MASK = 2**64 - 1
_INTEGER_K0, _INTEGER_K2 = int(_K0), int(_K2)


@functools.lru_cache(1 << 14)
def _farm_of_one(text: bytes) -> int:
    """FarmHash64 of a string of at most 16 bytes, in Python's integers."""
    length = len(text)
    if length < 4:
        if not length:
            return _INTEGER_K2
        y, z = text[0] + (text[length >> 1] << 8), (text[-1] << 2) + length
        mixed = y * _INTEGER_K2 & _MASK ^ z * _INTEGER_K0 & _MASK
        return (mixed ^ mixed >> 47) * _INTEGER_K2 & _MASK
    mul = _INTEGER_K2 + 2 * length & _MASK
    if length < 8:
        u, v = (int.from_bytes(text[:4], "little") << 3) + length, int.from_bytes(text[-4:], "little")
    else:
        a, b = int.from_bytes(text[:8], "little") + _INTEGER_K2 & _MASK, int.from_bytes(text[-8:], "little")
        u = ((b >> 37 | b << 27) & _MASK) * mul + a & _MASK
        v = (((a >> 25 | a << 39) & _MASK) + b) * mul & _MASK
    mixed = (u ^ v) * mul & _MASK
    mixed = (v ^ mixed ^ mixed >> 47) * mul & _MASK
    return (mixed ^ mixed >> 47) * mul & _MASK


def fingerprint64(texts: Iterable[bytes]) -> np.ndarray:
    """uint64[n]: FarmHash64 of each string."""
    texts = list(texts)
    if len(texts) <= _FEW and max(map(len, texts), default=0) <= 16:
        return np.array(list(map(_farm_of_one, texts)), _U64)
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    group = np.where(lengths <= _LIMITS[-1], _LIMITS.searchsorted(lengths), len(_FARM) + (lengths - 1) // 64)
    found = np.empty(len(texts), _U64)
    for each in set(group.tolist()):
        function = _FARM[each][1] if each < len(_FARM) else _farm_long
        places = (group == each).nonzero()[0]
        found[places] = function(_Texts([texts[i] for i in places.tolist()], lengths[places]))
    return found


# ---- MurmurHash64A ----


def _murmur(data: np.ndarray) -> np.ndarray:
    length = data.shape[1]
    h = np.full(len(data), _U64((_MURMUR_SEED ^ length * int(_MURMUR)) & 0xFFFFFFFFFFFFFFFF))
    for start in range(0, length - 7, 8):
        k = _mix(_word(data, start) * _MURMUR) * _MURMUR
        h = (h ^ k) * _MURMUR
    if length % 8:
        h = (h ^ _tail(data)) * _MURMUR
    return _mix(_mix(h) * _MURMUR)


def _tail(data: np.ndarray) -> np.ndarray:
    """The bytes after the last whole word of each row as an integer."""
    rest = data.shape[1] % 8
    padded = np.zeros((len(data), 8), np.uint8)
    padded[:, :rest] = data[:, data.shape[1] - rest :]
    return _word(padded, 0)


def hash64(texts: Iterable[bytes]) -> np.ndarray:
    """uint64[n]: MurmurHash64A of each string with TensorFlow's seed."""
    return _by_length(texts, _murmur)


# ---- SipHash-2-4 ----


def _sip_round(v0: np.ndarray, v1: np.ndarray, v2: np.ndarray, v3: np.ndarray) -> tuple:
    v0, v2 = v0 + v1, v2 + v3
    v1, v3 = _rotate_right(v1, 51) ^ v0, _rotate_right(v3, 48) ^ v2
    v0, v2 = _rotate_right(v0, 32) + v3, v2 + v1
    v1, v3 = _rotate_right(v1, 47) ^ v2, _rotate_right(v3, 43) ^ v0
    return v0, v1, _rotate_right(v2, 32), v3


def _sip(data: np.ndarray, key: tuple[int, int]) -> np.ndarray:
    length = data.shape[1]
    v0, v1, v2, v3 = (np.full(len(data), _U64(k ^ s)) for k, s in zip((*key, *key), _SIP_INITIAL))
    words = [_word(data, start) for start in range(0, length - 7, 8)]
    words.append(_tail(data) | _U64((length & 0xFF) << 56))
    for word in words:
        v0, v1, v2, v3 = _sip_round(*_sip_round(v0, v1, v2, v3 ^ word))
        v0 = v0 ^ word
    v2 = v2 ^ _U64(0xFF)
    for _ in range(4):
        v0, v1, v2, v3 = _sip_round(v0, v1, v2, v3)
    return v0 ^ v1 ^ v2 ^ v3


def siphash(texts: Iterable[bytes], key: tuple[int, int]) -> np.ndarray:
    """uint64[n]: SipHash-2-4 of each string with a key of two 64-bit integers."""
    return _by_length(texts, lambda data: _sip(data, (key[0] & 0xFFFFFFFFFFFFFFFF, key[1] & 0xFFFFFFFFFFFFFFFF)))
