"""Where resized images take their pixels from: for each output place along one axis, input places and their weights.

All arithmetic is in float32, step by step as in 1.15, so that places and weights are its own to the bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_F = np.float32
_TABLE_SIZE = 1024
_TINY = _F(1000) * np.finfo(np.float32).tiny


@dataclass(frozen=True)
class Taps:
    """`indices` and `weights` [outputs, taps] into an axis of `size` elements."""

    indices: np.ndarray
    weights: np.ndarray
    size: int

    def matrix(self) -> np.ndarray:
        """The weights as a float32 matrix [outputs, size]."""
        found = np.zeros((len(self.indices), self.size), np.float32)
        np.add.at(found, (np.arange(len(self.indices))[:, None], self.indices), self.weights)
        return found


def scale_of(size: int, out: int, align_corners: bool) -> np.float32:
    """The distance of output pixels, in input pixels."""
    return _F(size - 1) / _F(out - 1) if align_corners and out > 1 else _F(size) / _F(out)


def _positions(size: int, out: int, align_corners: bool, half_pixel_centers: bool) -> np.ndarray:
    scale, places = scale_of(size, out, align_corners), np.arange(out, dtype=np.float32)
    return (places + _F(0.5)) * scale - _F(0.5) if half_pixel_centers else places * scale


def nearest(size: int, out: int, align_corners: bool, half_pixel_centers: bool) -> np.ndarray:
    """The nearest input place of each output place."""
    places = np.arange(out, dtype=np.float32)
    if half_pixel_centers:
        places = places + _F(0.5)
    at = places * scale_of(size, out, align_corners)
    at = round_half_away(at) if align_corners else np.floor(at)
    return np.minimum(at.astype(np.int64), size - 1)


def round_half_away(x: np.ndarray) -> np.ndarray:
    """C's roundf of numbers that are not negative."""
    whole = np.floor(x)
    return whole + (x - whole >= _F(0.5))


def bilinear(size: int, out: int, align_corners: bool, half_pixel_centers: bool) -> Taps:
    """The two neighbours of each output place."""
    at = _positions(size, out, align_corners, half_pixel_centers)
    below = np.floor(at)
    ends = np.stack([np.maximum(below, 0), np.minimum(np.ceil(at), size - 1)], 1).astype(np.int64)
    slope = at - below
    return Taps(np.clip(ends, 0, size - 1), np.stack([_F(1) - slope, slope], 1), size)


def _cubic_table(a: float) -> tuple[np.ndarray, np.ndarray]:
    """Keys' cubic kernel for distances below one, and from one to two."""
    near = (np.arange(_TABLE_SIZE + 1) / _TABLE_SIZE).astype(np.float32)
    far = (near + _F(1)).astype(np.float64)
    near = near.astype(np.float64)
    inner = ((a + 2) * near - (a + 3)) * near * near + 1
    outer = ((a * far - 5 * a) * far + 8 * a) * far - 4 * a
    return inner.astype(np.float32), outer.astype(np.float32)


def bicubic(size: int, out: int, align_corners: bool, half_pixel_centers: bool) -> Taps:
    """The four neighbours of each output place; with half-pixel centres those outside have no weight."""
    at = _positions(size, out, align_corners, half_pixel_centers)
    below = np.floor(at)
    offset = np.rint((at - below) * _F(_TABLE_SIZE)).astype(np.int64)
    inner, outer = _cubic_table(-0.5 if half_pixel_centers else -0.75)
    weights = np.stack(
        [outer[offset], inner[offset], inner[_TABLE_SIZE - offset], outer[_TABLE_SIZE - offset]], 1
    )
    wanted = below.astype(np.int64)[:, None] + np.arange(-1, 3)
    indices = np.clip(wanted, 0, size - 1)
    if half_pixel_centers:
        weights = np.where(indices == wanted, weights, _F(0))
        weights = _normalized(weights)
    return Taps(indices, weights, size)


def _normalized(weights: np.ndarray) -> np.ndarray:
    total = np.zeros(len(weights), np.float32)
    for tap in range(weights.shape[1]):
        total += weights[:, tap]
    ok = np.abs(total) >= _TINY
    return np.where(ok[:, None], weights * (_F(1) / np.where(ok, total, _F(1)))[:, None], weights)


