"""Circulant matrices, and block circulant ones of two and three levels: Fourier transforms make them diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.distributions.util import rotate_transpose
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.linalg import hints, util
from tfcompat._src.linalg.algebra import RegisterAdjoint, RegisterInverse, RegisterMatmul, RegisterSolve
from tfcompat._src.linalg.linear_operator import LinearOperator
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import ones, zeros_like
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import rank, reshape, shape
from tfcompat._src.ops.composed.check_ops import assert_less, assert_positive
from tfcompat._src.ops.linalg.matrices import adjoint as adjoint_of_matrix
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.complex import complex_of_parts, conj, imag, real
from tfcompat._src.ops.math.reduce import reduce_prod, reduce_sum
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.math.unary import absolute, log
from tfcompat._src.ops.signal import fft

_FFT = {1: fft.fft, 2: fft.fft2d, 3: fft.fft3d}
_IFFT = {1: fft.ifft, 2: fft.ifft2d, 3: fft.ifft3d}


class _BaseLinearOperatorCirculant(LinearOperator):
    """A block circulant matrix of `block_depth` levels, given by its eigenvalues `spectrum`."""

    def __init__(
        self, spectrum: Any, block_depth: int, input_output_dtype: Any = dtypes.complex64,
        is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = True, name: str = "LinearOperatorCirculant",
    ) -> None:  # fmt: skip
        if block_depth not in _FFT:
            raise ValueError(f"Expected block_depth to be in {list(_FFT)}.  Found: {block_depth}.")
        self._name, self._block_depth = name, block_depth
        with name_scope(name, values=[spectrum]):
            self._spectrum = convert_to_tensor(spectrum, name="spectrum")
            if self.spectrum.shape.ndims is not None and self.spectrum.shape.ndims < block_depth:
                raise ValueError(
                    f"Argument spectrum must have at least {block_depth} dimensions.  Found: {self.spectrum}"
                )
            if not self.spectrum.dtype.is_complex:
                if is_self_adjoint is False:
                    raise ValueError("A real spectrum always corresponds to a self-adjoint operator.")
                is_self_adjoint = True
            if is_square is False:
                raise ValueError("A [[nested] block] circulant operator is always square.")
            self._block_shape_tensor = shape(self.spectrum)[-block_depth:]
            self._spectrum_complex = util.to_complex(self.spectrum)
            self._abs_spectrum = absolute(self.spectrum)
            self._conj_spectrum = conj(self._spectrum_complex)
            super().__init__(
                dtype=dtypes.as_dtype(input_output_dtype),
                graph_parents=[self.spectrum],
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=True,
                name=name,
            )

    # ---- properties ----

    @property
    def block_depth(self) -> int:
        """The number of levels."""
        return self._block_depth

    def block_shape_tensor(self) -> Tensor:
        """`block_shape` as an int32 vector."""
        return self._block_shape_tensor

    @property
    def block_shape(self) -> TensorShape:
        """The numbers of blocks of each level: the last dimensions of the spectrum."""
        return self.spectrum.shape[-self.block_depth :]

    @property
    def spectrum(self) -> Tensor:
        """The eigenvalues, [..., N_1, ..., N_depth]."""
        return self._spectrum

    def convolution_kernel(self, name: str = "convolution_kernel") -> Tensor:
        """The first column of the matrix, in the form of the spectrum."""
        with self._name_scope(name):
            return cast(self._ifft(self._spectrum_complex), self.dtype)

    def _shape(self) -> TensorShape:
        sizes = self._spectrum.shape
        side = int(np.prod(self.block_shape.as_list())) if self.block_shape.is_fully_defined() else None
        return sizes[: -self.block_depth].concatenate([side, side])

    def _shape_tensor(self) -> Tensor:
        sizes = shape(self._spectrum)
        batch = sizes[: -self.block_depth]
        side = reduce_prod(sizes[-self.block_depth :])
        return concat((batch, [side, side]), 0)

    # ---- assertions ----

    def assert_hermitian_spectrum(self, name: str = "assert_hermitian_spectrum") -> Operation:
        """An operation that fails where the matrix is not real, up to rounding."""
        eps = np.finfo(self.dtype.real_dtype.as_numpy_dtype).eps
        with self._name_scope(name):
            limit = eps * self.domain_dimension_tensor()
            part = imag(self.convolution_kernel())
            return assert_less(absolute(part), limit, message="Spectrum was not Hermitian")

    def _assert_non_singular(self) -> Operation:
        message = "Singular operator:  Spectrum contained zero values."
        return util.assert_no_entries_with_modulus_zero(self.spectrum, message=message)

    def _assert_positive_definite(self) -> Operation:
        message = "Not positive definite:  Real part of spectrum was not all positive."
        return assert_positive(real(self.spectrum), message=message)

    def _assert_self_adjoint(self) -> Operation:
        message = "Not self-adjoint:  The spectrum contained non-zero imaginary part."
        return util.assert_zero_imag_part(self.spectrum, message=message)

    # ---- products ----

    def _fft(self, x: Tensor) -> Tensor:
        return _FFT[self.block_depth](util.to_complex(x))

    def _ifft(self, x: Tensor) -> Tensor:
        return _IFFT[self.block_depth](util.to_complex(x))

    def _vectorize_then_blockify(self, matrix: Tensor) -> Tensor:
        """The columns of [..., n, r] as blocks [r, ..., N_1, ..., N_depth]."""
        columns = rotate_transpose(matrix, shift=1)
        if columns.shape.is_fully_defined() and self.block_shape.is_fully_defined():
            return reshape(columns, columns.shape[:-1].concatenate(self.block_shape))
        return reshape(columns, concat((shape(columns)[:-1], self.block_shape_tensor()), 0))

    def _unblockify_then_matricize(self, blocks: Tensor) -> Tensor:
        """The inverse of `_vectorize_then_blockify`."""
        if blocks.shape.is_fully_defined():
            sizes = blocks.shape.as_list()
            flat: Any = [*sizes[: -self.block_depth], int(np.prod(sizes[-self.block_depth :]))]
        else:
            sizes = shape(blocks)
            leading = sizes[: -self.block_depth]
            flat = concat((leading, [reduce_prod(sizes[-self.block_depth :])]), 0)
        return rotate_transpose(reshape(blocks, flat), shift=-1)

    def _broadcast_batch_dims(self, x: Tensor, spectrum: Tensor) -> tuple[Tensor, Tensor]:
        column = reshape(spectrum, concat((self.batch_shape_tensor(), [-1, 1]), axis=0))
        x, column = util.broadcast_matrix_batch_dims((x, column))
        batch = shape(x)[:-2]
        return x, reshape(column, concat((batch, self.block_shape_tensor()), axis=0))

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = adjoint_of_matrix(x) if adjoint_arg else x
        spectrum = self._conj_spectrum if adjoint else self._spectrum_complex
        x = cast(x, spectrum.dtype)
        x, spectrum = self._broadcast_batch_dims(x, spectrum)
        found = self._ifft(spectrum * self._fft(self._vectorize_then_blockify(x)))
        return cast(self._unblockify_then_matricize(found), self.dtype)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        rhs = adjoint_of_matrix(rhs) if adjoint_arg else rhs
        spectrum = self._conj_spectrum if adjoint else self._spectrum_complex
        rhs, spectrum = self._broadcast_batch_dims(rhs, spectrum)
        found = self._ifft(self._fft(self._vectorize_then_blockify(rhs)) / spectrum)
        return cast(self._unblockify_then_matricize(found), self.dtype)

    # ---- functions of the eigenvalues ----

    def _axes(self) -> list[int]:
        return [-(i + 1) for i in range(self.block_depth)]

    def _determinant(self) -> Tensor:
        return cast(reduce_prod(self.spectrum, axis=self._axes()), self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return cast(reduce_sum(log(self._abs_spectrum), axis=self._axes()), self.dtype)

    def _diag_part(self) -> Tensor:
        if self.shape.is_fully_defined():
            sizes, side = self.shape[:-1], self.domain_dimension.value
        else:
            sizes, side = self.shape_tensor()[:-1], self.domain_dimension_tensor()
        diagonal = ones(sizes, dtype=self.dtype)
        value = self.trace() / cast(side, self.dtype)
        return value[..., None] * diagonal

    def _trace(self) -> Tensor:
        if self.spectrum.shape.is_fully_defined():
            count = self.spectrum.shape.ndims
            axis: Any = np.arange(count - self.block_depth, count, dtype=np.int32)
        else:
            count = rank(self.spectrum)
            axis = arange(count - self.block_depth, count)
        real_part = reduce_sum(real(self.spectrum), axis=axis)
        if not self.dtype.is_complex:
            return cast(real_part, self.dtype)
        imag_part = zeros_like(real_part) if self.is_self_adjoint else reduce_sum(imag(self.spectrum), axis=axis)
        return cast(complex_of_parts(real_part, imag_part), self.dtype)


@export("linalg.LinearOperatorCirculant")
class LinearOperatorCirculant(_BaseLinearOperatorCirculant):
    """A circulant matrix, or a batch of them: each column is the one before, moved down by one.

    Args:
      spectrum: tensor [..., n], the Fourier transform of the first column.
      input_output_dtype: the dtype of the matrix; imaginary parts are dropped where it is real.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: hints.
      name: name scope.

    Raises:
      ValueError: `spectrum` has too few dimensions, or a hint is wrong.
    """

    def __init__(
        self, spectrum: object, input_output_dtype: object = dtypes.complex64, is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None, is_positive_definite: bool | None = None, is_square: bool | None = True,
        name: str = "LinearOperatorCirculant",
    ) -> None:  # fmt: skip
        super().__init__(
            spectrum, 1, input_output_dtype, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )


@export("linalg.LinearOperatorCirculant2D")
class LinearOperatorCirculant2D(_BaseLinearOperatorCirculant):
    """A block circulant matrix of circulant blocks; `spectrum` is [..., N_0, N_1]. Else as LinearOperatorCirculant."""

    def __init__(
        self, spectrum: object, input_output_dtype: object = dtypes.complex64, is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None, is_positive_definite: bool | None = None, is_square: bool | None = True,
        name: str = "LinearOperatorCirculant2D",
    ) -> None:  # fmt: skip
        super().__init__(
            spectrum, 2, input_output_dtype, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )


@export("linalg.LinearOperatorCirculant3D")
class LinearOperatorCirculant3D(_BaseLinearOperatorCirculant):
    """A block circulant matrix of three levels; `spectrum` is [..., N_0, N_1, N_2]. Else as LinearOperatorCirculant."""

    def __init__(
        self, spectrum: object, input_output_dtype: object = dtypes.complex64, is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None, is_positive_definite: bool | None = None, is_square: bool | None = True,
        name: str = "LinearOperatorCirculant3D",
    ) -> None:  # fmt: skip
        super().__init__(
            spectrum, 3, input_output_dtype, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )


@RegisterAdjoint(LinearOperatorCirculant)
def _adjoint(operator: LinearOperatorCirculant) -> LinearOperator:
    spectrum = operator.spectrum
    return LinearOperatorCirculant(conj(spectrum) if spectrum.dtype.is_complex else spectrum, **hints.of(operator))


@RegisterInverse(LinearOperatorCirculant)
def _inverse(operator: LinearOperatorCirculant) -> LinearOperator:
    return LinearOperatorCirculant(1.0 / operator.spectrum, **hints.of(operator))


@RegisterMatmul(LinearOperatorCirculant, LinearOperatorCirculant)
def _product(a: LinearOperatorCirculant, b: LinearOperatorCirculant) -> LinearOperator:
    return LinearOperatorCirculant(a.spectrum * b.spectrum, **hints.of_commuting_product(a, b))


@RegisterSolve(LinearOperatorCirculant, LinearOperatorCirculant)
def _quotient(a: LinearOperatorCirculant, b: LinearOperatorCirculant) -> LinearOperator:
    return LinearOperatorCirculant(b.spectrum / a.spectrum, **hints.of_commuting_product(a, b))
