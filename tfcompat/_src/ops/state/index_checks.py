"""Demands on the row numbers that gathers from and scatters into variables use."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from tfcompat._src.framework import checks


def _finding(indices: Any, limit: int) -> tuple[Any, str, tuple]:
    """Whether all `indices` are in [0, limit), and the text and values that name the first one that is not."""
    lib = np if isinstance(indices, np.ndarray) else jnp
    bad = lib.logical_or(indices < 0, indices >= limit)
    if not indices.size:
        return np.True_, "", ()
    first = lib.argmax(bad.reshape(-1))
    where = ",".join(["{}"] * indices.ndim)
    values = (*lib.unravel_index(first, indices.shape), indices.reshape(-1)[first])
    return lib.logical_not(lib.any(bad)), f"indices[{where}] = {{}} is not in [0, {limit})".replace("[]", ""), values


def require_rows(indices: Any, limit: int) -> None:
    """InvalidArgumentError where one of `indices` is outside [0, limit)."""
    ok, text, values = _finding(indices, limit)
    checks.require(ok, text, *values)


def guard_rows(indices: Any, limit: int) -> Any:
    """As `require_rows`; gives `indices` that a scatter drops where the check fails."""
    ok, text, values = _finding(indices, limit)
    return checks.guard_indices(ok, indices, limit, text, *values)
