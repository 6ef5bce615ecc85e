"""Diagonals of tensors and matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import checks
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import NotDifferentiable, op
from tfcompat._src.graph.scopes import colocate_with
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.fill import zeros, zeros_like
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import invalid, rank, shape
from tfcompat._src.ops.control.cond import cond

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import Array, TensorLike
    from tfcompat._src.graph.operation import Operation

_DIAG_TYPES = "{bfloat16, float16, float32, float64, int32, int64, complex64, complex128}"

# ---- Diag, DiagPart ----


def _diag_shape(c):
    sizes = si.with_rank_at_least(c.inputs[0], 1)
    return [None if sizes is None else sizes + sizes]


@op("Diag", f"(diagonal: T, *, T: {_DIAG_TYPES}) -> (output: T)", shape=_diag_shape,
    gradient=lambda op, grad: [diag_part(grad)])  # fmt: skip
def _diag(x):
    if not x.ndim:
        raise invalid("Input must be at least rank 1, got 0")
    return jnp.diag(jnp.reshape(x, -1)).reshape(x.shape + x.shape)


def _diag_part_shape(c):
    sizes = c.inputs[0]
    if sizes is None:
        return [None]
    if not sizes or len(sizes) % 2:
        raise ValueError(f"Input must have even and non-zero rank, input rank is {len(sizes)}")
    half = len(sizes) // 2
    return [tuple(si.merge_size(a, b) for a, b in zip(sizes[:half], sizes[half:]))]


@op("DiagPart", f"(input: T, *, T: {_DIAG_TYPES}) -> (diagonal: T)", shape=_diag_part_shape,
    gradient=lambda op, grad: [diag(grad)])  # fmt: skip
def _diag_part(x):
    half = x.ndim // 2
    for i in range(half):
        if x.shape[i] != x.shape[half + i]:
            raise invalid(f"Invalid shape {shape_text(tuple(x.shape))}: dimensions {i} and {half + i} do not match.")
    count = int(np.prod(x.shape[:half]))
    return jnp.diagonal(jnp.reshape(x, (count, count))).reshape(x.shape[:half])


@export("diag", "linalg.tensor_diag")
def diag(diagonal: TensorLike, name: str | None = None) -> Tensor:
    """A tensor of shape `diagonal.shape + diagonal.shape`, zero outside its diagonal."""
    return raw.Diag(diagonal, name=name)


@export("diag_part", "linalg.tensor_diag_part")
def diag_part(input: TensorLike, name: str | None = None) -> Tensor:
    """The diagonal of a tensor of shape `s + s`; ValueError where the halves of the shape are known to differ."""
    return raw.DiagPart(input, name=name)


# ---- bands of matrices: every op here moves between a matrix and its diagonals [lower, upper] ----


def _band(k: np.ndarray) -> tuple[int, int]:
    """The lowest and highest diagonal that `k` (scalar, or one or two elements) names."""
    bounds = [int(b) for b in np.atleast_1d(k)]
    if len(bounds) not in (1, 2):
        raise ValueError(f"diag_index must be a vector with one or two elements. It has {len(bounds)} elements.")
    if bounds[0] > bounds[-1]:
        raise ValueError("lower_diag_index is greater than upper_diag_index")
    return bounds[0], bounds[-1]


def _longest(rows: int, columns: int, lower: int, upper: int) -> int:
    """The length of the longest of the diagonals; ValueError where one is outside the matrix."""
    for label, k in (("lower", lower), ("upper", upper)):
        if k and not -rows < k < columns:
            raise ValueError(f"{label}_diag_index is out of bound.")
    return min(rows + min(upper, 0), columns - max(lower, 0))


def _places(rows: int, columns: int, lower: int, upper: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row, column and validity of each element of the diagonals: arrays [upper - lower + 1, longest], highest first."""
    k = np.arange(upper, lower - 1, -1)[:, None]
    n = np.arange(_longest(rows, columns, lower, upper))[None, :]
    row, column = n - np.minimum(k, 0), n + np.maximum(k, 0)
    valid = (row < rows) & (column < columns)
    return np.where(valid, row, 0), np.where(valid, column, 0), valid


def _read(x: Any, lower: int, upper: int, padding: Any) -> Array:
    try:
        row, column, valid = _places(*x.shape[-2:], lower, upper)
    except ValueError as e:
        raise invalid(str(e)) from None
    found = jnp.where(valid, jnp.asarray(x)[..., row, column], padding)
    return found[..., 0, :] if lower == upper else found


