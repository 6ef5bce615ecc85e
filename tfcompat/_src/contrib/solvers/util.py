"""tf.contrib.solvers.util: linear operators and norms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.math.complex import conj
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.unary import sqrt
from tfcompat._src.ops.nn.loss import l2_loss


class LinearOperator(NamedTuple):
    """A matrix by its products with columns; `shape` is a list, or a Tensor where it is not known."""

    shape: Any
    dtype: Any
    apply: Callable[[Tensor], Tensor]
    apply_adjoint: Callable[[Tensor], Tensor]


def _operator(matrix: Tensor, apply: Callable, apply_adjoint: Callable) -> LinearOperator:
    known = matrix.get_shape()
    shape = known.as_list() if known.is_fully_defined() else shape_of(matrix)
    return LinearOperator(shape, matrix.dtype, apply, apply_adjoint)


@export("contrib.solvers.util.create_operator")
def create_operator(matrix: Tensor) -> LinearOperator:
    """The operator of a matrix."""
    return _operator(matrix, lambda v: matmul(matrix, v), lambda v: matmul(matrix, v, adjoint_a=True))


@export("contrib.solvers.util.identity_operator")
def identity_operator(matrix: Tensor) -> LinearOperator:
    """The identity with shape and dtype of a matrix."""
    return _operator(matrix, lambda v: v, lambda v: v)


@export("contrib.solvers.util.dot")
def dot(x: Tensor, y: Tensor) -> Tensor:
    """The inner product, conjugate in `x`."""
    return reduce_sum(conj(x) * y)


@export("contrib.solvers.util.l2norm_squared")
def l2norm_squared(v: Tensor) -> Tensor:
    """The sum of the squares."""
    return constant(2, dtype=v.dtype.base_dtype) * l2_loss(v)


@export("contrib.solvers.util.l2norm")
def l2norm(v: Tensor) -> Tensor:
    """The Euclidean norm."""
    return sqrt(l2norm_squared(v))


@export("contrib.solvers.util.l2normalize")
def l2normalize(v: Tensor) -> tuple[Tensor, Tensor]:
    """A vector of norm 1, and what the norm was."""
    norm = l2norm(v)
    return v / norm, norm
