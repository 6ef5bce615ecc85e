"""Roots of positive semi-definite matrices by Newton's method (Higham 2008, chapters 6 and 7)."""

from __future__ import annotations

from tfcompat._src.base import dtypes
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.composed.eye import eye
from tfcompat._src.ops.control.while_loop import while_loop
from tfcompat._src.ops.linalg.norm import norm
from tfcompat._src.ops.math.binary import power
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import logical_and
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import reduce_max, reduce_sum
from tfcompat._src.ops.math.unary import absolute, sqrt


def matrix_square_root(mat_a: Tensor, mat_a_size: object, iter_count: int = 100, ridge_epsilon: float = 1e-4) -> Tensor:
    """The square root of `mat_a + ridge_epsilon * identity`, by the coupled Newton-Schulz iteration.

    Args:
      mat_a: symmetric and positive semi-definite, [n, n].
      mat_a_size: n.
      iter_count: the most iterations; they end when the error no longer falls.
      ridge_epsilon: added to the diagonal.
    """
    identity = eye(cast(mat_a_size, dtypes.int32))
    mat_a = mat_a + ridge_epsilon * identity
    size = sqrt(reduce_sum(mat_a * mat_a))

    def improves(i: Tensor, y: Tensor, old_y: Tensor, z: Tensor, old_z: Tensor, error: Tensor, old_error: Tensor) -> Tensor:
        return logical_and(i < iter_count, error < old_error)

    def step(i: Tensor, y: Tensor, old_y: Tensor, z: Tensor, old_z: Tensor, error: Tensor, old_error: Tensor) -> tuple:
        factor = 0.5 * (3.0 * identity - matmul(z, y))
        new_y, new_z = matmul(y, factor), matmul(factor, z)
        root = new_y * sqrt(size)
        residual = mat_a - matmul(root, root)
        new_error = sqrt(reduce_sum(residual * residual)) / size
        return i + 1, new_y, y, new_z, z, new_error, error

    start = mat_a / size
    found = while_loop(improves, step, [0, start, start, identity, identity, size, size + 1.0])
    return found[2] * sqrt(size)


def _matrix_power(matrix: Tensor, exponent: float) -> Tensor:
    """A whole power of a matrix, at least the first, by squaring."""
    if exponent != int(exponent) or exponent <= 0:
        raise AssertionError(f"-1 / alpha must be a whole number above 0, not {exponent}.")
    result, remaining = None, int(exponent)
    while remaining > 0:
        if remaining % 2:
            result = matrix if result is None else matmul(matrix, result)
        remaining //= 2
        matrix = matmul(matrix, matrix)
    return result


def matrix_inverse_pth_root(
    mat_g: Tensor, mat_g_size: object, alpha: float, iter_count: int = 100, epsilon: float = 1e-6,
    ridge_epsilon: float = 1e-6,
) -> Tensor:  # fmt: skip
    """`(mat_g + ridge_epsilon * identity) ** alpha`, by the coupled Newton iteration.

    Args:
      mat_g: symmetric and positive semi-definite, [n, n].
      mat_g_size: n.
      alpha: -1 / p with a whole number p.
      iter_count: the most iterations.
      epsilon: the error at which they end.
      ridge_epsilon: added to the diagonal.
    """
    identity = eye(cast(mat_g_size, dtypes.int32))
    if mat_g_size == 1:
        return power(mat_g + ridge_epsilon, alpha)

    def unfinished(i: Tensor, m: Tensor, x: Tensor) -> Tensor:
        return logical_and(i < iter_count, reduce_max(absolute(m - identity)) > epsilon)

    def step(i: Tensor, m: Tensor, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        factor = (1 - alpha) * identity + alpha * m
        return i + 1, matmul(_matrix_power(factor, -1.0 / alpha), m), matmul(x, factor)

    damped = mat_g + ridge_epsilon * identity
    z = (1 - 1 / alpha) / (2 * norm(damped))
    return while_loop(unfinished, step, [0, damped * z, identity * power(z, -alpha)])[2]
