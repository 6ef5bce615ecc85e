"""Philox 4x32-10, the counter-based generator behind every random number of TensorFlow.

Reference: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
Functions take the array namespace `xp`: `numpy` computes on the host, `jax.numpy` is traced. A generator is a key,
uint32 of shape [2], and a 128-bit counter, uint32 of shape [4], least significant word first. One draw gives four
words.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

Array = Any

_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10
_ROUNDS_PER_LOOP_STEP = 5
_MASK32 = 0xFFFFFFFF
_STATELESS_KEY = np.array([0x3EC8F720, 0x02461E29], np.uint32)


def seed_to_key_counter(seed: int, seed2: int) -> tuple[np.ndarray, np.ndarray]:
    """The key and first counter of an op with these seed attributes; (0, 0) draws both seeds at random."""
    if seed == 0 and seed2 == 0:
        seed, seed2 = secrets.randbits(64), secrets.randbits(64)
    return _words(seed, 2), np.concatenate([np.zeros(2, np.uint32), _words(seed2, 2)])


def advance(counter: np.ndarray, draws: int) -> np.ndarray:
    """The counter after `draws` draws; computed with Python integers."""
    value = sum(int(word) << (32 * i) for i, word in enumerate(counter))
    return _words(value + draws, 4)


def moved(counter: Array, draws: Array) -> Array:
    """The counter after `draws` draws, a scalar uint32, in a trace."""
    return jnp.concatenate(_add(jnp, counter, jnp.reshape(draws, (1,)), None))


def _words(value: int, count: int) -> np.ndarray:
    return np.array([(value >> (32 * i)) & _MASK32 for i in range(count)], np.uint32)


def stateless_key_counter(xp: ModuleType, seed: Array) -> tuple[Array, Array]:
    """The key and counter of the stateless ops: `seed`, integer of shape [2], scrambled by one draw.

    int32 seeds are sign-extended to 64 bits, as 1.15 does.
    """
    low = seed.astype(xp.uint32)
    high = (seed >> 32).astype(xp.uint32) if seed.dtype.itemsize == 8 else (seed >> 31).astype(xp.uint32)
    counter = xp.stack([low, high], axis=1).reshape(4)
    mixed = draw(xp, xp.asarray(_STATELESS_KEY), counter, xp.zeros(1, xp.uint32))
    zero = xp.zeros(1, xp.uint32)
    return xp.concatenate(mixed[:2]), xp.concatenate([zero, zero, mixed[2], mixed[3]])


def draw(
    xp: ModuleType, key: Array, counter: Array, index: Array, shift: int = 0, step: Array | int = 0
) -> list[Array]:
    """The four words of draw number `index * 2**shift + step` after `counter`.

    Args:
      xp: numpy or jax.numpy.
      key: uint32, shape [2].
      counter: uint32, shape [4].
      index: uint32, shape [n].
      shift: draws between successive indices, as a power of two.
      step: uint32 below `2**shift`, a scalar or of shape [n].

    Returns:
      Four uint32 arrays of shape [n].
    """
    if shift:
        low, high = (index << xp.uint32(shift)) | xp.asarray(step, xp.uint32), index >> xp.uint32(32 - shift)
    else:
        low, high = index, None
    state = _add(xp, counter, low, high)
    if xp is not np:
        return _jax_rounds(xp, key, state)
    return _numpy_rounds(key, state) if state[0].size > _FEW else _rounds_of_few(key, state)


def _add(xp: ModuleType, counter: Array, low: Array, high: Array | None) -> list[Array]:
    """`counter` plus the 64-bit number (low, high), carried through the four words."""
    c0, c1, c2, c3 = (counter[i : i + 1] for i in range(4))
    s0 = c0 + low
    carry = (s0 < low).astype(xp.uint32)
    s1 = c1 + carry
    overflow = s1 < carry
    if high is not None:
        s1 = s1 + high
        overflow = overflow | (s1 < high)
    carry = overflow.astype(xp.uint32)
    s2 = c2 + carry
    s3 = c3 + (s2 < carry).astype(xp.uint32)
    return [s0, s1, s2, s3]


class _Form(threading.local):
    """How this thread traces products: `is_portable`, as XLA can divide them among devices, which it cannot where they are `lax.mulhi`."""

    is_portable = False


FORM = _Form()


@contextlib.contextmanager
def portable(is_needed: bool = True) -> Iterator[None]:
    """Context in which this thread traces products in the form that XLA can divide among devices, where that is needed or was so before."""
    before, FORM.is_portable = FORM.is_portable, FORM.is_portable or is_needed
    try:
        yield
    finally:
        FORM.is_portable = before


def _jax_rounds(xp: ModuleType, key: Array, state: list[Array]) -> list[Array]:
    """A loop of two steps: without it XLA fuses the rounds into each consumer and computes them several times."""

    def multiply(word: Array, factor: int) -> tuple[Array, Array]:
        if FORM.is_portable:
            product = word.astype(xp.uint64) * xp.uint64(factor)
            return (product >> xp.uint64(32)).astype(xp.uint32), product.astype(xp.uint32)
        wide = xp.full_like(word, factor)
        return lax.mulhi(word, wide), word * wide

    def body(_: Array, carry: tuple) -> tuple:
        k0, k1, c0, c1, c2, c3 = carry
        for _ in range(_ROUNDS_PER_LOOP_STEP):
            high0, low0 = multiply(c0, _MULTIPLIERS[0])
            high1, low1 = multiply(c2, _MULTIPLIERS[1])
            c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
            k0, k1 = k0 + xp.uint32(_WEYL[0]), k1 + xp.uint32(_WEYL[1])
        return k0, k1, c0, c1, c2, c3

    return list(lax.fori_loop(0, _ROUNDS // _ROUNDS_PER_LOOP_STEP, body, (key[0], key[1], *state))[2:])


_FACTORS = np.array(_MULTIPLIERS, np.uint64)[:, None]
_KEY_STEPS = (np.arange(_ROUNDS, dtype=np.uint64)[:, None] * np.array(_WEYL, np.uint64)).astype(np.uint32)


_FEW = 4
"""So many draws Python's integers make in 25 us, and NumPy in 60."""


