"""Householder reflections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.linalg import util
from tfcompat._src.linalg.algebra import RegisterAdjoint, RegisterInverse
from tfcompat._src.linalg.linear_operator import LinearOperator
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.diagonal import matrix_diag_part, matrix_set_diag
from tfcompat._src.ops.array.fill import ones, zeros
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.control.groups import no_op
from tfcompat._src.ops.linalg.matrices import adjoint as adjoint_of_matrix
from tfcompat._src.ops.linalg.norm import norm
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.complex import conj
from tfcompat._src.ops.math.matmul import matmul

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("linalg.LinearOperatorHouseholder")
class LinearOperatorHouseholder(LinearOperator):
    """The reflection I - 2 v adjoint(v) at the hyperplane orthogonal to a vector, v being that vector over its norm.

    Args:
      reflection_axis: tensor or variable [..., n].
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: hints.
      name: name scope.

    Raises:
      ValueError: `reflection_axis` is a scalar, or a hint is wrong.
    """

    def __init__(
        self, reflection_axis: TensorLike, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = None, name: str = "LinearOperatorHouseholder",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[reflection_axis]):
            self._reflection_axis = util.convert_nonref_to_tensor(reflection_axis, name="reflection_axis")
            if self._reflection_axis.shape.ndims == 0:
                raise ValueError(
                    f"Argument reflection_axis must have at least 1 dimension.  Found: {self._reflection_axis}"
                )
            for is_wrong, what in (
                (is_self_adjoint is False, "self adjoint"), (is_positive_definite is True, "non-positive definite"),
                (is_square is False, "square"),
            ):  # fmt: skip
                if is_wrong:
                    raise ValueError(f"A Householder operator is always {what}.")
            super().__init__(
                dtype=self._reflection_axis.dtype,
                graph_parents=[self._reflection_axis],
                is_non_singular=is_non_singular,
                is_self_adjoint=True,
                is_positive_definite=False,
                is_square=True,
                name=name,
            )

    @property
    def reflection_axis(self) -> Any:
        """The vectors that are turned round."""
        return self._reflection_axis

    def _shape(self) -> TensorShape:
        sizes = self._reflection_axis.shape
        return sizes.concatenate(sizes[-1:])

    def _shape_tensor(self) -> Tensor:
        sizes = shape(self._reflection_axis)
        return concat((sizes, [sizes[-1]]), 0)

    def _assert_non_singular(self) -> Operation:
        return no_op("assert_non_singular")

    def _assert_positive_definite(self) -> Operation:
        raise errors.InvalidArgumentError(None, None, "Householder operators are always non-positive definite.")

    def _assert_self_adjoint(self) -> Operation:
        return no_op("assert_self_adjoint")

    def _unit_axis(self) -> Tensor:
        axis = convert_to_tensor(self.reflection_axis)
        return axis / norm(axis, axis=-1, keepdims=True)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = adjoint_of_matrix(x) if adjoint_arg else x
        column = self._unit_axis()[..., None]
        along = matmul(column, x, adjoint_a=True)
        return x - 2 * column * along

    def _trace(self) -> Tensor:
        size = cast(self.domain_dimension_tensor() - 2, self.dtype)
        return size * ones(shape=self.batch_shape_tensor(), dtype=self.dtype)

    def _determinant(self) -> Tensor:
        return -ones(shape=self.batch_shape_tensor(), dtype=self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return zeros(shape=self.batch_shape_tensor(), dtype=self.dtype)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._matmul(rhs, adjoint, adjoint_arg)

    def _to_dense(self) -> Tensor:
        column = self._unit_axis()[..., None]
        matrix = -2 * matmul(column, column, adjoint_b=True)
        return matrix_set_diag(matrix, 1.0 + matrix_diag_part(matrix))

    def _diag_part(self) -> Tensor:
        axis = self._unit_axis()
        return 1.0 - 2 * axis * conj(axis)


@RegisterAdjoint(LinearOperatorHouseholder)
@RegisterInverse(LinearOperatorHouseholder)
def _same(operator: LinearOperatorHouseholder) -> LinearOperator:
    return operator
