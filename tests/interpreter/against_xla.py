"""The interpreter's results against those of XLA on the CPU."""

import jax
import numpy as np

from tfcompat._src.base import jax_compat
from tfcompat._src.interpreter import engine


def both(function, *arguments):
    """Lists of what XLA and the interpreter give for a function of JAX, with equal dtypes and shapes."""
    with jax_compat.x64():
        wanted = list(map(np.asarray, jax.tree.leaves(jax.jit(function)(*arguments))))
        found = engine.prepare(jax.make_jaxpr(function)(*arguments))(*arguments)
    assert [(w.dtype, w.shape) for w in wanted] == [(f.dtype, f.shape) for f in found]
    return wanted, found


def check(function, *arguments, ulps=0, rtol=0.0, atol=0.0):
    """Equal values, signs of zeros and places of NaN; or values within units in the last place, or within bounds."""
    for want, have in zip(*both(function, *arguments), strict=True):
        if rtol or atol:
            kind = np.complex128 if want.dtype.kind == "c" else np.float64
            np.testing.assert_allclose(have.astype(kind), want.astype(kind), rtol=rtol, atol=atol)
        elif want.dtype.kind in "fV":
            apart = distance(want, have)
            worst = np.argmax(apart) if apart.size else None
            assert worst is None or apart.flat[worst] <= ulps, f"element {worst}: XLA {want.flat[worst]}, here {have.flat[worst]}"
        else:
            np.testing.assert_array_equal(have, want)


def distance(a, b):
    """How many floats lie between two; 0 for two NaN, infinity for one. -0 and 0 are one apart."""
    bits = np.dtype(f"i{a.dtype.itemsize}")
    x, y = (v.view(bits).astype(object) for v in (a, b))
    lowest = -(1 << (8 * bits.itemsize - 1))
    x, y = (np.where(v < 0, lowest - v - 1, v) for v in (x, y))
    nan = np.isnan(a), np.isnan(b)
    return np.where(nan[0] & nan[1], 0, np.where(nan[0] | nan[1], np.inf, np.abs(x - y).astype(np.float64)))
