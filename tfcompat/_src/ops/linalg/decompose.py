"""Decompositions of matrices: Cholesky, QR, singular values, eigenvalues, LU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tfcompat._src.base import checks, dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import NotDifferentiable, op
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.diagonal import matrix_band_part, matrix_diag, matrix_diag_part, matrix_set_diag
from tfcompat._src.ops.array.fill import zeros_like
from tfcompat._src.ops.array.reorder import matrix_transpose
from tfcompat._src.ops.array.shape import expand_dims, shape
from tfcompat._src.ops.composed.eye import eye
from tfcompat._src.ops.linalg import matrices as lib
from tfcompat._src.ops.math.complex import real
from tfcompat._src.ops.math.matmul import matmul

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import Array, TensorLike
    from tfcompat._src.base.dtypes import DTypeLike

_BATCH_TYPES = "{float64, float32}"
_NO_GRADIENT = NotDifferentiable("1.15 has no gradient for this op", raises=True)


# ---- Cholesky ----


def _cholesky(x):
    lib.require_square(x)
    factor = lib.lower_cholesky(x)
    ok = ~jnp.any(jnp.isnan(factor)) | jnp.any(jnp.isnan(jnp.tril(x)))
    checks.require(ok, "Cholesky decomposition was not successful. The input might not be valid.")
    return factor


def _cholesky_gradient(op, g):
    """Murray, "Differentiation of the Cholesky decomposition", arXiv:1602.07527, equation 8."""
    factor = op.outputs[0]
    side, batch = shape(factor)[-1], shape(factor)[:-2]
    inverse = raw.MatrixTriangularSolve(factor, eye(side, batch_shape=batch, dtype=factor.dtype))
    middle = matmul(factor, g, adjoint_a=True)
    middle = matrix_band_part(matrix_set_diag(middle, 0.5 * matrix_diag_part(middle)), -1, 0)
    found = matmul(matmul(inverse, middle, adjoint_a=True), inverse)
    found += lib.adjoint(found)
    return [found * 0.5]


def _cholesky_grad(factor, g):
    lib.require_square(factor)
    lib.require_equations(factor, g)
    if 0 in factor.shape:
        return factor

    def without_factor(x: Any) -> Array:
        return lax.linalg.triangular_solve(factor, x, left_side=True, lower=True, transpose_a=True)

    middle = jnp.swapaxes(factor, -1, -2) @ jnp.tril(g)
    middle = jnp.tril(middle) - 0.5 * middle * jnp.eye(middle.shape[-1], dtype=middle.dtype)
    found = jnp.swapaxes(without_factor(jnp.swapaxes(without_factor(middle), -1, -2)), -1, -2)
    return (found + jnp.swapaxes(found, -1, -2)) / 2


op(
    "Cholesky", f"(input: T, *, T: {lib.TYPES}) -> (output: T)", shape=lib.square_shape, kernel=_cholesky,
    gradient=_cholesky_gradient,
)  # fmt: skip
op(
    "BatchCholesky", f"(input: T, *, T: {_BATCH_TYPES}) -> (output: T)", shape=lib.square_shape, kernel=_cholesky,
    gradient=_NO_GRADIENT,
)  # fmt: skip
op(
    "CholeskyGrad", "(l: T, grad: T, *, T: {float16, float32, float64}) -> (output: T)", shape=lib.square_shape,
    kernel=_cholesky_grad, gradient=_NO_GRADIENT,
)  # fmt: skip
op(
    "BatchCholeskyGrad", "(l: T, grad: T, *, T: {float32, float64}) -> (output: T)", shape=lib.square_shape,
    kernel=_cholesky_grad, gradient=_NO_GRADIENT,
)  # fmt: skip


@export("cholesky", "linalg.cholesky")
def cholesky(input: TensorLike, name: str | None = None) -> Tensor:
    """The lower triangular L with L @ adjoint(L) equal to each hermitian positive definite matrix.

    Args:
      input: floating or complex tensor [..., m, m], of which the lower triangles are read.
      name: node name.

    Raises:
      ValueError: the matrices are not square. InvalidArgumentError: a run finds one that is not positive definite.
    """
    return raw.Cholesky(input, name=name)


# ---- QR ----


def _qr_shape(c):
    sizes = si.with_rank_at_least(c.inputs[0], 2)
    if sizes is None:
        return [None, None]
    *batch, m, n = sizes
    k = None if m is None or n is None else min(m, n)
    q, r = ((m, m), (m, n)) if c.attr("full_matrices") else ((m, k), (k, n))
    return [(*batch, *q), (*batch, *r)]


def _qr(x, *, full_matrices):
    lib.supported(x)
    return tuple(jnp.linalg.qr(x, mode="complete" if full_matrices else "reduced"))


def _qr_gradient(op, dq, dr):
    """Liao, Liu, Wang and Xiang, "Differentiable programming tensor networks", arXiv:1903.09650."""
    q, r = op.outputs
    if q.dtype.is_complex:
        raise NotImplementedError(f"QrGrad not implemented for dtype: {q.dtype!r}")
    rows, columns = r.shape.as_list()[-2:] if r.shape.ndims is not None else (None, None)
    if rows is None or columns is None:
        raise NotImplementedError("QrGrad not implemented with dynamic shapes.")
    if rows != columns:
        raise NotImplementedError("QrGrad not implemented when ncols > nrows or full_matrices is true and ncols != nrows.")

    def over_r(x: Tensor) -> Tensor:
        return lib.adjoint(raw.MatrixTriangularSolve(r, lib.adjoint(x), lower=False))

    q_part = matmul(q, dq, adjoint_a=True)
    q_skew = q_part - lib.adjoint(q_part)
    r_part = matmul(r, dr, adjoint_b=True)
    r_skew = r_part - lib.adjoint(r_part)
    lower = matrix_band_part(q_skew + r_skew, -1, 0)
    inside = matmul(q, dr + over_r(lower))
    return [inside + over_r(dq - matmul(q, q_part))]


op(
    "Qr", f"(input: T, *, full_matrices: bool = False, T: {lib.TYPES}) -> (q: T, r: T)", shape=_qr_shape, kernel=_qr,
    gradient=_qr_gradient,
)  # fmt: skip


@export("qr", "linalg.qr")
def qr(input: TensorLike, full_matrices: bool = False, name: str | None = None) -> Any:
    """Each matrix [..., m, n] as q @ r with orthonormal columns in q and an upper triangular r.

    Args:
      input: floating or complex tensor [..., m, n].
      full_matrices: whether q is [..., m, m]; else [..., m, min(m, n)].
      name: node name.

    Returns:
      (q, r).
    """
    return raw.Qr(input, full_matrices=bool(full_matrices), name=name)


# ---- singular values ----


def _svd_shape(c):
    sizes = si.with_rank_at_least(c.inputs[0], 2)
    empty = [(0,), (0,)]
    if sizes is None:
        return [None, *([None, None] if c.attr("compute_uv") else empty)]
    *batch, m, n = sizes
    k = None if m is None or n is None else min(m, n)
    if not c.attr("compute_uv"):
        return [(*batch, k), *empty]
    full = c.attr("full_matrices")
    return [(*batch, k), (*batch, m, m if full else k), (*batch, n, n if full else k)]


def _svd(x, *, compute_uv, full_matrices):
    lib.supported(x)
    x = jnp.where(jnp.isinf(x).any((-2, -1), keepdims=True), jnp.array(np.nan, x.dtype), x)  # LAPACK goes on for ever on some infinite elements
    if not compute_uv:
        nothing = jnp.zeros((), x.dtype)  # 1.15 gives a scalar that nothing has written
        return jnp.linalg.svd(x, compute_uv=False).astype(x.dtype), nothing, nothing
    u, s, vh = jnp.linalg.svd(x, full_matrices=full_matrices)
    return s.astype(x.dtype), u, lib.adjoint_array(vh)


def _inverse_gaps(values: Tensor, diagonal: Tensor | None = None) -> Tensor:
    """1 / (values[j] - values[i]) at [i, j], 0 on the diagonal; matrices `diagonal` keep from dividing by zero there."""
    gaps = expand_dims(values, -2) - expand_dims(values, -1)
    return matrix_set_diag(raw.Reciprocal(gaps if diagonal is None else gaps + diagonal), zeros_like(values))


def _svd_gradient(op, ds, du, dv):
    """Giles, "An extended collection of matrix derivative results", 2008; Townsend, "Differentiating the SVD", 2016."""
    a = op.inputs[0]
    diagonal = matrix_diag(ds)
    if not op.get_attr("compute_uv"):
        _, u, v = raw.Svd(a, compute_uv=True)
        return [matmul(u, matmul(diagonal, v, adjoint_b=True))]
    if a.dtype.is_complex:
        raise NotImplementedError("SVD gradient is not implemented for complex types and compute_uv=True.")
    m, n = a.shape.with_rank_at_least(2).as_list()[-2:] if a.shape.ndims is not None else (None, None)
    if m is None or n is None:
        raise NotImplementedError("SVD gradient has not been implemented for input with unknown inner matrix shape.")
    if op.get_attr("full_matrices") and abs(m - n) > 1:
        raise NotImplementedError("svd gradient is not implemented for abs(m - n) > 1 when full_matrices is True")
    s, u, v = op.outputs
    if m > n:
        u, v, du, dv = v, u, dv, du
    with control_dependencies([ds, du, dv]):
        found = _wide_svd_gradient(s, u, v, diagonal, du, dv, (min(m, n), max(m, n)), op.get_attr("full_matrices"))
        return [matrix_transpose(found) if m > n else found]


def _wide_svd_gradient(
    s: Tensor, u: Tensor, v: Tensor, ds: Tensor, du: Tensor, dv: Tensor, sides: tuple[int, int], full: bool
) -> Tensor:
    """The gradient of a matrix that has no more rows than columns, from diagonal matrices `ds`."""
    singular, squares, sizes = matrix_diag(s), raw.Square(s), shape(s)
    gaps = _inverse_gaps(squares, eye(sizes[-1], batch_shape=sizes[:-1], dtype=s.dtype))
    inverse = matrix_diag(raw.Reciprocal(s))
    m, n = sides
    first, dfirst = v[..., :, :m], dv[..., :, :m]
    of_u, of_v = matmul(u, du, adjoint_a=True), matmul(first, dfirst, adjoint_a=True)
    of_u, of_v = gaps * of_u, gaps * of_v
    core = ds + matmul(of_u + lib.adjoint(of_u), singular) + matmul(singular, of_v + lib.adjoint(of_v))
    found = matmul(u, matmul(core, first, adjoint_b=True))
    if m == n:
        return found
    turned = matrix_transpose(dfirst)
    outside = turned - matmul(matmul(turned, first), first, adjoint_b=True)
    if full:
        others, dothers = v[..., :, m:n], dv[..., :, m:n]
        outside -= matmul(matmul(first, dothers, adjoint_a=True), others, adjoint_b=True)
    return found + matmul(matmul(u, inverse), outside)


op(
    "Svd", f"(input: T, *, compute_uv: bool = True, full_matrices: bool = False, T: {lib.TYPES}) -> (s: T, u: T, v: T)",
    shape=_svd_shape, kernel=_svd, gradient=_svd_gradient,
)  # fmt: skip
op(
    "BatchSvd",
    "(input: T, *, compute_uv: bool = True, full_matrices: bool = False, T: {float64, float32, complex64, complex128}) "
    "-> (s: T, u: T, v: T)",
    shape=_svd_shape, kernel=_svd, gradient=_NO_GRADIENT,
)  # fmt: skip


@export("svd", "linalg.svd")
def svd(tensor: TensorLike, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None) -> Any:
    """The singular value decomposition of each matrix: u @ diag(s) @ adjoint(v).

    Args:
      tensor: floating or complex tensor [..., m, n].
      full_matrices: whether u and v are square; else they have min(m, n) columns.
      compute_uv: whether u and v are wanted.
      name: node name.

    Returns:
      (s, u, v), s in falling order; s alone without `compute_uv`. The sign of each pair of columns is not determined.
    """
    s, u, v = raw.Svd(tensor, compute_uv=compute_uv, full_matrices=full_matrices, name=name)
    return (real(s), u, v) if compute_uv else real(s)


# ---- eigenvalues of hermitian matrices ----


def _eigh_shape(c):
    sizes = lib.square_sizes(c.inputs[0])
    values = None if sizes is None else sizes[:-1]
    return [values, sizes if c.attr("compute_v") else (0,)]


def _eigh(x, *, compute_v):
    lib.require_square(x)
    if 0 in x.shape:
        values, vectors = jnp.zeros(x.shape[:-1], x.dtype), x
    else:
        vectors, values = lax.linalg.eigh(x, lower=True, symmetrize_input=False)
    has_nan = jnp.any(jnp.isnan(jnp.tril(x))) if x.shape[-1] > 1 else False
    checks.require(
        ~jnp.any(jnp.isnan(values)) | jnp.any(~jnp.isfinite(x)) & jnp.logical_not(has_nan),
        "Self-adjoint eigen decomposition was not successful. The input might not be valid.",
    )
    return values.astype(x.dtype), vectors if compute_v else jnp.zeros((), x.dtype)


def _joined_eigh(x):
    values, vectors = _eigh(x, compute_v=True)
    return jnp.concatenate([values[..., None, :], vectors], axis=-2)


def _joined_eigh_shape(c):
    sizes = lib.square_sizes(c.inputs[0])
    return [None if sizes is None else sizes[:-2] + (si.add_sizes(sizes[-1], 1), sizes[-1])]


def _eigh_gradient(op, de, dv):
    """Giles, "An extended collection of matrix derivative results", 2008; for the lower triangle that the op reads."""
    e = op.outputs[0]
    with control_dependencies([de, dv]):
        if op.get_attr("compute_v"):
            v = op.outputs[1]
            gaps = _inverse_gaps(e)
            core = matrix_diag(de) + gaps * matmul(v, dv, adjoint_a=True)
        else:
            _, v = raw.SelfAdjointEigV2(op.inputs[0], compute_v=True)
            core = matrix_diag(de)
        full = matmul(v, matmul(core, v, adjoint_b=True))
        lower = matrix_band_part(full + lib.adjoint(full), -1, 0)
        return [matrix_set_diag(lower, 0.5 * matrix_diag_part(lower))]


for _prefix, _types, _joined_types in (
    ("", lib.TYPES, "{float64, float32, float16}"), ("Batch", _BATCH_TYPES, _BATCH_TYPES),
):  # fmt: skip
    op(
        _prefix + "SelfAdjointEigV2", f"(input: T, *, compute_v: bool = True, T: {_types}) -> (e: T, v: T)",
        shape=_eigh_shape, kernel=_eigh, gradient=_NO_GRADIENT if _prefix else _eigh_gradient,
    )  # fmt: skip
    op(
        _prefix + "SelfAdjointEig", f"(input: T, *, T: {_joined_types}) -> (output: T)", shape=_joined_eigh_shape,
        kernel=_joined_eigh, gradient=_NO_GRADIENT,
    )  # fmt: skip


@export("self_adjoint_eig", "linalg.eigh")
def self_adjoint_eig(tensor: TensorLike, name: str | None = None) -> Any:
    """(eigenvalues in rising order [..., m], eigenvectors as columns [..., m, m]) of hermitian matrices [..., m, m].

    The lower triangles are read. The sign of each column is not determined.
    """
    e, v = raw.SelfAdjointEigV2(tensor, compute_v=True, name=name)
    return e, v


@export("self_adjoint_eigvals", "linalg.eigvalsh")
def self_adjoint_eigvals(tensor: TensorLike, name: str | None = None) -> Tensor:
    """The eigenvalues in rising order [..., m] of hermitian matrices [..., m, m], of which the lower triangles are read."""
    return raw.SelfAdjointEigV2(tensor, compute_v=False, name=name)[0]


# ---- LU ----


@op(
    "Lu", f"(input: T, *, T: {lib.TYPES}, output_idx_type: INDEX = int32) -> (lu: T, p: output_idx_type)",
    shape=lambda c: [s := lib.square_sizes(c.inputs[0]), None if s is None else s[:-1]], gradient=_NO_GRADIENT,
)  # fmt: skip
def _lu(x, *, output_idx_type):
    lib.require_square(x)
    lu, _, permutation = lib.factored(x)
    checks.require(jnp.all(jnp.abs(lib.pivots_of(lu)) > 0), "Input is not invertible.")
    return lu, permutation.astype(np.dtype(output_idx_type))


@export("linalg.lu")
def lu(input: TensorLike, output_idx_type: DTypeLike = dtypes.int32, name: str | None = None) -> Any:
    """The factors of each square matrix [..., m, m] with its rows in another order.

    Args:
      input: floating or complex tensor.
      output_idx_type: int32 or int64.
      name: node name.

    Returns:
      (lu, p): the upper factor, and below the diagonal the unit lower one; the order of rows, [..., m].

    Raises:
      ValueError: the matrices are not square. InvalidArgumentError: a run finds a singular one.
    """
    return raw.Lu(input, output_idx_type=output_idx_type, name=name)
