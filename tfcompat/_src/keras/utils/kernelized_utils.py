"""Exact kernels between the rows of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.join import tile
from tfcompat._src.ops.array.shape import expand_dims
from tfcompat._src.ops.math.binary import squared_difference, subtract
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.unary import absolute, exp

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _to_matrix(u: Any) -> Any:
    rank = len(u.shape)
    if rank not in (1, 2):
        raise ValueError(f"The input tensor should have rank 1 or 2. Given rank: {rank}")
    return expand_dims(u, 0) if rank == 1 else u


def _align_matrices(x: TensorLike, y: TensorLike) -> tuple[Tensor, Tensor]:
    """The rows of `x` and `y` as tensors [rows of x, rows of y, size]; ValueError where the sizes differ."""
    x, y = _to_matrix(x), _to_matrix(y)
    (x_rows, x_size), (y_rows, y_size) = (value.shape.as_list() for value in (x, y))
    if x_size != y_size:
        raise ValueError(
            f"The outermost dimensions of the input tensors should match. Given: {y_size} vs {x_size}."
        )
    return tile(expand_dims(x, 1), [1, y_rows, 1]), tile(expand_dims(y, 0), [x_rows, 1, 1])


def inner_product(u: TensorLike, v: TensorLike) -> Tensor:
    """The products of the rows of `u` and `v`."""
    return matmul(_to_matrix(u), _to_matrix(v), transpose_b=True)


def exact_gaussian_kernel(x: TensorLike, y: TensorLike, stddev: float) -> Tensor:
    """exp(-|x - y|^2 / (2 stddev^2)), with the Euclidean norm, for each pair of rows; ValueError for their shapes."""
    x, y = _align_matrices(x, y)
    return exp(-reduce_sum(squared_difference(x, y), 2) / (2 * stddev * stddev))


def exact_laplacian_kernel(x: TensorLike, y: TensorLike, stddev: float) -> Tensor:
    """exp(-|x - y| / stddev), with the sum of absolute values, for each pair of rows; ValueError for their shapes."""
    x, y = _align_matrices(x, y)
    return exp(-reduce_sum(absolute(subtract(x, y)), 2) / stddev)