def _write(x: Any, diagonal: Any, lower: int, upper: int) -> Array:
    rows, columns = x.shape[-2:]
    row, column, valid = _places(rows, columns, lower, upper)
    band = diagonal[..., None, :] if lower == upper else diagonal
    wanted = x.shape[:-2] + valid.shape
    if tuple(band.shape) != wanted:
        needed = wanted[:-2] + (wanted[-2:] if lower != upper else wanted[-1:])
        raise invalid(
            "Either first dimensions of diagonal don't match input.shape[:-2], or diagonal.shape[:-1] is not equal to "
            "the longests diagonal in range [lower_diag_index:upper_diag_index].\n"
            f"Input shape: {shape_text(tuple(x.shape))}\nDiagonal shape: {shape_text(tuple(diagonal.shape))}\n"
            f"Expected diagonal shape: {shape_text(needed)}"
        )
    inside = np.zeros((rows, columns), bool)
    inside[row[valid], column[valid]] = True
    offset = np.arange(columns)[None, :] - np.arange(rows)[:, None]
    level = np.clip(upper - offset, 0, upper - lower)
    along = np.minimum(np.arange(rows)[:, None], np.arange(columns)[None, :])
    along = np.clip(along, 0, max(valid.shape[1] - 1, 0))
    return jnp.where(inside, jnp.asarray(band)[..., level, along], x) if inside.any() else jnp.asarray(x)


def _band_or_error(k: np.ndarray) -> tuple[int, int]:
    try:
        return _band(k)
    except ValueError as e:
        raise invalid(str(e)) from None


# ---- MatrixDiag ----


def _matrix_diag_shape(c):
    sizes = si.with_rank_at_least(c.inputs[0], 1)
    return [None if sizes is None else sizes + sizes[-1:]]


@op("MatrixDiag", "(diagonal: T, *, T: type) -> (output: T)", shape=_matrix_diag_shape,
    gradient=lambda op, grad: [matrix_diag_part(grad)])  # fmt: skip
def _matrix_diag(x):
    _require_diagonal(x)
    return _write(jnp.zeros(x.shape + x.shape[-1:], x.dtype), x, 0, 0)


def _require_diagonal(x: Any) -> None:
    if not x.ndim:
        raise invalid("diagonal must be at least 1-dim, received shape: []")


def _matrix_sizes(longest: int, lower: int, upper: int, rows: int, columns: int) -> tuple[int, int]:
    """The numbers of rows and columns, with -1 worked out; ValueError where they do not fit the diagonals."""
    least_rows, least_columns = longest - min(upper, 0), longest + max(lower, 0)
    if rows == columns == -1:
        return (max(least_rows, least_columns),) * 2
    found_rows = least_rows if rows == -1 else rows
    found_columns = least_columns if columns == -1 else columns
    if found_rows < least_rows:
        raise ValueError("num_rows is too small")
    if found_columns < least_columns:
        raise ValueError("num_cols is too small.")
    if found_rows != least_rows and found_columns != least_columns:
        raise ValueError("num_rows and num_cols are not consistent with lower_diag_index, upper_diag_index, "
                         "and the length of the given diagonals.")  # fmt: skip
    return found_rows, found_columns


def _matrix_diag_v2_shape(c):
    sizes, k = si.with_rank_at_least(c.inputs[0], 1), c.value(1)
    si.with_rank_at_most(c.inputs[1], 1)
    for i in (2, 3, 4):
        si.with_rank(c.inputs[i], 0)
    if sizes is None or k is None:
        return [None]
    lower, upper = _band(k)
    if lower < upper and sizes[-2] not in (None, upper - lower + 1):
        raise ValueError("The number of rows of `diagonal` doesn't match the number of diagonals implied from "
                         "`d_lower` and "
                         f"`d_upper`.\nnum_diags = {sizes[-2]}, d_lower = {lower}, d_upper = {upper}")  # fmt: skip
    batch = sizes[: -1 if lower == upper else -2]
    rows, columns = c.value(2), c.value(3)
    if rows is None or columns is None or sizes[-1] is None:
        return [batch + (None, None)]
    return [batch + _matrix_sizes(sizes[-1], lower, upper, int(rows), int(columns))]


