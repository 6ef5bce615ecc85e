"""Linear operators along the diagonal of a larger one."""

from __future__ import annotations

import functools
import operator as python_operator
from collections.abc import Callable, Iterable
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.linalg import util
from tfcompat._src.linalg.of_operators import OfOperators, broadcast_batch_shape_tensor, register_by_operator
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.join import concat, split, stack
from tfcompat._src.ops.array.shape import shape, squeeze
from tfcompat._src.ops.control.groups import group

_IMPLIED = {
    "is_non_singular": "non-singular", "is_self_adjoint": "self-adjoint", "is_positive_definite": "positive definite"
}  # fmt: skip


@export("linalg.LinearOperatorBlockDiag")
class LinearOperatorBlockDiag(OfOperators):
    """The direct sum of square operators: they stand along the diagonal, with zeros elsewhere.

    Args:
      operators: square LinearOperators of one dtype.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: hints.
      name: name scope; by default the names of the operators joined by "_ds_".

    Raises:
      ValueError: there are no operators, one is not square, or a hint contradicts theirs.
      TypeError: their dtypes differ.
    """

    def __init__(
        self, operators: Iterable[Any], is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool = True, name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            operators, "a non-empty list of", "_ds_", "direct sum", _IMPLIED, name, is_non_singular=is_non_singular,
            is_self_adjoint=is_self_adjoint, is_positive_definite=is_positive_definite, is_square=True,
        )  # fmt: skip
        if not (is_square and all(operator.is_square for operator in self.operators)):
            raise ValueError("Can only represent a block diagonal of square matrices.")

    def _shape(self) -> TensorShape:
        columns = functools.reduce(python_operator.add, (operator.domain_dimension for operator in self.operators))
        rows = functools.reduce(python_operator.add, (operator.range_dimension for operator in self.operators))
        return util.broadcast_batch_shapes(self.operators).concatenate([columns, rows])

    def _shape_tensor(self) -> Tensor:
        if self.shape.is_fully_defined():
            return convert_to_tensor(self.shape.as_list(), dtype=dtypes.int32, name="shape")
        columns, rows = self.operators[0].domain_dimension_tensor(), self.operators[0].range_dimension_tensor()
        for operator in self.operators[1:]:
            columns += operator.domain_dimension_tensor()
            rows += operator.range_dimension_tensor()
        matrix = stack([columns, rows])
        return concat((broadcast_batch_shape_tensor(self.operators), matrix), 0)

    def _by_blocks(self, x: Tensor, adjoint_arg: bool, apply: Callable) -> Tensor:
        """`apply(operator, rows of x)` for all blocks, one below the other."""
        if self.shape.is_fully_defined():
            sizes = [operator.domain_dimension.value for operator in self.operators]
        else:
            sizes = [operator.domain_dimension_tensor() for operator in self.operators]
        parts = split(x, sizes, axis=-1 if adjoint_arg else -2)
        found = [apply(operator, part) for operator, part in zip(self.operators, parts)]
        return concat(util.broadcast_matrix_batch_dims(found), axis=-2)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._by_blocks(
            x, adjoint_arg, lambda operator, part: operator.matmul(part, adjoint=adjoint, adjoint_arg=adjoint_arg)
        )

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._by_blocks(
            rhs, adjoint_arg, lambda operator, part: operator.solve(part, adjoint=adjoint, adjoint_arg=adjoint_arg)
        )

    def _determinant(self) -> Tensor:
        return functools.reduce(python_operator.mul, (operator.determinant() for operator in self.operators))

    def _log_abs_determinant(self) -> Tensor:
        return functools.reduce(python_operator.add, (operator.log_abs_determinant() for operator in self.operators))

    def _trace(self) -> Tensor:
        return functools.reduce(python_operator.add, (operator.trace() for operator in self.operators))

    def _diag_part(self) -> Tensor:
        columns = [operator.diag_part()[..., None] for operator in self.operators]
        return squeeze(concat(util.broadcast_matrix_batch_dims(columns), axis=-2), axis=-1)

    def _to_dense(self) -> Tensor:
        before: Any = 0
        rows = []
        for block in util.broadcast_matrix_batch_dims([operator.to_dense() for operator in self.operators]):
            batch_and_rows = shape(block)[:-1]
            left = zeros(shape=concat([batch_and_rows, [before]], axis=-1), dtype=block.dtype)
            before += shape(block)[-1]
            after = self.domain_dimension_tensor() - before
            right = zeros(shape=concat([batch_and_rows, [after]], axis=-1), dtype=block.dtype)
            rows.append(concat([left, block, right], axis=-1))
        found = concat(rows, axis=-2)
        found.set_shape(self.shape)
        return found

    def _assert_non_singular(self) -> Operation:
        return group([operator.assert_non_singular() for operator in self.operators])

    def _assert_self_adjoint(self) -> Operation:
        return group([operator.assert_self_adjoint() for operator in self.operators])

    def _assert_positive_definite(self) -> Operation:
        return group([operator.assert_positive_definite() for operator in self.operators])


register_by_operator(LinearOperatorBlockDiag)
