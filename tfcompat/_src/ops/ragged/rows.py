"""Ragged tensors put together and rows picked out of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array import gather as dense_gather
from tfcompat._src.ops.array import join, search
from tfcompat._src.ops.array.fill import fill, ones
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import broadcast_to, reshape, shape
from tfcompat._src.ops.array.shape import rank as dense_rank
from tfcompat._src.ops.composed import indexing
from tfcompat._src.ops.composed.check_ops import assert_equal
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import greater_equal, less, logical_and
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.ragged.array import expand_dims, tile, with_ragged_rank
from tfcompat._src.ops.ragged.getitem import gather_rows
from tfcompat._src.ops.ragged.partition import (
    assert_splits_match,
    get_positive_axis,
    lengths_to_splits,
    repeat,
    splits_to_lengths,
)  # fmt: skip
from tfcompat._src.ops.ragged.tensor import (
    RaggedTensor,
    convert_to_tensor_or_ragged_tensor,
    is_ragged,
    match_row_splits_dtypes,
)  # fmt: skip

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

# ---- concat and stack ----


def _joined(values: Any, axis: TensorLike, is_stack: bool) -> Any:
    """`values` as one along `axis`, a new dimension where `is_stack`."""
    if not values:
        raise ValueError("rt_inputs may not be empty.")
    parts = [convert_to_tensor_or_ragged_tensor(v, name="rt_input") for v in values]
    dtype, parts = match_row_splits_dtypes(*parts, return_dtype=True)
    if len(parts) == 1:
        return expand_dims(parts[0], axis) if is_stack else parts[0]
    ndims = parts[0].shape.ndims
    for part in parts[1:]:
        part.shape.assert_has_rank(ndims)
    total = ndims + 1 if is_stack and ndims is not None else ndims
    axis = get_positive_axis(axis, total)
    if not any(map(is_ragged, parts)) and ndims is not None and axis in (total - 1, ndims - 1):
        return join.stack(parts, axis) if is_stack else join.concat(parts, axis)
    depth = max([1, *(p.ragged_rank for p in parts if is_ragged(p))])
    parts = [with_ragged_rank(p, depth, dtype) for p in parts]
    return _joined_rows(parts, axis, is_stack)


def _joined_rows(parts: list, axis: int, is_stack: bool) -> RaggedTensor:
    if axis == 0:
        return _one_after_another(parts, is_stack)
    if axis == 1:
        return _side_by_side(parts, is_stack)
    with control_dependencies(assert_splits_match([[p.row_splits] for p in parts])):
        return parts[0].with_values(_joined([p.values for p in parts], axis - 1, is_stack))


def _one_after_another(parts: list, is_stack: bool) -> RaggedTensor:
    """The rows of all parts; with `is_stack`, in one more dimension with a row for each part."""
    flat = join.concat([p.flat_values for p in parts], axis=0)
    levels = zip(*(p.nested_row_splits for p in parts))
    nested = [lengths_to_splits(join.concat([splits_to_lengths(s) for s in level], axis=0)) for level in levels]
    if is_stack:
        nested.insert(0, lengths_to_splits(join.stack([p.nrows() for p in parts])))
    return RaggedTensor.from_nested_row_splits(flat, nested, validate=False)


def _side_by_side(parts: list, is_stack: bool) -> RaggedTensor:
    """Row i of the result holds row i of each part; with `is_stack`, as rows of their own."""
    count, rows = len(parts), parts[0].nrows()
    message = "Input tensors have incompatible shapes."
    same = [assert_equal(p.nrows(), rows, message=message) for p in parts[1:]]
    with control_dependencies(same):
        places = reshape(transpose(reshape(arange(rows * count), [count, -1])), [-1])
        mixed = gather_rows(_one_after_another(parts, False), places)
        if is_stack:
            values, splits = mixed, arange(0, rows * count + 1, count)
        else:
            values, splits = mixed.values, mixed.row_splits[::count]
        for p in parts:
            splits.set_shape(p.row_splits.shape)
        return RaggedTensor.from_row_splits(values, splits, validate=False)


def concat(values: object, axis: TensorLike, name: str | None = None) -> Any:
    """`tf.concat` of ragged tensors of one rank."""
    values = values if isinstance(values, (list, tuple)) else [values]
    with name_scope(name, "RaggedConcat", values):
        return _joined(values, axis, False)


@export("ragged.stack")
def stack(values: object, axis: TensorLike = 0, name: str | None = None) -> Any:
    """Ragged tensors of one rank, stacked along a new dimension.

    Args:
      values: list of RaggedTensors or Tensors.
      axis: int, where the dimension stands.
      name: name scope.

    Raises:
      ValueError: no values, or values of different ranks. InvalidArgumentError: when it runs, different numbers of rows.
    """
    values = values if isinstance(values, (list, tuple)) else [values]
    with name_scope(name, "RaggedConcat", values):
        return _joined(values, axis, True)


# ---- gather, gather_nd, batch_gather ----


def gather(
    params: TensorLike, indices: TensorLike, validate_indices: object = None, axis: object = 0, batch_dims: object = 0, name: str | None = None
) -> Any:
    """`tf.gather` where params or indices are ragged: the rows of `params`; ValueError for another axis or batch dimensions."""
    if not isinstance(axis, int) or axis != 0:
        raise ValueError("axis != 0 is not supported for ragged gather yet.")
    if not isinstance(batch_dims, int) or batch_dims != 0:
        raise ValueError("batch_dims != 0 is not supported for ragged gather yet.")
    with name_scope(name, "RaggedGather", [params, indices]):
        params, indices = _operands(params, indices)
        return _gathered(params, indices)


def _operands(params: TensorLike, indices: TensorLike) -> tuple:
    params = convert_to_tensor_or_ragged_tensor(params, name="params")
    return match_row_splits_dtypes(params, convert_to_tensor_or_ragged_tensor(indices, name="indices"))


def _gathered(params: object, indices: Any) -> Any:
    if is_ragged(indices):
        return indices.with_values(_gathered(params, indices.values))
    return gather_rows(params, indices)


def gather_nd(params: TensorLike, indices: TensorLike, batch_dims: object = 0, name: str | None = None) -> Any:
    """`tf.gather_nd` where params or indices are ragged; the last dimension of `indices` has a known size."""
    if not isinstance(batch_dims, int) or batch_dims != 0:
        raise ValueError("batch_dims != 0 is not supported for ragged gather yet.")
    if not is_ragged(params) and not is_ragged(indices):
        return indexing.gather_nd(params, indices, name)
    with name_scope(name, "RaggedGatherNd", [params, indices]):
        params, indices = _operands(params, indices)
        ndims = indices.shape.ndims
        if ndims is None:
            raise ValueError("indices.rank be statically known.")
        if ndims == 0:
            raise ValueError("indices.rank must be at least 1.")
        if is_ragged(indices) and ndims == indices.ragged_rank + 1:
            raise ValueError("The innermost dimension of indices may not be ragged")
        if indices.shape.as_list()[-1] is None:
            raise ValueError("indices.shape[-1] must be statically known.")
        return _elements(params, indices)


def _elements(params: Any, indices: Any) -> Any:
    if is_ragged(indices):
        return indices.with_flat_values(_elements(params, indices.flat_values))
    if not is_ragged(params):
        return indexing.gather_nd(params, indices)
    sizes, depth = indices.shape.as_list(), indices.shape.as_list()[-1]
    if not depth:
        return _repeated(params, indices, len(sizes) - 1)
    columns = cast(indices, params.row_splits.dtype)
    places, values = reshape(columns[..., 0], [-1]), params
    for d in range(1, depth):
        if not is_ragged(values):
            left = reshape(columns[..., d:], [-1, depth - d])
            found = indexing.gather_nd(values, join.concat([reshape(places, [-1, 1]), left], axis=1))
            return reshape(found, join.concat([shape(indices)[:-1], shape(found)[1:]], axis=0))
        places = dense_gather.gather(values.row_starts(), places) + reshape(columns[..., d], [-1])
        values = values.values
    if len(sizes) == 2:
        return gather_rows(values, places)
    return gather_rows(values, reshape(places, shape(indices)[:-1]))


def _repeated(params: RaggedTensor, indices: Tensor, depth: int) -> RaggedTensor:
    """Copies of `params` for the rows of index vectors without entries."""
    ndims = params.ragged_rank + dense_rank(params.flat_values)
    for _ in range(depth):
        params = expand_dims(params, 0)
    return tile(params, join.concat([shape(indices)[:-1], ones([ndims], dtypes.int32)], axis=0))


def batch_gather(params: TensorLike, indices: TensorLike, name: str | None = None) -> Any:
    """`tf.batch_gather` where params or indices are ragged: elements of each row of `params`."""
    if not is_ragged(params) and not is_ragged(indices):
        return indexing.batch_gather(params, indices, name)
    with name_scope(name, "RaggedBatchGather", [params, indices]):
        return _batch_gathered(*_operands(params, indices))


_BATCH_MISMATCH = "batch shape from indices does not match params shape"


def _batch_gathered(params: Any, indices: Any) -> Any:
    """The gathered elements: the batch dimensions down to the last are taken off both, and put back around the result."""
    if indices.shape.ndims is None:
        raise ValueError("batch_gather does not allow indices with unknown shape.")
    if indices.shape.ndims == 0:
        raise ValueError("indices.rank must be at least 1.")
    batches: list = []
    same: list = []
    while is_ragged(indices) and indices.shape.ndims > 2:
        if not is_ragged(params):
            raise ValueError(_BATCH_MISMATCH)
        batches.append(indices.row_splits)
        same.append(assert_equal(params.row_splits, indices.row_splits))
        params, indices = params.values, indices.values
    with control_dependencies(same):
        return RaggedTensor.from_nested_row_splits(_of_each_row(params, indices), batches, validate=False)


def _of_each_row(params: Any, indices: Any) -> Any:
    """The elements of row i of `params` at row i of a matrix of indices; the rows at a vector of indices."""
    if indices.shape.ndims == 1:
        return gather_rows(params, indices)
    if is_ragged(indices):
        if not is_ragged(params):
            if params.shape.ndims is not None and params.shape.ndims < 2:
                raise ValueError(_BATCH_MISMATCH)
            params = RaggedTensor.from_tensor(params, row_splits_dtype=indices.row_splits.dtype)
        starts = repeat(params.row_starts(), indices.row_lengths(), axis=0)
        return indices.with_values(gather_rows(params.values, starts + cast(indices.values, starts.dtype)))
    if not is_ragged(params):
        return indexing.batch_gather(params, indices)
    if indices.shape.ndims > 2:
        raise ValueError(_BATCH_MISMATCH)
    starts = expand_dims(params.row_starts(), 1)
    return gather_rows(params.values, starts + cast(indices, starts.dtype))


def batch_gather_with_default(params: Any, indices: Any, default_value: Any = "", name: str | None = None) -> Any:
    """`tf.batch_gather` that gives `default_value` for an index outside its row.

    Args:
      params: Tensor or RaggedTensor [batch dimensions, row, ...].
      indices: integer Tensor or RaggedTensor [batch dimensions, any].
      default_value: an element of a row, broadcast to its shape.
      name: name scope.
    """
    with name_scope(name, "RaggedBatchGatherWithDefault"):
        params, indices = _operands(params, indices)
        default_value = convert_to_tensor_or_ragged_tensor(default_value, name="default_value", preferred_dtype=params.dtype)
        if is_ragged(default_value):
            raise ValueError("default_value may not be ragged.")
        if default_value.shape.ndims not in (0, 1):
            raise ValueError('"default_value" must be a scalar or vector')
        if indices.shape.ndims is None or params.shape.ndims is None:
            raise ValueError("params and indices must have a known rank.")
        uniform = params.shape.ndims - max(indices.shape.ndims, params.ragged_rank + 1) if is_ragged(params) else 0
        if uniform > 0 and default_value.shape.ndims == 0:
            raise ValueError(f"default_value must have the rank of a row's elements, {uniform}: it is a scalar.")
        if indices.shape.ndims == 1:
            return _gathered_or_default(expand_dims(params, 0), expand_dims(indices, 0), default_value)[0]
        return _gathered_or_default(params, indices, default_value)


def _gathered_or_default(params: Any, indices: Any, default_value: Tensor) -> Any:
    """Rows of rows; a RaggedTensor where one of the two is."""
    if not is_ragged(params) and not is_ragged(indices):
        dtype = dtypes.int64
        ragged = (with_ragged_rank(t, 1, dtype) for t in (params, indices))
        return _gathered_or_default(*ragged, default_value).to_tensor()
    dtype = next(t.row_splits.dtype for t in (params, indices) if is_ragged(t))
    params, indices = (with_ragged_rank(t, 1, dtype) for t in (params, indices))
    if indices.shape.ndims > 2:
        with control_dependencies([assert_equal(params.row_splits, indices.row_splits)]):
            return indices.with_values(_gathered_or_default(params.values, indices.values, default_value))
    places = cast(indices.values, dtype)
    starts, lengths = (repeat(t, indices.row_lengths(), axis=0) for t in (params.row_starts(), params.row_lengths()))
    is_inside = logical_and(greater_equal(places, 0), less(places, lengths))
    last = fill(shape(places), cast(params.row_splits[-1], dtype))
    rows = search.where(is_inside, starts + places, last)
    values = _with_default_row(params.values, default_value, dtype)
    return indices.with_values(gather_rows(values, rows))


def _with_default_row(values: Any, default_value: Tensor, dtype: Any) -> Any:
    """`values` and one row more with a default in it: where rows are ragged, a scalar stands for a row of one element."""
    if not is_ragged(values):
        return join.concat([values, join.stack([broadcast_to(default_value, shape(values)[1:])])], 0)
    inner = shape(values.flat_values)[1:]
    elements = default_value if default_value.shape.ndims else reshape(default_value, [1])
    count = shape(elements)
    elements = reshape(elements, join.concat([count, fill(shape(inner), 1)], 0))
    elements = broadcast_to(elements, join.concat([count, inner], 0))
    splits = [cast([0, 1], dtype)] * (values.ragged_rank - 1) + [cast(join.stack([0, count[0]]), dtype)]
    return _joined([values, RaggedTensor.from_nested_row_splits(elements, splits, validate=False)], 0, False)
