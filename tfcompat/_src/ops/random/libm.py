"""glibc's single-precision log, sin and cos, which decide the last bit of TensorFlow's normal numbers.

The algorithm and its constants are published in ARM's optimized-routines (math/logf.c, math/sincosf.c; glibc 2.28 and
later use them): the argument is reduced and a polynomial evaluated in double precision, then rounded once to float.
"""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import numpy as np

Array = Any

_INVERSES = (
    1.398907162146528, 1.3403141896637998, 1.286432210124115, 1.2367150214269895,
    1.1906977166711752, 1.1479821020556429, 1.1082251448272158, 1.0711297413057381,
    1.036437278977283, 1.0, 0.9492859795739057, 0.8951049428609004,
    0.8476821620351103, 0.8050314851692001, 0.7664671008843108, 0.731428603316328,
)
_LOG_INVERSE = np.array(_INVERSES)
_LOG_OFFSET = np.array([-math.log(inverse) for inverse in _INVERSES])
_LOG_POLYNOMIAL = (-0.25089342214237154, 0.333456765744066, -0.4999997485802103)
_LOG_BITS = 0x3F330000

_SIN = (-0.16666654943701084, 0.008332178146138854, -0.00019517298981385725)
_COS = (-0.49999999725108224, 0.041666623324344516, -0.001388676379437604, 2.4390450703564542e-05)


def logf(xp: ModuleType, x: Array) -> Array:
    """The natural logarithm of positive normal float32 numbers, float32 of the same shape."""
    bits = x.view(xp.uint32)
    offset = bits - xp.uint32(_LOG_BITS)
    row = ((offset >> 19) & xp.uint32(15)).astype(xp.int32)
    exponent = offset.view(xp.int32) >> 23
    z = (bits - (offset & xp.uint32(0xFF800000))).view(xp.float32).astype(xp.float64)
    r = z * _lookup(xp, _LOG_INVERSE, row) - 1.0
    base = _lookup(xp, _LOG_OFFSET, row) + exponent.astype(xp.float64) * math.log(2)
    a0, a1, a2 = _LOG_POLYNOMIAL
    square = r * r
    return ((a0 * square + (a1 * r + a2)) * square + (base + r)).astype(xp.float32)


def _lookup(xp: ModuleType, table: np.ndarray, row: Array) -> Array:
    return table.take(row) if xp is np else xp.asarray(table).at[row].get(mode="promise_in_bounds")


def sincosf(xp: ModuleType, x: Array) -> tuple[Array, Array]:
    """Sine and cosine of float32 numbers in [0, 120), two float32 arrays of the same shape."""
    angle = x.astype(xp.float64)
    quadrant = xp.floor(angle * (2 / math.pi) + 0.5)
    angle = angle - quadrant * (math.pi / 2)
    quadrant = quadrant.astype(xp.int32)
    square = angle * angle
    s1, s2, s3 = _SIN
    c1, c2, c3, c4 = _COS
    cube = square * angle
    sine = (angle + cube * s1) + cube * square * (s2 + square * s3)
    fourth = square * square
    cosine = (1.0 + square * c1 + fourth * c2) + fourth * square * (c3 + square * c4)
    odd = (quadrant & 1) == 1
    first, second = xp.where(odd, cosine, sine), xp.where(odd, sine, cosine)
    first = xp.where((quadrant & 2) != 0, -first, first)
    second = xp.where(((quadrant + 1) & 2) != 0, -second, second)
    return first.astype(xp.float32), second.astype(xp.float32)