@op(
    "MatrixDiagV2", "(diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T, *, T: type) -> "
    "(output: T)",
    shape=_matrix_diag_v2_shape, constants=("k", "num_rows", "num_cols"),
    gradient=lambda op, grad: [matrix_diag_part(grad, k=op.inputs[1]), None, None, None, None],
)  # fmt: skip
def _matrix_diag_v2(x, k, rows, columns, padding):
    _require_diagonal(x)
    lower, upper = _band_or_error(k)
    try:
        sizes = _matrix_sizes(x.shape[-1], lower, upper, int(rows), int(columns))
    except ValueError as e:
        raise invalid(str(e)) from None
    batch = x.shape[: -1 if lower == upper else -2]
    return _write(jnp.broadcast_to(jnp.asarray(padding, x.dtype), batch + sizes), x, lower, upper)


@export("linalg.diag", "matrix_diag")
def matrix_diag(
    diagonal: TensorLike, name: str = "diag", k: TensorLike = 0, num_rows: TensorLike = -1, num_cols: TensorLike = -1, padding_value: object = 0
) -> Tensor:
    """Matrices with the given diagonals.

    Args:
      diagonal: [..., n], or [..., count, n] for several diagonals, the highest first.
      name: node name.
      k: which diagonal, or (lowest, highest); 0 is the main one, positive ones lie above it.
      num_rows, num_cols: size of the matrices; -1 is the smallest that holds the diagonals.
      padding_value: scalar, every other element.

    Returns:
      [..., rows, columns].
    """
    if _is_plain(k, padding_value) and _is_plain(num_rows, num_cols, plain=-1):
        return raw.MatrixDiag(diagonal, name=name)
    return raw.MatrixDiagV2(diagonal, k, num_rows, num_cols, _padding_for(diagonal, padding_value), name=name)


def _is_plain(*values: object, plain: int = 0) -> bool:
    return all(isinstance(v, (int, float)) and v == plain for v in values)


def _padding_for(tensor: object, value: object) -> Any:
    dtype = getattr(tensor, "dtype", None)
    return (
        value
        if dtype is None or isinstance(value, Tensor)
        else np.array(value, dtype.as_numpy_dtype if hasattr(dtype, "as_numpy_dtype") else dtype)
    )


# ---- MatrixDiagPart ----


def _matrix_diag_part_shape(c):
    sizes = si.with_rank_at_least(c.inputs[0], 2)
    if sizes is None:
        return [None]
    return [sizes[:-2] + (_smaller(*sizes[-2:]),)]


def _smaller(a: int | None, b: int | None) -> int | None:
    if 0 in (a, b):
        return 0
    return None if a is None or b is None else min(a, b)


def _matrix_diag_part_gradient(op, grad):
    sizes = op.inputs[0]._sizes
    if sizes is not None and sizes[-1] is not None and sizes[-1] == sizes[-2]:
        return [matrix_diag(grad)]
    return [matrix_set_diag(zeros_like(op.inputs[0]), grad)]


@op(
    "MatrixDiagPart",
    "(input: T, *, T: type) -> (diagonal: T)",
    shape=_matrix_diag_part_shape,
    gradient=_matrix_diag_part_gradient,
)
def _matrix_diag_part(x):
    _require_matrix(x)
    return _read(x, 0, 0, np.zeros((), x.dtype))


def _require_matrix(x: Any) -> None:
    if x.ndim < 2:
        raise invalid(f"input must be at least 2-dim, received shape: {shape_text(tuple(x.shape))}")


def _matrix_diag_part_v2_shape(c):
    sizes, k = si.with_rank_at_least(c.inputs[0], 2), c.value(1)
    si.with_rank_at_most(c.inputs[1], 1), si.with_rank(c.inputs[2], 0)
    if sizes is None or k is None:
        return [None]
    lower, upper = _band(k)
    count = () if lower == upper else (upper - lower + 1,)
    known = sizes[-1] is not None and sizes[-2] is not None
    return [sizes[:-2] + count + (_longest(sizes[-2], sizes[-1], lower, upper) if known else None,)]


def _matrix_diag_part_v2_gradient(op, grad):
    x, k = op.inputs[0], op.inputs[1]
    if x._sizes is None or None in x._sizes[-2:]:
        return [matrix_set_diag(zeros_like(x), grad, k=k), None, None]
    return [matrix_diag(grad, k=k, num_rows=x._sizes[-2], num_cols=x._sizes[-1]), None, None]


@op("MatrixDiagPartV2", "(input: T, k: int32, padding_value: T, *, T: type) -> (diagonal: T)",
    shape=_matrix_diag_part_v2_shape, gradient=_matrix_diag_part_v2_gradient, constants=("k",))  # fmt: skip
