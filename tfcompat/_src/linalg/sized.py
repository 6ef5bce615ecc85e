"""Linear operators that are given by their size: what the identity, scaled or not, and the zero operator share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base.tensor_shape import TensorShape, dimension_value
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.linalg import util
from tfcompat._src.linalg.linear_operator import LinearOperator
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import broadcast_static_shape
from tfcompat._src.ops.composed.check_ops import assert_non_negative
from tfcompat._src.ops.composed.rank_checks import assert_rank
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.math.reduce import reduce_min

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def checked_sizes(sizes: Tensor, static: np.ndarray | None, rank: int, name: str, assert_proper_shapes: bool) -> Tensor:
    """A size (rank 0) or shape (rank 1), with assertions where asked; TypeError or ValueError where it is known to be none."""
    kind = f"{rank}-D Tensor."
    if assert_proper_shapes:
        sizes = with_dependencies(
            [
                assert_rank(sizes, rank, message=f"Argument {name} must be a {kind}"),
                assert_non_negative(sizes, message=f"Argument {name} must be non-negative."),
            ],
            sizes,
        )
    if not sizes.dtype.is_integer:
        raise TypeError(f"Argument {name} must be integer type.  Found: {sizes}")
    if static is not None:
        if static.ndim != rank:
            raise ValueError(f"Argument {name} must be a {kind}  Found: {static}")
        if np.any(static < 0):
            raise ValueError(f"Argument {name} must be non-negative.  Found: {static}")
    return sizes


class SizedLinearOperator(LinearOperator):
    """An operator whose batch shape, if any, is an argument."""

    _assert_proper_shapes: bool
    _batch_shape_arg: Tensor | None = None
    _batch_shape_static: np.ndarray | None = None

    def _set_batch_shape(self, batch_shape: TensorLike) -> None:
        if batch_shape is not None:
            found = util.shape_tensor(batch_shape, name="batch_shape_arg")
            self._batch_shape_static = constant_value(found)
            self._batch_shape_arg = checked_sizes(
                found, self._batch_shape_static, 1, "batch_shape", self._assert_proper_shapes
            )

    def _with_batch_shape(self, matrix: TensorShape) -> TensorShape:
        return matrix if self._batch_shape_arg is None else TensorShape(self._batch_shape_static).concatenate(matrix)

    def _with_batch_shape_tensor(self, matrix: Tensor) -> Tensor:
        return matrix if self._batch_shape_arg is None else concat((self._batch_shape_arg, matrix), 0)

    def _min_matrix_dim(self) -> int | None:
        sizes = (dimension_value(self.domain_dimension), dimension_value(self.range_dimension))
        return None if None in sizes else min(sizes)

    def _min_matrix_dim_tensor(self) -> Tensor:
        return reduce_min(self.shape_tensor()[-2:])

    def _diagonal_shape(self) -> Any:
        if self.shape.is_fully_defined():
            return self.batch_shape.concatenate([self._min_matrix_dim()])
        return concat([self.batch_shape_tensor(), [self._min_matrix_dim_tensor()]], axis=0)

    def _possibly_broadcast_batch_shape(self, x: Tensor) -> Tensor:
        """`x` with the batch shape of the operator."""
        if self._batch_shape_arg is None:
            return x
        wanted = self.batch_shape.concatenate([1, 1])
        found = broadcast_static_shape(x.shape, wanted)
        if wanted.is_fully_defined():
            return x if found == x.shape else x + zeros(shape=wanted, dtype=self.dtype)
        return x + zeros(shape=concat((self.batch_shape_tensor(), [1, 1]), 0), dtype=self.dtype)
