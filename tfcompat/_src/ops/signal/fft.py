"""Discrete Fourier transforms over the last one, two or three dimensions, of complex and of real signals."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.base.jax_compat import row_major
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.constant_value import constant_value_as_shape
from tfcompat._src.graph.op_spec import NotDifferentiable, op
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import ones, zeros, zeros_like
from tfcompat._src.ops.array.join import concat, stack, tile, unstack
from tfcompat._src.ops.array.pad import pad
from tfcompat._src.ops.array.reorder import roll, transpose
from tfcompat._src.ops.array.shape import expand_dims, rank, reshape, shape
from tfcompat._src.ops.math.binary import floormod, maximum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.complex import conj, real
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import reduce_prod
from tfcompat._src.ops.math.sequence import arange

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.operation import Operation
    from tfcompat._src.graph.shape_inference import InferenceContext

_NO_GRADIENT = NotDifferentiable("1.15 has no gradient for this op", raises=True)
_SUFFIX = {1: "", 2: "2D", 3: "3D"}


def _require_rank(x: Any, dimensions: int) -> None:
    if x.ndim < dimensions:
        raise errors.InvalidArgumentError(
            None, None, f"Input must have rank of at least {dimensions} but got: {list(x.shape)}"
        )


def _size(x: Tensor, dimensions: int, dtype: object) -> Tensor:
    """How many elements one transform has."""
    return cast(reduce_prod(shape(x)[-dimensions:]), dtype)


# ---- complex signals ----


def _complex_kernel(function: Callable, dimensions: int) -> Callable:
    def kernel(x):
        _require_rank(x, dimensions)
        return x if 0 in x.shape else row_major(function(x, axes=range(-dimensions, 0)).astype(x.dtype))

    return kernel


def _forward_gradient(dimensions: int) -> Callable:
    inverse = raw.function("IFFT" + _SUFFIX[dimensions])

    def gradient(op: Operation, g: Tensor) -> list:
        count = _size(g, dimensions, g.dtype)
        return [inverse(g) * count]

    return gradient


def _inverse_gradient(dimensions: int) -> Callable:
    forward = raw.function("FFT" + _SUFFIX[dimensions])

    def gradient(op: Operation, g: Tensor) -> list:
        share = cast(1.0 / _size(g, dimensions, g.dtype.real_dtype), g.dtype)
        return [forward(g) * share]

    return gradient


for _dimensions, _suffix in _SUFFIX.items():
    for _name, _kernel, _gradient in (
        ("FFT", jnp.fft.fftn, _forward_gradient), ("IFFT", jnp.fft.ifftn, _inverse_gradient),
    ):  # fmt: skip
        op(
            _name + _suffix, "(input: Tcomplex, *, Tcomplex: COMPLEX = complex64) -> (output: Tcomplex)",
            shape=lambda c, n=_dimensions: [si.with_rank_at_least(c.inputs[0], n)],
            kernel=_complex_kernel(_kernel, _dimensions), gradient=_gradient(_dimensions),
        )  # fmt: skip
        op(
            "Batch" + _name + _suffix, "(input: complex64) -> (output: complex64)", shape=si.unknown,
            kernel=_complex_kernel(_kernel, _dimensions), gradient=_NO_GRADIENT,
        )  # fmt: skip


# ---- real signals ----


def _real_shape(dimensions: int, forward: bool) -> Callable:
    def function(c: InferenceContext) -> list:
        sizes = si.with_rank_at_least(c.inputs[0], dimensions)
        count = si.with_rank(c.inputs[1], 1)[0]
        if count not in (None, dimensions):
            raise ValueError(f"Dimension must be {dimensions} but is {count}")
        if sizes is None:
            return [None]
        lengths = c.value(1)
        if lengths is not None and len(lengths) != dimensions:
            raise ValueError(f"fft_length must have {dimensions} elements but has {len(lengths)}")
        found = (None,) * dimensions if lengths is None else tuple(int(n) for n in lengths)
        if forward and found[-1]:
            found = (*found[:-1], found[-1] // 2 + 1)
        return [sizes[:-dimensions] + found]

    return function


def _require_lengths(x: Any, lengths: np.ndarray, wanted: list[int]) -> None:
    """Demands that each transformed dimension of `x` has the wanted size at least."""
    first = x.ndim - len(lengths)
    for i, (have, want) in enumerate(zip(x.shape[first:], wanted)):
        if lengths[i] <= 0 or have < want:
            text = f"Input dimension {first + i} must have length of at least {want} but got: {have}"
            raise errors.InvalidArgumentError(None, None, text)


def _lengths(fft_length: np.ndarray, dimensions: int) -> list[int]:
    if fft_length.shape != (dimensions,):
        raise errors.InvalidArgumentError(None, None, f"fft_length must have shape [{dimensions}]")
    return [int(n) for n in fft_length]


def _cropped(x: Any, sizes: list[int]) -> Any:
    return x[(..., *(slice(n) for n in sizes))]


def _rfft(x, fft_length, *, dimensions):
    _require_rank(x, dimensions)
    lengths = _lengths(fft_length, dimensions)
    if 0 in x.shape:
        sizes = (*lengths[:-1], lengths[-1] // 2 + 1 if lengths[-1] else 0)
        return jnp.zeros((*x.shape[: -len(lengths)], *sizes), np.complex64)
    _require_lengths(x, fft_length, lengths)
    return row_major(jnp.fft.rfftn(_cropped(x, lengths), axes=range(-len(lengths), 0)).astype(np.complex64))


def _irfft(x, fft_length, *, dimensions):
    _require_rank(x, dimensions)
    lengths = _lengths(fft_length, dimensions)
    if 0 in x.shape:
        return jnp.zeros((*x.shape[: -len(lengths)], *lengths), np.float32)
    wanted = [*lengths[:-1], lengths[-1] // 2 + 1]
    _require_lengths(x, fft_length, wanted)
    return row_major(jnp.fft.irfftn(_cropped(x, wanted), s=lengths, axes=range(-len(lengths), 0)).astype(np.float32))


def _alternating(length: Tensor) -> Tensor:
    """1, -1, 1, ... of `length`, complex."""
    return cast(1 - 2 * (arange(length) % 2), dtypes.complex64)


def _along_rows(matrix: Tensor, x: Tensor) -> Tensor:
    """A square matrix repeated for every matrix of `x`."""
    expanded = reshape(matrix, concat([ones([rank(x) - 2], dtypes.int32), shape(matrix)], 0))
    return tile(expanded, concat([shape(x)[:-2], [1, 1]], 0))


def _fourier_matrix(length: Tensor) -> Tensor:
    """The matrix of the Fourier transform of vectors of `length`."""
    columns = tile(expand_dims(arange(length), 0), (length, 1))
    rows = transpose(columns, [1, 0])
    return raw.Exp(-2j * np.pi * cast(columns * rows, dtypes.complex64) / cast(length, dtypes.complex64))


def _unpaired_vectors(g: Tensor, sizes: Tensor, is_even: Tensor) -> Tensor:
    """What the first element of a half spectrum gives, and the last of an even signal, which have no mirror image."""
    first, last = g[..., 0:1], g[..., -1:]
    return first + is_even * last * _alternating(sizes[-1])


def _unpaired_matrices(g: Tensor, sizes: Tensor, is_even: Tensor) -> Tensor:
    """`_unpaired_vectors` where the elements are columns, which are still to be transformed."""
    first = g[..., 0:1]
    matrix = _along_rows(_fourier_matrix(sizes[-2]), first)
    of_first = matmul(matrix, conj(first))
    of_last = matmul(matrix, conj(g[..., -1:]))
    length = sizes[-1]
    of_last = tile(of_last, concat([ones([rank(g) - 1], dtypes.int32), [length]], 0)) * _alternating(length)
    return of_first + is_even * of_last


def _rfft_gradient(dimensions: int) -> Callable:
    unpaired = {1: _unpaired_vectors, 2: _unpaired_matrices}[dimensions]

    def gradient(op: Any, g: Tensor) -> list:
        """Half of the inverse transform, which takes every element for two, and of those that are one."""
        x, lengths = op.inputs
        sizes = shape(x)
        is_even = cast(1 - lengths[-1] % 2, dtypes.complex64)
        single = unpaired(g, sizes, is_even)
        count = _size(x, dimensions, dtypes.float32)
        inverse = (irfft if dimensions == 1 else irfft2d)(g, lengths)
        return [0.5 * (inverse * count + real(single)), None]

    return gradient


def _irfft_gradient(dimensions: int) -> Callable:
    def gradient(op: Operation, g: Tensor) -> list:
        """Entries of the spectrum that stand for their mirror image too count twice."""
        x, lengths = op.inputs
        is_odd = floormod(lengths[-1], 2)
        length = shape(x)[-1]
        weights = concat([[1.0], 2.0 * ones([length - 2 + is_odd]), ones([1 - is_odd])], 0)
        share = raw.Reciprocal(_size(g, dimensions, dtypes.float32))
        forward = (rfft if dimensions == 1 else rfft2d)(g, lengths)
        return [forward * cast(share * weights, dtypes.complex64), None]

    return gradient


for _dimensions, _suffix in _SUFFIX.items():
    _has_gradient = _dimensions < 3
    op(
        "RFFT" + _suffix, "(input: float32, fft_length: int32) -> (output: complex64)",
        shape=_real_shape(_dimensions, True), constants=("fft_length",),
        kernel=functools.partial(_rfft, dimensions=_dimensions),
        gradient=_rfft_gradient(_dimensions) if _has_gradient else _NO_GRADIENT,
    )  # fmt: skip
    op(
        "IRFFT" + _suffix, "(input: complex64, fft_length: int32) -> (output: float32)",
        shape=_real_shape(_dimensions, False), constants=("fft_length",),
        kernel=functools.partial(_irfft, dimensions=_dimensions),
        gradient=_irfft_gradient(_dimensions) if _has_gradient else _NO_GRADIENT,
    )  # fmt: skip


# ---- public functions ----


def _complex_function(name: str, op_type: str, what: str) -> Callable:
    apply = raw.function(op_type)

    def function(input, name=None):
        return apply(input, name=name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The {what} of a complex tensor; a tensor of its shape and dtype."
    return function


_D1, _D2, _D3 = "over the last dimension", "over the last two dimensions", "over the last three dimensions"
fft = export("signal.fft", "spectral.fft", "fft")(_complex_function("fft", "FFT", f"Fourier transform {_D1}"))
ifft = export("signal.ifft", "spectral.ifft", "ifft")(
    _complex_function("ifft", "IFFT", f"inverse Fourier transform {_D1}")
)
fft2d = export("signal.fft2d", "spectral.fft2d", "fft2d")(_complex_function("fft2d", "FFT2D", f"Fourier transform {_D2}"))
ifft2d = export("signal.ifft2d", "spectral.ifft2d", "ifft2d")(
    _complex_function("ifft2d", "IFFT2D", f"inverse Fourier transform {_D2}")
)
fft3d = export("signal.fft3d", "spectral.fft3d", "fft3d")(_complex_function("fft3d", "FFT3D", f"Fourier transform {_D3}"))
ifft3d = export("signal.ifft3d", "spectral.ifft3d", "ifft3d")(
    _complex_function("ifft3d", "IFFT3D", f"inverse Fourier transform {_D3}")
)


def _default_length(x: Tensor, dimensions: int, forward: bool) -> Tensor:
    """The lengths of a signal: those of `x`, or for a spectrum `x` those of the even signal that it is of."""
    known = x.shape[-dimensions:]
    if known.is_fully_defined():
        sizes = known.as_list()
        if sizes and not forward:
            sizes[-1] = max(0, 2 * (sizes[-1] - 1))
        return convert_to_tensor(sizes, dtypes.int32)
    sizes = shape(x)[-dimensions:]
    if forward:
        return sizes
    parts = unstack(sizes)
    parts[-1] = maximum(0, 2 * (parts[-1] - 1))
    return stack(parts)


def _padded_to_length(x: Tensor, dimensions: int, lengths: Tensor, forward: bool) -> Tensor:
    """`x` with zeros behind each transformed dimension that is too short."""
    if x.shape.ndims is not None and 0 in x.shape.as_list():
        return x
    lengths.shape.with_rank(1)
    known = constant_value_as_shape(lengths)
    if known.is_fully_defined() and x.shape.ndims is not None:
        have = x.shape[-known.ndims :]
        if have.is_fully_defined():
            sizes = known.as_list() if forward else [*known.as_list()[:-1], known.as_list()[-1] // 2 + 1]
            paddings = [[0, max(want - size, 0)] for want, size in zip(sizes, have.as_list())]
            if not any(after for _, after in paddings):
                return x
            return pad(x, [[0, 0]] * max(x.shape.ndims - known.ndims, 0) + paddings)
    x_rank = rank(x)
    have = shape(x)[-dimensions:]
    before = zeros([maximum(0, x_rank - dimensions)], lengths.dtype)
    if not forward:
        lengths = concat([lengths[:-1], lengths[-1:] // 2 + 1], 0)
    after = concat([before, maximum(0, lengths - have)], 0)
    return pad(x, stack([zeros_like(after), after], axis=1))


def _real_function(name: str, op_type: str, dimensions: int, doc: str) -> Callable:
    apply, default_name, forward = raw.function(op_type), name, op_type.startswith("R")
    dtype = dtypes.float32 if forward else dtypes.complex64

    def function(input_tensor, fft_length=None, name=None):
        with name_scope(name, default_name, [input_tensor, fft_length]) as scope:
            input_tensor = convert_to_tensor(input_tensor, dtype)
            input_tensor.shape.with_rank_at_least(dimensions)
            if fft_length is None:
                fft_length = _default_length(input_tensor, dimensions, forward)
            else:
                fft_length = convert_to_tensor(fft_length, dtypes.int32)
            input_tensor = _padded_to_length(input_tensor, dimensions, fft_length, forward)
            return apply(input_tensor, fft_length, name=scope)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{doc}

    Args:
      input_tensor: {dtype.name} tensor with {dimensions} dimensions or more.
      fft_length: int32 [{dimensions}], the lengths of the signal; the input is cut or filled with zeros to fit.
      name: node name.

    Raises:
      ValueError: the rank or the size of `fft_length` does not fit.
    """
    return function


