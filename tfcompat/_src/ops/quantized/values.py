"""Quantized values: NumPy structures of one integer, and the float numbers that they stand for.

A value q of a type with limits [lowest, highest] and range [low, high] stands for low + (q - lowest) * (high - low) / (highest -
lowest), with low moved so that 0 is exact. Single precision where TensorFlow's kernels compute so, else double.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.base import errors

_F32 = np.float32


def invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


def integer_type(dtype: Any) -> np.dtype:
    """The integer that a quantized NumPy dtype is made of."""
    dtype = np.dtype(dtype)
    return dtype if dtype.names is None else dtype[0]


def integers(x: object) -> np.ndarray:
    """The integers of a quantized array."""
    x = np.asarray(x)
    return x if x.dtype.names is None else x[x.dtype.names[0]]


def quantized(x: np.ndarray, dtype: Any) -> np.ndarray:
    """Integers as a quantized array of `dtype`; those beyond it wrap."""
    kind = integer_type(dtype)
    return np.ascontiguousarray(x.astype(kind)).view(dtype).reshape(x.shape)


def limits(dtype: object) -> tuple[int, int]:
    found = np.iinfo(integer_type(dtype))
    return int(found.min), int(found.max)


def number(x: object, name: str) -> np.float32:
    """The one element of a float input; InvalidArgumentError where it has another number of them."""
    x = np.asarray(x)
    if x.size != 1:
        raise invalid(f"{name} must contain a single float element, but it contains {x.size} elements")
    return _F32(x.reshape(-1)[0])


def half_away(x: Any) -> Any:
    """Rounds to the nearest integer, halves away from zero."""
    whole = np.trunc(x)
    return whole + np.where(np.abs(x - whole) >= 0.5, np.sign(x), 0).astype(np.asarray(x).dtype)


def unclamped(value: float, low: np.float32, high: np.float32, dtype: object) -> int:
    """The integer that stands for one number, which may lie beyond the type."""
    lowest, highest = limits(dtype)
    if low == high:
        return lowest
    steps = highest - lowest + 1
    scale = steps / (float(high - low) * (steps / (steps - 1.0)))
    return int(half_away(np.float64(value * scale)) - half_away(np.float64(float(low) * scale))) + lowest


def to_integers(x: np.ndarray, low: np.float32, high: np.float32, dtype: object) -> np.ndarray:
    """The integers nearest to numbers, in double precision, kept inside the type."""
    lowest, highest = limits(dtype)
    if low == high:
        return np.full(x.shape, lowest, np.int64)
    steps = highest - lowest + 1
    scale = steps / (float(high - low) * (steps / (steps - 1.0)))
    found = half_away(x.astype(np.float64) * scale) - half_away(np.float64(float(low) * scale)) + lowest
    return np.clip(found, lowest, highest).astype(np.int64)


def to_floats(x: np.ndarray, low: np.float32, high: np.float32, dtype: object) -> np.ndarray:
    """The numbers that integers stand for, in double precision, rounded to float32."""
    if low == high:
        return np.full(x.shape, low, _F32)
    lowest, highest = limits(dtype)
    steps = highest - lowest + 1
    scale = float(high - low) * (steps / (steps - 1.0)) / steps
    start = half_away(_F32(low / _F32(scale))) * _F32(scale)
    return (float(start) + (x.astype(np.float64) - lowest) * scale).astype(_F32)


def dequantized(x: np.ndarray, low: np.float32, high: np.float32, dtype: object) -> np.ndarray:
    """The numbers that integers stand for, in single precision."""
    lowest, highest = limits(dtype)
    scale = _F32(float(high - low) / float(highest - lowest))
    start = low if high == low else half_away(_F32(low / scale)) * scale
    return (start - _F32(lowest) * scale) + x.astype(_F32) * scale


def requantized(x: np.ndarray, low: np.float32, high: np.float32, dtype: object) -> np.ndarray:
    """The integers nearest to numbers, in single precision, kept inside the type."""
    lowest, highest = limits(dtype)
    scale = _F32(0) if high == low else _F32(float(highest - lowest) / float(high - low))
    start = half_away(_F32(low * scale))
    found = half_away(x * scale) - (start - _F32(lowest))
    return np.clip(found, max(_F32(lowest), _F32(-(2.0**31))), min(_F32(highest), _F32(2147483520.0))).astype(np.int64)


def product_range(ranges: tuple, types: tuple, out_type: object) -> tuple[np.float32, np.float32]:
    """The range of a product of two quantized types; `ranges` are (low, high) of each."""
    step = _F32(1)
    for (low, high), dtype in zip(ranges, types):
        lowest, highest = limits(dtype)
        step = step * _F32((high - low) / _F32(highest - lowest))
    lowest, highest = limits(out_type)
    return step * _F32(lowest), step * _F32(highest)


def sum_range(bits: int, *bounds: np.float32) -> tuple[np.float32, np.float32]:
    """A range around zero with room for sums of 2**bits numbers within `bounds`."""
    most = _F32(max(abs(b) for b in bounds)) * _F32(1 << bits)
    return -most, most


def narrowed(x: np.ndarray, source: tuple, target: tuple) -> np.ndarray:
    """32-bit integers of the range `source` as 8-bit ones of `target`, by numbers with 16 bits after the point."""
    (low, high), (out_low, out_high) = source, target
    width = out_high - out_low
    if width == 0:
        scale = offset = start = 0
    else:
        scale = int(255.0 * (1 << 16) * float(high - low) / float(width))
        centre = _F32(float(low + high) / 2.0)
        offset = int(_F32(centre * _F32(255.0 / float(width))) * _F32(1 << 16))
        start = int((1 << 16) * (float(out_low) * 255.0) / float(width))
    found = ((x.astype(np.int64) * scale) >> 32) + (offset - start + (1 << 15))
    return np.clip(found >> 16, 0, 255)