def _matrix_diag_part_v2(x, k, padding):
    _require_matrix(x)
    return _read(x, *_band_or_error(k), padding)


@export("linalg.diag_part", "matrix_diag_part")
def matrix_diag_part(input: TensorLike, name: str = "diag_part", k: TensorLike = 0, padding_value: object = 0) -> Tensor:
    """The diagonals of matrices; arguments as in `matrix_diag`, `padding_value` fills up the shorter ones."""
    if _is_plain(k, padding_value):
        return raw.MatrixDiagPart(input, name=name)
    return raw.MatrixDiagPartV2(input, k, _padding_for(input, padding_value), name=name)


# ---- MatrixSetDiag ----


def _matrix_set_diag_shape(c):
    sizes, diagonal = si.with_rank_at_least(c.inputs[0], 2), si.with_rank_at_least(c.inputs[1], 1)
    if sizes is not None:
        diagonal = si.with_rank(diagonal, len(sizes) - 1)
        si.merge_size(_smaller(*sizes[-2:]), diagonal[-1])
    return [_with_batch(sizes, diagonal, 1)]


def _with_batch(sizes: Any, diagonal: Any, inner: int) -> Any:
    """Sizes of matrices, with what those of their diagonals, `inner` dimensions each, say of them; known sizes are not compared, as in 1.15."""
    if diagonal is None or (sizes is not None and None not in sizes):
        return sizes
    return si.merge(sizes, diagonal[:-inner] + (None, None))


def _matrix_set_diag_gradient(op, grad):
    nothing = zeros(_diagonal_shape(op, grad), dtype=grad.dtype)
    return [matrix_set_diag(grad, nothing), matrix_diag_part(grad)]


def _diagonal_shape(op: Operation, grad: Tensor) -> Any:
    """The shape of the diagonal that was set: a list where it is known, else a tensor computed beside `grad`."""
    sizes = si.merge(op.inputs[0]._sizes, grad._sizes)
    batch = si.merge(None if sizes is None else sizes[:-2], None if op.inputs[1]._sizes is None else op.inputs[1]._sizes[:-1])
    if sizes is not None and batch is not None and None not in (*batch, *sizes[-2:]):
        return [*batch, min(sizes[-2:])]
    with colocate_with(grad.op):
        grad_sizes, dimensions = shape(grad), rank(grad)
        batch = raw.Slice(grad_sizes, [0], [dimensions - 2])
        matrix = raw.Slice(grad_sizes, [dimensions - 2], [2])
        return concat([batch, [raw.Min(matrix, constant([0]))]], 0)


@op("MatrixSetDiag", "(input: T, diagonal: T, *, T: type) -> (output: T)", shape=_matrix_set_diag_shape,
    gradient=_matrix_set_diag_gradient)  # fmt: skip
def _matrix_set_diag(x, diagonal):
    _require_matrix(x)
    _require_diagonal(diagonal)
    return _write(x, diagonal, 0, 0)


def _matrix_set_diag_v2_shape(c):
    sizes, diagonal, k = si.with_rank_at_least(c.inputs[0], 2), si.with_rank_at_least(c.inputs[1], 1), c.value(2)
    si.with_rank_at_most(c.inputs[2], 1)
    if k is None:
        if sizes is not None:
            si.with_rank_at_most(si.with_rank_at_least(diagonal, len(sizes) - 1), len(sizes))
        return [sizes]
    lower, upper = _band(k)
    if sizes is not None:
        diagonal = si.with_rank(diagonal, len(sizes) - (lower == upper))
        if None not in sizes[-2:]:
            _longest(sizes[-2], sizes[-1], lower, upper)
    return [_with_batch(sizes, diagonal, 1 if lower == upper else 2)]


def _matrix_set_diag_v2_gradient(op, grad):
    diagonal, k = op.inputs[1], op.inputs[2]
    sizes = diagonal.shape if diagonal.shape.is_fully_defined() else _diagonals_shape(grad, k)
    nothing = zeros(sizes, dtype=grad.dtype)
    return [matrix_set_diag(grad, nothing, k=k), matrix_diag_part(grad, k=k), None]


