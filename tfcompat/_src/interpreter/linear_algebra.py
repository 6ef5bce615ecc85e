"""Decompositions, triangular systems and Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.fft

from tfcompat._src.interpreter.table import Equation, primitive


@primitive("cholesky")
def cholesky(e: Equation) -> Callable:
    def one(x: np.ndarray) -> np.ndarray:
        try:
            return np.linalg.cholesky(x)
        except np.linalg.LinAlgError:  # XLA gives NaN for a matrix that is not positive definite
            return np.full_like(x, np.nan)

    def run(x: np.ndarray) -> np.ndarray:
        lower = np.tril(x)
        result = np.empty_like(x)
        for i in np.ndindex(x.shape[:-2]):
            result[i] = one(lower[i])
        return np.tril(result)

    return run


@primitive("fft")
def fft(e: Equation) -> Callable:
    kind, lengths, dtype = e.params["fft_type"].name, e.params["fft_lengths"], e.dtype
    function = {"FFT": scipy.fft.fftn, "IFFT": scipy.fft.ifftn, "RFFT": scipy.fft.rfftn, "IRFFT": scipy.fft.irfftn}[kind]
    axes = tuple(range(-len(lengths), 0))
    return lambda x: function(x, lengths, axes).astype(dtype, copy=False)
