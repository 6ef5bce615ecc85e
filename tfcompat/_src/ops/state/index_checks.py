"""Demands on the row numbers that gathers and scatters use."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import checks


def require_rows(indices: Any, limit: int, updating: bool = False) -> Any:
    """Demands row numbers in [0, limit); InvalidArgumentError names the first one that is not.

    Returns:
      the indices; in an update those of `checks.no_row` become `limit`, which a scatter drops.
    """
    if not indices.size:
        return indices
    if isinstance(indices, np.ndarray) and checks.all_inside(indices, limit):
        return indices
    lib = np if isinstance(indices, np.ndarray) else jnp
    bad = lib.logical_or(indices < 0, indices >= limit)
    given = indices
    if updating:
        absent = indices == checks.no_row(indices.dtype)
        bad = lib.logical_and(bad, lib.logical_not(absent))
        indices = lib.where(absent, indices.dtype.type(limit), indices)
    first = checks.first(lib.reshape(bad, (-1,)))
    place = f"[{','.join(['{}'] * indices.ndim)}]" if indices.ndim else ""
    where = lib.unravel_index(first, indices.shape) if indices.ndim else ()
    text = f"indices{place} = {{}} is not in [0, {limit})"
    checks.require(lib.logical_not(lib.any(bad)), text, *where, lib.reshape(given, (-1,))[first])
    return indices


def dropped_on_failure(indices: Any, limit: int) -> Any:
    """`indices` as they are, or `limit`, which a scatter drops, where a check of the run so far has failed."""
    return checks.guard_indices(np.True_, indices, limit, "")