def _rounds_of_few(key: np.ndarray, state: list[np.ndarray]) -> list[np.ndarray]:
    """The rounds on a few counters, in Python's integers."""
    round_keys = (key + _KEY_STEPS).tolist()
    drawn = []
    for c0, c1, c2, c3 in zip(*[words.tolist() for words in state]):
        for k0, k1 in round_keys:
            first, second = c0 * _MULTIPLIERS[0], c2 * _MULTIPLIERS[1]
            c0, c1, c2, c3 = (second >> 32) ^ c1 ^ k0, second & _MASK32, (first >> 32) ^ c3 ^ k1, first & _MASK32
        drawn.append((c0, c1, c2, c3))
    return list(np.array(drawn, np.uint32).T)


def _numpy_rounds(key: np.ndarray, state: list[np.ndarray]) -> list[np.ndarray]:
    """The rounds on (c0, c2) and (c1, c3); halves of the 64-bit products are read in place, for which they take turns."""
    even, odd = np.stack(state[::2]), np.stack(state[1::2])
    products = [np.empty(even.shape, np.uint64) for _ in range(2)]
    words = [p.view(np.uint32).reshape(*even.shape, 2)[::-1] for p in products]
    for number, round_key in enumerate((key + _KEY_STEPS)[:, :, None]):
        low_and_high = words[number % 2]
        np.multiply(even, _FACTORS, out=products[number % 2])
        np.bitwise_xor(low_and_high[..., 1], odd, out=even)
        np.bitwise_xor(even, round_key, out=even)
        odd = low_and_high[..., 0]
    return [even[0], odd[0].copy(), even[1], odd[1].copy()]
