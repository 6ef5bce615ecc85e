"""The larger and the smaller of two numbers as 1.15 compares them: the first stays unless the second exceeds it.

So NaN stays where it is the first and is passed over where it is the second.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np


def _choosing(library: Any, integers: Callable, exceeds: Callable) -> Callable:
    def choose(x, y):
        return integers(x, y) if x.dtype.kind in "iu" else library.where(exceeds(y, x), y, x)

    return choose


larger = _choosing(jnp, jnp.maximum, jnp.greater)
smaller = _choosing(jnp, jnp.minimum, jnp.less)
larger_numpy = _choosing(np, np.maximum, np.greater)
smaller_numpy = _choosing(np, np.minimum, np.less)


def without_nan(x: Any, instead: float) -> Any:
    """`x` with `instead` in the place of NaN; integers as they are."""
    return x if x.dtype.kind in "iu" else jnp.where(jnp.isnan(x), np.asarray(instead, x.dtype), x)
