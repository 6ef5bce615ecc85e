"""Diagonal matrices as linear operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.linalg import hints, util
from tfcompat._src.linalg.algebra import (
    RegisterAdjoint,
    RegisterCholesky,
    RegisterInverse,
    RegisterMatmul,
    RegisterSolve,
)
from tfcompat._src.linalg.identity import LinearOperatorScaledIdentity
from tfcompat._src.linalg.linear_operator import LinearOperator
from tfcompat._src.ops.array.diagonal import matrix_diag, matrix_diag_part, matrix_set_diag
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import expand_dims, shape
from tfcompat._src.ops.composed.check_ops import assert_positive
from tfcompat._src.ops.linalg.matrices import adjoint as adjoint_of_matrix
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.complex import conj, real
from tfcompat._src.ops.math.reduce import reduce_prod, reduce_sum
from tfcompat._src.ops.math.unary import absolute, log, sqrt

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("linalg.LinearOperatorDiag")
class LinearOperatorDiag(LinearOperator):
    """A diagonal matrix, or a batch of them.

    Args:
      diag: tensor or variable [..., n], the diagonals.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: hints.
      name: name scope.

    Raises:
      ValueError: `diag` is a scalar, or a hint contradicts the rest.
    """

    def __init__(
        self, diag: TensorLike, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = None, name: str = "LinearOperatorDiag",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[diag]):
            self._diag = util.convert_nonref_to_tensor(diag, name="diag")
            if self._diag.shape.ndims == 0:
                raise ValueError(f"Argument diag must have at least 1 dimension.  Found: {self._diag}")
            if not self._diag.dtype.is_complex:
                if is_self_adjoint is False:
                    raise ValueError("A real diagonal operator is always self adjoint.")
                is_self_adjoint = True
            if is_square is False:
                raise ValueError("Only square diagonal operators currently supported.")
            super().__init__(
                dtype=self._diag.dtype,
                graph_parents=[self._diag],
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=True,
                name=name,
            )

    @property
    def diag(self) -> Any:
        """The diagonals."""
        return self._diag

    def _shape(self) -> TensorShape:
        sizes = self._diag.shape
        return sizes.concatenate(sizes[-1:])

    def _shape_tensor(self) -> Tensor:
        sizes = shape(self._diag)
        return concat((sizes, [sizes[-1]]), 0)

    def _assert_non_singular(self) -> Operation:
        message = "Singular operator:  Diagonal contained zero values."
        return util.assert_no_entries_with_modulus_zero(self._diag, message=message)

    def _assert_positive_definite(self) -> Operation:
        if self.dtype.is_complex:
            message = "Diagonal operator had diagonal entries with non-positive real part, thus was not positive definite."
        else:
            message = "Real diagonal operator had non-positive diagonal entries, thus was not positive definite."
        return assert_positive(real(self._diag), message=message)

    def _assert_self_adjoint(self) -> Operation:
        message = "This diagonal operator contained non-zero imaginary values.   Thus it was not self-adjoint."
        return util.assert_zero_imag_part(self._diag, message=message)

    def _entries(self, adjoint: bool) -> Any:
        return conj(self._diag) if adjoint else self._diag

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        entries = self._entries(adjoint)
        x = adjoint_of_matrix(x) if adjoint_arg else x
        return expand_dims(entries, -1) * x

    def _matvec(self, x: Tensor, adjoint: bool = False) -> Tensor:
        return self._entries(adjoint) * x

    def _determinant(self) -> Tensor:
        return reduce_prod(self._diag, axis=[-1])

    def _log_abs_determinant(self) -> Tensor:
        found = reduce_sum(log(absolute(self._diag)), axis=[-1])
        return cast(found, dtype=self.dtype) if self.dtype.is_complex else found

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        entries = self._entries(adjoint)
        rhs = adjoint_of_matrix(rhs) if adjoint_arg else rhs
        return rhs * expand_dims(1.0 / entries, -1)

    def _to_dense(self) -> Tensor:
        return matrix_diag(self._diag)

    def _diag_part(self) -> Tensor:
        return self.diag

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        on_diagonal = matrix_diag_part(x)
        return matrix_set_diag(x, self._diag + on_diagonal)


@RegisterAdjoint(LinearOperatorDiag)
def _adjoint(operator: LinearOperatorDiag) -> LinearOperator:
    entries = operator.diag
    return LinearOperatorDiag(conj(entries) if entries.dtype.is_complex else entries, **hints.of(operator), is_square=True)


@RegisterInverse(LinearOperatorDiag)
def _inverse(operator: LinearOperatorDiag) -> LinearOperator:
    return LinearOperatorDiag(1.0 / operator.diag, **hints.of(operator), is_square=True)


@RegisterCholesky(LinearOperatorDiag)
def _cholesky(operator: LinearOperatorDiag) -> LinearOperator:
    return LinearOperatorDiag(
        sqrt(operator.diag), is_non_singular=True, is_self_adjoint=True, is_positive_definite=True, is_square=True
    )


def _column(operator: LinearOperatorScaledIdentity) -> Any:
    """The multipliers, to be multiplied with diagonals."""
    return operator.multiplier if operator.multiplier.shape.ndims == 0 else operator.multiplier[..., None]


@RegisterMatmul(LinearOperatorDiag, LinearOperatorDiag)
def _product(a: LinearOperatorDiag, b: LinearOperatorDiag) -> LinearOperator:
    return LinearOperatorDiag(a.diag * b.diag, **hints.of_commuting_product(a, b))


@RegisterMatmul(LinearOperatorDiag, LinearOperatorScaledIdentity)
def _times_scaled(a: LinearOperatorDiag, b: LinearOperatorScaledIdentity) -> LinearOperator:
    return LinearOperatorDiag(a.diag * _column(b), **hints.of_commuting_product(a, b))


@RegisterMatmul(LinearOperatorScaledIdentity, LinearOperatorDiag)
def _scaled_times(a: LinearOperatorScaledIdentity, b: LinearOperatorDiag) -> LinearOperator:
    return LinearOperatorDiag(b.diag * _column(a), **hints.of_commuting_product(a, b))


@RegisterSolve(LinearOperatorDiag, LinearOperatorDiag)
def _quotient(a: LinearOperatorDiag, b: LinearOperatorDiag) -> LinearOperator:
    return LinearOperatorDiag(b.diag / a.diag, **hints.of_commuting_product(a, b))


@RegisterSolve(LinearOperatorDiag, LinearOperatorScaledIdentity)
def _solve_for_scaled(a: LinearOperatorDiag, b: LinearOperatorScaledIdentity) -> LinearOperator:
    return LinearOperatorDiag(_column(b) / a.diag, **hints.of_commuting_product(a, b))


@RegisterSolve(LinearOperatorScaledIdentity, LinearOperatorDiag)
def _solve_scaled(a: LinearOperatorScaledIdentity, b: LinearOperatorDiag) -> LinearOperator:
    return LinearOperatorDiag(b.diag / _column(a), **hints.of_commuting_product(a, b))
