"""Row partitions as vectors: splits, lengths, row ids, and the checks on them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.fill import ones
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.composed.check_ops import assert_equal, assert_non_negative
from tfcompat._src.ops.composed.indexing import convert_to_int_tensor as convert_to_int_tensor
from tfcompat._src.ops.composed.indexing import get_positive_axis as get_positive_axis
from tfcompat._src.ops.composed.indexing import repeat as repeat_flat
from tfcompat._src.ops.math.histogram import bincount
from tfcompat._src.ops.math.scan import cumsum
from tfcompat._src.ops.math.sequence import arange

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike

SPLIT_TYPES = (dtypes.int32, dtypes.int64)


def repeat(data: TensorLike, repeats: TensorLike, axis: int, name: str | None = None) -> Tensor:
    """`data` with each of its slices along `axis` repeated."""
    return repeat_flat(data, repeats, axis=axis, name=name)


def lengths_to_splits(lengths: object) -> Tensor:
    """The splits of rows of these lengths."""
    return concat([[0], cumsum(lengths)], axis=0)


def splits_to_lengths(splits: Tensor) -> Tensor:
    return splits[1:] - splits[:-1]


def repeat_ranges(params: Tensor, splits: Tensor, repeats: Tensor) -> Tensor:
    """`params` with the range between two neighbours in `splits` repeated, each range as a whole.

    Args:
      params: Tensor whose first dimension is repeated.
      splits: vector [n + 1].
      repeats: scalar, or vector [n].
    """
    starts, limits = repeat(splits[:-1], repeats, axis=0), repeat(splits[1:], repeats, axis=0)
    _, places = raw.RaggedRange(starts, limits, ones((), starts.dtype), Tsplits=starts.dtype)
    return gather(params, places)


def assert_monotonic(splits: Tensor, message: str) -> Any:
    return assert_non_negative(splits_to_lengths(splits), message=message)


def assert_zero(value: Tensor, message: str) -> Any:
    return assert_equal(value, constant(0, dtype=value.dtype), message=message)


def assert_splits_match(nested_splits_lists: list) -> list:
    """Operations that demand that all lists hold the same splits; ValueError where they are of different lengths."""
    message = "Inputs must have identical ragged splits"
    first = nested_splits_lists[0]
    if any(len(splits) != len(first) for splits in nested_splits_lists):
        raise ValueError(message)
    return [
        assert_equal(a, b, message=message) for splits in nested_splits_lists[1:] for a, b in zip(first, splits)
    ]


@export("ragged.row_splits_to_segment_ids")
def row_splits_to_segment_ids(splits: TensorLike, name: str | None = None, out_type: DTypeLike | None = None) -> Tensor:
    """The row of each value.

    Args:
      splits: int32 or int64 vector [rows + 1].
      name: name scope.
      out_type: dtype of the result, by default that of `splits`.

    Raises:
      ValueError: `splits` is empty or of another dtype.
    """
    with name_scope(name, "RaggedSplitsToSegmentIds", [splits]):
        splits = convert_to_tensor(splits, name="splits", preferred_dtype=dtypes.int64)
        if splits.dtype not in SPLIT_TYPES:
            raise ValueError("splits must have dtype int32 or int64")
        splits.shape.assert_has_rank(1)
        if splits.shape.as_list() == [0]:
            raise ValueError("Invalid row_splits: []")
        out_type = splits.dtype if out_type is None else dtypes.as_dtype(out_type)
        lengths = splits_to_lengths(splits)
        rows = arange(shape(splits, out_type=out_type)[-1] - 1)
        return repeat(rows, lengths, axis=0)


@export("ragged.segment_ids_to_row_splits")
def segment_ids_to_row_splits(
    segment_ids: TensorLike, num_segments: TensorLike | None = None, out_type: DTypeLike | None = None, name: str | None = None
) -> Tensor:
    """The splits of rows whose values have these, rising, row numbers.

    Args:
      segment_ids: integer vector.
      num_segments: number of rows, by default the last id plus 1.
      out_type: dtype of the result; by default that of a Tensor argument, else int64.
      name: name scope.

    Raises:
      TypeError: an argument is no integer.
    """
    if out_type is None:
        given = [t.dtype for t in (segment_ids, num_segments) if isinstance(t, Tensor)]
        out_type = given[0] if given else dtypes.int64
    out_type = dtypes.as_dtype(out_type)
    with name_scope(name, "SegmentIdsToRaggedSplits", [segment_ids]):
        segment_ids = convert_to_int_tensor(segment_ids, "segment_ids")
        segment_ids.shape.assert_has_rank(1)
        if num_segments is not None:
            num_segments = convert_to_int_tensor(num_segments, "num_segments")
            num_segments.shape.assert_has_rank(0)
        splits = lengths_to_splits(bincount(segment_ids, minlength=num_segments, maxlength=num_segments, dtype=out_type))
        known = None if num_segments is None else constant_value(num_segments)
        if known is not None:
            splits.set_shape(TensorShape([int(known) + 1]))
        return splits


def common_split_type(nested: Iterable[Any]) -> dtypes.DType:
    """int32 where all these splits are int32, else int64; ValueError where both occur."""
    found = {s.dtype for s in nested}
    if len(found) > 1:
        raise ValueError(
            "Input RaggedTensors have mismatched row_splits dtypes; use RaggedTensor.with_row_splits_dtype() to convert "
            "them to compatible dtypes."
        )
    return found.pop() if found else dtypes.int64
