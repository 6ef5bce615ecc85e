"""Where the elements of a sparse tensor stand: order, shape, slices, parts, rows without elements."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import checks, dtypes
from tfcompat._src.base.deprecation import deprecated_argument_lookup
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.constant_value import constant_value, constant_value_as_shape
from tfcompat._src.graph.op_spec import HOST, Facts, NotDifferentiable, op
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.reorder import invert_permutation, transpose
from tfcompat._src.ops.array.shape import invalid, rank, shape
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.sparse.parts import as_sparse, check_parts, check_sizes, check_tensor, row_order, with_part_ranks

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _text(sizes: Any) -> str:
    return shape_text(tuple(int(n) for n in sizes))


# ---- SparseReorder ----


def _reorder_shape(c):
    with_part_ranks(c, 0)
    return [si.with_rank(c.inputs[0], 2), si.with_rank(c.inputs[1], 1)]


def _reorder_gradient(op, _, grad):
    indices, _, sizes = op.inputs
    count = arange(shape(indices)[0])
    ordered = sparse_reorder(SparseTensor(indices, count, sizes))
    return [None, gather(grad, invert_permutation(ordered.values)), None]


@op(
    "SparseReorder",
    "(input_indices: int64, input_values: T, input_shape: int64, *, T: type) -> (output_indices: int64, output_values: T)",
    shape=_reorder_shape, gradient=_reorder_gradient, side=HOST,
)  # fmt: skip
def _sparse_reorder(indices, values, sizes):
    check_tensor(indices, values, sizes)
    order = row_order(indices)
    return indices[order], values[order]


# ---- SparseReshape ----


def _reshape_shape(c):
    indices, _, sizes = si.with_rank(c.inputs[0], 2), si.with_rank(c.inputs[1], 1), si.with_rank(c.inputs[2], 1)
    return [(indices[0], sizes[0]), sizes]


def _new_sizes(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """`new` with its -1 replaced; InvalidArgumentError where it has not as many elements as `old`."""
    total = math.prod(old.tolist())
    listed = new.tolist()
    unknown = [i for i, n in enumerate(listed) if n == -1]
    if len(unknown) > 1:
        raise invalid(f"only one output dimension may be -1, not both {unknown[0]} and {unknown[1]}")
    for i, n in enumerate(listed):
        if n < -1:
            raise invalid(f"size {i} must be non-negative, not {n}")
    found = new.copy()
    if len(unknown):
        rest = math.prod(n for n in listed if n != -1)
        if rest <= 0:
            raise invalid("reshape cannot infer the missing input size for an empty tensor unless all specified input sizes are non-zero")
        if total % rest:
            raise invalid(f"Input to reshape is a SparseTensor with {total} dense values, but the requested shape requires a multiple of {rest}. input_shape={_text(old)} output_shape={_text(np.abs(new))}")
        found[unknown[0]] = total // rest
    if math.prod(found.tolist()) != total:
        raise invalid(f"Input to reshape is a tensor with {total} dense values, but the requested shape has {math.prod(found.tolist())}. input_shape={_text(old)} output_shape={_text(found)}")
    return found


@op(
    "SparseReshape",
    "(input_indices: int64, input_shape: int64, new_shape: int64) -> (output_indices: int64, output_shape: int64)",
    shape=_reshape_shape, gradient=NotDifferentiable("positions are integers", raises=True), side=HOST,
)  # fmt: skip
def _sparse_reshape(indices, old, new):
    if indices.ndim != 2:
        raise invalid(f"Input indices should be a matrix but received shape {shape_text(indices.shape)}")
    if old.ndim != 1 or new.ndim != 1:
        raise invalid(f"Input and target shapes should be vectors but received shapes {shape_text(old.shape)} and {shape_text(new.shape)}")
    if indices.shape[1] != len(old):
        raise invalid(f"Input tensor rank must match input shape length, but got {indices.shape[1]} and {len(old)}")
    check_sizes(old)
    if old.tolist() == new.tolist():
        return indices, new
    sizes = _new_sizes(old, new)
    check_sizes(sizes)
    if old.tolist() == sizes.tolist():
        return indices, sizes
    if len(indices) and 0 in sizes:
        raise invalid(f"A tensor of shape {_text(old)} has no elements, but {len(indices)} positions are given")
    flat, places = indices @ _strides(old), np.empty((len(indices), len(sizes)), np.int64)
    for axis, stride in enumerate(_strides(sizes)):
        rest = np.fmod(flat, stride)
        places[:, axis], flat = (flat - rest) // stride, rest
    return places, sizes


def _strides(sizes: np.ndarray) -> np.ndarray:
    """Elements from one index to the next in each dimension, never 0."""
    return np.append(np.cumprod(np.maximum(sizes[:0:-1], 1))[::-1], 1).astype(np.int64)[: len(sizes)]


# ---- SparseSlice, SparseSplit ----


def _slice_shape(c):
    count = si.num_elements(c.inputs[2])
    return [(None, count), (None,), c.inputs[2]]


def _slice_gradient(op, _, grad, __):
    found = raw.SparseSliceGrad(grad, op.inputs[0], op.inputs[3], op.outputs[0])
    found.set_shape(op.inputs[1].shape)
    return [None, found, None, None, None]


@op(
    "SparseSlice",
    "(indices: int64, values: T, shape: int64, start: int64, size: int64, *, T: type) -> "
    "(output_indices: int64, output_values: T, output_shape: int64)",
    shape=_slice_shape, gradient=_slice_gradient, side=HOST,
)  # fmt: skip
def _sparse_slice(indices, values, sizes, start, size):
    check_tensor(indices, values, sizes)
    for label, given in (("start", start), ("size", size)):
        if given.ndim != 1:
            raise invalid(f"Input {label} should be a vector but received shape {shape_text(given.shape)}")
        if len(given) != len(sizes):
            raise invalid(f"Expected {label} to be a vector of length {len(sizes)} but got length {len(given)}")
    if (size < 0).any() or (start > sizes).any():
        raise invalid(f"start {_text(start)} and size {_text(size)} are no slice of shape {_text(sizes)}")
    found = np.clip(sizes - start, 0, size)
    kept = ((indices >= start) & (indices < start + found)).all(1)
    return indices[kept] - start, values[kept], found


def _split_shape(c):
    count, parts = si.num_elements(c.inputs[3]), len(c.op.outputs) // 3
    return [(None, count)] * parts + [(None,)] * parts + [c.inputs[3]] * parts


@op(
    "SparseSplit",
    "(split_dim: int64, indices: int64, values: T, shape: int64, *, num_split: int >= 1, T: type) -> "
    "(output_indices: num_split*int64, output_values: num_split*T, output_shape: num_split*int64)",
    shape=_split_shape, gradient=NotDifferentiable("1.15 has no gradient of SparseSplit", raises=True), side=HOST,
)  # fmt: skip
def _sparse_split(axis, indices, values, sizes, *, num_split):
    check_tensor(indices, values, sizes)
    if axis.size != 1:
        raise invalid(f"Input split_dim should be a scalar but received shape {shape_text(axis.shape)}")
    axis = int(axis.reshape(()))
    if axis < 0:
        raise invalid(f"num_dim must be in the interval [0, {len(sizes)})")
    if axis >= len(sizes):
        raise invalid(f"Input split_dim should be between 0 and rank ({len(sizes)}), got {axis}")
    if not 1 <= num_split <= sizes[axis]:
        raise invalid(f"Input num_split should be between 1 and the splitting dimension size ({sizes[axis]}), got {num_split}")
    outside = np.flatnonzero((indices[:, axis] < 0) | (indices[:, axis] >= sizes[axis]))
    if outside.size:
        raise invalid(f"Position {indices[outside[0]].tolist()} is outside the shape {_text(sizes)}")
    each, rest = divmod(int(sizes[axis]), num_split)
    starts = np.cumsum([0] + [each + (i < rest) for i in range(num_split)])
    outputs = []
    for low, high in zip(starts, starts[1:]):
        kept = (indices[:, axis] >= low) & (indices[:, axis] < high)
        rows, part = indices[kept], sizes.copy()
        rows[:, axis] -= low
        part[axis] = high - low
        outputs.append((rows, values[kept], part))
    return tuple(zip(*outputs))


# ---- SparseFillEmptyRows ----


def _fill_shape(c):
    indices, values, sizes = si.with_rank(c.inputs[0], 2), si.with_rank(c.inputs[1], 1), si.with_rank(c.inputs[2], 1)
    si.with_rank(c.inputs[3], 0)
    si.merge_size(indices[1], sizes[0])
    if sizes[0] == 0:
        raise ValueError("dense_shape must not be empty")
    known = c.shape_value(2)
    return [(None, sizes[0]), (None,), (None if known is None else known[0],), (si.merge_size(indices[0], values[0]),)]


def _fill_gradient(op, _, grad, __, ___):
    values, default = raw.SparseFillEmptyRowsGrad(op.outputs[3], grad)
    return [None, values, None, default]


@op(
    "SparseFillEmptyRows",
    "(indices: int64, values: T, dense_shape: int64, default_value: T, *, T: type) -> "
    "(output_indices: int64, output_values: T, empty_row_indicator: bool, reverse_index_map: int64)",
    shape=_fill_shape, gradient=_fill_gradient, side=HOST, facts=Facts(varying_length=True),
)  # fmt: skip
def _fill_empty_rows(indices, values, sizes, default):
    check_parts(indices, values, sizes)
    if default.ndim:
        raise invalid(f"default_value must be a scalar, saw: {shape_text(default.shape)}")
    if not len(sizes):
        raise invalid("Dense shape cannot be empty.")
    count, rows = int(sizes[0]), indices[:, 0]
    if not count and len(rows):
        raise invalid(f"Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = {len(rows)}")
    if not checks.all_inside(rows, count):
        outside = np.flatnonzero((rows < 0) | (rows >= count))
        raise invalid(f"indices({outside[0]}, 0) is invalid: {rows[outside[0]]} >= {count}")
    checks.require_room((count,), np.dtype(np.int64))
    is_empty = np.ones(count, bool)
    is_empty[rows] = False
    (missing,) = is_empty.nonzero()
    if not len(missing) and (rows[1:] >= rows[:-1]).all():
        return indices, values, is_empty, np.arange(len(rows))
    added = np.zeros((len(missing), indices.shape[1]), np.int64)
    added[:, 0] = missing
    all_rows = np.concatenate((indices, added))
    order = all_rows[:, 0].argsort(kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    filled = np.concatenate((values, default.reshape(1).repeat(len(missing))))
    return all_rows.take(order, 0), filled.take(order), is_empty, place[: len(rows)]


def _fill_empty_rows_grad_shape(c):
    places, _ = (si.with_rank(sizes, 1) for sizes in c.inputs)
    return [places, ()]


@op(
    "SparseFillEmptyRowsGrad", "(reverse_index_map: int64, grad_values: T, *, T: type) -> (d_values: T, d_default_value: T)",
    shape=_fill_empty_rows_grad_shape,
    gradient=NotDifferentiable("1.15 has no second gradient of SparseFillEmptyRows", raises=True), side=HOST,
)  # fmt: skip
def _fill_empty_rows_grad(places, grad):
    for label, array in (("reverse_index_map", places), ("grad_values", grad)):
        if array.ndim != 1:
            raise invalid(f"{label} must be a vector, saw: {shape_text(array.shape)}")
    outside = np.flatnonzero((places < 0) | (places >= len(grad)))
    if outside.size:
        raise invalid(f"Elements in reverse index must be in [0, {len(grad)}) but got {places[outside[0]]}")
    is_added = np.ones(len(grad), bool)
    is_added[places] = False
    return grad[places], grad[is_added].sum(dtype=grad.dtype)


# ---- public functions ----


@export("sparse.reorder", "sparse_reorder")
def sparse_reorder(sp_input: object, name: str | None = None) -> SparseTensor:
    """The SparseTensor with its elements in row-major order; TypeError for anything but a SparseTensor."""
    sp_input = as_sparse(sp_input)
    indices, values = raw.SparseReorder(sp_input.indices, sp_input.values, sp_input.dense_shape, name=name)
    if sp_input.shape.is_fully_defined():
        return SparseTensor(indices, values, sp_input.shape.as_list())
    return SparseTensor(indices, values, raw.Identity(sp_input.dense_shape))


def _reshaped_statically(old: TensorShape, new: Any) -> list | None:
    """The sizes after a reshape where both sides are known; ValueError where they cannot fit."""
    total, value = old.num_elements(), constant_value(new)
    if total is None:
        return None
    if value is not None and (value == -1).sum() > 1:
        raise ValueError(f"At most one dimension can be inferred (-1). Found: {value}")
    sizes = constant_value_as_shape(new).sizes
    if sizes is None:
        return None
    if None not in sizes:
        if int(np.prod(sizes)) != total:
            raise ValueError(f"Cannot reshape a tensor with {total} elements to shape {list(sizes)} ({int(np.prod(sizes))} elements).")
        return list(sizes)
    rest = int(np.prod([s for s in sizes if s is not None]))
    if sizes.count(None) > 1 or not rest:
        return None
    if total % rest:
        raise ValueError(f"Cannot reshape a tensor with {total} elements to shape {list(sizes)} ({total // rest * rest} elements).")
    return [total // rest if s is None else s for s in sizes]


@export("sparse.reshape", "sparse_reshape")
def sparse_reshape(sp_input: object, shape: TensorLike, name: str | None = None) -> SparseTensor:
    """The SparseTensor with another shape of as many elements.

    Args:
      sp_input: SparseTensor or SparseTensorValue.
      shape: integer vector; one size may be -1.
      name: node name.

    Raises:
      TypeError: the input is not sparse. ValueError: known sizes do not fit.
    """
    sp_input = as_sparse(sp_input)
    shape = cast(shape, dtypes.int64)
    with name_scope(name, "SparseReshape", [sp_input]) as scope:
        indices, sizes = raw.SparseReshape(sp_input.indices, sp_input.dense_shape, shape, name=scope)
        static = _reshaped_statically(sp_input.shape, shape)
        if static is not None:
            sizes = constant(static, dtypes.int64)
        return SparseTensor(indices, raw.Identity(sp_input.values), sizes)


@export("sparse.transpose", "sparse_transpose")
def sparse_transpose(sp_input: Any, perm: Any = None, name: str | None = None) -> SparseTensor:
    """The SparseTensor with its dimensions in the order `perm`, by default reversed."""
    with name_scope(name, "SparseTranspose", [sp_input]):
        if perm is None:
            count = rank(sp_input)
            perm = (count - 1) - arange(0, count, 1)
        indices = transpose(gather(transpose(sp_input.indices), perm))
        order = constant_value(convert_to_tensor(perm))
        if order is not None and sp_input.shape.is_fully_defined():
            old = sp_input.shape.as_list()
            sizes: Any = list(old)
            for place, axis in enumerate(order):
                sizes[place] = old[axis]
        else:
            sizes = gather(sp_input.dense_shape, perm)
        return sparse_reorder(SparseTensor(indices, sp_input.values, sizes))


@export("sparse.slice", "sparse_slice")
def sparse_slice(sp_input: object, start: TensorLike, size: TensorLike, name: str | None = None) -> SparseTensor:
    """The block of `size` at `start` of a SparseTensor, cut at its bounds.

    Args:
      sp_input: SparseTensor; its elements are in row-major order.
      start, size: int64 vectors of one number per dimension.
      name: node name.
    """
    sp_input = as_sparse(sp_input)
    start, size = convert_to_tensor(start, dtypes.int64), convert_to_tensor(size, dtypes.int64)
    with name_scope(name, "SparseSlice", [sp_input]) as scope:
        found = raw.SparseSlice(*sp_input._to_components(), start, size, name=scope)
        return SparseTensor(*found)


class _KeywordRequired:
    """The default of an argument that stands where only keywords may follow."""

    def __repr__(self) -> str:
        return "KeywordRequired()"


_KEYWORD = _KeywordRequired()


@export("sparse.split", "sparse_split")
def sparse_split(
    keyword_required: object = _KEYWORD, sp_input: object = None, num_split: int | None = None, axis: TensorLike | None = None,
    name: str | None = None, split_dim: object = None,
) -> list[SparseTensor]:  # fmt: skip
    """A SparseTensor in `num_split` parts along one dimension; the first ones are longer by one where it does not divide.

    Args:
      keyword_required: not to be given: all arguments are passed by keyword.
      sp_input: SparseTensor.
      num_split: int, the number of parts.
      axis: int32 or int64 scalar, the dimension; it may not be given as `split_dim`, an older name, instead.
      name: node name.

    Raises:
      ValueError: an argument is missing or given by position. TypeError: the input is not sparse.
    """
    if keyword_required is not _KEYWORD:
        raise ValueError("Keyword arguments are required for this function.")
    if sp_input is None:
        raise ValueError("sp_input is required")
    if num_split is None:
        raise ValueError("num_split is required")
    if axis is None:
        raise ValueError("axis is required")
    axis = deprecated_argument_lookup("axis", axis, "split_dim", split_dim)
    sp_input = as_sparse(sp_input)
    found = raw.SparseSplit(axis, *sp_input._to_components(), num_split=num_split, name=name)
    return [SparseTensor(*parts) for parts in zip(*found)]


@export("sparse.fill_empty_rows", "sparse_fill_empty_rows")
def sparse_fill_empty_rows(sp_input: object, default_value: TensorLike, name: str | None = None) -> tuple:
    """A SparseTensor of rank 2 or more whose empty rows have got `default_value` in the first column.

    Args:
      sp_input: SparseTensor.
      default_value: scalar of its dtype.
      name: name of the scope of the nodes.

    Returns:
      (SparseTensor, bool vector of the rows that were empty).
    """
    sp_input = as_sparse(sp_input)
    with name_scope(name, "SparseFillEmptyRows", [sp_input]):
        default = convert_to_tensor(default_value, dtype=sp_input.values.dtype)
        indices, values, is_empty, _ = raw.SparseFillEmptyRows(*sp_input._to_components(), default)
        return SparseTensor(indices, values, sp_input.dense_shape), is_empty
