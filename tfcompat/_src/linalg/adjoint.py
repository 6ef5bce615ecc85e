"""The adjoint of a linear operator."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.linalg import hints
from tfcompat._src.linalg.algebra import RegisterAdjoint
from tfcompat._src.linalg.linear_operator import LinearOperator
from tfcompat._src.linalg.of_operators import OfOperator
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.linalg.matrices import adjoint as adjoint_of_matrix
from tfcompat._src.ops.math.complex import conj


@export("linalg.LinearOperatorAdjoint")
class LinearOperatorAdjoint(OfOperator):
    """The conjugate transpose of an operator.

    Args:
      operator: a LinearOperator.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: hints.
      name: name scope; by default that of the operator with "_adjoint".

    Raises:
      ValueError: a hint contradicts that of the operator.
    """

    def __init__(
        self, operator: Any, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        name = operator.name + "_adjoint" if name is None else name
        super().__init__(
            operator, "adjoint", name, is_non_singular=is_non_singular, is_self_adjoint=is_self_adjoint,
            is_positive_definite=is_positive_definite, is_square=is_square,
        )  # fmt: skip

    def _shape(self) -> TensorShape:
        shape = self.operator.shape
        return shape[:-2].concatenate([shape[-1], shape[-2]])

    def _shape_tensor(self) -> Tensor:
        shape = self.operator.shape_tensor()
        return concat([shape[:-2], [shape[-1], shape[-2]]], axis=-1)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self.operator.matmul(x, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _matvec(self, x: Tensor, adjoint: bool = False) -> Tensor:
        return self.operator.matvec(x, adjoint=not adjoint)

    def _determinant(self) -> Tensor:
        found = self.operator.determinant()
        return found if self.is_self_adjoint else conj(found)

    def _log_abs_determinant(self) -> Tensor:
        return self.operator.log_abs_determinant()

    def _trace(self) -> Tensor:
        found = self.operator.trace()
        return found if self.is_self_adjoint else conj(found)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self.operator.solve(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _solvevec(self, rhs: Tensor, adjoint: bool = False) -> Tensor:
        return self.operator.solvevec(rhs, adjoint=not adjoint)

    def _to_dense(self) -> Tensor:
        found = self.operator.to_dense()
        return found if self.is_self_adjoint else adjoint_of_matrix(found)


@RegisterAdjoint(LinearOperator)
def _adjoint(operator: LinearOperator) -> LinearOperator:
    return LinearOperatorAdjoint(operator, **hints.of(operator), is_square=operator.is_square)


@RegisterAdjoint(LinearOperatorAdjoint)
def _adjoint_of_adjoint(operator: LinearOperatorAdjoint) -> LinearOperator:
    return operator.operator
