"""Toeplitz matrices as linear operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.linalg.circulant import LinearOperatorCirculant
from tfcompat._src.linalg.linear_operator import LinearOperator
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import ones, zeros_like
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.reorder import reverse
from tfcompat._src.ops.array.shape import broadcast_dynamic_shape, broadcast_static_shape, shape
from tfcompat._src.ops.composed.check_ops import assert_equal
from tfcompat._src.ops.linalg.matrices import adjoint as adjoint_of_matrix
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.signal.fft import fft

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("linalg.LinearOperatorToeplitz")
class LinearOperatorToeplitz(LinearOperator):
    """A square matrix, or a batch of them, with equal entries along each diagonal.

    It is the upper left part of a circulant matrix of twice the size.

    Args:
      col: tensor [..., n], the first column.
      row: tensor [..., n], the first row; its first entry is not read.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: hints.
      name: name scope.

    Raises:
      ValueError: `row` and `col` are scalars or differ in size, or `is_square` is False.
    """

    def __init__(
        self, col: TensorLike, row: TensorLike, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = None, name: str = "LinearOperatorToeplitz",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[row, col]):
            self._row = convert_to_tensor(row, name="row")
            self._col = convert_to_tensor(col, name="col")
            self._check()
            column = concat([self._col, zeros_like(self._col[..., 0:1]), reverse(self._row[..., 1:], axis=[-1])], axis=-1)
            is_wide = column.dtype in (dtypes.float64, dtypes.complex128)
            spectrum = fft(cast(column, dtypes.complex128 if is_wide else dtypes.complex64))
            self._circulant = LinearOperatorCirculant(spectrum, input_output_dtype=self._row.dtype)
            if is_square is False:
                raise ValueError("Only square Toeplitz operators currently supported.")
            super().__init__(
                dtype=self._row.dtype,
                graph_parents=[self._row, self._col],
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=True,
                name=name,
            )

    def _check(self) -> None:
        for name, vectors in (("row", self._row), ("col", self._col)):
            if vectors.shape.ndims == 0:
                raise ValueError(f"Argument {name} must have at least 1 dimension.  Found: {vectors}")
        if not self._row.shape[-1:].is_compatible_with(self._col.shape[-1:]):
            raise ValueError("Expected square matrix, got row and col with mismatched dimensions.")

    @property
    def col(self) -> Tensor:
        """The first column."""
        return self._col

    @property
    def row(self) -> Tensor:
        """The first row."""
        return self._row

    def _shape(self) -> TensorShape:
        sizes = broadcast_static_shape(self.row.shape, self.col.shape)
        return sizes.concatenate(sizes[-1:])

    def _shape_tensor(self) -> Tensor:
        sizes = broadcast_dynamic_shape(shape(self.row), shape(self.col))
        return concat((sizes, [sizes[-1]]), 0)

    def _assert_self_adjoint(self) -> Operation:
        message = "row and col are not the same, and so this operator is not self-adjoint."
        return assert_equal(self.row, self.col, message=message)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = adjoint_of_matrix(x) if adjoint_arg else x
        found = self._circulant.matmul(concat([x, zeros_like(x)], axis=-2), adjoint=adjoint, adjoint_arg=False)
        return cast(found[..., : self.domain_dimension_tensor(), :], self.dtype)

    def _trace(self) -> Tensor:
        return cast(self.domain_dimension_tensor(), dtype=self.dtype) * self.col[..., 0]

    def _diag_part(self) -> Tensor:
        entry = self.col[..., 0:1]
        return entry * ones([self.domain_dimension_tensor()], self.dtype)
