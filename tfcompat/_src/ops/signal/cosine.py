"""Discrete cosine transforms, and the cepstral coefficients made with them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import dimension_value
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.pad import pad
from tfcompat._src.ops.array.shape import expand_dims, shape
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.complex import complex_of_parts, real
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.math.unary import exp, rsqrt, sqrt
from tfcompat._src.ops.signal.fft import irfft, rfft

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_INVERSE_TYPE = {1: 1, 2: 3, 3: 2}


def _check(x: Any, kind: object, n: int | None, axis: int, norm: str | None) -> None:
    if axis != -1:
        raise NotImplementedError(f"axis must be -1. Got: {axis}")
    if n is not None and n < 1:
        raise ValueError("n should be a positive integer or None")
    if kind not in _INVERSE_TYPE:
        raise ValueError("Only Types I, II and III (I)DCT are supported.")
    if kind == 1:
        if norm == "ortho":
            raise ValueError("Normalization is not supported for the Type-I DCT.")
        size = dimension_value(x.shape[-1])
        if size is not None and size < 2:
            raise ValueError("Type-I DCT requires the dimension to be greater than one.")
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")


def _last_size(x: Tensor) -> Any:
    return dimension_value(x.shape[-1]) or shape(x)[-1]


def _of_length(x: Tensor, n: int, size: Any) -> Tensor:
    if n <= size:
        return x[..., 0:n]
    paddings = [[0, 0] for _ in x.shape]
    paddings[-1][1] = n - size
    return pad(x, convert_to_tensor(paddings, dtype=dtypes.int32))


def _weights(first: Tensor, others: Tensor, size: Any) -> Tensor:
    """[first, others, others, ...]"""
    return pad(expand_dims(first, 0), [[0, size - 1]], constant_values=others)


def _second(x: Tensor, size: Any, size_float: Tensor, norm: str | None) -> Tensor:
    turn = 2.0 * exp(complex_of_parts(0.0, -arange(size_float) * math.pi * 0.5 / size_float))
    found = real(rfft(x, fft_length=[2 * size])[..., :size] * turn)
    if norm == "ortho":
        first = 0.5 * rsqrt(size_float)
        found *= _weights(first, first * sqrt(2.0), size)
    return found


def _third(x: Tensor, size: Any, size_float: Tensor, norm: str | None) -> Tensor:
    if norm == "ortho":
        first = sqrt(size_float)
        x *= _weights(first, first * sqrt(0.5), size)
    else:
        x *= size_float
    turn = 2.0 * exp(complex_of_parts(0.0, arange(size_float) * math.pi * 0.5 / size_float))
    return real(irfft(turn * complex_of_parts(x, 0.0), fft_length=[2 * size]))[..., :size]


@export("signal.dct", "spectral.dct")
def dct(input: TensorLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None, name: str | None = None) -> Tensor:
    """The discrete cosine transform over the last dimension.

    Args:
      input: float32 [..., samples].
      type: 1, 2 or 3.
      n: samples to transform: the input is cut or filled with zeros; by default all.
      axis: -1.
      norm: None, or "ortho" for the orthonormal transform of types 2 and 3.
      name: name scope.

    Returns:
      float32 [..., n].

    Raises:
      NotImplementedError: another axis. ValueError: another argument has no such value.
    """
    _check(input, type, n, axis, norm)
    with name_scope(name, "dct", [input]):
        x = convert_to_tensor(input, dtype=dtypes.float32)
        size = _last_size(x)
        if n is not None:
            x = _of_length(x, n, size)
        size = _last_size(x)
        size_float = cast(size, dtypes.float32)
        if type == 1:
            return real(rfft(concat([x, x[..., -2:0:-1]], axis=-1)))
        return (_second if type == 2 else _third)(x, size, size_float, norm)


@export("signal.idct", "spectral.idct")
def idct(input: TensorLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None, name: str | None = None) -> Tensor:
    """The inverse of `dct` of this type, up to a factor where `norm` is None; arguments and errors are those of `dct`."""
    _check(input, type, n, axis, norm)
    return dct(input, type=_INVERSE_TYPE[type], n=n, axis=axis, norm=norm, name=name)


@export("signal.mfccs_from_log_mel_spectrograms", "contrib.signal.mfccs_from_log_mel_spectrograms")
def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: TensorLike, name: str | None = None) -> Tensor:
    """Mel-frequency cepstral coefficients: the orthonormal cosine transform of logarithmic mel spectrograms, first not halved.

    Args:
      log_mel_spectrograms: float32 [..., num_mel_bins].
      name: name scope.

    Returns:
      float32 [..., num_mel_bins].

    Raises:
      ValueError: there are no mel bins.
    """
    with name_scope(name, "mfccs_from_log_mel_spectrograms", [log_mel_spectrograms]):
        x = convert_to_tensor(log_mel_spectrograms, dtype=dtypes.float32)
        bins = dimension_value(x.shape[-1]) if x.shape.ndims else None
        if bins == 0:
            raise ValueError(f"num_mel_bins must be positive. Got: {x}")
        if bins is None:
            bins = shape(x)[-1]
        return dct(x, type=2) * rsqrt(cast(bins, dtypes.float32) * 2.0)
