"""Demands on the row numbers that gathers and scatters use."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from tfcompat._src.framework import checks


def require_rows(indices: Any, limit: int) -> None:
    """InvalidArgumentError where one of `indices` is outside [0, limit); it names the first one that is."""
    if not indices.size:
        return
    lib = np if isinstance(indices, np.ndarray) else jnp
    bad = lib.logical_or(indices < 0, indices >= limit)
    first = lib.argmax(lib.reshape(bad, (-1,)))
    place = f"[{','.join(['{}'] * indices.ndim)}]" if indices.ndim else ""
    where = lib.unravel_index(first, indices.shape) if indices.ndim else ()
    text = f"indices{place} = {{}} is not in [0, {limit})"
    checks.require(lib.logical_not(lib.any(bad)), text, *where, lib.reshape(indices, (-1,))[first])


def dropped_on_failure(indices: Any, limit: int) -> Any:
    """`indices` as they are, or `limit`, which a scatter drops, where a check of the run so far has failed."""
    return checks.guard_indices(np.True_, indices, limit, "")
