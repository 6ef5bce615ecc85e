"""The product of linear operators, applied one after the other."""

from __future__ import annotations

import functools
import operator as python_operator
from collections.abc import Iterable
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.linalg import hints, util
from tfcompat._src.linalg.algebra import RegisterMatmul, RegisterSolve
from tfcompat._src.linalg.inversion import LinearOperatorInversion
from tfcompat._src.linalg.linear_operator import LinearOperator
from tfcompat._src.linalg.of_operators import OfOperators, broadcast_batch_shape_tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.join import concat, stack


@export("linalg.LinearOperatorComposition")
class LinearOperatorComposition(OfOperators):
    """The product A1 @ A2 @ ... of operators.

    Args:
      operators: LinearOperators of one dtype whose dimensions fit.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: hints.
      name: name scope; by default the names of the operators joined by "_o_".

    Raises:
      ValueError: there are no operators, or a hint contradicts theirs. TypeError: their dtypes differ.
    """

    def __init__(
        self, operators: Iterable[Any], is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            operators, "a non-empty list of", "_o_", "composition", {"is_non_singular": "non-singular"}, name,
            is_non_singular=is_non_singular, is_self_adjoint=is_self_adjoint,
            is_positive_definite=is_positive_definite, is_square=is_square,
        )  # fmt: skip

    def _shape(self) -> TensorShape:
        for left, right in zip(self.operators, self.operators[1:]):
            left.domain_dimension.assert_is_compatible_with(right.range_dimension)
        matrix = TensorShape([self.operators[0].range_dimension, self.operators[-1].domain_dimension])
        return util.broadcast_batch_shapes(self.operators).concatenate(matrix)

    def _shape_tensor(self) -> Tensor:
        if self.shape.is_fully_defined():
            return convert_to_tensor(self.shape.as_list(), dtype=dtypes.int32, name="shape")
        matrix = stack([self.operators[0].range_dimension_tensor(), self.operators[-1].domain_dimension_tensor()])
        return concat((broadcast_batch_shape_tensor(self.operators), matrix), 0)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        first, *rest = self.operators if adjoint else reversed(self.operators)
        found = first.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for operator in rest:
            found = operator.matmul(found, adjoint=adjoint)
        return found

    def _determinant(self) -> Tensor:
        return functools.reduce(python_operator.mul, (operator.determinant() for operator in self.operators))

    def _log_abs_determinant(self) -> Tensor:
        return functools.reduce(python_operator.add, (operator.log_abs_determinant() for operator in self.operators))

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        first, *rest = reversed(self.operators) if adjoint else self.operators
        found = first.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for operator in rest:
            found = operator.solve(found, adjoint=adjoint)
        return found


@RegisterMatmul(LinearOperator, LinearOperator)
def _matmul(a: LinearOperator, b: LinearOperator) -> LinearOperator:
    return LinearOperatorComposition(operators=[a, b], **hints.of_product(a, b))


@RegisterSolve(LinearOperator, LinearOperator)
def _solve(a: LinearOperator, b: LinearOperator) -> LinearOperator:
    return LinearOperatorComposition(operators=[LinearOperatorInversion(a), b], **hints.of_product(a, b))
