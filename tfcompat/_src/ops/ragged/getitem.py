"""Indexing and slicing of ragged tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import errors
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat, stack
from tfcompat._src.ops.array.search import where_v2
from tfcompat._src.ops.array.shape import expand_dims, size
from tfcompat._src.ops.composed.rank_checks import assert_rank
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.math.binary import maximum, minimum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.sequence import arange

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_ALL = slice(None)


def gather_rows(params: Any, rows: Tensor) -> Any:
    """The rows of a Tensor or ragged tensor at a Tensor of indices."""
    if isinstance(params, Tensor):
        return gather(params, rows)
    depth = rows.shape.ndims
    if depth is None:
        raise ValueError("indices.shape.ndims must be known statically")
    splits, values = raw.RaggedGather(
        params.nested_row_splits, params.flat_values, rows, OUTPUT_RAGGED_RANK=depth + len(params.nested_row_splits) - 1
    )
    if depth == 1 and rows._sizes[0] is not None:
        splits[0].set_shape([rows._sizes[0] + 1])
    return type(params).from_nested_row_splits(values, splits, validate=False)


def take(rt: TensorLike, key: object) -> Any:
    """`rt[key]`; dimension by dimension ints (the outermost only), slices, `...` and `tf.newaxis`."""
    keys = list(key) if isinstance(key, (list, tuple)) else [key]
    with name_scope(None, "RaggedGetItem", [rt, *_tensors(keys)]):
        return _outer(rt, keys)


def _tensors(keys: Any) -> Iterator[Tensor]:
    for key in keys:
        if isinstance(key, Tensor):
            yield key
        elif isinstance(key, slice):
            yield from _tensors([key.start, key.stop, key.step])


def _expanded(keys: list, ndims: int | None) -> list:
    """`keys` with full slices in place of a leading `...`; `ndims` dimensions are left."""
    if ndims is None:
        raise ValueError("Ellipsis not supported for unknown shape RaggedTensors")
    rest = [k for k in keys[1:] if k is not Ellipsis]
    missing = ndims - sum(k is not None for k in rest)
    if missing < 0:
        raise IndexError("Too many indices for RaggedTensor")
    return [_ALL] * missing + rest


def _outer(x: Any, keys: list) -> Any:
    """`x[keys]`, where the first key is for the dimension of the rows."""
    if not keys:
        return x
    if isinstance(x, Tensor):
        return x[tuple(keys)]
    first, *rest = keys
    if first is Ellipsis:
        return _outer(x, _expanded(keys, x.shape.ndims))
    if first is None:
        found = _outer(x, rest)
        if isinstance(found, Tensor):
            return expand_dims(found, 0)
        return type(x).from_row_splits(found, stack([0, found.nrows()]), validate=False)
    if isinstance(first, slice):
        return _inner(_rows(x, first), rest)
    try:
        start, limit = x.row_splits[:-1][first], x.row_splits[1:][first]
    except errors.InvalidArgumentError:  # in eager mode, where Python ends a loop over rows by the IndexError
        if isinstance(first, int) and first >= 0:
            raise IndexError(f"Row key {first} out of bounds") from None
        raise
    row = x.values[start:limit]
    return row[tuple(rest)] if rest else row


def _rows(x: Any, part: slice) -> Any:
    """The rows of a ragged tensor that a slice picks; neighbours are one span of its values."""
    if part == _ALL:
        return x
    if not (part.step is None or isinstance(part.step, int) and part.step == 1):
        return gather_rows(x, _picked(x.nrows(), part))
    starts, limits = x.row_splits[:-1][part], x.row_splits[1:][part]
    splits = concat([zeros([1], starts.dtype)[size(starts) :], starts[:1], limits], 0)
    begin, end = splits[0], splits[-1]
    return type(x).from_row_splits(x.values[begin:end], splits - begin, validate=False)


def _picked(count: Tensor, part: slice) -> Tensor:
    rows = arange(count)[part]
    rows.set_shape([None])
    return rows


def _inner(x: Any, keys: list) -> Any:
    """`keys` applied within each row of `x`."""
    if not keys:
        return x
    if isinstance(x, Tensor):
        return x[(_ALL, *keys)]
    first, *rest = keys
    if first is Ellipsis:
        return _inner(x, _expanded(keys, x.values.shape.ndims))
    if first is None:
        found = _inner(x, rest)
        return type(x).from_row_splits(found, arange(found.nrows() + 1), validate=False)
    if not isinstance(first, slice):
        raise ValueError("Cannot index into an inner ragged dimension.")
    rows = x if first == _ALL else _sliced_rows(x, first)
    return rows.with_values(_inner(rows.values, rest))


def _sliced_rows(x: Any, part: slice) -> Any:
    """Each row of `x` from `part.start` to `part.stop`; a stop of 0 means the end of the row, as in 1.15."""
    begins, ends = x.row_splits[:-1], x.row_splits[1:]
    starts = begins if _is_default(part.start) else _offset(part.start, begins, ends)
    limits = ends if _is_default(part.stop) else _offset(part.stop, begins, ends)
    step = convert_to_tensor(1 if part.step is None else part.step, name="step")
    if not step.dtype.is_integer:
        raise TypeError("slice strides must be integers or None")
    starts.set_shape(begins.shape)
    limits.set_shape(begins.shape)
    splits, places = raw.RaggedRange(starts, limits, cast(step, starts.dtype), Tsplits=starts.dtype)
    return type(x).from_row_splits(gather_rows(x.values, places), splits, validate=False)


def _offset(offset: TensorLike, begins: Tensor, ends: Tensor) -> Tensor:
    """The place `offset` in each row, counted from its end where it is negative, and within the row."""

    if isinstance(offset, Tensor):
        offset = with_dependencies([assert_rank(offset, 0)], cast(offset, begins.dtype))
        anchor = where_v2(offset < 0, ends, begins)
    elif isinstance(offset, int):
        anchor = ends if offset < 0 else begins
    else:
        raise TypeError("slice offsets must be integers or None")
    return minimum(maximum(anchor + offset, begins), ends)


def _is_default(bound: object) -> bool:
    return bound is None or isinstance(bound, int) and not bound
