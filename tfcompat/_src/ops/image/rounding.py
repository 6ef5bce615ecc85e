"""Arithmetic of coordinates whose rounding decides which pixel is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import Array


def product(x: Any, y: Any) -> Array:
    """x * y, rounded before anything is added to it: the limit keeps the compiler from fusing it with the sum.

    A fused sum falls on the other side of a pixel's edge, and differently in each place where it is computed again.
    """
    return jnp.minimum(x * y, np.finfo(np.float32).max)


def round_half_away(x: Any) -> Array:
    """C's roundf: the nearest whole number, halves away from zero."""
    whole = jnp.trunc(x)
    return jnp.where(jnp.abs(x - whole) >= np.float32(0.5), whole + jnp.sign(x), whole)
