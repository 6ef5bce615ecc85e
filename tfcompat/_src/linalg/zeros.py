"""The operator that is zero."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.linalg import util
from tfcompat._src.linalg.algebra import RegisterMatmul
from tfcompat._src.linalg.linear_operator import LinearOperator
from tfcompat._src.linalg.sized import SizedLinearOperator, checked_sizes
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.join import concat, stack
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.control.groups import no_op, with_dependencies
from tfcompat._src.ops.linalg.matrices import adjoint as adjoint_of_matrix

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("linalg.LinearOperatorZeros")
class LinearOperatorZeros(SizedLinearOperator):
    """A matrix of zeros, or a batch of it.

    Args:
      num_rows: scalar int.
      num_columns: scalar int; `num_rows` by default.
      batch_shape: int vector, or None for one matrix.
      dtype: dtype of the matrix, float32 by default.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: hints.
      assert_proper_shapes: whether sizes are checked in a run.
      name: name scope.

    Raises:
      ValueError: a hint is wrong, or a size is known to be wrong. TypeError: a size is no integer or a variable.
    """

    def __init__(
        self, num_rows: object, num_columns: object = None, batch_shape: object = None, dtype: object = None,
        is_non_singular: bool | None = False, is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = False, is_square: bool | None = True, assert_proper_shapes: bool = False,
        name: str = "LinearOperatorZeros",
    ) -> None:  # fmt: skip
        self._assert_proper_shapes = assert_proper_shapes
        with name_scope(name):
            if not is_self_adjoint and is_square:
                raise ValueError("A zero operator is always self adjoint.")
            if is_non_singular:
                raise ValueError("A zero operator is always singular.")
            if is_positive_definite:
                raise ValueError("A zero operator is always non-positive definite.")
            super().__init__(
                dtype=dtypes.as_dtype(dtype or dtypes.float32),
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=is_square,
                name=name,
            )
            for value, label in ((num_rows, "num_rows"), (num_columns, "num_columns"), (batch_shape, "batch_shape")):
                util.assert_not_ref_type(value, label)
            self._set_sizes(num_rows, num_rows if num_columns is None else num_columns, is_square)
            self._set_batch_shape(batch_shape)

    def _set_sizes(self, num_rows: TensorLike, num_columns: TensorLike, is_square: bool | None) -> None:
        rows = util.shape_tensor(num_rows, name="num_rows")
        self._num_rows_static = constant_value(rows)
        columns = util.shape_tensor(num_columns, name="num_columns")
        self._num_columns_static = constant_value(columns)
        self._num_rows = checked_sizes(rows, self._num_rows_static, 0, "num_rows", self._assert_proper_shapes)
        self._num_columns = checked_sizes(
            columns, self._num_columns_static, 0, "num_columns", self._assert_proper_shapes
        )
        known = (self._num_rows_static, self._num_columns_static)
        if is_square and None not in known and known[0] != known[1]:
            raise ValueError("LinearOperatorZeros initialized as is_square=True, but got num_rows({}) != num_columns({})"
                             .format(*known))  # fmt: skip

    def _shape(self) -> TensorShape:
        return self._with_batch_shape(TensorShape((self._num_rows_static, self._num_columns_static)))

    def _shape_tensor(self) -> Tensor:
        return self._with_batch_shape_tensor(stack((self._num_rows, self._num_columns), axis=0))

    def _assert_non_singular(self) -> Operation:
        raise errors.InvalidArgumentError(None, None, "Zero operators are always non-invertible.")

    def _assert_positive_definite(self) -> Operation:
        raise errors.InvalidArgumentError(None, None, "Zero operators are always non-positive definite.")

    def _assert_self_adjoint(self) -> Operation:
        return no_op("assert_self_adjoint")

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        if self._assert_proper_shapes:
            x = adjoint_of_matrix(x) if adjoint_arg else x
            x = with_dependencies([util.assert_compatible_matrix_dimensions(self, x)], x)
            adjoint_arg = False
        if self.is_square and not adjoint_arg:
            sizes = shape(x)
        elif self.is_square:
            sizes = concat([shape(x)[:-2], [shape(x)[-1], shape(x)[-2]]], axis=0)
        else:
            x_shape = shape(x)
            rows = self._num_columns if adjoint else self._num_rows
            columns = x_shape[-2] if adjoint_arg else x_shape[-1]
            sizes = concat([x_shape[:-2], [rows, columns]], axis=0)
        return self._possibly_broadcast_batch_shape(zeros(shape=sizes, dtype=x.dtype))

    def _batch_of_zeros(self) -> Tensor:
        sizes = self.batch_shape if self.batch_shape.is_fully_defined() else self.batch_shape_tensor()
        return zeros(shape=sizes, dtype=self.dtype)

    def _determinant(self) -> Tensor:
        return self._batch_of_zeros()

    def _trace(self) -> Tensor:
        return self._batch_of_zeros()

    def _diag_part(self) -> Tensor:
        return zeros(shape=self._diagonal_shape(), dtype=self.dtype)

    def add_to_tensor(self, mat: Any, name: str = "add_to_tensor") -> Tensor:
        """A tensor `mat` [..., m, n] with the batch shape of the operator."""
        return self._possibly_broadcast_batch_shape(mat)


def _require_square(zero: LinearOperatorZeros, operator: LinearOperator) -> None:
    if not zero.is_square or not operator.is_square:
        raise ValueError("Matmul with non-square `LinearOperator`s or non-square `LinearOperatorZeros` not supported "
                         "at this time.")  # fmt: skip


@RegisterMatmul(LinearOperator, LinearOperatorZeros)
def _times_zeros(operator: LinearOperator, zero: LinearOperatorZeros) -> LinearOperator:
    _require_square(zero, operator)
    return zero


@RegisterMatmul(LinearOperatorZeros, LinearOperator)
def _zeros_times(zero: LinearOperatorZeros, operator: LinearOperator) -> LinearOperator:
    _require_square(zero, operator)
    return zero