_SPECTRUM = "The unique half of the spectrum of a real signal"
_SIGNAL = "The real signal of the unique half of its spectrum"
rfft = export("signal.rfft", "spectral.rfft")(_real_function("rfft", "RFFT", 1, f"{_SPECTRUM}, {_D1}."))
irfft = export("signal.irfft", "spectral.irfft")(_real_function("irfft", "IRFFT", 1, f"{_SIGNAL}, {_D1}."))
rfft2d = export("signal.rfft2d", "spectral.rfft2d")(_real_function("rfft2d", "RFFT2D", 2, f"{_SPECTRUM}, {_D2}."))
irfft2d = export("signal.irfft2d", "spectral.irfft2d")(_real_function("irfft2d", "IRFFT2D", 2, f"{_SIGNAL}, {_D2}."))
rfft3d = export("signal.rfft3d", "spectral.rfft3d")(_real_function("rfft3d", "RFFT3D", 3, f"{_SPECTRUM}, {_D3}."))
irfft3d = export("signal.irfft3d", "spectral.irfft3d")(_real_function("irfft3d", "IRFFT3D", 3, f"{_SIGNAL}, {_D3}."))


def _shifted(x: Any, axes: Any, sign: int, name: str | None, default_name: str) -> Tensor:
    with name_scope(name, default_name) as scope:
        x = convert_to_tensor(x)
        if axes is None:
            axes = tuple(range(x.shape.ndims))
        if isinstance(axes, int):
            return roll(x, sign * int(x.shape[axes] // 2), axes, scope)
        return roll(x, [sign * int(x.shape[axis] // 2) for axis in axes], axes, scope)


@export("signal.fftshift")
def fftshift(x: TensorLike, axes: TensorLike | None = None, name: str | None = None) -> Tensor:
    """`x` with the zero frequency moved to the middle of `axes` (an int or several; all by default)."""
    return _shifted(x, axes, 1, name, "fftshift")


@export("signal.ifftshift")
def ifftshift(x: TensorLike, axes: TensorLike | None = None, name: str | None = None) -> Tensor:
    """The inverse of `fftshift`."""
    return _shifted(x, axes, -1, name, "ifftshift")
