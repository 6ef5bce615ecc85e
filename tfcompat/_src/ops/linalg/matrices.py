"""What the linear algebra ops share: shape functions and small functions of (batches of) matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.reorder import matrix_transpose

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import Array, TensorLike
    from tfcompat._src.graph.shape_inference import InferenceContext

TYPES = "{float64, float32, float16, complex64, complex128}"


# ---- static shapes ----


def square_sizes(sizes: Any) -> Any:
    """The sizes of square matrices, as far as known; ValueError where they are not square."""
    sizes = si.with_rank_at_least(sizes, 2)
    if sizes is None:
        return None
    side = si.merge_size(sizes[-2], sizes[-1])
    return sizes[:-2] + (side, side)


def square_shape(c: InferenceContext) -> list:
    """Every output has the shape of input 0, square matrices."""
    return [square_sizes(c.inputs[0])] * len(c.op.outputs)


def solution_shape(c: InferenceContext) -> list:
    """The shape of the solution of equations with a square matrix."""
    return [_solution(square_sizes(c.inputs[0]), c.inputs[1], True)]


def least_squares_shape(c: InferenceContext) -> list:
    """The shape of the solution of equations with any matrix."""
    si.merge(c.inputs[2], ())
    return [_solution(si.with_rank_at_least(c.inputs[0], 2), c.inputs[1], False)]


def _solution(matrix: Any, rhs: Any, square: bool) -> Any:
    rhs = si.with_rank_at_least(rhs, 2)
    batch = si.merge(*(None if sizes is None else sizes[:-2] for sizes in (matrix, rhs)))
    rows, columns = (None, None) if matrix is None else matrix[-2:]
    rhs_rows, count = (None, None) if rhs is None else rhs[-2:]
    rows = si.merge_size(rows, rhs_rows)
    return None if batch is None else batch + (rows if square else columns, count)


# ---- kernels ----


def supported(*arrays: Any) -> None:
    """InvalidArgumentError for float16, which 1.15 has no kernel for."""
    if any(x.dtype == np.float16 for x in arrays):
        raise errors.InvalidArgumentError(None, None, "No OpKernel was registered to support float16; use float32.")


def require_square(x: Any, text: str = "Input matrix must be square.") -> None:
    supported(x)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise errors.InvalidArgumentError(None, None, text)


def require_equations(matrix: Any, rhs: Any, square: bool = True) -> None:
    """Demands that `rhs` has the batch and the rows of `matrix`, and that this is square."""
    supported(matrix, rhs)
    if matrix.ndim != rhs.ndim:
        raise errors.InvalidArgumentError(None, None, "All input tensors must have the same rank.")
    if square:
        require_square(matrix, "First input (lhs) must be a square matrix.")
    if matrix.ndim < 2 or matrix.shape[:-1] != rhs.shape[:-1]:
        raise errors.InvalidArgumentError(None, None, "Input matrix and rhs are incompatible.")


def adjoint_array(x: Any) -> Any:
    """The conjugate transpose of each matrix."""
    swapped = jnp.swapaxes(x, -1, -2)
    return lax.conj(swapped) if np.dtype(x.dtype).kind == "c" else swapped


def factored(x: Any) -> tuple[Any, Any, Any]:
    """LU with partial pivoting: (lower and upper factor in one matrix, pivots, permutation of rows)."""
    if 0 in x.shape:
        rows = jnp.broadcast_to(jnp.arange(x.shape[-2], dtype=np.int32), x.shape[:-1])
        return x, rows, rows
    return lax.linalg.lu(x)


def pivots_of(lu: Any) -> Any:
    return jnp.diagonal(lu, axis1=-2, axis2=-1)


def solve_factored(lu: Any, permutation: Any, rhs: Any) -> Array:
    """The solution of equations whose matrix `factored` took apart."""
    if 0 in rhs.shape or 0 in lu.shape:
        return jnp.zeros(rhs.shape, rhs.dtype)
    moved = jnp.take_along_axis(rhs, permutation[..., None], axis=-2)
    lower = lax.linalg.triangular_solve(lu, moved, left_side=True, lower=True, unit_diagonal=True)
    return lax.linalg.triangular_solve(lu, lower, left_side=True, lower=False)


def lower_cholesky(x: Any) -> Any:
    """The lower Cholesky factor of matrices given by their lower triangles, NaN where there is none."""
    return x if 0 in x.shape else lax.linalg.cholesky(x, symmetrize_input=False)


def cholesky_solution(factor: Any, rhs: Any) -> Any:
    """The solution of equations whose matrix is `factor` times its adjoint."""
    if 0 in rhs.shape:
        return rhs
    y = lax.linalg.triangular_solve(factor, rhs, left_side=True, lower=True)
    return lax.linalg.triangular_solve(
        factor, y, left_side=True, lower=True, transpose_a=True, conjugate_a=np.dtype(rhs.dtype).kind == "c"
    )


# ---- graph functions ----


@export("linalg.adjoint")
def adjoint(matrix: TensorLike, name: str | None = None) -> Tensor:
    """The conjugate transpose of each matrix of `matrix` [..., m, n]."""
    with name_scope(name, "adjoint", [matrix]):
        return matrix_transpose(convert_to_tensor(matrix, name="matrix"), conjugate=True)