def _diagonals_shape(matrix: Tensor, k: Tensor) -> Tensor:
    """The shape of the diagonals `k` of matrices, as a tensor."""
    sizes = shape(matrix)
    batch, sides = sizes[:-2], sizes[-2:]
    band = raw.Reshape(k, [-1])
    lower, upper = band[0], band[-1]
    rows_missing = cond(raw.Less(upper, 0), lambda: upper, lambda: 0)
    columns_missing = cond(raw.Greater(lower, 0), lambda: -lower, lambda: 0)
    longest = raw.Minimum(sides[0] + rows_missing, sides[1] + columns_missing)
    rest = cond(
        raw.Equal(lower, upper), lambda: convert_to_tensor([longest]), lambda: convert_to_tensor([upper - lower + 1, longest])
    )
    return concat([batch, rest], 0)


@op("MatrixSetDiagV2", "(input: T, diagonal: T, k: int32, *, T: type) -> (output: T)", shape=_matrix_set_diag_v2_shape,
    gradient=_matrix_set_diag_v2_gradient, constants=("k",))  # fmt: skip
def _matrix_set_diag_v2(x, diagonal, k):
    _require_matrix(x)
    _require_diagonal(diagonal)
    lower, upper = _band_or_error(k)
    try:
        return _write(x, diagonal, lower, upper)
    except ValueError as e:
        raise invalid(str(e)) from None


@export("linalg.set_diag", "matrix_set_diag")
def matrix_set_diag(input: TensorLike, diagonal: TensorLike, name: str = "set_diag", k: TensorLike = 0) -> Tensor:
    """`input` with its diagonals `k` replaced; arguments as in `matrix_diag`."""
    if _is_plain(k):
        return raw.MatrixSetDiag(input, diagonal, name=name)
    return raw.MatrixSetDiagV2(input, diagonal, k, name=name)


# ---- MatrixBandPart ----


def _band_part_gradient(op, grad):
    return [raw.MatrixBandPart(grad, op.inputs[1], op.inputs[2]), None, None]


@op("MatrixBandPart", "(input: T, num_lower: Tindex, num_upper: Tindex, *, T: type, Tindex: INDEX = int64) -> "
                      "(band: T)",
    shape=si.unchanged, gradient=_band_part_gradient, constants=("num_lower", "num_upper"))  # fmt: skip
def _matrix_band_part(x, num_lower, num_upper):
    checks.scalar("num_lower", num_lower, "must be scalar, got shape {}")
    checks.scalar("num_upper", num_upper, "must be scalar, got shape {}")
    _require_matrix(x)
    rows, columns = x.shape[-2:]
    for label, count, what, limit in (("lower", num_lower, "rows", rows), ("upper", num_upper, "columns", columns)):
        if count > limit:
            raise invalid(f"num_{label} must be negative or less or equal to number of {what} ({limit}) got: {count}")
    below = np.arange(rows)[:, None] - np.arange(columns)[None, :]
    inside = ((num_lower < 0) | (below <= num_lower)) & ((num_upper < 0) | (-below <= num_upper))
    return jnp.where(inside, x, jnp.zeros((), x.dtype))


@export("linalg.band_part", "matrix_band_part")
def matrix_band_part(input: TensorLike, num_lower: TensorLike, num_upper: TensorLike, name: str | None = None) -> Tensor:
    """Matrices set to zero outside a band: `num_lower` diagonals below the main one and `num_upper` above it.

    Args:
      input: [..., rows, columns].
      num_lower, num_upper: scalar int32 or int64; a negative number keeps the whole triangle.
      name: node name.
    """
    return raw.MatrixBandPart(input, num_lower, num_upper, name=name)


# ---- the Batch ops of old graphs ----

_NO_GRADIENT = NotDifferentiable("1.15 has no gradient for the Batch ops of old graphs", raises=True)

op("BatchMatrixDiag", "(diagonal: T, *, T: type) -> (output: T)", shape=_matrix_diag_shape, kernel=_matrix_diag,
   gradient=_NO_GRADIENT)  # fmt: skip
op("BatchMatrixDiagPart", "(input: T, *, T: type) -> (diagonal: T)", shape=_matrix_diag_part_shape,
   kernel=_matrix_diag_part, gradient=_NO_GRADIENT)  # fmt: skip
op("BatchMatrixSetDiag", "(input: T, diagonal: T, *, T: type) -> (output: T)", shape=_matrix_set_diag_shape,
   kernel=_matrix_set_diag, gradient=_NO_GRADIENT)  # fmt: skip
op("BatchMatrixBandPart", "(input: T, num_lower: int64, num_upper: int64, *, T: type) -> (band: T)", shape=si.unchanged,
   kernel=_matrix_band_part, constants=("num_lower", "num_upper"), gradient=_NO_GRADIENT)  # fmt: skip
