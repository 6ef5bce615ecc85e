"""What the kernels of sparse ops share: checks of the three parts, and the row-major order of positions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.nodes.sparse_tensor import SparseTensor, is_sparse
from tfcompat._src.ops.array.shape import invalid

if TYPE_CHECKING:
    from tfcompat._src.graph.shape_inference import InferenceContext

_LARGEST_KEY = 2**62
_MOST_ELEMENTS = 2**63 - 1


def check_parts(indices: np.ndarray, values: np.ndarray, sizes: np.ndarray, label: str = "Input") -> None:
    """InvalidArgumentError where the three parts of a sparse tensor cannot belong together."""
    if indices.ndim != 2:
        raise invalid(f"{label} indices should be a matrix but received shape {shape_text(indices.shape)}")
    if values.ndim != 1:
        raise invalid(f"{label} values should be a vector but received shape {shape_text(values.shape)}")
    if sizes.ndim != 1:
        raise invalid(f"{label} shape should be a vector but received shape {shape_text(sizes.shape)}")
    if len(indices) != len(values):
        raise invalid(f"Expected {len(indices)} non-empty {label.lower()} values, got {len(values)}")
    if indices.shape[1] != len(sizes):
        raise invalid(f"Dimensions of {label.lower()} indices and shape do not match: {indices.shape[1]} vs. {len(sizes)}")


def check_sizes(sizes: np.ndarray) -> None:
    """InvalidArgumentError where sizes are no shape: one is negative, or they make more elements than can be counted."""
    listed = sizes.tolist()
    if min(listed, default=0) < 0 or math.prod(listed) > _MOST_ELEMENTS:
        raise invalid(f"Shape {listed} must be non-negative, and have fewer than 2**63 elements")


def check_tensor(indices: np.ndarray, values: np.ndarray, sizes: np.ndarray) -> None:
    """`check_parts`, and that the sizes are a shape."""
    check_parts(indices, values, sizes)
    check_sizes(sizes)


def row_keys(*tables: np.ndarray) -> list[np.ndarray]:
    """For each matrix of positions one number per row: numbers compare as rows do, across all the matrices."""
    rows = np.concatenate(tables)
    if not rows.shape[1]:
        keys = np.zeros(len(rows), np.int64)
    else:
        low = rows.min(0, initial=0)
        high = rows.max(0, initial=0)
        if math.prod(float(b) - float(a) + 1 for a, b in zip(low, high)) < _LARGEST_KEY:
            span = high - low + 1
            strides = np.append(np.cumprod(span[:0:-1])[::-1], 1)
            keys = (rows - low) @ strides
        else:
            keys = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    return np.split(keys, np.cumsum([len(t) for t in tables])[:-1])


def row_order(indices: np.ndarray) -> np.ndarray:
    """The permutation that puts positions into row-major order; equal ones stay as they are."""
    return np.argsort(row_keys(indices)[0], kind="stable")


def merged(a: list[int], b: list[int]) -> list[tuple[int | None, int | None]]:
    """Two lists of row numbers merged by size, each in the order in which it is: the places of each row in the two lists."""
    found: list[tuple[int | None, int | None]] = []
    i = j = 0
    while i < len(a) or j < len(b):
        from_a = j == len(b) or (i < len(a) and a[i] <= b[j])
        from_b = i == len(a) or (j < len(b) and b[j] <= a[i])
        found.append((i if from_a else None, j if from_b else None))
        i, j = i + from_a, j + from_b
    return found


def ragged_indices(counts: np.ndarray) -> np.ndarray:
    """[total, 2]: row and place in the row of each element, for rows with these numbers of elements."""
    indices = np.empty((int(counts.sum()), 2), np.int64)
    indices[:, 0] = np.repeat(np.arange(len(counts)), counts)
    indices[:, 1] = np.arange(len(indices)) - np.repeat(np.cumsum(counts) - counts, counts)
    return indices


def groups(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where equal neighbours in sorted `keys` begin, and the number of the group of each element."""
    is_first = np.ones(len(keys), bool)
    is_first[1:] = keys[1:] != keys[:-1]
    return np.flatnonzero(is_first), np.cumsum(is_first) - 1


def as_sparse(value: object) -> SparseTensor:
    """A SparseTensor of a SparseTensor or SparseTensorValue; TypeError for anything else."""
    if isinstance(value, SparseTensor):
        return value
    if not is_sparse(value):
        raise TypeError("Input must be a SparseTensor.")
    return SparseTensor.from_value(value)


def all_sparse(values: object) -> list[SparseTensor]:
    """SparseTensors of a list or tuple of them; TypeError for anything else."""
    if not isinstance(values, (list, tuple)):
        raise TypeError("Inputs must be a list")
    if not all(is_sparse(v) for v in values):
        raise TypeError("All inputs must be SparseTensors")
    return [as_sparse(v) for v in values]


def with_part_ranks(c: InferenceContext, *starts: int) -> None:
    """ValueError where inputs from `start` on are no matrix of indices, vector of values and vector of sizes."""
    for start in starts:
        for i, rank in enumerate((2, 1, 1)):
            si.with_rank(c.inputs[start + i], rank)
