"""The adjoint of a linear operator."""

from __future__ import annotations

from typing import Any

from tfcompat._src.framework.export import export
from tfcompat._src.framework.operation import Operation
from tfcompat._src.framework.scopes import name_scope
from tfcompat._src.framework.tensor import Tensor
from tfcompat._src.framework.tensor_shape import TensorShape
from tfcompat._src.linalg import hints, util
from tfcompat._src.linalg.algebra import RegisterAdjoint
from tfcompat._src.linalg.linear_operator import LinearOperator
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.linalg.norm import adjoint as adjoint_of_matrix
from tfcompat._src.ops.math.complex import conj


@export("linalg.LinearOperatorAdjoint")
class LinearOperatorAdjoint(LinearOperator):
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
        self._operator = operator

        def combined(attribute: str, given: bool | None, what: str) -> bool | None:
            message = f"An operator is {what} if and only if its adjoint is {what}."
            return util.use_operator_or_provided_hint_unless_contradicting(operator, attribute, given, message)

        name = operator.name + "_adjoint" if name is None else name
        with name_scope(name, values=operator.graph_parents):
            super().__init__(
                dtype=operator.dtype,
                graph_parents=operator.graph_parents,
                is_square=combined("is_square", is_square, "square"),
                is_non_singular=combined("is_non_singular", is_non_singular, "non-singular"),
                is_self_adjoint=combined("is_self_adjoint", is_self_adjoint, "self-adjoint"),
                is_positive_definite=combined("is_positive_definite", is_positive_definite, "positive-definite"),
                name=name,
            )

    @property
    def operator(self) -> Any:
        """The operator whose adjoint this is."""
        return self._operator

    def _assert_non_singular(self) -> Operation:
        return self.operator.assert_non_singular()

    def _assert_positive_definite(self) -> Operation:
        return self.operator.assert_positive_definite()

    def _assert_self_adjoint(self) -> Operation:
        return self.operator.assert_self_adjoint()

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
