"""Ranges, reductions and segment sums of ragged tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import ones_like
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.composed.check_ops import assert_equal
from tfcompat._src.ops.math import reduce, segment
from tfcompat._src.ops.math.binary import maximum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.ragged.functional import map_flat_values
from tfcompat._src.ops.ragged.partition import SPLIT_TYPES, get_positive_axis, lengths_to_splits
from tfcompat._src.ops.ragged.tensor import (
    RaggedTensor,
    convert_to_tensor_or_ragged_tensor,
    is_ragged,
    match_row_splits_dtypes,
)  # fmt: skip

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike

_RANGE_TYPES = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)


@export("ragged.range")
def range(
    starts: object, limits: object = None, deltas: object = 1, dtype: Any = None, name: str | None = None,
    row_splits_dtype: DTypeLike = dtypes.int64,
) -> RaggedTensor:  # fmt: skip
    """Rows of numbers from `starts[i]` up to `limits[i]`, in steps of `deltas[i]`.

    Args:
      starts, limits, deltas: vectors or scalars; with one of them alone, it is the limits.
      dtype: element type; by default the widest of theirs.
      name: name scope.
      row_splits_dtype: int32 or int64.
    """
    splits_dtype = dtypes.as_dtype(row_splits_dtype)
    if limits is None:
        starts, limits = 0, starts
    with name_scope(name, "RaggedRange", [starts, limits, deltas]) as scope:
        given = {"starts": starts, "limits": limits, "deltas": deltas}
        parts = [convert_to_tensor(value, dtype=dtype, name=label) for label, value in given.items()]
        if dtype is None:
            widest = max((p.dtype for p in parts), key=_RANGE_TYPES.index)
            parts = [cast(p, widest) for p in parts]
        splits, values = raw.RaggedRange(*parts, Tsplits=splits_dtype, name=scope)
        return RaggedTensor.from_row_splits(values, splits, validate=False)


# ---- segments ----


def _segmented(apply: Callable, data: Any, segment_ids: Any, num_segments: Any) -> Any:
    """`apply`, an unsorted segment function of Tensors, over the rows of ragged data."""
    same = []
    while is_ragged(segment_ids):
        if not is_ragged(data):
            raise ValueError("segment_ids.shape must be a prefix of data.shape, but segment_ids is ragged and data is not.")
        same.append(assert_equal(segment_ids.row_splits, data.row_splits, message="segment_ids.shape must be a prefix of data.shape"))
        data, segment_ids = data.values, segment_ids.values
    nested_splits = []
    with control_dependencies(same):
        while is_ragged(data):
            splits, segment_ids = _merged_rows(data, segment_ids, num_segments)
            data, num_segments = data.values, splits[-1]
            nested_splits.append(splits)
        return RaggedTensor.from_nested_row_splits(apply(data, segment_ids, num_segments), nested_splits, validate=False)


def _merged_rows(data: RaggedTensor, segment_ids: Tensor, num_segments: object) -> tuple[Tensor, Tensor]:
    """The splits of rows as long as the longest of each segment, and the place in them for each entry of `data.values`."""
    longest = segment.unsorted_segment_max(data.row_lengths(), segment_ids, num_segments)
    splits = lengths_to_splits(maximum(longest, 0))
    shifts = gather(splits, segment_ids) - data.row_starts()
    return splits, arange(data.row_splits[-1]) + gather(shifts, data.value_rowids())


def _segment(apply: Callable, data: TensorLike, segment_ids: TensorLike, num_segments: object, name: str) -> Any:
    with name_scope(name, "RaggedSegment", [data, segment_ids, num_segments]):
        data = convert_to_tensor_or_ragged_tensor(data, name="data")
        segment_ids = convert_to_tensor_or_ragged_tensor(segment_ids, name="segment_ids")
        data, segment_ids = match_row_splits_dtypes(data, segment_ids)
        if segment_ids.dtype not in SPLIT_TYPES:
            raise ValueError("segment_ids must have dtype int32 or int64.")
        return _segmented(apply, data, segment_ids, num_segments)


def segment_sum(data: TensorLike, segment_ids: TensorLike, num_segments: object, name: str | None = None) -> Any:
    """The sums of the rows of each segment, place by place; a row of the result is as long as the longest of them."""
    return _segment(segment.unsorted_segment_sum, data, segment_ids, num_segments, name or "RaggedSegmentSum")


def segment_prod(data: TensorLike, segment_ids: TensorLike, num_segments: object, name: str | None = None) -> Any:
    """The products of the rows of each segment; see `segment_sum`."""
    return _segment(segment.unsorted_segment_prod, data, segment_ids, num_segments, name or "RaggedSegmentProd")


def segment_min(data: TensorLike, segment_ids: TensorLike, num_segments: object, name: str | None = None) -> Any:
    """The smallest elements of the rows of each segment; see `segment_sum`."""
    return _segment(segment.unsorted_segment_min, data, segment_ids, num_segments, name or "RaggedSegmentMin")


def segment_max(data: TensorLike, segment_ids: TensorLike, num_segments: object, name: str | None = None) -> Any:
    """The largest elements of the rows of each segment; see `segment_sum`."""
    return _segment(segment.unsorted_segment_max, data, segment_ids, num_segments, name or "RaggedSegmentMax")


def _averaged(data: TensorLike, segment_ids: TensorLike, num_segments: object, divisor: Callable) -> Any:
    """The sums of segments over `divisor` of the numbers of elements in them."""
    total = segment_sum(data, segment_ids, num_segments)
    count = segment_sum(map_flat_values(ones_like, data), segment_ids, num_segments)
    return map_flat_values(lambda t, n: t / divisor(n), total, count)


def _with_values(like: Any, values: Tensor) -> Any:
    return like.with_flat_values(values) if is_ragged(like) else values


def segment_mean(data: TensorLike, segment_ids: TensorLike, num_segments: object, name: str | None = None) -> Any:
    """The means of the rows of each segment; see `segment_sum`."""
    with name_scope(name, "RaggedSegmentMean", [data, segment_ids, num_segments]):
        return _averaged(data, segment_ids, num_segments, lambda count: count)


def segment_sqrt_n(data: TensorLike, segment_ids: TensorLike, num_segments: object, name: str | None = None) -> Any:
    """The sums of the rows of each segment over the square roots of the numbers of elements; see `segment_sum`."""
    with name_scope(name, "RaggedSegmentSqrtN", [data, segment_ids, num_segments]):
        return _averaged(data, segment_ids, num_segments, raw.Sqrt)


# ---- reductions ----


def _axes(axis: object, ndims: int | None) -> int | list:
    """The dimensions as an int or a rising list of ints; ValueError where they are unknown or out of range."""
    if isinstance(axis, Tensor):
        axis = constant_value(axis)
        if axis is None:
            raise ValueError("axis must be known at graph construction time.")
        axis = axis.tolist()
    if not isinstance(axis, (list, tuple)):
        return get_positive_axis(axis, ndims)
    return sorted({get_positive_axis(a, ndims) for a in axis})


def ragged_reduce_aggregate(
    reduce_op: Callable, unsorted_segment_op: Callable, rt_input: Any, axis: Any, keepdims: bool | None, name: str | None = None
) -> Any:
    """A reduction of a ragged tensor over dimensions.

    Args:
      reduce_op: the reduction of Tensors.
      unsorted_segment_op: the same over unsorted segments.
      rt_input: RaggedTensor or Tensor.
      axis: int, list of ints, constant Tensor, or None for all.
      keepdims: may not be true.
      name: name scope.
    """
    if not is_ragged(rt_input):
        return reduce_op(rt_input, axis, name=name)
    if keepdims:
        raise ValueError("keepdims=True is not supported for RaggedTensors.")
    with name_scope(name, "RaggedReduce", [rt_input, axis]):
        rt_input = convert_to_tensor_or_ragged_tensor(rt_input, name="rt_input")
        if axis is None:
            return reduce_op(rt_input.flat_values, None)
        axis = _axes(axis, rt_input.shape.ndims)
        if not isinstance(axis, list):
            return _reduced(reduce_op, unsorted_segment_op, rt_input, axis)
        for dimension in reversed(axis):
            if is_ragged(rt_input):
                rt_input = _reduced(reduce_op, unsorted_segment_op, rt_input, dimension)
            else:
                rt_input = reduce_op(rt_input, dimension)
        return rt_input


def _reduced(reduce_op: Callable, segment_op: Callable, x: Any, axis: int) -> Any:
    if axis > 1:
        inner = x.values
        values = _reduced(reduce_op, segment_op, inner, axis - 1) if is_ragged(inner) else reduce_op(inner, axis - 1)
        return x.with_values(values)
    if axis == 1:
        return _segmented(segment_op, x.values, x.value_rowids(), x.nrows())
    lengths = x.row_lengths()
    width = maximum(reduce.reduce_max(lengths), 0)
    columns = range(raw.ZerosLike(lengths), lengths, row_splits_dtype=x.row_splits.dtype).values
    return _segmented(segment_op, x.values, columns, width)


def _reduction(reduce_op: Callable, segment_op: Callable, default: str) -> Callable:
    def function(input_tensor: TensorLike, axis: object = None, keepdims: bool | None = None, name: str | None = None) -> Any:
        return ragged_reduce_aggregate(reduce_op, segment_op, input_tensor, axis, keepdims, name or default)

    function.__name__ = function.__qualname__ = reduce_op.__name__
    function.__doc__ = f"""`tf.{reduce_op.__name__}` of a RaggedTensor; see `ragged_reduce_aggregate`."""
    return function


reduce_sum = _reduction(reduce.reduce_sum, segment.unsorted_segment_sum, "RaggedReduceSum")
reduce_prod = _reduction(reduce.reduce_prod, segment.unsorted_segment_prod, "RaggedReduceProd")
reduce_min = _reduction(reduce.reduce_min, segment.unsorted_segment_min, "RaggedReduceMin")
reduce_max = _reduction(reduce.reduce_max, segment.unsorted_segment_max, "RaggedReduceMax")


def reduce_mean(input_tensor: Any, axis: Any = None, keepdims: bool | None = None, name: str | None = None) -> Any:
    """`tf.reduce_mean` of a RaggedTensor; see `ragged_reduce_aggregate`."""
    with name_scope(name, "RaggedReduceMean", [input_tensor, axis]):
        total = reduce_sum(input_tensor, axis, keepdims)
        flat = input_tensor.flat_values if is_ragged(input_tensor) else input_tensor
        unit = ones_like(flat)
        count = reduce_sum(input_tensor.with_flat_values(unit) if is_ragged(input_tensor) else unit, axis, keepdims)
        if is_ragged(total):
            return total.with_flat_values(total.flat_values / count.flat_values)
        return total / count


def _as_numbers(input_tensor: Any) -> Any:
    if is_ragged(input_tensor):
        return input_tensor.with_flat_values(cast(input_tensor.flat_values, dtypes.int32))
    return cast(input_tensor, dtypes.int32)


def reduce_all(input_tensor: object, axis: object = None, keepdims: bool | None = None, name: str | None = None) -> Any:
    """`tf.reduce_all` of a RaggedTensor; see `ragged_reduce_aggregate`."""
    with name_scope(name, "RaggedReduceAll", [input_tensor, axis]):
        found = reduce_prod(_as_numbers(input_tensor), axis, keepdims)
        return _with_values(found, cast(found.flat_values if is_ragged(found) else found, dtypes.bool))


def reduce_any(input_tensor: object, axis: object = None, keepdims: bool | None = None, name: str | None = None) -> Any:
    """`tf.reduce_any` of a RaggedTensor; see `ragged_reduce_aggregate`."""
    with name_scope(name, "RaggedReduceAny", [input_tensor, axis]):
        found = reduce_sum(_as_numbers(input_tensor), axis, keepdims)
        return _with_values(found, cast(found.flat_values if is_ragged(found) else found, dtypes.bool))
