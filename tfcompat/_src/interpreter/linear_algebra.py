"""Decompositions, triangular systems and Fourier transforms. Stacks of matrices go to LAPACK one by one, as in XLA's CPU programs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.on_demand import blas, lapack, transforms
from tfcompat._src.interpreter.table import Equation, ToArray, ToArrays, primitive

Decomposition: TypeAlias = Callable[..., Sequence[ArrayLike]]
"""Maps matrices to the parts of their decomposition."""


def _each(e: Equation, function: Decomposition) -> ToArrays:
    """Returns a function of stacks of matrices to a list of stacks, given one of single matrices to one or several arrays."""
    outputs = [(o.shape, o.dtype) for o in e.outputs]
    places = list(np.ndindex(e.inputs[0].shape[:-2]))

    def run(*args: NDArray) -> list[NDArray]:
        results = [np.zeros(shape, dtype) for shape, dtype in outputs]
        for i in places:
            for result, value in zip(results, function(*[a[i] for a in args]), strict=True):
                result[i] = value
        return results

    return run


def _or_nan(e: Equation, function: Decomposition) -> Decomposition:
    """Returns a decomposition whose parts are NaN for matrices that have none: XLA raises no errors."""
    count = len(e.outputs)

    def run(x: NDArray) -> Sequence[ArrayLike]:
        try:
            return function(x)
        except np.linalg.LinAlgError:
            return (np.nan,) * count

    return run


@primitive("cholesky")
def cholesky(e: Equation) -> ToArray:
    if 0 in e.shape:
        return np.zeros_like
    # Only the lower triangle is read, as XLA does.
    run = _each(e, _or_nan(e, lambda x: (np.linalg.cholesky(np.tril(x)),)))
    return lambda x: np.tril(run(x)[0])


@primitive("lu")
def lu(e: Equation) -> ToArrays:
    rows, columns = e.inputs[0].shape[-2:]
    # LAPACK's getrf itself: its factors and pivots are those that XLA returns.
    factor = lapack.get_lapack_funcs(("getrf",), dtype=e.dtype)[0]

    def one(x: NDArray) -> Sequence[ArrayLike]:
        if x.size == 0:
            return x, (), np.arange(rows)
        factors, pivots, _ = factor(x)
        return factors, pivots, _permutation(pivots, rows)

    return _each(e, one)


def _permutation(pivots: NDArray, size: int) -> NDArray:
    """Returns the order of rows after LAPACK's row exchanges: row i was swapped with row `pivots[i]`, in turn."""
    order = np.arange(size)
    for i, j in enumerate(pivots.tolist()):
        order[i], order[j] = order[j], order[i]
    return order


@primitive("lu_pivots_to_permutation")
def lu_pivots_to_permutation(e: Equation) -> ToArray:
    shape, dtype, size = e.shape, e.dtype, e.params["permutation_size"]

    def run(pivots: NDArray) -> NDArray:
        result = np.empty(shape, dtype)
        for i in np.ndindex(shape[:-1]):
            result[i] = _permutation(pivots[i], size)
        return result

    return run


@primitive("qr", refused=lambda params: params["pivoting"])
def qr(e: Equation) -> ToArrays:
    mode: Literal["complete", "reduced"] = "complete" if e.params["full_matrices"] else "reduced"
    return _each(e, lambda x: np.linalg.qr(x, mode))


@primitive("eigh", refused=lambda params: params["subset_by_index"] is not None)
def eigh(e: Equation) -> ToArrays:
    # NumPy returns eigenvalues first, JAX eigenvectors.
    triangle: Literal["L", "U"] = "L" if e.params["lower"] else "U"
    return _each(e, _or_nan(e, lambda x: np.linalg.eigh(x, triangle)[::-1]))


@primitive("svd", refused=lambda params: params["subset_by_index"] is not None)
def svd(e: Equation) -> ToArrays:
    full = e.params["full_matrices"]
    if not e.params["compute_uv"]:
        return _each(e, _or_nan(e, lambda x: (np.linalg.svd(x, compute_uv=False),)))

    def one(x: NDArray) -> Sequence[ArrayLike]:
        u, s, vh = np.linalg.svd(x, full)
        return s, u, vh

    return _each(e, _or_nan(e, one))


@primitive("triangular_solve")
def triangular_solve(e: Equation) -> ToArray:
    p, shape, dtype = e.params, e.shape, e.dtype
    solve = blas.get_blas_funcs(("trsm",), dtype=dtype)[0]
    # trsm's codes: 0 for the matrix, 1 for its transpose, 2 for its conjugate transpose. A conjugate alone is not among them.
    transposed = 0 if not p["transpose_a"] else 2 if p["conjugate_a"] else 1
    conjugated = p["conjugate_a"] and not p["transpose_a"]
    options = {"side": not p["left_side"], "lower": p["lower"], "trans_a": transposed, "diag": p["unit_diagonal"]}

    def run(a: NDArray, b: NDArray) -> NDArray:
        result = np.empty(shape, dtype)
        if math.prod(shape):
            # One matrix at a time: BLAS has no batches.
            a = np.conj(a) if conjugated else a
            for i in np.ndindex(shape[:-2]):
                result[i] = solve(1, a[i], b[i], **options)
        return result

    return run


@primitive("fft")
def fft(e: Equation) -> ToArray:
    kind, lengths, dtype = e.params["fft_type"].name, e.params["fft_lengths"], e.dtype
    function = getattr(transforms, {"FFT": "fftn", "IFFT": "ifftn", "RFFT": "rfftn", "IRFFT": "irfftn"}[kind])
    # The transform goes over the last axes, as many as there are lengths.
    axes = tuple(range(-len(lengths), 0))
    if math.prod(e.inputs[0].shape) == 0:
        shape = e.shape
        return lambda x: np.zeros(shape, dtype)
    return lambda x: function(x, lengths, axes).astype(dtype, copy=False)
