"""Ops whose result size depends on the values (where, unique, list_diff), and bounds in sorted rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tfcompat._src.base import checks, dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, Facts, NotDifferentiable, op
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.shape import invalid, shape_internal

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike

_INDICES = NotDifferentiable("indices are integers", raises=True)


def _where_shape(c):
    return [(None, None if c.inputs[0] is None else len(c.inputs[0]))]


@op(
    "Where",
    "(input: T, *, T: {float32, float64, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "
    "bfloat16, uint16, "
    "complex128, float16, uint32, uint64, bool} = bool) -> (index: int64)",
    shape=_where_shape, gradient=_INDICES, side=HOST, fold=True, facts=Facts(varying_length=True),
)  # fmt: skip
def _where(x):
    if not x.ndim:
        raise invalid("WhereOp : Unhandled input dimensions: 0")
    return np.concatenate([place.reshape(-1, 1) for place in x.nonzero()], 1, dtype=np.int64)


def _where_or_select(condition: object, x: Any, y: Any, name: str | None, select: Any) -> Tensor:
    if x is None and y is None:
        with name_scope(name, "Where", [condition]) as scope:
            return raw.Where(convert_to_tensor(condition, preferred_dtype=dtypes.bool, name="condition"), name=scope)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return select(condition, x, y, name=name)


@export("where")
def where(condition: TensorLike, x: object = None, y: object = None, name: str | None = None) -> Tensor:
    """The positions at which `condition` is true; with `x` and `y`, elements of `x` there and of `y` elsewhere.

    Args:
      condition: bool tensor, or any numeric one whose non-zero elements count, for the positions.
      x, y: tensors of one shape, that of `condition` (or `condition` is a vector that chooses rows, or a scalar).
      name: node name.

    Returns:
      int64 [n, rank] without `x` and `y`, else a tensor like `x`.

    Raises:
      ValueError: one of `x` and `y` is missing.
    """
    return _where_or_select(condition, x, y, name, raw.Select)


@export("where_v2")
def where_v2(condition: TensorLike, x: object = None, y: object = None, name: str | None = None) -> Tensor:
    """`where`, with `condition`, `x` and `y` broadcast against each other."""
    return _where_or_select(condition, x, y, name, raw.SelectV2)


# ---- Unique ----


def _first_seen(x: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distinct slices of `x` along `axis` in order of appearance, which of them each slice is, and how often."""
    if x.ndim == 1 and len(x) <= _FEW:
        return _first_seen_of_few(x)
    rows = np.moveaxis(x, axis, 0)
    keys = rows if x.ndim == 1 else rows.reshape(rows.shape[0], -1)
    _, first, inverse, counts = np.unique(
        keys,
        return_index=True,
        return_inverse=True,
        return_counts=True,
        axis=0 if keys.ndim > 1 else None,
        equal_nan=False,
    )
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return np.moveaxis(rows[first[order]], 0, axis), rank[inverse.reshape(-1)], counts[order]


_FEW = 1024
"""Elements that a dictionary finds sooner than a sort does."""


