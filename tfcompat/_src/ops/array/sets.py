"""Operations on the sets that rows hold. They run in NumPy: the size of a result depends on the values."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.framework import errors
from tfcompat._src.framework import shape_inference as si
from tfcompat._src.framework.op_spec import HOST, NotDifferentiable, op

_OPERATIONS = {
    "a-b": lambda a, b: a - b,
    "b-a": lambda a, b: b - a,
    "intersection": lambda a, b: a & b,
    "union": lambda a, b: a | b,
}


def _dense_shape(c: Any) -> list:
    first, second = c.inputs[0], c.inputs[1]
    for sizes in (first, second):
        if sizes is not None and len(sizes) < 2:
            raise ValueError(f"Shape must be at least rank 2 but is rank {len(sizes)}")
    if first is not None and second is not None:
        if len(first) != len(second):
            raise ValueError(f"Shape must be rank {len(first)} but is rank {len(second)}")
        si.merge(first[:-1], second[:-1])
    known = second if first is None else first
    rank = None if known is None else len(known)
    return [(None, rank), (None,), (rank,)]


@op(
    "DenseToDenseSetOperation",
    "(set1: T, set2: T, *, set_operation: string, validate_indices: bool = True, "
    "T: {int8, int16, int32, int64, uint8, uint16, string}) -> "
    "(result_indices: int64, result_values: T, result_shape: int64)",
    shape=_dense_shape, gradient=NotDifferentiable("sets have no gradient"), place=HOST, fold=True,
)  # fmt: skip
def _dense_to_dense(set1, set2, *, set_operation):
    if set1.shape[:-1] != set2.shape[:-1]:
        raise errors.InvalidArgumentError(
            None, None, f"Mismatched group shapes {list(set1.shape)} vs. {list(set2.shape)}."
        )
    combine = _OPERATIONS[set_operation.lower()]
    rows = {group: sorted(combine(set(set1[group]), set(set2[group]))) for group in np.ndindex(*set1.shape[:-1])}
    indices = [(*group, i) for group, row in rows.items() for i in range(len(row))]
    longest = max((len(row) for row in rows.values()), default=0)
    return (
        np.array(indices, np.int64).reshape(-1, set1.ndim),
        np.array([value for row in rows.values() for value in row], set1.dtype),
        np.array([*set1.shape[:-1], longest], np.int64),
    )
