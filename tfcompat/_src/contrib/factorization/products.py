"""Products for matrix factorization: WALSComputePartialLhsAndRhs, MaskedMatmul."""

from __future__ import annotations

import functools

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.tensor import shape_text

_MATRIX = "Input {} should be a matrix."
_VECTOR = "Input {} should be a vector."
_SCALAR = "Input {} should be a scalar."
_add = functools.partial(op, shape=si.unknown, side=HOST, gradient=NotDifferentiable("1.15 has no gradient of this one", raises=True))


def _check_rank(rank: int, **inputs: np.ndarray) -> None:
    for name, x in inputs.items():
        if x.ndim != rank:
            raise _invalid((_SCALAR, _VECTOR, _MATRIX)[rank].format(name))


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


def _check_index(index: np.ndarray, size: int, what: str) -> None:
    outside = np.flatnonzero((index < 0) | (index >= size))
    if outside.size:
        raise _invalid(f"{what} {index[outside[0]]} of entry {outside[0]} is out of bounds [0, {size}).")


def _check_normal_equations(factors, factor_weights, unobserved, input_weights, indices, values, weights, block_size, transpose):
    _check_rank(2, factors=factors)
    _check_rank(1, factor_weights=factor_weights)
    _check_rank(0, unobserved_weights=unobserved)
    _check_rank(1, input_weights=input_weights)
    _check_rank(2, input_indices=indices)
    if indices.shape[1] != 2:
        raise _invalid("Input input_indices should have shape (?, 2).")
    _check_rank(1, input_values=values, entry_weights=weights)
    if len(indices) != len(values):
        raise _invalid("Input input_values' length should match the first dimension of Input input_indices ")
    _check_rank(0, input_block_size=block_size, input_is_transpose=transpose)
    by_factors = len(input_weights) > 0 and len(factor_weights) == len(factors) and not len(weights)
    by_entries = not len(input_weights) and not len(factor_weights) and len(weights) == len(indices)
    if not (by_factors or by_entries):
        raise _invalid(
            "To specify the weights for observed entries, either (1) entry_weights must be set or (2) input_weights and "
            "factor_weights must be set, but not both."
        )


def _normal_equations(factors, factor_weights, unobserved, input_weights, indices, values, weights, block_size, transpose):
    _check_normal_equations(factors, factor_weights, unobserved, input_weights, indices, values, weights, block_size, transpose)
    rows, columns = indices.T[:: -1 if transpose else 1]
    count = int(block_size)
    _check_index(rows, min(count, len(input_weights)) if len(input_weights) else count, "The input index")
    _check_index(columns, len(factors), "The factor index")
    if not len(weights):
        weights = input_weights[rows] * factor_weights[columns]
    if (weights < 0).any():
        raise _invalid("Weights must not be negative.")
    lhs = np.zeros((count, factors.shape[1], factors.shape[1]), np.float32)
    rhs = np.zeros((count, factors.shape[1]), np.float32)
    order = np.argsort(rows, kind="stable")
    for entries in np.split(order, np.flatnonzero(np.diff(rows[order])) + 1) if len(order) else ():
        row, chosen, w = rows[entries[0]], factors[columns[entries]], weights[entries]
        lhs[row] = (chosen * w[:, None]).T @ chosen
        rhs[row] = (values[entries] * (unobserved + w)) @ chosen
    return lhs, rhs


_add(
    "WALSComputePartialLhsAndRhs",
    "(factors: float32, factor_weights: float32, unobserved_weights: float32, input_weights: float32, input_indices: int64, "
    "input_values: float32, entry_weights: float32, input_block_size: int64, input_is_transpose: bool) -> "
    "(partial_lhs: float32, partial_rhs: float32)",
    kernel=_normal_equations,
)  # fmt: skip


def _masked_matmul(a, b, indices, transpose_a, transpose_b):
    _check_rank(2, a=a, b=b, mask_indices=indices)
    _check_rank(0, transpose_a=transpose_a, transpose_b=transpose_b)
    rows, columns = a.T if transpose_a else a, b if transpose_b else b.T
    if rows.shape[1] != columns.shape[1]:
        raise _invalid(f"Matrix shapes are incompatible: a has shape {shape_text(a.shape)}, while b has shape {shape_text(b.shape)}.")
    if indices.shape[1] != 2:
        raise _invalid("mask_indices should be a matrix of shape [nnz 2], where nnz is the number of non-zero elements.")
    _check_index(indices[:, 0], len(rows), "The row index")
    _check_index(indices[:, 1], len(columns), "The column index")
    return np.einsum("ik,ik->i", rows[indices[:, 0]], columns[indices[:, 1]], dtype=np.float32)


_add(
    "MaskedMatmul",
    "(a: float32, b: float32, mask_indices: int64, transpose_a: bool, transpose_b: bool) -> (prod_values: float32)",
    kernel=_masked_matmul,
)  # fmt: skip