def area(size: int, out: int, align_corners: bool) -> Taps:
    """The input places under each output pixel, weighted by how much of them it covers."""
    scale, places = scale_of(size, out, align_corners), np.arange(out + 1, dtype=np.float32)
    starts, ends = places[:-1] * scale, places[1:] * scale
    first, last = np.floor(starts).astype(np.int64), np.ceil(ends).astype(np.int64)
    wanted = first[:, None] + np.arange(max(int((last - first).max()), 1))
    left, right = wanted.astype(np.float32), (wanted + 1).astype(np.float32)
    begin, end = starts[:, None], ends[:, None]
    cut_left = np.where(right > end, scale, right - begin)
    cut_right = np.where(right > end, end - left, _F(1))
    weights = np.where(left < begin, cut_left, cut_right)
    weights = np.where(wanted < last[:, None], weights, _F(0)).astype(np.float32)
    return Taps(np.clip(wanted, 0, size - 1), weights, size)


# ---- ScaleAndTranslate ----


def _lanczos(radius: float):
    def kernel(x):
        pi, r = _F(np.pi), _F(radius)
        safe = np.where(x <= _F(1e-3), _F(1), x)
        value = r * np.sin(pi * safe) * np.sin(pi * safe / r) / (pi * pi * safe * safe)
        return np.where(x > r, _F(0), np.where(x <= _F(1e-3), _F(1), value))

    return kernel, radius


def _gaussian(x):
    return np.where(x >= _F(1.5), _F(0), np.exp(-x.astype(np.float64) ** 2 / (2.0 * 0.5 * 0.5)).astype(np.float32))


def _box(x):
    return np.where(x < _F(0.5), _F(1), np.where(x == _F(0.5), _F(0.5), _F(0)))


def _triangle(x):
    return np.where(x < _F(1), _F(1) - x, _F(0))


def _keys_cubic(x):
    outer = ((_F(-0.5) * x + _F(2.5)) * x - _F(4)) * x + _F(2)
    inner = ((_F(1.5) * x - _F(2.5)) * x) * x + _F(1)
    return np.where(x >= _F(2), _F(0), np.where(x >= _F(1), outer, inner))


def _mitchell_cubic(x):
    outer = ((_F(-7 / 18) * x + _F(2)) * x - _F(10 / 3)) * x + _F(16 / 9)
    inner = ((_F(7 / 6) * x - _F(2)) * x) * x + _F(8 / 9)
    return np.where(x >= _F(2), _F(0), np.where(x >= _F(1), outer, inner))


KERNELS = {
    "lanczos1": _lanczos(1.0), "lanczos3": _lanczos(3.0), "lanczos5": _lanczos(5.0), "gaussian": (_gaussian, 1.5),
    "box": (_box, 1.0), "triangle": (_triangle, 1.0), "keyscubic": (_keys_cubic, 2.0),
    "mitchellcubic": (_mitchell_cubic, 2.0),
}  # fmt: skip
"""Sampling kernels by name: a function of distances that are not negative, and its radius."""


def spans(name: str, size: int, out: int, scale: np.float32, translation: np.float32, antialias: bool) -> Taps:
    """The input places under a sampling kernel around each output place; outside the image there are none."""
    kernel, radius = KERNELS[name]
    step = _F(1) / _F(scale)
    shift = -step * _F(translation)
    width = max(step, _F(1)) if antialias else _F(1)
    reach = _F(radius) * width
    count = min(2 * int(np.ceil(reach)) + 1, size)
    at = (np.arange(out, dtype=np.float32) + _F(0.5)) * step + shift
    first = np.clip(np.ceil(at - reach - _F(0.5)), 0, size - 1).astype(np.int64)
    last = np.clip(np.floor(at + reach - _F(0.5)), 0, size - 1).astype(np.int64)
    wanted = first[:, None] + np.arange(count)
    distance = np.abs((wanted.astype(np.float32) + _F(0.5) - at[:, None]) * (_F(1) / width))
    weights = np.where(wanted <= last[:, None], kernel(distance).astype(np.float32), _F(0))
    inside = (at >= 0) & (at <= size)
    weights = np.where(inside[:, None], _normalized(weights), _F(0))
    return Taps(np.clip(wanted, 0, size - 1), weights, size)
