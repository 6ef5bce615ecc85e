"""Any matrix as a linear operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.linalg import util
from tfcompat._src.linalg.linear_operator import LinearOperator
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.math.matmul import matmul

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_DTYPES = [dtypes.float16, dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128]


@export("linalg.LinearOperatorFullMatrix")
class LinearOperatorFullMatrix(LinearOperator):
    """A matrix, or a batch of them, given by all entries.

    Args:
      matrix: floating or complex tensor or variable [..., m, n].
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: hints.
      name: name scope.

    Raises:
      TypeError: the dtype is another. ValueError: `matrix` has fewer than two dimensions.
    """

    def __init__(
        self, matrix: TensorLike, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = None, name: str = "LinearOperatorFullMatrix",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[matrix]):
            self._matrix = util.convert_nonref_to_tensor(matrix, name="matrix")
            self._check_matrix()
            super().__init__(
                dtype=self._matrix.dtype,
                graph_parents=[self._matrix],
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=is_square,
                name=name,
            )

    def _check_matrix(self) -> None:
        matrix = convert_to_tensor(self._matrix, name="matrix")
        if matrix.dtype not in _DTYPES:
            raise TypeError(f"Argument matrix must have dtype in {_DTYPES}.  Found: {matrix.dtype}")
        if matrix.shape.ndims is not None and matrix.shape.ndims < 2:
            raise ValueError(f"Argument matrix must have at least 2 dimensions.  Found: {matrix}")

    def _shape(self) -> TensorShape:
        return self._matrix.shape

    def _shape_tensor(self) -> Tensor:
        return shape(self._matrix)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return matmul(self._matrix, x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _to_dense(self) -> Tensor:
        return self._matrix
