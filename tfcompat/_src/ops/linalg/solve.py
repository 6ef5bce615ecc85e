"""Determinants, inverses and linear equations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tfcompat._src.base import checks, dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.op_spec import NotDifferentiable, op
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.diagonal import matrix_band_part, matrix_diag_part
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.reorder import matrix_transpose
from tfcompat._src.ops.array.shape import reshape, shape
from tfcompat._src.ops.composed.eye import eye
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.linalg import matrices as lib
from tfcompat._src.ops.linalg.decompose import cholesky
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.complex import real
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import reduce_sum

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import Array, TensorLike
    from tfcompat._src.graph.operation import Operation

_BATCH_TYPES = "{float64, float32}"
_NO_GRADIENT = NotDifferentiable("1.15 has no gradient for the Batch ops of old graphs", raises=True)
_RANK_DEFICIENT = (
    "Input matrix was rank deficient or ill-conditioned. Try setting fast=False or provide a larger l2_regularizer > 0."
)
_CACHE_BYTES = 256000


# ---- determinants ----


def _determinant_shape(c):
    sizes = lib.square_sizes(c.inputs[0])
    return [None if sizes is None else sizes[:-2]] * len(c.op.outputs)


def _permutation_sign(pivots: Any, dtype: Any) -> Array:
    """1 or -1: the determinant of the row exchanges of an LU factorization."""
    exchanged = jnp.sum(pivots != jnp.arange(pivots.shape[-1], dtype=pivots.dtype), axis=-1, dtype=np.int32)
    return (1 - 2 * (exchanged % 2)).astype(dtype)


def _determinant(x):
    lib.require_square(x)
    lu, pivots, _ = lib.factored(x)
    return _permutation_sign(pivots, x.dtype) * jnp.prod(lib.pivots_of(lu), axis=-1)


def _log_determinant(x):
    lib.require_square(x)
    lu, pivots, _ = lib.factored(x)
    diagonal = lib.pivots_of(lu)
    size = jnp.abs(diagonal)
    direction = jnp.where(size == 0, diagonal, diagonal / size.astype(x.dtype))
    sign = _permutation_sign(pivots, x.dtype) * jnp.prod(direction, axis=-1)
    return sign, jnp.sum(jnp.log(size), axis=-1).astype(x.dtype)


def _determinant_gradient(op, g):
    inverse = raw.MatrixInverse(op.inputs[0], adjoint=True)
    return [_per_matrix(g * op.outputs[0], op.outputs[0]) * inverse]


def _log_determinant_gradient(op, _, g):
    inverse = raw.MatrixInverse(op.inputs[0], adjoint=True)
    return [_per_matrix(g, op.outputs[1]) * inverse]


def _per_matrix(numbers: Tensor, output: Tensor) -> Tensor:
    """Numbers of the shape of `output` as matrices of one element."""
    return reshape(numbers, concat([shape(output), [1, 1]], 0))


op(
    "MatrixDeterminant", "(input: T, *, T: {float16, float32, float64, complex64, complex128}) -> (output: T)",
    shape=_determinant_shape, kernel=_determinant,
    gradient=_determinant_gradient,
)  # fmt: skip

op(
    "BatchMatrixDeterminant", "(input: T, *, T: {float32, float64, complex64, complex128}) -> (output: T)",
    shape=_determinant_shape, kernel=_determinant, gradient=_NO_GRADIENT,
)  # fmt: skip

op(
    "LogMatrixDeterminant",
    "(input: T, *, T: {float16, float32, float64, complex64, complex128}) -> (sign: T, log_abs_determinant: T)",
    shape=_determinant_shape, kernel=_log_determinant,
    gradient=_log_determinant_gradient,
)  # fmt: skip


@export("matrix_determinant", "linalg.det")
def matrix_determinant(input: TensorLike, name: str | None = None) -> Tensor:
    """The determinant of each square matrix of `input` [..., m, m]."""
    return raw.MatrixDeterminant(input, name=name)


@export("linalg.slogdet")
def slogdet(input: TensorLike, name: str | None = None) -> Any:
    """(sign, log_abs_determinant) of each square matrix of `input` [..., m, m]."""
    return raw.LogMatrixDeterminant(input, name=name)


@export("linalg.logdet")
def logdet(matrix: TensorLike, name: str | None = None) -> Tensor:
    """The logarithm of the determinant of hermitian positive definite matrices [..., m, m].

    Raises:
      InvalidArgumentError: in a run with a matrix that is not positive definite.
    """
    with name_scope(name, "logdet", [matrix]):
        factor = cholesky(matrix)
        return 2.0 * reduce_sum(raw.Log(real(matrix_diag_part(factor))), axis=[-1])


# ---- inverse and square equations ----


def _require_invertible(diagonal: Any, text: str) -> None:
    checks.require(jnp.all(jnp.abs(diagonal) > 0), text)


def _inverse(x, *, adjoint):
    lib.require_square(x)
    lu, _, permutation = lib.factored(lib.adjoint_array(x) if adjoint else x)
    _require_invertible(lib.pivots_of(lu), "Input is not invertible.")
    return lib.solve_factored(lu, permutation, jnp.broadcast_to(jnp.eye(x.shape[-1], dtype=x.dtype), x.shape))


def _inverse_gradient(op, g):
    inverse = op.outputs[0]
    middle = matmul(g, inverse, adjoint_b=True)
    found = -matmul(inverse, middle, adjoint_a=True)
    return [lib.adjoint(found) if op.get_attr("adjoint") else found]


def _solve(matrix, rhs, *, adjoint):
    lib.require_equations(matrix, rhs)
    lu, _, permutation = lib.factored(lib.adjoint_array(matrix) if adjoint else matrix)
    _require_invertible(lib.pivots_of(lu), "Input matrix is not invertible.")
    return lib.solve_factored(lu, permutation, rhs)


def _matrix_gradient(op: Operation, grad_rhs: Tensor) -> Tensor:
    """The gradient for the matrix of equations, given that for the right-hand side."""
    solution = op.outputs[0]
    if op.get_attr("adjoint"):
        return -matmul(solution, grad_rhs, adjoint_b=True)
    return -matmul(grad_rhs, solution, adjoint_b=True)


def _solve_gradient(op, g):
    grad_rhs = raw.MatrixSolve(op.inputs[0], g, adjoint=not op.get_attr("adjoint"))
    return [_matrix_gradient(op, grad_rhs), grad_rhs]


def _triangular_solve(matrix, rhs, *, lower, adjoint):
    lib.require_equations(matrix, rhs)
    _require_invertible(lib.pivots_of(matrix), "Input matrix is not invertible.")
    if 0 in rhs.shape:
        return rhs
    return lax.linalg.triangular_solve(
        matrix, rhs, left_side=True, lower=lower, transpose_a=adjoint,
        conjugate_a=adjoint and np.dtype(rhs.dtype).kind == "c",
    )  # fmt: skip


def _triangular_solve_gradient(op, g):
    lower = op.get_attr("lower")
    grad_rhs = raw.MatrixTriangularSolve(op.inputs[0], g, lower=lower, adjoint=not op.get_attr("adjoint"))
    full = _matrix_gradient(op, grad_rhs)
    return [matrix_band_part(full, -1, 0) if lower else matrix_band_part(full, 0, -1), grad_rhs]


for _prefix, _types in (("", lib.TYPES), ("Batch", _BATCH_TYPES)):
    op(
        _prefix + "MatrixInverse", f"(input: T, *, adjoint: bool = False, T: {_types}) -> (output: T)",
        shape=lib.square_shape, kernel=_inverse, gradient=_NO_GRADIENT if _prefix else _inverse_gradient,
    )  # fmt: skip
    op(
        _prefix + "MatrixSolve", f"(matrix: T, rhs: T, *, adjoint: bool = False, T: {_types}) -> (output: T)",
        shape=lib.solution_shape, kernel=_solve, gradient=_NO_GRADIENT if _prefix else _solve_gradient,
    )  # fmt: skip
    op(
        _prefix + "MatrixTriangularSolve",
        f"(matrix: T, rhs: T, *, lower: bool = True, adjoint: bool = False, T: {_types}) -> (output: T)",
        shape=lib.solution_shape, kernel=_triangular_solve,
        gradient=_NO_GRADIENT if _prefix else _triangular_solve_gradient,
    )  # fmt: skip


@export("matrix_inverse", "linalg.inv")
def matrix_inverse(input: TensorLike, adjoint: bool = False, name: str | None = None) -> Tensor:
    """The inverse of each square matrix, or of its adjoint.

    Args:
      input: floating or complex tensor [..., m, m].
      adjoint: whether the adjoint is inverted.
      name: node name.

    Raises:
      ValueError: the matrices are not square. InvalidArgumentError: a run finds a singular one.
    """
    return raw.MatrixInverse(input, adjoint=bool(adjoint), name=name)


@export("matrix_solve", "linalg.solve")
def matrix_solve(matrix: TensorLike, rhs: TensorLike, adjoint: bool = False, name: str | None = None) -> Tensor:
    """The solution of `matrix @ x = rhs`.

    Args:
      matrix: tensor [..., m, m].
      rhs: tensor [..., m, k] of the same dtype.
      adjoint: whether the adjoint of `matrix` is taken.
      name: node name.

    Raises:
      ValueError: the shapes do not fit. InvalidArgumentError: a run finds a singular matrix.
    """
    return raw.MatrixSolve(matrix, rhs, adjoint=bool(adjoint), name=name)


@export("matrix_triangular_solve", "linalg.triangular_solve")
def matrix_triangular_solve(
    matrix: TensorLike, rhs: TensorLike, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """The solution of `matrix @ x = rhs` for triangular matrices, of which only that triangle is read.

    Args:
      matrix: tensor [..., m, m].
      rhs: tensor [..., m, k] of the same dtype.
      lower: whether the lower triangle is the matrix, else the upper.
      adjoint: whether its adjoint is taken.
      name: node name.

    Raises:
      ValueError: the shapes do not fit. InvalidArgumentError: a run finds a zero on the diagonal.
    """
    return raw.MatrixTriangularSolve(matrix, rhs, lower=bool(lower), adjoint=bool(adjoint), name=name)


@export("cholesky_solve", "linalg.cholesky_solve")
def cholesky_solve(chol: TensorLike, rhs: TensorLike, name: str | None = None) -> Tensor:
    """The solution of `A @ x = rhs` from the lower Cholesky factor `chol` [..., m, m] of A."""
    with name_scope(name, "cholesky_solve", [chol, rhs]):
        y = matrix_triangular_solve(chol, rhs)
        return matrix_triangular_solve(chol, y, adjoint=True)


# ---- least squares ----


def _fast_least_squares(matrix: Any, rhs: object, regularizer: Any) -> Any:
    """By the normal equations of the smaller side."""
    rows, columns = matrix.shape[-2:]
    adjoint = lib.adjoint_array(matrix)
    gramian = adjoint @ matrix if rows >= columns else matrix @ adjoint
    factor = lib.lower_cholesky(gramian + regularizer.astype(matrix.dtype) * jnp.eye(gramian.shape[-1], dtype=matrix.dtype))
    checks.require(~jnp.any(jnp.isnan(factor)), _RANK_DEFICIENT)
    if rows >= columns:
        return lib.cholesky_solution(factor, adjoint @ rhs)
    return adjoint @ lib.cholesky_solution(factor, rhs)


def _solve_least_squares(matrix, rhs, regularizer, *, fast):
    lib.require_equations(matrix, rhs, square=False)
    checks.scalar("l2_regularizer", regularizer)
    checks.require(regularizer >= 0, "l2_regularizer must be >= 0.")
    if 0 in matrix.shape or 0 in rhs.shape:
        return jnp.zeros((*matrix.shape[:-2], matrix.shape[-1], rhs.shape[-1]), rhs.dtype)
    if fast:
        return _fast_least_squares(matrix, rhs, regularizer)
    u, s, vh = jnp.linalg.svd(matrix, full_matrices=False)
    limit = jnp.max(s, axis=-1, keepdims=True) * max(matrix.shape[-2:]) * jnp.finfo(matrix.dtype).eps
    inverse = jnp.where(s > limit, 1 / jnp.where(s > limit, s, 1), 0).astype(matrix.dtype)
    return lib.adjoint_array(vh) @ (inverse[..., None] * (lib.adjoint_array(u) @ rhs))


def _regularized_cholesky(matrix: Tensor, regularizer: object, first_kind: bool) -> Tensor:
    """The Cholesky factor of the regularized gramian of the columns (`first_kind`) or rows of `matrix`."""
    gramian = matmul(matrix, matrix, adjoint_a=first_kind, adjoint_b=not first_kind)
    if isinstance(regularizer, Tensor) or regularizer != 0:
        sizes, side = shape(matrix), -1 if first_kind else -2
        batch = sizes[:-2]
        identity = eye(sizes[side], batch_shape=batch, dtype=matrix.dtype)
        identity.set_shape(matrix.shape[:-2].concatenate([matrix.shape[side], matrix.shape[side]]))
        gramian = gramian + regularizer * identity
    return raw.Cholesky(gramian)


def _by_form(matrix: Tensor, tall: Any, wide: Any) -> Any:
    """`tall()` where the matrices have no fewer rows than columns, else `wide()`."""
    static = matrix.shape[-2:]
    if static.is_fully_defined():
        return tall() if static[-2] >= static[-1] else wide()
    sizes = shape(matrix)[-2:]
    return cond(sizes[-2] >= sizes[-1], tall, wide)


def _least_squares_gradient(op, g):
    a, b, x = op.inputs[0], op.inputs[1], op.outputs[0]
    regularizer = cast(op.inputs[2], a.dtype.base_dtype)
    if not op.get_attr("fast"):
        raise ValueError("Gradient not defined for fast=False")

    def tall() -> list:
        z = cholesky_solve(_regularized_cholesky(a, regularizer, True), g)
        outer = matmul(x, z, adjoint_b=True)
        symmetric = outer + matrix_transpose(outer)
        grad_a = -matmul(a, symmetric) + matmul(b, z, adjoint_b=True)
        return [grad_a, matmul(a, z)]

    def wide() -> list:
        factor = _regularized_cholesky(a, regularizer, False)
        grad_rhs = cholesky_solve(factor, matmul(a, g))
        dual = cholesky_solve(factor, b)
        along = -matmul(grad_rhs, matmul(dual, a, adjoint_a=True))
        rest = g - matmul(a, grad_rhs, adjoint_a=True)
        return [along + matmul(dual, rest, adjoint_b=True), grad_rhs]

    return [*_by_form(a, tall, wide), None]


op(
    "MatrixSolveLs",
    f"(matrix: T, rhs: T, l2_regularizer: float64, *, T: {lib.TYPES}, fast: bool = True) -> (output: T)",
    shape=lib.least_squares_shape, kernel=_solve_least_squares, gradient=_least_squares_gradient,
)  # fmt: skip

op(
    "BatchMatrixSolveLs",
    f"(matrix: T, rhs: T, l2_regularizer: float64, *, T: {_BATCH_TYPES}, fast: bool = True) -> (output: T)",
    shape=lib.least_squares_shape, kernel=_solve_least_squares, gradient=_NO_GRADIENT,
)  # fmt: skip


def _is_composed(matrix: Tensor, sizes: TensorShape, fast: bool) -> bool:
    """Whether the solution is made of products and Cholesky factors, as 1.15 decides it."""
    if not fast or not sizes.is_fully_defined():
        return bool(fast)
    many = sizes[:-2].num_elements() > min(sizes[-2:].as_list())
    return not (many and sizes.num_elements() * matrix.dtype.size > _CACHE_BYTES)


@export("matrix_solve_ls", "linalg.lstsq")
def matrix_solve_ls(
    matrix: TensorLike, rhs: TensorLike, l2_regularizer: TensorLike = 0.0, fast: bool = True, name: str | None = None
) -> Tensor:
    """The least-squares solution of `matrix @ x = rhs`, the smallest where there are many.

    Args:
      matrix: tensor [..., m, n].
      rhs: tensor [..., m, k] of the same dtype.
      l2_regularizer: weight of the squared norm of x.
      fast: by normal equations, for well-conditioned matrices; else by an orthogonal decomposition, without regularizer.
      name: name scope or node name.

    Returns:
      a tensor [..., n, k].

    Raises:
      NotImplementedError: complex128 with a regularizer.
      InvalidArgumentError: in a run with `fast` and a matrix that is rank deficient.
    """
    matrix = convert_to_tensor(matrix, name="matrix")
    if matrix.dtype == dtypes.complex128 and l2_regularizer != 0:
        raise NotImplementedError(
            "matrix_solve_ls is currently disabled for complex128 and l2_regularizer != 0 due to poor accuracy."
        )
    if not _is_composed(matrix, matrix.shape, fast):
        return raw.MatrixSolveLs(matrix, rhs, l2_regularizer, fast=fast, name=name)

    def tall() -> Tensor:
        factor = _regularized_cholesky(matrix, l2_regularizer, True)
        return cholesky_solve(factor, matmul(matrix, rhs, adjoint_a=True))

    def wide() -> Tensor:
        factor = _regularized_cholesky(matrix, l2_regularizer, False)
        return matmul(matrix, cholesky_solve(factor, rhs), adjoint_a=True)

    with name_scope(name, "matrix_solve_ls", [matrix, rhs, l2_regularizer]):
        return _by_form(matrix, tall, wide)
