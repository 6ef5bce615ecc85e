"""Lower triangular matrices as linear operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.linalg import hints, util
from tfcompat._src.linalg.algebra import RegisterCholesky, RegisterMatmul, RegisterSolve
from tfcompat._src.linalg.diag import LinearOperatorDiag
from tfcompat._src.linalg.linear_operator import LinearOperator
from tfcompat._src.ops.array.diagonal import matrix_band_part, matrix_diag_part
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.linalg.decompose import cholesky
from tfcompat._src.ops.linalg.matrices import adjoint as adjoint_of_matrix
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import reduce_prod, reduce_sum
from tfcompat._src.ops.math.unary import absolute, log

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("linalg.LinearOperatorLowerTriangular")
class LinearOperatorLowerTriangular(LinearOperator):
    """A lower triangular matrix, or a batch of them.

    Args:
      tril: tensor or variable [..., n, n], of which the lower triangle is read.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: hints.
      name: name scope.

    Raises:
      ValueError: `tril` has fewer than two dimensions, or `is_square` is False.
    """

    def __init__(
        self, tril: TensorLike, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = None,
        name: str = "LinearOperatorLowerTriangular",
    ) -> None:  # fmt: skip
        if is_square is False:
            raise ValueError("Only square lower triangular operators supported at this time.")
        with name_scope(name, values=[tril]):
            self._tril = util.convert_nonref_to_tensor(tril, name="tril")
            if self._tril.shape.ndims is not None and self._tril.shape.ndims < 2:
                raise ValueError(f"Argument tril must have at least 2 dimensions.  Found: {self._tril}")
            super().__init__(
                dtype=self._tril.dtype,
                graph_parents=[self._tril],
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=True,
                name=name,
            )

    def _get_tril(self) -> Tensor:
        return matrix_band_part(self._tril, -1, 0)

    def _get_diag(self) -> Tensor:
        return matrix_diag_part(self._tril)

    def _shape(self) -> TensorShape:
        return self._tril.shape

    def _shape_tensor(self) -> Tensor:
        return shape(self._tril)

    def _assert_non_singular(self) -> Operation:
        message = "Singular operator:  Diagonal contained zero values."
        return util.assert_no_entries_with_modulus_zero(self._get_diag(), message=message)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return matmul(self._get_tril(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _determinant(self) -> Tensor:
        return reduce_prod(self._get_diag(), axis=[-1])

    def _log_abs_determinant(self) -> Tensor:
        return reduce_sum(log(absolute(self._get_diag())), axis=[-1])

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        rhs = adjoint_of_matrix(rhs) if adjoint_arg else rhs
        return util.matrix_triangular_solve_with_broadcast(self._get_tril(), rhs, lower=True, adjoint=adjoint)

    def _to_dense(self) -> Tensor:
        return self._get_tril()


@RegisterCholesky(LinearOperator)
def _cholesky(operator: LinearOperator) -> LinearOperator:
    factor = cholesky(operator.to_dense())
    return LinearOperatorLowerTriangular(factor, is_non_singular=True, is_self_adjoint=False, is_square=True)


def _product_hints(a: LinearOperator, b: LinearOperator) -> dict:
    return {**hints.of_commuting_product(a, b), "is_positive_definite": None}


@RegisterMatmul(LinearOperatorDiag, LinearOperatorLowerTriangular)
def _diag_times(a: LinearOperatorDiag, b: LinearOperatorLowerTriangular) -> LinearOperator:
    return LinearOperatorLowerTriangular(a.diag[..., None] * b.to_dense(), **_product_hints(a, b))


@RegisterMatmul(LinearOperatorLowerTriangular, LinearOperatorDiag)
def _times_diag(a: LinearOperatorLowerTriangular, b: LinearOperatorDiag) -> LinearOperator:
    row = b.diag if b.diag.shape.ndims == 1 else b.diag[..., None, :]
    return LinearOperatorLowerTriangular(a.to_dense() * row, **_product_hints(a, b))


@RegisterSolve(LinearOperatorDiag, LinearOperatorLowerTriangular)
def _solve_diag(a: LinearOperatorDiag, b: LinearOperatorLowerTriangular) -> LinearOperator:
    return LinearOperatorLowerTriangular(b.to_dense() / a.diag[..., None], **_product_hints(a, b))