def _first_seen_of_few(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    places: dict[Any, int] = {}
    inverse = np.array([places.setdefault(each, len(places)) for each in x.tolist()], np.intp)
    distinct = np.empty(len(places), x.dtype)
    distinct[:] = list(places)
    return distinct, inverse, np.bincount(inverse, minlength=len(places))


def _unique_vector(x: np.ndarray) -> tuple:
    if x.ndim != 1:
        raise invalid("unique expects a 1D vector.")
    return _first_seen(x, 0)


def _unique_along(x: np.ndarray, axis: np.ndarray) -> tuple:
    if axis.ndim != 1:
        raise invalid(f"axis expects a 1D vector, but has shape {list(axis.shape)}")
    if axis.size == 0:
        if x.ndim != 1:
            raise invalid("unique expects a 1D vector.")
        return _first_seen(x, 0)
    if axis.size > 1:
        raise invalid(f"axis tensor should be a scalar or a vector of size 0 or 1, got {axis.size} elements")
    at = int(axis.reshape(-1)[0])
    if not -x.ndim <= at < x.ndim:
        raise invalid(f"axis has to be between [0, {x.ndim})")
    return _first_seen(x, at % x.ndim)


def _unique_shape(with_counts: bool, vector: bool):
    def sizes(c):
        if vector:
            si.with_rank(c.inputs[0], 1)
        return [(None,), c.inputs[0]] + [(None,)] * with_counts

    return sizes


_IDX = "out_idx: INDEX = int32"
_AXIS = "Taxis: INDEX = int64"


def _unique_padded(x, *, out_idx):
    order = jnp.argsort(x, stable=True)
    ordered = x[order]
    starts = jnp.concatenate([jnp.ones(min(x.size, 1), np.bool_), ordered[1:] != ordered[:-1]])
    group = jnp.cumsum(starts, dtype=np.int32) - 1
    y = jnp.full(x.shape, checks.no_row(x.dtype), x.dtype).at[group].set(ordered)
    return y, jnp.zeros(x.shape, out_idx).at[order].set(group.astype(out_idx))


@op("Unique", f"(x: T, *, T: type, {_IDX}) -> (y: T, idx: out_idx)", shape=_unique_shape(False, True), gradient=_INDICES,
    side=HOST, fold=True, padded=_unique_padded, facts=Facts(varying_length=True))  # fmt: skip
def _unique(x, *, out_idx):
    y, idx, _ = _unique_vector(x)
    return y, idx.astype(out_idx)


@op("UniqueV2", f"(x: T, axis: Taxis, *, T: type, {_AXIS}, {_IDX}) -> (y: T, idx: out_idx)",
    shape=_unique_shape(False, False), gradient=_INDICES, side=HOST, facts=Facts(varying_length=True))  # fmt: skip
def _unique_v2(x, axis, *, out_idx):
    y, idx, _ = _unique_along(x, axis)
    return y, idx.astype(out_idx)


@op("UniqueWithCounts", f"(x: T, *, T: type, {_IDX}) -> (y: T, idx: out_idx, count: out_idx)",
    shape=_unique_shape(True, False), gradient=_INDICES, side=HOST, facts=Facts(varying_length=True))  # fmt: skip
def _unique_with_counts(x, *, out_idx):
    y, idx, count = _unique_vector(x)
    return y, idx.astype(out_idx), count.astype(out_idx)


@op("UniqueWithCountsV2", f"(x: T, axis: Taxis, *, T: type, {_AXIS}, {_IDX}) -> (y: T, idx: out_idx, count: out_idx)",
    shape=_unique_shape(True, False), gradient=_INDICES, side=HOST, facts=Facts(varying_length=True))  # fmt: skip
def _unique_with_counts_v2(x, axis, *, out_idx):
    y, idx, count = _unique_along(x, axis)
    return y, idx.astype(out_idx), count.astype(out_idx)


@export("unique")
def unique(x: TensorLike, out_idx: DTypeLike = dtypes.int32, name: str | None = None) -> Any:
    """The distinct elements of a vector as they appear, and for each element of `x` which of them it is: (y, idx)."""
    return raw.Unique(x, out_idx=out_idx, name=name)


@export("unique_with_counts")
def unique_with_counts(x: TensorLike, out_idx: DTypeLike = dtypes.int32, name: str | None = None) -> Any:
    """As `unique`, and how often each distinct element occurs: (y, idx, count)."""
    return raw.UniqueWithCounts(x, out_idx=out_idx, name=name)


# ---- ListDiff ----


def _list_diff_shape(c):
    si.with_rank(c.inputs[0], 1), si.with_rank(c.inputs[1], 1)
    return [(None,), (None,)]


@op("ListDiff", f"(x: T, y: T, *, T: type, {_IDX}) -> (out: T, idx: "
                "out_idx)", shape=_list_diff_shape, gradient=_INDICES,
    side=HOST, fold=True)  # fmt: skip
def _list_diff(x, y, *, out_idx):
    if x.ndim != 1 or y.ndim != 1:
        raise invalid(f"{'x' if x.ndim != 1 else 'y'} should be a 1D vector.")
    excluded = set(y.tolist())
    kept = np.array([i for i, v in enumerate(x.tolist()) if v not in excluded], np.int64)
    return x[kept], kept.astype(out_idx)


@export("setdiff1d")
def setdiff1d(x: TensorLike, y: TensorLike, index_dtype: DTypeLike = dtypes.int32, name: str | None = None) -> Any:
    """The elements of vector `x` that are not in `y`, and their positions: (out, idx)."""
    return raw.ListDiff(x, y, out_idx=index_dtype, name=name)


# ---- places in a flattened tensor ----


def _unravel_shape(c):
    indices, dims = c.inputs[0], si.with_rank(c.inputs[1], 1)
    if indices is None:
        return [None]
    count = None if dims is None else dims[0]
    if not indices:
        return [(count,)]
    return [(count, int(np.prod(indices)) if None not in indices else None)]


@op("UnravelIndex", "(indices: Tidx, dims: Tidx, *, Tidx: INDEX = int32) -> (output: Tidx)", shape=_unravel_shape,
    gradient=_INDICES, constants=("dims",))  # fmt: skip
def _unravel_index(indices, dims):
    if dims.ndim != 1:
        raise invalid(f'The indices can only be 1-D, got "{shape_text(dims.shape)}"')
    if indices.ndim > 1:
        raise invalid(f'The indices can only be scalar or vector, got "{shape_text(indices.shape)}"')
    if not dims.all():
        raise invalid(f"dims must not hold a 0, got {dims.tolist()}")
    inner = np.append(np.cumprod(dims[:0:-1], dtype=dims.dtype)[::-1], dims.dtype.type(1))
    outer = (inner * dims).astype(dims.dtype)
    if not (inner.all() and outer.all()):
        raise invalid(f"dims {dims.tolist()} have a product that is no {dims.dtype}")
    column = (-1,) + (1,) * indices.ndim
    inside = lax.rem(*jnp.broadcast_arrays(jnp.asarray(indices)[None], outer.reshape(column)))
    return lax.div(*jnp.broadcast_arrays(inside, inner.reshape(column)))


@export("unravel_index")
def unravel_index(indices: TensorLike, dims: TensorLike, name: str | None = None) -> Tensor:
    """The coordinates of elements of a tensor, from their places in the flattened tensor.

    Args:
      indices: int32 or int64 scalar or vector; not checked against the size of the tensor.
      dims: the shape of the tensor.
      name: node name.

    Returns:
      [len(dims)] for a scalar, [len(dims), n] for a vector.
    """
    return raw.UnravelIndex(indices, dims, name=name)


# ---- bounds in sorted rows ----


def _bound_shape(c):
    si.with_rank(c.inputs[0], 2), si.with_rank(c.inputs[1], 2)
    return [c.inputs[1]]


def _halved(rows: Any, values: Any, passes: Callable) -> Any:
    """How many elements of its row lie before each value: the row is halved, also where it is not sorted or has NaN, as in 1.15.

    passes: whether a value lies behind an element.
    """

    def halve(_: object, state: tuple) -> tuple:
        start, count = state
        half = count // 2
        element = jnp.take_along_axis(rows, jnp.minimum(start + half, rows.shape[1] - 1), axis=1)
        behind = passes(element, values) & (count > 0)
        return jnp.where(behind, start + half + 1, start), jnp.where(behind, count - half - 1, half)

    start, count = jnp.zeros(values.shape, np.int64), jnp.full(values.shape, rows.shape[1], np.int64)
    return lax.fori_loop(0, rows.shape[1].bit_length(), halve, (start, count))[0]


def _bound(name: str, passes: Callable) -> None:
    def kernel(rows, values, *, out_type):
        if rows.shape[0] != values.shape[0]:
            raise invalid("Leading dim_size of both tensors must match.")
        return _halved(jnp.asarray(rows), jnp.asarray(values), passes).astype(out_type)

    op(
        name, "(sorted_inputs: T, values: T, *, T: type, out_type: INDEX = int32) -> (output: "
              "out_type)", shape=_bound_shape,
        gradient=_INDICES, kernel=kernel, depth=2,
    )  # fmt: skip


_bound("LowerBound", lambda element, value: element < value)
_bound("UpperBound", lambda element, value: ~(value < element))


@export("searchsorted")
def searchsorted(
    sorted_sequence: TensorLike, values: TensorLike, side: str = "left", out_type: object = dtypes.int32, name: str | None = None
) -> Tensor:
    """Where each of `values` would go in the sorted rows of `sorted_sequence`.

    Args:
      sorted_sequence: [..., n], ascending in the last dimension.
      values: [..., m], with the same leading dimensions.
      side: "left" for the first place, "right" for the place behind equal elements.
      out_type: int32 or int64.
      name: node name.

    Raises:
      ValueError: another `side`.
    """
    length, count = shape_internal(sorted_sequence)[-1], shape_internal(values)[-1]
    rows, wanted = raw.Reshape(sorted_sequence, [-1, length]), raw.Reshape(values, [-1, count])
    if side not in ("left", "right"):
        raise ValueError(f"side must be either 'right' or 'left'.  Saw: {side}.")
    bound = raw.UpperBound if side == "right" else raw.LowerBound
    return raw.Reshape(bound(rows, wanted, out_type=out_type, name=name), shape_internal(values))
