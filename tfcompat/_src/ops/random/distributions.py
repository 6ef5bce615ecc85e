"""Uniform and normal numbers, shuffles and categorical samples, equal to TensorFlow 1.15's on Linux.

Every function takes `xp` (numpy or jax.numpy), a key and a counter (philox.py), and sizes as Python integers.
"""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import jax
import ml_dtypes
import numpy as np

from tfcompat._src.ops.random import philox
from tfcompat._src.ops.random.drawing import drawing
from tfcompat._src.ops.random.fill import fill, run_lanes
from tfcompat._src.ops.random.libm import logf, sincosf

Array = Any

_MANTISSA_BITS = {np.dtype(np.float16): 10, np.dtype(ml_dtypes.bfloat16): 7, np.dtype(np.float32): 23}
_EPSILON = 1e-7
_TRUNCATION = 2.0
_DRAWS_PER_OUTPUT = 256


def reserve_fill(size: int) -> int:
    """Draws set aside for `size` outputs of the filling distributions, gamma and Poisson."""
    return _DRAWS_PER_OUTPUT * size


def reserve_shuffle(rows: int) -> int:
    """Draws set aside for a shuffle of `rows` rows."""
    return -(-(rows - 1) // 4) if rows > 1 else 0


def reserve_multinomial(rows: int, samples: int) -> int:
    """Draws set aside for `samples` samples from each of `rows` rows of logits, as on a CPU."""
    return 2 * _DRAWS_PER_OUTPUT * rows * (-(-samples // 4) * 4)


def uniform_from_words(xp: ModuleType, words: Array, dtype: Any) -> Array:
    """Floats in [0, 1) from the low mantissa bits of 32-bit words; float16, bfloat16 or float32."""
    bits = _MANTISSA_BITS[np.dtype(dtype)]
    mantissa = (words & xp.uint32(2**bits - 1)).astype(xp.int32)
    return mantissa.astype(dtype) * xp.asarray(2.0**-bits, dtype)


def double_from_words(xp: ModuleType, high: Array, low: Array) -> Array:
    """Doubles in [0, 1) from 20 bits of one word and 32 of another."""
    top = (high & xp.uint32(0xFFFFF)).astype(xp.float64)
    return (top * xp.float64(2.0**32) + low.astype(xp.float64)) * xp.float64(2.0**-52)


@drawing("size", "dtype")
def uniform(xp: ModuleType, key: Array, counter: Array, size: int, dtype: Any) -> Array:
    """`size` floats in [0, 1): float16, bfloat16, float32 or float64."""

    def group(index: Array) -> list[Array]:
        words = philox.draw(xp, key, counter, index)
        if np.dtype(dtype) == np.float64:
            return [double_from_words(xp, words[0], words[1]), double_from_words(xp, words[2], words[3])]
        return [uniform_from_words(xp, word, dtype) for word in words]

    return fill(xp, group, _group_width(dtype), size, dtype)


@drawing("size")
def uniform_int(xp: ModuleType, key: Array, counter: Array, size: int, minval: Array, maxval: Array) -> Array:
    """`size` integers in [minval, maxval), scalars of one type, int32 or int64."""
    dtype = np.dtype(minval.dtype)
    unsigned = np.dtype(f"uint{8 * dtype.itemsize}")
    low = xp.reshape(minval, (1,)).astype(unsigned)
    span = xp.reshape(maxval, (1,)).astype(unsigned) - low

    def group(index: Array) -> list[Array]:
        words = _integer_words(xp, philox.draw(xp, key, counter, index), dtype)
        return [(word % span + low).astype(dtype) for word in words]

    return fill(xp, group, _group_width(dtype), size, dtype)


def _integer_words(xp: ModuleType, words: list[Array], dtype: np.dtype) -> list[Array]:
    """The words of a draw as unsigned integers as wide as `dtype`: four, or two of 64 bits."""
    if dtype.itemsize == 4:
        return words
    wide = [word.astype(xp.uint64) for word in words]
    return [wide[0] | wide[1] << xp.uint64(32), wide[2] | wide[3] << xp.uint64(32)]


@drawing("size", "dtype")
def full_int(xp: ModuleType, key: Array, counter: Array, size: int, dtype: Any) -> Array:
    """`size` integers of any value: int32, uint32, int64 or uint64."""
    dtype = np.dtype(dtype)

    def group(index: Array) -> list[Array]:
        return [word.astype(dtype) for word in _integer_words(xp, philox.draw(xp, key, counter, index), dtype)]

    return fill(xp, group, _group_width(dtype), size, dtype)


@drawing("size", "dtype")
def normal(xp: ModuleType, key: Array, counter: Array, size: int, dtype: object) -> Array:
    """`size` standard normal numbers: float16, bfloat16, float32 or float64."""

    def group(index: Array) -> list[Array]:
        return normals_from_words(xp, philox.draw(xp, key, counter, index), dtype)

    return fill(xp, group, _group_width(dtype), size, dtype)


@drawing("size", "dtype")
def truncated_normal(xp: ModuleType, key: Array, counter: Array, size: int, dtype: Any) -> Array:
    """`size` standard normal numbers below 2 in magnitude; each group rejects within draws of its own."""
    width = _group_width(dtype)
    shift = int(math.log2(_DRAWS_PER_OUTPUT * width // 4))
    compute = np.float64 if np.dtype(dtype) == np.float64 else np.float32

    def body(constants: tuple, state: tuple) -> tuple:
        (index,) = constants
        _, step, count, *slots = state
        words = philox.draw(xp, key, counter, index, shift, step)
        for value in normals_from_words(xp, words, compute):
            accepted = xp.abs(value) < compute(_TRUNCATION)
            slots = [xp.where(accepted & (count == k), value, slot) for k, slot in enumerate(slots)]
            count = count + accepted.astype(xp.int32)
        return count >= width, step + xp.uint32(1), count, *slots

    def group(index: Array) -> list[Array]:
        zeros = [xp.zeros(index.shape, t) for t in (np.bool_, np.uint32, np.int32, *[compute] * width)]
        return list(run_lanes(xp, body, (index,), tuple(zeros), 2**shift)[3:])

    return fill(xp, group, width, size, dtype)


def _group_width(dtype: Any) -> int:
    return 2 if np.dtype(dtype).itemsize == 8 else 4


def normals_from_words(xp: ModuleType, words: list[Array], dtype: Any) -> list[Array]:
    """Box-Muller over the words of a draw: four floats, or two doubles; half types are rounded floats."""
    if np.dtype(dtype) == np.float64:
        radius = xp.maximum(double_from_words(xp, words[0], words[1]), xp.float64(_EPSILON))
        angle = xp.float64(2 * math.pi) * double_from_words(xp, words[2], words[3])
        radius = xp.sqrt(xp.float64(-2) * xp.log(radius))
        return [xp.sin(angle) * radius, xp.cos(angle) * radius]
    return [value.astype(dtype) for pair in (words[:2], words[2:]) for value in _float_pair(xp, *pair)]


def _float_pair(xp: ModuleType, first: Array, second: Array) -> tuple[Array, Array]:
    radius = xp.maximum(uniform_from_words(xp, first, np.float32), xp.float32(_EPSILON))
    angle = uniform_from_words(xp, second, np.float32).astype(xp.float64) * xp.float64(2 * math.pi)
    radius = xp.sqrt(xp.float32(-2) * logf(xp, radius))
    sine, cosine = sincosf(xp, angle.astype(xp.float32))
    return sine * radius, cosine * radius


@drawing("rows")
def shuffle(xp: ModuleType, key: Array, counter: Array, rows: int) -> Array:
    """The row numbers of a random order of `rows` rows, int32: output row i is input row `result[i]`.

    The order is that of swapping row i with row `partner[i] >= i` for i = 0, 1, ... What step i brings to its place is
    what the last step before it with the same partner left there, which had moved along a chain of such steps.
    """
    if rows <= 1:
        return xp.arange(rows, dtype=xp.int32)

    def group(index: Array) -> list[Array]:
        return philox.draw(xp, key, counter, index)

    place = xp.arange(rows, dtype=xp.int32)
    words = fill(xp, group, 4, rows - 1, xp.uint32)
    offset = (words % (xp.uint32(rows) - place[:-1].astype(xp.uint32))).astype(xp.int32)
    partner = xp.concatenate([place[:-1] + offset, place[-1:]])
    origin = place.copy()
    if xp is np:
        origin[partner] = place
    else:
        origin = origin.at[partner].set(-1).at[partner].max(place)
    for _ in range((rows - 1).bit_length()):
        origin = origin[origin]
    order = xp.argsort(partner, stable=True).astype(xp.int32)
    partners = partner[order]
    repeated = xp.concatenate([xp.zeros(1, np.bool_), partners[1:] == partners[:-1]])
    result = xp.where(repeated, origin[xp.roll(order, 1)], partners)
    if xp is np:
        partners[order] = result
        return partners
    return partners.at[order].set(result)


def multinomial(xp: ModuleType, key: Array, counter: Array, logits: Array, samples: int, dtype: Any) -> Array:
    """Class numbers drawn from unnormalised log probabilities.

    Rows take consecutive random numbers, as 1.15 does when one thread computes the op.

    Args:
      xp: numpy or jax.numpy.
      key: uint32, shape [2].
      counter: uint32, shape [4].
      logits: float, shape [rows, classes]; classes whose logit is not finite have no weight.
      samples: samples per row.
      dtype: int32 or int64.

    Returns:
      Integers of shape [rows, samples]; `classes` where no class of the row has weight.
    """
    rows, classes = logits.shape
    uniforms = uniform(xp, key, counter, rows * samples, np.float64).reshape(rows, samples)
    finite = xp.isfinite(logits)
    lowest = ml_dtypes.finfo(logits.dtype).min
    largest = xp.max(xp.where(finite, logits, xp.asarray(lowest, logits.dtype)), axis=1, keepdims=True)
    shifted = xp.where(finite, logits, largest).astype(xp.float64) - largest.astype(xp.float64)
    cumulative = xp.cumsum(xp.where(finite, xp.exp(shifted), xp.float64(0)), axis=1)
    target = uniforms * cumulative[:, -1:]
    if xp is np:
        found = [np.searchsorted(c, t, side="right") for c, t in zip(cumulative, target)]
        return np.array(found, dtype).reshape(rows, samples)
    return jax.vmap(lambda c, t: xp.searchsorted(c, t, side="right"))(cumulative, target).astype(dtype)
