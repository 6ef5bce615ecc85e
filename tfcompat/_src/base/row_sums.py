"""Sums of rows by place, in NumPy and SciPy: segment sums, updates of rows and sparse products come down to them."""

from __future__ import annotations

import math

import numpy as np

from tfcompat._src.base import checks
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.on_demand import sparse

_FEW = 1 << 12
"""Elements that `np.add.at` adds up before a sparse matrix is made."""
_SPARSE = 8
"""Most rows of a total for each added row that sums for all rows of the total are made for."""
_ADDED, _WEIGHTED = "fdbBhHiIlLqQ", "fdFDbBhHiIlLqQ"
"""Dtypes that SciPy multiplies. Complex rows without weights are not among them: 1 times an infinite number would make a NaN."""


def add_rows(total: NDArray, places: NDArray, rows: NDArray) -> None:
    """Adds row k of `rows` to row `places[k]` of `total`, for each k in its order.

    Args:
      total: [n, ...], contiguous; it is changed.
      places: integers [k]; rows whose place is outside [0, n) are left out.
      rows: [k, ...] of the same dtype.
    """
    if not total.size or not rows.size:
        return
    if not checks.all_inside(places, len(total)):
        inside = np.flatnonzero((places >= 0) & (places < len(total)))
        places, rows = places[inside], rows[inside]
    flat, width = rows.reshape(len(places), math.prod(rows.shape[1:])), math.prod(rows.shape[1:])
    if width == 1:
        np.add.at(total.reshape(-1), places, flat[:, 0])
    elif rows.size < _FEW or rows.dtype.char not in _ADDED:
        elements = places.astype(np.int64)[:, None] * width + np.arange(width)
        np.add.at(total.reshape(-1), elements.reshape(-1), flat.reshape(-1))
    elif len(total) > _SPARSE * len(places):
        distinct, positions = np.unique(places, return_inverse=True)
        total[distinct] += _sums(positions, flat, len(distinct)).reshape(-1, *total.shape[1:])
    else:
        total += _sums(places, flat, len(total)).reshape(total.shape)


def _sums(places: NDArray, rows: NDArray, count: int) -> NDArray:
    """Returns the sums [count, width] of rows of the same place: a product with a matrix that has a one in each column, at the place of a row."""
    entries = np.ones(len(places), rows.dtype), places, np.arange(len(places) + 1)
    # SciPy goes through the columns in their order.
    sums: NDArray = sparse.csc_matrix(entries, (count, len(places))) @ rows
    return sums


def weighted_sums(places: NDArray, chosen: NDArray, weights: NDArray, rows: NDArray, count: int) -> NDArray:
    """Returns the sums of `weights[k] * rows[chosen[k]]` over all k of the same place, in the order of k: [count, width].

    Args:
      places, chosen, weights: [k]; `chosen` is inside of `rows`, and a k whose place is outside [0, count) is left out.
      rows: [n, width] of the dtype of `weights`.
    """
    if not checks.all_inside(places, count):
        inside = np.flatnonzero((places >= 0) & (places < count))
        places, chosen, weights = places[inside], chosen[inside], weights[inside]
    shape = count, len(rows)
    if places.size * rows.shape[1] < _FEW or weights.dtype.char not in _WEIGHTED:
        total = np.zeros((count, rows.shape[1]), rows.dtype)
        add_rows(total, places, weights[:, None] * rows[chosen])
        return total
    # Formats by rows and by columns need no sort here and keep the order of k; SciPy's format by entries would skip weights of 0, but 0 * inf is NaN.
    if _rises(places):
        matrix = sparse.csr_matrix((weights, chosen, _ends(places, count)), shape)
    elif _rises(chosen):
        matrix = sparse.csc_matrix((weights, places, _ends(chosen, len(rows))), shape)
    else:
        matrix, rows = sparse.csc_matrix((weights, places, np.arange(len(places) + 1)), (count, len(places))), rows[chosen]
    product: NDArray = matrix @ rows
    return product


def _rises(numbers: NDArray) -> bool:
    return bool((numbers[1:] >= numbers[:-1]).all())


def _ends(numbers: NDArray, limit: int) -> NDArray:
    """Returns where each of 0 to `limit` would begin among rising numbers."""
    return np.searchsorted(numbers, np.arange(limit + 1))
