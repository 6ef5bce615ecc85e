"""Tridiagonal matrices, given by their three diagonals: products and equations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
from jax import lax

from tfcompat._src.base import checks, dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import dimension_value
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import op
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.diagonal import matrix_diag_part
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.join import concat, stack
from tfcompat._src.ops.array.pad import pad
from tfcompat._src.ops.array.reorder import matrix_transpose, transpose
from tfcompat._src.ops.array.shape import expand_dims, rank, squeeze
from tfcompat._src.ops.composed.indexing import gather_nd
from tfcompat._src.ops.linalg import matrices as lib
from tfcompat._src.ops.math.complex import conj
from tfcompat._src.ops.math.reduce import reduce_sum

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import Array, TensorLike

_TYPES = "{float64, float32, complex64, complex128}"
_NEEDS_PIVOTS = (
    "The matrix is either not invertible, or requires pivoting. Try setting partial_pivoting = True."
)

# ---- graph functions ----


def _fillers(like: Tensor, sizes: list | None, axis: int) -> tuple[Callable, Callable]:
    """Functions that give `x[index]` with zeros behind it along `axis`, and before it, from x and index.

    The zeros have `sizes` where they are known; else they are paddings for tensors of the rank of `like`.
    """
    if sizes is not None:
        nothing = zeros(sizes, dtype=like.dtype)
        return lambda x, index: concat((x[index], nothing), axis), lambda x, index: concat((nothing, x[index]), axis)
    batch = zeros((rank(like) - 2, 2), dtype=dtypes.int32)

    def padded(x: Tensor, index: tuple, ends: list[int]) -> Tensor:
        paddings = concat((batch, constant([ends, *[[0, 0]] * (-1 - axis)])), axis=0)
        return pad(x[index], paddings)

    return lambda x, index: padded(x, index, [0, 1]), lambda x, index: padded(x, index, [1, 0])


_ALL_BUT_FIRST, _ALL_BUT_LAST = (..., slice(1, None), slice(None)), (..., slice(None, -1), slice(None))


def _later(x: Tensor) -> Tensor:
    """Row i of the result is row i + 1 of `x`; the last is 0."""
    return _fillers(x, None, -2)[0](x, _ALL_BUT_FIRST)


def _earlier(x: Tensor) -> Tensor:
    """Row i of the result is row i - 1 of `x`; the first is 0."""
    return _fillers(x, None, -2)[1](x, _ALL_BUT_LAST)


# ---- products ----


def _product_shape(c):
    sizes = si.with_rank_at_least(c.inputs[3], 2)
    batch, rows = (None, None) if sizes is None else (sizes[:-2], sizes[-2])
    for diagonal in (si.with_rank_at_least(s, 2) for s in c.inputs[:3]):
        if diagonal is not None:
            si.merge_size(diagonal[-2], 1)
            batch, rows = si.merge(batch, diagonal[:-2]), si.merge_size(rows, diagonal[-1])
    return [sizes]


def _product(superdiag, maindiag, subdiag, rhs):
    wanted = (*rhs.shape[:-2], 1, rhs.shape[-2])
    for name, diagonal in (("superdiag", superdiag), ("maindiag", maindiag), ("subdiag", subdiag)):
        if diagonal.shape != wanted:
            text = f"{name} must have shape {list(wanted)}, got {list(diagonal.shape)}"
            raise errors.InvalidArgumentError(None, None, text)
    upper, middle, lower = (jnp.swapaxes(d, -1, -2) for d in (superdiag, maindiag, subdiag))
    none = jnp.zeros_like(rhs[..., :1, :])
    after = jnp.concatenate([rhs[..., 1:, :], none], axis=-2)
    before = jnp.concatenate([none, rhs[..., :-1, :]], axis=-2)
    return lower * before + middle * rhs + upper * after


def _product_gradient(op, g):
    upper, middle, lower = (matrix_transpose(d, conjugate=True) for d in op.inputs[:3])
    x = conj(op.inputs[3])
    diagonals = [reduce_sum(_later(x) * g, axis=-1), reduce_sum(x * g, axis=-1), reduce_sum(_earlier(x) * g, axis=-1)]
    grad_rhs = _earlier(upper * g) + middle * g + _later(lower * g)
    return [*[expand_dims(d, -2) for d in diagonals], grad_rhs]


op(
    "TridiagonalMatMul", f"(superdiag: T, maindiag: T, subdiag: T, rhs: T, *, T: {_TYPES}) -> (output: T)",
    shape=_product_shape, kernel=_product, gradient=_product_gradient,
)  # fmt: skip


# ---- equations ----


def _solution_shape(c):
    diagonals, rhs = (si.with_rank_at_least(s, 2) for s in c.inputs)
    if diagonals is not None:
        si.with_size(diagonals[-2], 3)
    if diagonals is None or rhs is None:
        return [rhs]
    si.merge(diagonals[:-2], rhs[:-2]), si.merge_size(diagonals[-1], rhs[-2])
    return [rhs]


def _without_pivots(diagonals: Any, rhs: Any) -> tuple[Any, Any]:
    """The Thomas algorithm: (solution, whether no pivot was 0)."""
    rows = jnp.moveaxis(diagonals, -1, 0)
    upper, middle, lower = rows[..., 0], rows[..., 1], rows[..., 2]
    values = jnp.moveaxis(rhs, -2, 0)

    def eliminate(carry: Any, row: Any) -> Any:
        ratio, value = carry
        above, on, below, right = row
        pivot = on - below * ratio
        found = (above / pivot, (right - below[..., None] * value) / pivot[..., None])
        return found, (*found, pivot)

    nothing = (jnp.zeros_like(upper[0]), jnp.zeros_like(values[0]))
    lower = lower.at[0].set(0)
    _, (ratios, reduced, pivots) = lax.scan(eliminate, nothing, (upper, middle, lower, values))

    def substitute(after: object, row: Any) -> Any:
        ratio, value = row
        found = value - ratio[..., None] * after
        return found, found

    ratios = ratios.at[-1].set(0)
    _, solution = lax.scan(substitute, nothing[1], (ratios, reduced), reverse=True)
    return jnp.moveaxis(solution, 0, -2), jnp.all(pivots != 0)


def _dense(diagonals: Any) -> Array:
    """The matrices of three diagonals."""
    upper, middle, lower = diagonals[..., 0, :], diagonals[..., 1, :], diagonals[..., 2, :]
    side = jnp.arange(diagonals.shape[-1])
    below, right = side[:, None], side[None, :]

    def placed(entries: Any, offset: int) -> Array:
        return jnp.where(right - below == offset, entries[..., :, None], jnp.zeros((), entries.dtype))

    return placed(upper, 1) + placed(middle, 0) + placed(lower, -1)


def _solve(diagonals, rhs, *, partial_pivoting):
    if diagonals.shape[:-2] != rhs.shape[:-2] or diagonals.shape[-2] != 3 or diagonals.shape[-1] != rhs.shape[-2]:
        text = f"Diagonals and rhs are incompatible: shapes {list(diagonals.shape)} and {list(rhs.shape)}"
        raise errors.InvalidArgumentError(None, None, text)
    if 0 in rhs.shape:
        return jnp.zeros(rhs.shape, rhs.dtype)
    if diagonals.shape[-1] == 1:
        text = "The matrix is not invertible: it is a scalar with value zero."
        checks.require(jnp.all(diagonals[..., 1, :] != 0), text)
        return rhs / diagonals[..., 1, :, None]
    if not partial_pivoting:
        solution, is_regular = _without_pivots(diagonals, rhs)
        checks.require(is_regular, _NEEDS_PIVOTS)
        return solution
    lu, _, permutation = lib.factored(_dense(diagonals))
    checks.require(jnp.all(lib.pivots_of(lu) != 0), "The matrix is not invertible.")
    return lib.solve_factored(lu, permutation, rhs)


def _transposed(diagonals: Tensor) -> Tensor:
    """The three diagonals of the adjoint of a tridiagonal matrix."""
    diagonals = conj(diagonals)
    middle = diagonals[..., 1, :]
    known = diagonals.shape.is_fully_defined()
    behind, before = _fillers(diagonals, [*diagonals.shape.as_list()[:-2], 1] if known else None, -1)
    upper = behind(diagonals, (..., 2, slice(1, None)))
    lower = before(diagonals, (..., 0, slice(None, -1)))
    return stack([upper, middle, lower], axis=-2)


def _product_diagonals(x: Tensor, y: Tensor) -> Tensor:
    """The three diagonals of the product of `x` and the adjoint of `y`."""
    y = conj(y)
    middle = reduce_sum(x * y, axis=-1)
    sizes = x.shape.as_list() if y.shape.is_fully_defined() else None
    behind, before = _fillers(y, None if sizes is None else [*sizes[:-2], 1, sizes[-1]], -2)
    upper = reduce_sum(x * behind(y, _ALL_BUT_FIRST), axis=-1)
    lower = reduce_sum(x * before(y, _ALL_BUT_LAST), axis=-1)
    return stack([upper, middle, lower], axis=-2)


def _solve_gradient(op, g):
    grad_rhs = raw.TridiagonalSolve(_transposed(op.inputs[0]), g, partial_pivoting=op.get_attr("partial_pivoting"))
    return [-_product_diagonals(grad_rhs, op.outputs[0]), grad_rhs]


op(
    "TridiagonalSolve", f"(diagonals: T, rhs: T, *, partial_pivoting: bool = True, T: {_TYPES}) -> (output: T)",
    shape=_solution_shape, kernel=_solve, gradient=_solve_gradient,
)  # fmt: skip


# ---- public functions ----


def _matrix_side(diagonals: Any, all_known: bool) -> int:
    """The side of matrices given in full; ValueError where it is not known or they are not square."""
    sizes = [dimension_value(diagonals.shape[i]) for i in (-1, -2)]
    known = [size for size in sizes if size]
    if len(known) < (2 if all_known else 1):
        raise ValueError('The size of the matrix needs to be known for diagonals_format="matrix"')
    if len(set(known)) > 1:
        raise ValueError(f"Expected last two dimensions of diagonals to be same, got {sizes[0]} and {sizes[1]}")
    return known[0]


def _padded(diagonal: Tensor, name: str, length: int | None, padding: list[int]) -> Tensor:
    """A diagonal beside the main one, with an entry more where it has one less than the main one."""
    size = dimension_value(diagonal.shape[-1])
    if not size or size == length:
        return diagonal
    if length is not None and size == length - 1:
        return pad(diagonal, [[0, 0] for _ in range(len(diagonal.shape) - 1)] + [padding])
    less = None if length is None else length - 1
    raise ValueError(f"Expected {name} to be have length {length} or {less}, got {size}.")


def _from_sequence(diagonals: object) -> Tensor:
    if not isinstance(diagonals, (tuple, list)) or len(diagonals) != 3:
        raise ValueError("Expected diagonals to be a sequence of length 3.")
    upper, middle, lower = diagonals
    if any(not d.shape[:-1].is_compatible_with(middle.shape[:-1]) for d in (lower, upper)):
        raise ValueError(
            "Tensors representing the three diagonals must have the same shape,except for the last dimension, got "
            f"{lower.shape}, {middle.shape}, {upper.shape}"
        )
    length = dimension_value(middle.shape[-1])
    lower = _padded(lower, "subdiagonal", length, [1, 0])
    upper = _padded(upper, "superdiagonal", length, [0, 1])
    return stack((upper, middle, lower), axis=-2)


def _from_matrix(diagonals: TensorLike) -> Tensor:
    side, unused = _matrix_side(diagonals, False), [0, 0]
    places = [
        [[i + 1, i] if i + 1 < side else unused, [i, i], [i - 1, i] if i else unused] for i in range(side)
    ]
    return transpose(gather_nd(transpose(diagonals), places))


@export("linalg.tridiagonal_solve")
def tridiagonal_solve(
    diagonals: Any, rhs: Any, diagonals_format: str = "compact", transpose_rhs: bool = False,
    conjugate_rhs: bool = False, name: str | None = None, partial_pivoting: bool = True,
) -> Tensor:  # fmt: skip
    """The solution of equations with tridiagonal matrices.

    Args:
      diagonals: by `diagonals_format`: "compact" [..., 3, m], the superdiagonal (its last entry is not read), the main one
        and the subdiagonal (its first entry is not read); "sequence", three tensors [..., m] in that order, the outer ones
        may have m - 1 entries; "matrix" [..., m, m].
      rhs: tensor [..., m] or [..., m, k] of the same dtype.
      diagonals_format: see above.
      transpose_rhs: whether right-hand sides are the rows of `rhs`, and solutions rows of the result.
      conjugate_rhs: whether `rhs` is conjugated.
      name: node name.
      partial_pivoting: whether rows are exchanged for the sake of accuracy.

    Raises:
      ValueError: the shapes do not fit or the format is another. InvalidArgumentError: a run finds a singular matrix.
    """
    if diagonals_format == "sequence":
        diagonals = _from_sequence(diagonals)
    elif diagonals_format == "matrix":
        diagonals = _from_matrix(diagonals)
    elif diagonals_format != "compact":
        raise ValueError(f"Unrecognized diagonals_format: {diagonals_format}")
    _check_equations(diagonals.shape, rhs.shape)
    is_vector = len(rhs.shape) == len(diagonals.shape) - 1
    if transpose_rhs and not is_vector:
        rhs = matrix_transpose(rhs, conjugate=conjugate_rhs)
    elif conjugate_rhs:
        rhs = conj(rhs)
    if is_vector:
        rhs = expand_dims(rhs, -1)
    rows, wanted = dimension_value(rhs.shape[-2]), dimension_value(diagonals.shape[-1])
    if rows and wanted and rows != wanted:
        raise ValueError(f"Expected number of left-hand sided and right-hand sides to be equal, got {wanted} and {rows}")
    found = raw.TridiagonalSolve(diagonals, rhs, partial_pivoting=partial_pivoting, name=name)
    if is_vector:
        return squeeze(found, -1)
    return matrix_transpose(found) if transpose_rhs else found


def _check_equations(diagonals: Any, rhs: Any) -> None:
    """ValueError where the shapes of compact diagonals and right-hand sides do not fit."""
    rank, rhs_rank = len(diagonals), len(rhs)
    if rank < 2:
        raise ValueError(f"Expected diagonals to have rank at least 2, got {rank}")
    if rhs_rank not in (rank - 1, rank):
        raise ValueError(f"Expected the rank of rhs to be {rank - 1} or {rank}, got {rhs_rank}")
    count = dimension_value(diagonals[-2])
    if count and count != 3:
        raise ValueError(f"Expected 3 diagonals got {count}")
    if not diagonals[:-2].is_compatible_with(rhs[: rank - 2]):
        raise ValueError(f"Batch shapes {diagonals[:-2]} and {rhs[: rank - 2]} are incompatible")


@export("linalg.tridiagonal_matmul")
def tridiagonal_matmul(diagonals: Any, rhs: TensorLike, diagonals_format: str = "compact", name: str | None = None) -> Tensor:
    """The products of tridiagonal matrices and `rhs`.

    Args:
      diagonals: as in `tridiagonal_solve`; in a sequence all have m entries.
      rhs: tensor [..., m, k] of the same dtype.
      diagonals_format: "compact", "sequence" or "matrix".
      name: node name.

    Returns:
      a tensor [..., m, k].

    Raises:
      ValueError: the shapes do not fit or the format is another.
    """
    if diagonals_format == "compact":
        upper, middle, lower = (diagonals[..., i, :] for i in range(3))
    elif diagonals_format == "sequence":
        upper, middle, lower = diagonals
    elif diagonals_format == "matrix":
        side, unused = _matrix_side(diagonals, True), [0, 0]
        middle = matrix_diag_part(diagonals)
        turned = transpose(diagonals)
        upper = transpose(gather_nd(turned, [[i + 1, i] for i in range(side - 1)] + [unused]))
        lower = transpose(gather_nd(turned, [unused] + [[i - 1, i] for i in range(1, side)]))
    else:
        raise ValueError(f"Unrecognized diagonals_format: {diagonals_format}")
    upper, middle, lower = (expand_dims(diagonal, -2) for diagonal in (upper, middle, lower))
    return raw.TridiagonalMatMul(upper, middle, lower, rhs, name=name)
