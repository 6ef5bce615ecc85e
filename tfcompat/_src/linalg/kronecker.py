"""The Kronecker product of linear operators."""

from __future__ import annotations

import functools
import operator as python_operator
from collections.abc import Callable, Iterable
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.linalg import util
from tfcompat._src.linalg.of_operators import OfOperators, register_by_operator
from tfcompat._src.ops.array.fill import ones_like, zeros
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.reorder import matrix_transpose, transpose
from tfcompat._src.ops.array.shape import (
    broadcast_dynamic_shape,
    broadcast_static_shape,
    rank,
    reshape,
    shape,
)
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.linalg.matrices import adjoint as adjoint_of_matrix
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.sequence import arange


def _vec(x: Tensor) -> Tensor:
    """The columns of each matrix one below the other, [..., rows * columns]."""
    return reshape(matrix_transpose(x), concat([shape(x)[:-2], [-1]], axis=0))


def _unvec_by(y: Tensor, num_col: object) -> Tensor:
    """The matrices with `num_col` columns that `_vec` gives `y` for."""
    return matrix_transpose(reshape(y, concat([shape(y)[:-1], [num_col, -1]], axis=0)))


def _rotate_last_dim(x: Tensor, rotate_right: bool = False) -> Tensor:
    """The first dimension made the last, or the last one the first."""
    ndims = rank(x)
    if rotate_right:
        return transpose(x, concat([[ndims - 1], arange(0, ndims - 1)], axis=0))
    return transpose(x, concat([arange(1, ndims), [0]], axis=0))


_IMPLIED = {
    "is_non_singular": "non-singular", "is_self_adjoint": "self-adjoint", "is_positive_definite": "positive-definite"
}  # fmt: skip


@export("linalg.LinearOperatorKronecker")
class LinearOperatorKronecker(OfOperators):
    """The Kronecker product of operators: the matrix of all products of an entry of each.

    Args:
      operators: LinearOperators of one dtype.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: hints.
      name: name scope; by default the names of the operators joined by "_x_".

    Raises:
      ValueError: there are no operators, or a hint contradicts theirs. TypeError: their dtypes differ.
    """

    def __init__(
        self, operators: Iterable[Any], is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            operators, "a list of >=1", "_x_", "Kronecker product", _IMPLIED, name, is_non_singular=is_non_singular,
            is_self_adjoint=is_self_adjoint, is_positive_definite=is_positive_definite, is_square=is_square,
        )  # fmt: skip

    def _shape(self) -> TensorShape:
        columns = functools.reduce(python_operator.mul, (operator.domain_dimension for operator in self.operators))
        rows = functools.reduce(python_operator.mul, (operator.range_dimension for operator in self.operators))
        return util.broadcast_batch_shapes(self.operators).concatenate([rows, columns])

    def _shape_tensor(self) -> Tensor:
        columns = functools.reduce(python_operator.mul, (o.domain_dimension_tensor() for o in self.operators))
        rows = functools.reduce(python_operator.mul, (o.range_dimension_tensor() for o in self.operators))
        batch = self.operators[0].batch_shape_tensor()
        for operator in self.operators[1:]:
            batch = broadcast_dynamic_shape(batch, operator.batch_shape_tensor())
        return concat((batch, [rows, columns]), 0)

    def _applied(self, x: Tensor, adjoint: bool, adjoint_arg: bool, apply: Callable, apply_last: Callable) -> Tensor:
        """Applies one factor after the other, by (A kron B) vec(X) = vec(B X transpose(A))."""
        if adjoint_arg:
            x = adjoint_of_matrix(x)
        batch_shape = concat([ones_like(self.batch_shape_tensor()), [1, 1]], 0)
        x += zeros(batch_shape, dtype=x.dtype.base_dtype)
        found = _rotate_last_dim(x, rotate_right=True)[None, ...]
        for operator in self.operators[:-1]:
            size = operator.range_dimension_tensor() if adjoint else operator.domain_dimension_tensor()
            found = matrix_transpose(_unvec_by(found, size))
            found = matrix_transpose(apply(operator, found))
            found = _rotate_last_dim(found, rotate_right=False)
            found = _rotate_last_dim(_vec(found), rotate_right=True)
        found = _rotate_last_dim(apply_last(self.operators[-1], found), rotate_right=False)
        found = _rotate_last_dim(_vec(found), rotate_right=False)
        if x.shape.is_fully_defined():
            batch = broadcast_static_shape(x.shape[:-2], self.batch_shape)
            rows = self.domain_dimension if adjoint else self.range_dimension
            found.set_shape(batch.concatenate([rows, x.shape[-1]]))
        return found

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._applied(
            x, adjoint, adjoint_arg, lambda operator, y: operator.matmul(y, adjoint=adjoint, adjoint_arg=False),
            lambda operator, y: operator.matvec(y, adjoint=adjoint),
        )  # fmt: skip

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._applied(
            rhs, adjoint, adjoint_arg, lambda operator, y: operator.solve(y, adjoint=adjoint, adjoint_arg=False),
            lambda operator, y: operator.solvevec(y, adjoint=adjoint),
        )  # fmt: skip

    def _determinant(self) -> Tensor:
        total, found = self.domain_dimension_tensor(), 1.0
        for operator in self.operators:
            found *= operator.determinant() ** cast(total / operator.domain_dimension_tensor(), dtype=operator.dtype)
        return found

    def _log_abs_determinant(self) -> Tensor:
        total, found = self.domain_dimension_tensor(), 0.0
        for operator in self.operators:
            power = cast(total / operator.domain_dimension_tensor(), dtype=operator.dtype)
            found += operator.log_abs_determinant() * power
        return found

    def _trace(self) -> Tensor:
        found = 1.0
        for operator in self.operators:
            found *= operator.trace()
        return found

    def _diag_part(self) -> Tensor:
        found = self.operators[0].diag_part()
        for operator in self.operators[1:]:
            found = found[..., :, None]
            found *= operator.diag_part()[..., None, :]
            found = reshape(found, shape=concat([shape(found)[:-2], [-1]], axis=0))
        rows, columns = self.range_dimension, self.domain_dimension
        found.set_shape(self.batch_shape.concatenate(columns if rows > columns else rows))
        return found

    def _to_dense(self) -> Tensor:
        found = self.operators[0].to_dense()
        for operator in self.operators[1:]:
            found = found[..., :, None, :, None]
            found *= operator.to_dense()[..., None, :, None, :]
            batch = shape(found)[:-4]
            matrix = [shape(found)[-4] * shape(found)[-3], shape(found)[-2] * shape(found)[-1]]
            found = reshape(found, shape=concat([batch, matrix], axis=0))
        found.set_shape(self.shape)
        return found

    def _require_square_factors(self, what: str) -> None:
        if not all(operator.is_square for operator in self.operators):
            text = f"All Kronecker factors must be square for the product to be {what}."
            raise errors.InvalidArgumentError(None, None, text)

    def _assert_non_singular(self) -> Operation:
        self._require_square_factors("invertible")
        return group([operator.assert_non_singular() for operator in self.operators])

    def _assert_self_adjoint(self) -> Operation:
        self._require_square_factors("self adjoint")
        return group([operator.assert_self_adjoint() for operator in self.operators])


register_by_operator(LinearOperatorKronecker)
