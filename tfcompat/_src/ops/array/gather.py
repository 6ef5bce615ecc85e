"""Picking elements by index: gather, gather_nd, one_hot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tfcompat._src.base import checks, dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.op_spec import Facts, NotDifferentiable, op
from tfcompat._src.graph.scopes import colocate_with, name_scope
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.ops.array.fill import ones, zeros
from tfcompat._src.ops.array.join import concat, stack
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import invalid, shape, size
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.state.index_checks import require_rows

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import Array, TensorLike

# ---- Gather, GatherV2 ----


def _gather_shape(c):
    params = si.with_rank_at_least(c.inputs[0], 1)
    return [None if params is None or c.inputs[1] is None else c.inputs[1] + params[1:]]


def _gather_v2_shape(c):
    params, indices, axis = si.with_rank_at_least(c.inputs[0], 1), c.inputs[1], c.value(2)
    si.with_rank(c.inputs[2], 0)
    if axis is not None:
        si.with_rank_at_least(params, -int(axis) if axis < 0 else int(axis) + 1)
    if params is None or indices is None:
        return [None]
    batch = c.attr("batch_dims")
    batch = batch + len(indices) if batch < 0 else batch
    if axis is None:
        return [(None,) * (len(params) + len(indices) - 1 - batch)]
    at = int(axis) % len(params)
    return [params[:at] + indices[batch:] + params[at + 1 :]]


def _takes_of_nothing(params: Any, indices: Any, axis: int) -> bool:
    """Whether any index is out of range: the run fails if it comes here, as in an iteration of a loop, and the result means nothing."""
    return bool(params.shape[axis] == 0 and indices.size)


def _take(params: Any, indices: Any, axis: int) -> Array:
    """`params` at `indices` along `axis`; indices are in range."""
    if _takes_of_nothing(params, indices, axis):
        return jnp.zeros(params.shape[:axis] + indices.shape + params.shape[axis + 1 :], params.dtype)
    before, count = axis, indices.ndim
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(*range(before), *range(before + count, params.ndim - 1 + count)),
        collapsed_slice_dims=(axis,), start_index_map=(axis,),
    )  # fmt: skip
    sizes = params.shape[:axis] + (1,) + params.shape[axis + 1 :]
    return lax.gather(params, indices[..., None], numbers, sizes, mode=lax.GatherScatterMode.CLIP)


def _checked_axes(params: Any, indices: Any, axis: Any, batch_dims: int) -> tuple[int, int]:
    """The non-negative axis and number of batch dimensions, checked against the shapes and indices."""
    checks.scalar("axis", axis, "must be scalar")
    given, rank = int(axis), params.ndim
    if not -rank <= given < rank:
        raise invalid(f"Expected axis in the range [{-rank}, {rank}), but got {given}")
    batch = batch_dims + indices.ndim if batch_dims < 0 else batch_dims
    at = given % rank
    if not 0 <= batch <= min(indices.ndim, at):
        raise invalid(
            f"batch_dims ({batch_dims}) must be less than or equal to axis ({at}) and rank(indices) ({indices.ndim})"
        )
    if batch and params.shape[:batch] != indices.shape[:batch]:
        raise invalid(
            f"params.shape[:{batch}] {shape_text(tuple(params.shape))} should be equal to indices.shape[:{batch}] "
            f"{shape_text(tuple(indices.shape))}"
        )
    require_rows(indices, params.shape[at])
    return at, batch


def _numpy_gather_v2(params, indices, axis, *, batch_dims):
    if not (batch_dims or np.ndim(axis)) and indices.ndim and params.ndim and axis == 0 and checks.all_inside(indices, len(params)):
        return params.take(indices, 0)  # rows, as nearly always
    at, batch = _checked_axes(params, indices, axis, batch_dims)
    if _takes_of_nothing(params, indices, at):
        return np.zeros(params.shape[:at] + indices.shape[batch:] + params.shape[at + 1 :], params.dtype)
    if not batch:
        found = params.take(indices.reshape(-1), at).reshape(params.shape[:at] + indices.shape + params.shape[at + 1 :])
        return found if found.ndim or found.dtype != object else found[()]  # a handle, as of a queue, is no array
    rows = [np.take(p, i, at - batch) for p, i in zip(_flat_batch(params, batch), _flat_batch(indices, batch))]
    return np.reshape(np.stack(rows), params.shape[:at] + indices.shape[batch:] + params.shape[at + 1 :])


def _flat_batch(x: np.ndarray, batch: int) -> np.ndarray:
    return np.reshape(x, (-1,) + x.shape[batch:])


def _embedding_gradient(op, grad):
    """The rows of `grad` as IndexedSlices of the parameters."""
    params, indices = op.inputs[0], op.inputs[1]
    sizes = _shape_beside(params)
    count = raw.ExpandDims(size(indices), 0)
    values = raw.Reshape(grad, concat([count, sizes[1:]], 0))
    return IndexedSlices(values, raw.Reshape(indices, count), sizes)


def _shape_beside(params: Tensor) -> Tensor:
    """The shape of parameters, computed where they are."""
    with colocate_with(params.op):
        return cast(shape(params, out_type=dtypes.int64), dtypes.int32)


def _gather_v2_gradient(op, grad):
    params, indices, axis = op.inputs[0], op.inputs[1], op.inputs[2]
    if constant_value(axis) == 0:
        return [_embedding_gradient(op, grad), None, None]
    batch = op.get_attr("batch_dims")
    batch = batch + indices.shape.ndims if batch < 0 else batch
    return [_dense_gather_gradient(params, indices, axis, batch, grad), None, None]


def _dense_gather_gradient(params: Tensor, indices: Tensor, axis: Tensor, batch: int, grad: Tensor) -> Tensor:
    """Sums the rows of `grad` into zeros like `params`; for that the gathered dimension is the first after the batch."""
    sizes = _shape_beside(params)
    raw.ExpandDims(size(indices), 0)  # nothing reads it; 1.15 makes it for every axis
    outer, inner = sizes[:axis], sizes[axis:][1:]
    grad_sizes = concat([outer, [-1], inner], 0)
    total, before = size(grad_sizes), size(outer)
    lead, middle, tail = arange(batch), arange(batch, before), arange(before + 1, total)
    rows = raw.Reshape(grad, grad_sizes)
    rows = transpose(rows, concat([lead, [before], middle, tail], 0))
    summed = _sum_rows(sizes, rows, indices, batch, sizes[axis])
    return transpose(summed, concat([lead, middle + 1, [batch], tail], 0))


def _sum_rows(sizes: Tensor, rows: Tensor, indices: Tensor, batch: int, count: TensorLike) -> Tensor:
    """The sums of the rows with the same index, of `count` that there may be; the first `batch` dimensions are apart."""
    flat = raw.ExpandDims(size(indices), 0)
    if not batch:
        return raw.UnsortedSegmentSum(rows, raw.Reshape(indices, flat), count)
    row_sizes = shape(rows)
    outer, inner = row_sizes[:batch], row_sizes[batch:][1:]
    batches = raw.Prod(outer, [0])
    row_shape = concat([[-1], inner], 0)
    count = count * batches
    indices = _places_in_all_batches(sizes, indices, batch)
    rows = raw.Reshape(rows, row_shape)
    summed = raw.UnsortedSegmentSum(rows, raw.Reshape(indices, flat), count)
    return raw.Reshape(summed, concat([outer, row_shape], 0))


def _places_in_all_batches(sizes: Tensor, indices: Tensor, batch: int) -> Tensor:
    """Indices of rows of each batch as indices of rows of all batches."""
    kind = indices.dtype.base_dtype
    found, sizes = indices, cast(sizes, kind)
    step = ones((), dtype=kind)
    for dim in range(batch, 0, -1):
        length = sizes[dim - 1]
        step *= sizes[dim]
        starts = arange(zeros((), dtype=kind), length, ones((), dtype=kind))
        starts *= step
        along = stack([1] * (dim - 1) + [length] + [1] * (indices.shape.ndims - dim))
        found += raw.Reshape(starts, along)
    return found


@op(
    "Gather",
    "(params: Tparams, indices: Tindices, *, validate_indices: bool = True, Tparams: type, Tindices: INDEX) -> "
    "(output: Tparams)",
    shape=_gather_shape, exact=True, gradient=lambda op, grad: [_embedding_gradient(op, grad), None],
    fold=lambda params, indices: _numpy_gather_v2(params, indices, 0, batch_dims=0),
)  # fmt: skip
def _gather(params, indices):
    return _gather_v2(params, indices, 0, batch_dims=0)


@op(
    "GatherV2",
    "(params: Tparams, indices: Tindices, axis: Taxis, *, batch_dims: int = 0, Tparams: type, Tindices: INDEX, "
    "Taxis: INDEX) "
    "-> (output: Tparams)",
    shape=_gather_v2_shape, exact=True, gradient=_gather_v2_gradient, constants=("axis",), fold=_numpy_gather_v2,
    facts=Facts(rows_by="indices", picks=True),
)  # fmt: skip
def _gather_v2(params, indices, axis, *, batch_dims):
    at, batch = _checked_axes(params, indices, axis, batch_dims)
    pick = lambda p, i: _take(p, i, at - batch)  # noqa: E731
    for _ in range(batch):
        pick = jax.vmap(pick)
    picked = pick(jnp.asarray(params), jnp.asarray(indices))
    return jnp.moveaxis(picked, range(batch), range(batch)) if batch else picked


@export("gather")
def gather(
    params: TensorLike,
    indices: TensorLike,
    validate_indices: object = None,
    name: str | None = None,
    axis: TensorLike | None = None,
    batch_dims: int = 0,
) -> Tensor:
    """The slices of `params` at `indices` along `axis`.

    Args:
      params: a tensor or variable of rank 1 or more.
      indices: int32 or int64 tensor.
      validate_indices: has no effect, indices are always checked.
      name: node name.
      axis: scalar, by default `batch_dims`.
      batch_dims: how many leading dimensions `params` and `indices` share.

    Returns:
      a tensor of shape `params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1:]`.

    Raises:
      InvalidArgumentError: when run, an index is out of range.
    """
    axis = batch_dims if axis is None else axis
    static_axis = constant_value(axis) if isinstance(axis, Tensor) else axis
    if static_axis is None or static_axis != 0:
        return raw.GatherV2(params, indices, axis, batch_dims=batch_dims, name=name)
    if hasattr(params, "sparse_read"):
        return params.sparse_read(indices, name=name)
    return raw.GatherV2(params, indices, axis, name=name)


# ---- GatherNd ----


def gather_nd_sizes(params: si.Sizes, indices: si.Sizes) -> list:
    """The shape of `params` gathered at the index vectors `indices`."""
    indices = si.with_rank_at_least(indices, 1)
    if params is None or indices is None or indices[-1] is None:
        return [None]
    if indices[-1] > len(params):
        raise ValueError(
            f"indices.shape[-1] must be <= params.rank, but saw indices shape: {shape_text(indices)} and params "
            f"shape: {shape_text(params)}"
        )
    return [indices[:-1] + params[indices[-1] :]]


def require_index_rows(indices: Any, sizes: tuple, what: str) -> None:
    """InvalidArgumentError where a row of `indices` is no position in dimensions `sizes`; `what` ends the message."""
    xp = np if isinstance(indices, np.ndarray) else jnp
    if not indices.size:
        return
    limits = np.array(sizes[: indices.shape[-1]], indices.dtype)
    bad = ((indices < 0) | (indices >= limits)).any(-1)
    flat = xp.reshape(bad, (-1,))
    first = checks.first(flat)
    row = xp.reshape(indices, (-1, indices.shape[-1]))[first]
    where = xp.unravel_index(first, bad.shape) if bad.ndim else ()
    place = f"[{','.join(['{}'] * bad.ndim)}]" if bad.ndim else ""
    text = f"indices{place} = [{', '.join(['{}'] * indices.shape[-1])}] does not index into {what}"
    checks.require(~flat[first], text, *where, *(row[i] for i in range(indices.shape[-1])))


def _check_index_rows(params, indices):
    depth = indices.shape[-1]
    if depth > params.ndim:
        raise invalid(f"index innermost dimension length must be <= params rank; saw: {depth} vs. {params.ndim}")
    require_index_rows(indices, params.shape, f"param shape {shape_text(tuple(params.shape))}")


def _numpy_gather_nd(params, indices):
    _check_index_rows(params, indices)
    if not indices.shape[-1]:
        return np.broadcast_to(params, indices.shape[:-1] + params.shape).copy()
    return params[tuple(np.moveaxis(indices, -1, 0))]


def _gather_nd_gradient(op, grad):
    params, indices = op.inputs[0], op.inputs[1]
    sizes = shape(params, out_type=indices.dtype)
    if indices.shape.ndims == 2 and indices._sizes[-1] == 1:
        return [IndexedSlices(grad, raw.Squeeze(indices, squeeze_dims=[-1]), sizes), None]
    return [raw.ScatterNd(indices, grad, sizes), None]


@op(
    "GatherNd", "(params: Tparams, indices: Tindices, *, Tparams: type, Tindices: INDEX) -> (output: Tparams)",
    shape=lambda c: gather_nd_sizes(c.inputs[0], c.inputs[1]), gradient=_gather_nd_gradient, fold=_numpy_gather_nd,
)  # fmt: skip
def _gather_nd(params, indices):
    _check_index_rows(params, indices)
    depth = indices.shape[-1]
    outer = indices.ndim - 1
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(range(outer, outer + params.ndim - depth)), collapsed_slice_dims=tuple(range(depth)),
        start_index_map=tuple(range(depth)),
    )  # fmt: skip
    sizes = (1,) * depth + params.shape[depth:]
    return lax.gather(jnp.asarray(params), indices, numbers, sizes, mode=lax.GatherScatterMode.CLIP)


# ---- OneHot ----


def _one_hot_shape(c):
    if not -1 <= c.attr("axis") < 2**31:
        too_large = f"Attr axis has value {c.attr('axis')} out of range for an int32"
        raise ValueError("axis must be >= -1" if c.attr("axis") < 0 else too_large)
    depth, indices = si.size_from_input(c, 1), c.inputs[0]
    if indices is None:
        return [None]
    rank = len(indices) + 1
    at = (c.attr("axis") + rank) % rank
    return [indices[:at] + (depth,) + indices[at:]]


def _one_hot_in(xp: Any, indices: Any, depth: Any, on: Any, off: Any, axis: int) -> Any:
    for label, value in (("depth", depth), ("on_value", on), ("off_value", off)):
        checks.scalar(label, value, "must be a scalar, but got: {}")
    rank = indices.ndim + 1
    if not -1 <= axis < rank:
        raise invalid(f"Expected axis to be -1 or between [0, {rank}).  But received: {axis}")
    if int(depth) < 0:
        raise invalid(f"depth must be non-negative, got: {int(depth)}")
    checks.require_room((int(depth), *indices.shape), on.dtype)
    at = axis % rank
    numbers = np.arange(int(depth), dtype=indices.dtype).reshape((-1,) + (1,) * (indices.ndim - at))
    return xp.where(xp.expand_dims(indices, at) == numbers, on, off)


@op(
    "OneHot",
    "(indices: TI, depth: int32, on_value: T, off_value: T, *, axis: int = -1, T: type, TI: {uint8, int32, int64} "
    "= int64) -> "
    "(output: T)",
    shape=_one_hot_shape, gradient=NotDifferentiable("its values are constants"), constants=("depth",),
    fold=lambda indices, depth, on, off, *, axis: _one_hot_in(np, indices, depth, on, off, axis),
)  # fmt: skip
def _one_hot(indices, depth, on, off, *, axis):
    return _one_hot_in(jnp, indices, depth, on, off, axis)


@export("one_hot")
def one_hot(
    indices: TensorLike, depth: TensorLike, on_value: TensorLike | None = None, off_value: TensorLike | None = None, axis: int | None = None, dtype: object = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """`on_value` at the places that `indices` name along a new dimension, `off_value` elsewhere.

    Args:
      indices: uint8, int32 or int64 tensor; a value outside [0, depth) gives a row of `off_value`.
      depth: scalar int32, the size of the new dimension.
      on_value, off_value: scalars of the result's dtype, 1 and 0 by default.
      axis: where the new dimension stands, last by default.
      dtype: element type, by default that of the values, else float32.
      name: node name.

    Raises:
      TypeError: the dtypes of the values and `dtype` differ.
    """
    with name_scope(name, "one_hot", [indices, depth, on_value, off_value, axis, dtype]) as scope:
        on_dtype = None if on_value is None else convert_to_tensor(on_value).dtype.base_dtype
        off_dtype = None if off_value is None else convert_to_tensor(off_value).dtype.base_dtype
        if dtype is not None:
            dtype = dtypes.as_dtype(dtype)
            for label, found in (("on_value", on_dtype), ("off_value", off_dtype)):
                if found is not None and found != dtype:
                    raise TypeError(f"dtype {found} of {label} does not match dtype parameter {dtype}")
        else:
            dtype = on_dtype or off_dtype or dtypes.float32
        if on_value is None:
            on_value = convert_to_tensor(1, dtype, name="on_value")
        if off_value is None:
            off_value = convert_to_tensor(0, dtype, name="off_value")
        if (on_dtype or dtype) != (off_dtype or dtype):
            raise TypeError(
                f"dtype {on_dtype or dtype} of on_value does not match dtype {off_dtype or dtype} of off_value"
            )
        return raw.OneHot(indices, depth, on_value, off_value, axis=-1 if axis is None else axis, name=scope)
