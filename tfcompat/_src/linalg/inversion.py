"""The inverse of a linear operator."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.linalg import hints
from tfcompat._src.linalg.algebra import RegisterInverse, RegisterSolve
from tfcompat._src.linalg.linear_operator import LinearOperator
from tfcompat._src.linalg.of_operators import OfOperator


@export("linalg.LinearOperatorInversion")
class LinearOperatorInversion(OfOperator):
    """The inverse of a square operator, by its `solve`.

    Args:
      operator: a LinearOperator.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: hints.
      name: name scope; by default that of the operator with "_inv".

    Raises:
      ValueError: the operator is singular or not square, or a hint contradicts it.
    """

    def __init__(
        self, operator: Any, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        for attribute, given in (("is_non_singular", is_non_singular), ("is_square", is_square)):
            known = getattr(operator, attribute)
            if known is False or given is False:
                raise ValueError(f"operator and supplied hints must have `{attribute}` equal to `True` or `None`.  "
                                 f"Found {known}, {given}")  # fmt: skip
        name = operator.name + "_inv" if name is None else name
        super().__init__(
            operator, "inverse", name, is_non_singular=is_non_singular, is_self_adjoint=is_self_adjoint,
            is_positive_definite=is_positive_definite, is_square=is_square,
        )  # fmt: skip

    def _shape(self) -> TensorShape:
        return self.operator.shape

    def _shape_tensor(self) -> Tensor:
        return self.operator.shape_tensor()

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self.operator.solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _determinant(self) -> Tensor:
        return 1.0 / self.operator.determinant()

    def _log_abs_determinant(self) -> Tensor:
        return -1.0 * self.operator.log_abs_determinant()

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self.operator.matmul(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)


@RegisterInverse(LinearOperator)
def _inverse(operator: LinearOperator) -> LinearOperator:
    return LinearOperatorInversion(operator, **hints.of(operator), is_square=operator.is_square)


@RegisterInverse(LinearOperatorInversion)
def _inverse_of_inverse(operator: LinearOperatorInversion) -> LinearOperator:
    return operator.operator


@RegisterSolve(LinearOperatorInversion, LinearOperator)
def _solve_inverse(inversion: LinearOperatorInversion, operator: LinearOperator) -> LinearOperator:
    return inversion.operator.matmul(operator)
