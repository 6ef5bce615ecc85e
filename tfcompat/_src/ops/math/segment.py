"""Reductions over segments, rows that share an id; with sorted ids the number of rows is data and the op runs on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

from tfcompat._src.base import checks, dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.base.on_demand import sparse
from tfcompat._src.base.row_sums import add_rows
from tfcompat._src.graph.op_spec import HOST, Facts, NotDifferentiable, op
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.shape_inference import merge, with_rank, with_rank_at_least
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, to_tensor
from tfcompat._src.ops.array.fill import ones, ones_like, zeros_like
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import rank, shape, shape_internal
from tfcompat._src.ops.math.cast import cast

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.operation import Operation
    from tfcompat._src.graph.shape_inference import InferenceContext
    from tfcompat._src.graph.tensor import Tensor

_UNDEFINED = NotDifferentiable("no gradient is defined", raises=True)


def invalid(text: str) -> Exception:
    return errors.InvalidArgumentError(None, None, text)


def lowest(dtype: np.dtype) -> Any:
    return np.iinfo(dtype).min if dtype.kind in "iu" else ml_dtypes.finfo(dtype).min


def highest(dtype: np.dtype) -> Any:
    return np.iinfo(dtype).max if dtype.kind in "iu" else ml_dtypes.finfo(dtype).max


def gather_rows(data: TensorLike, indices: TensorLike) -> Tensor:
    return raw.GatherV2(data, indices, 0)


# ---- sorted ids ----


def count_segments(ids: np.ndarray, rows: int, length: int | None) -> int:
    """How many segments the result has: `length`, or the last id + 1; InvalidArgumentError where the ids do not fit."""
    if ids.ndim != 1:
        raise invalid("segment_ids should be a vector.")
    if len(ids) != rows:
        raise invalid("segment_ids should be the same size as dimension 0 of input.")
    if not len(ids):
        return length or 0
    needed = int(ids[-1]) + 1
    if length is not None and needed > length:
        raise invalid("segment ids must be < num_segments")
    length = needed if length is None else length
    if not 0 < length <= np.iinfo(ids.dtype).max:
        raise invalid("segment ids must be >= 0")
    return length


_FEW = 64
"""Ids that Python looks through in less time than NumPy takes to begin."""


def _starts_of_few(ids: list[int], length: int) -> np.ndarray | None:
    """Where each run of equal ids begins; None where one is outside, or above the next."""
    if ids[0] < 0 or ids[-1] >= length or ids != sorted(ids):
        return None
    return np.array([i for i, each in enumerate(ids) if not i or each != ids[i - 1]], np.int64)


def segment_starts(ids: np.ndarray, length: int) -> np.ndarray:
    """Where each run of equal ids begins; InvalidArgumentError at the first one that is outside or above the next."""
    if not len(ids):
        return np.zeros(0, np.int64)
    if len(ids) <= _FEW and (found := _starts_of_few(ids.tolist(), length)) is not None:
        return found
    is_start = np.empty(len(ids), bool)
    is_start[0] = True
    np.not_equal(ids[1:], ids[:-1], out=is_start[1:])
    starts = np.flatnonzero(is_start)
    firsts = ids[starts]
    rises = firsts[1:] > firsts[:-1]
    if not (rises.all() and 0 <= firsts[0] and firsts[-1] < length):
        falls = np.append(~rises, False)
        first = np.argmax(falls | (firsts < 0) | (firsts >= length))
        if falls[first]:
            raise invalid("segment ids are not increasing")
        raise invalid(
            f"Segment id {firsts[first]} out of range [0, {length}), possibly because 'segment_ids' input is not sorted."
        )
    return starts


@np.errstate(all="ignore")
def reduce_sorted(
    function: np.ufunc, data: np.ndarray, ids: np.ndarray, gap: object, length: int | None = None
) -> np.ndarray:
    """Reduces runs of equal `ids` to `length` rows, by default the last id + 1; rows without an id hold `gap`."""
    length = count_segments(ids, len(data), length)
    return reduce_runs(function, data, ids, segment_starts(ids, length), gap, length)


def reduce_runs(function: np.ufunc, data: np.ndarray, ids: np.ndarray, starts: np.ndarray, gap: object, length: int) -> np.ndarray:
    """`reduce_sorted` where it is known where each run of equal ids begins."""
    checks.require_room((length, *data.shape[1:]), data.dtype)
    if len(starts) == length > 0:
        return _reduce_runs(function, data, starts)
    found = np.full((length,) + data.shape[1:], gap, data.dtype)
    if len(starts):
        found[ids[starts]] = _reduce_runs(function, data, starts)
    return found


_LARGE = 1 << 17
_WIDE = 32


def _sum_runs(data: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Adds the rows from each of `starts` to the next: the product of a sparse matrix of ones and the data."""
    index = np.int32 if len(data) <= np.iinfo(np.int32).max else np.int64
    ends, rows = np.append(starts, len(data)).astype(index), np.arange(len(data), dtype=index)
    ones = sparse.csr_matrix((np.ones(len(data), data.dtype), rows, ends), (len(starts), len(data)))
    return (ones @ data.reshape(len(data), -1)).reshape(len(starts), *data.shape[1:])


def _reduce_runs(function: np.ufunc, data: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Reduces the rows from each of `starts` to the next.

    Large data is reduced in vectors: first the k-th rows of all runs at once, k rising up to the number of runs that are
    as long as that, then what is left of each longer run. That takes at most `2 * sqrt(rows)` calls.
    """
    if function is np.add and data.size >= _LARGE and data.dtype.char in "fd":
        return _sum_runs(data, starts)
    if data.size < _LARGE or data.size < _WIDE * len(data):
        return function.reduceat(data, starts, axis=0, dtype=data.dtype)
    counts = np.diff(starts, append=len(data))
    order = np.argsort(-counts, kind="stable")
    starts, counts = starts[order], counts[order]
    depth = np.count_nonzero(counts > np.arange(len(counts)))
    longest_first = data[starts]
    for k in range(1, min(depth, counts[0])):
        long = np.count_nonzero(counts > k)
        function(longest_first[:long], data[starts[:long] + k], out=longest_first[:long])
    for total, start, count in zip(longest_first, starts, counts[: np.count_nonzero(counts > depth)]):
        function(total, function.reduce(data[start + depth : start + count], dtype=data.dtype), out=total)
    found = np.empty_like(longest_first)
    found[order] = longest_first
    return found


def row_counts(ids: np.ndarray, length: int, dtype: np.dtype, rank: int) -> np.ndarray:
    """How many rows each segment has, at least 1, with dimensions added to `rank`."""
    counts = np.maximum(np.bincount(ids, minlength=length), 1).astype(dtype)
    return counts.reshape((-1,) + (1,) * (rank - 1))


@np.errstate(all="ignore")
def _segment_mean(data, segment_ids):
    total = reduce_sorted(np.add, data, segment_ids, 0)
    counts = row_counts(segment_ids, len(total), data.dtype, data.ndim)
    if data.dtype.kind in "iu":
        return (total - np.fmod(total, counts)) // counts
    return (total / counts).astype(data.dtype)


def _segment_shape(c: InferenceContext) -> list:
    data = with_rank_at_least(c.inputs[0], 1)
    with_rank(c.inputs[1], 1)
    return [None if data is None else (None,) + data[1:]]


def _segment(name: str, types: str, kernel: Callable, gradient: Any) -> None:
    text = f"(data: T, segment_ids: Tindices, *, T: {types}, Tindices: INDEX) -> (output: T)"
    op(name, text, shape=_segment_shape, kernel=kernel, gradient=gradient, side=HOST, depth=2)


def _sorted_kernel(function: np.ufunc, gap: int) -> Callable:
    return lambda data, segment_ids: reduce_sorted(function, data, segment_ids, gap)


def _sorted_extreme(function: np.ufunc, start: float) -> Callable:
    """NaN is passed over, but a segment of one row is that row; one of NaN alone gives `start`."""

    def kernel(data, segment_ids):
        found = reduce_sorted(function, data, segment_ids, 0)
        if data.dtype.kind not in "iu" and np.any(unordered := np.isnan(found)):
            several = np.bincount(segment_ids, minlength=len(found)) > 1
            found[unordered & several.reshape((-1,) + (1,) * (data.ndim - 1))] = start
        return found

    return kernel


def _segment_sum_grad(op: Operation, g: Tensor) -> list:
    return [gather_rows(g, op.inputs[1]), None]


def _segment_mean_grad(op: Operation, g: Tensor) -> list:
    data, ids = op.inputs
    dimensions = rank(data)
    sizes = concat([shape(ids), raw.Fill(raw.ExpandDims(dimensions - 1, 0), 1)], 0)
    counts = raw.SegmentSum(raw.Fill(sizes, constant(1, dtype=g.dtype)), ids)
    return [gather_rows(g / counts, ids), None]


def _segment_extreme_grad(op: Operation, g: Tensor) -> list:
    """The elements of a segment that are its extreme share its gradient."""
    data, ids = op.inputs
    nothing = zeros_like(data, dtype=data.dtype)
    chosen = raw.Equal(data, gather_rows(op.outputs[0], ids))
    counts = raw.SegmentSum(cast(chosen, g.dtype), ids)
    return [raw.Select(chosen, gather_rows(g / counts, ids), nothing), None]


_segment("SegmentSum", "NUMBER", _sorted_kernel(np.add, 0), _segment_sum_grad)
_segment("SegmentMean", "NUMBER", _segment_mean, _segment_mean_grad)
_segment("SegmentProd", "NUMBER", _sorted_kernel(np.multiply, 1), _UNDEFINED)
_segment("SegmentMax", "REAL", _sorted_extreme(np.fmax, -np.inf), _segment_extreme_grad)
_segment("SegmentMin", "REAL", _sorted_extreme(np.fmin, np.inf), _segment_extreme_grad)


# ---- unsorted ids ----


def _unsorted_shape(c: InferenceContext) -> list:
    data, ids = c.inputs[0], c.inputs[1]
    with_rank(c.inputs[2], 0)
    num = c.value(2)
    if num is not None and num < 0:
        raise ValueError(f"Dimension size, given by scalar input 2, must be non-negative but is {num}")
    if data is None or ids is None:
        return [None]
    if len(ids) > len(data):
        raise ValueError(f"Shape must be at least rank {len(ids)} but is rank {len(data)}")
    merge(data[: len(ids)], ids)
    return [(None if num is None else int(num),) + data[len(ids) :]]


def require_inside(outside: Any, ids: Any, text: Callable[[Any, Any], str]) -> None:
    """Demands that no element of `outside` is true; `text` is made of the number and the id of the first that is."""
    if not ids.size:
        return
    at = checks.first(lax.reshape(outside, (ids.size,)))
    bad = lax.dynamic_index_in_dim(lax.reshape(ids, (ids.size,)), at, keepdims=False)
    checks.require(lax.bitwise_not(lax.reduce_or(outside, range(ids.ndim))), text, at, bad)


def scatter_rows(scatter: Callable, ids: Any, rows: Any, num: int, initial: Any) -> Any:
    """Combines `rows`, each at its id, into an array [num, ...] of `initial`; rows with an id outside are dropped."""
    rank = rows.ndim - ids.ndim
    shape = (num,) + rows.shape[ids.ndim :]
    flat = lax.reshape(rows, (ids.size,) + shape[1:])
    indices = lax.reshape(ids, (ids.size, 1))
    numbers = lax.ScatterDimensionNumbers(tuple(range(1, rank + 1)), (0,), (0,))
    base = lax.full(shape, initial, rows.dtype)
    return scatter(base, indices, flat, numbers, mode=lax.GatherScatterMode.FILL_OR_DROP)


def _since_nan(scatter: Callable) -> Callable:
    """The extreme of the rows behind the last NaN of a segment, as each row is compared with what was found before it."""

    def from_last_nan(base, indices, rows, numbers, mode):
        order = lax.broadcasted_iota(np.int32, rows.shape, 0)
        is_nan = lax.ne(rows, rows)
        last = lax.scatter_max(
            lax.full(base.shape, -1, np.int32), indices, lax.select(is_nan, order, lax.full_like(order, -1)), numbers, mode=mode
        )
        last_of_row = jnp.take(last, indices[:, 0], axis=0, mode="clip")
        counts = lax.gt(order, last_of_row)
        newest = lax.scatter_max(lax.full(base.shape, -1, np.int32), indices, order, numbers, mode=mode)
        found = scatter(base, indices, lax.select(counts, rows, lax.full_like(rows, base.reshape(-1)[0])), numbers, mode=mode)
        ends_in_nan = lax.bitwise_and(lax.ge(last, np.int32(0)), lax.eq(last, newest))
        return lax.select(ends_in_nan, lax.full_like(found, np.nan), found)

    def extreme(base, indices, rows, numbers, mode):
        if rows.dtype.kind in "iu" or not rows.size or not base.size:
            return scatter(base, indices, rows, numbers, mode=mode)
        return lax.cond(
            lax.reduce_or(lax.ne(rows, rows), range(rows.ndim)),
            lambda *values: from_last_nan(*values, numbers, mode),
            lambda *values: scatter(*values, numbers, mode=mode), base, indices, rows,
        )  # fmt: skip

    return extreme


def _unsorted(name: str, types: str, scatter: Callable, initial: Callable, gradient: Callable, **fields: object) -> None:
    def kernel(data, segment_ids, num_segments):
        checks.scalar("num_segments", num_segments, "should be a scalar, not shape {}")
        num = int(num_segments)
        if num < 0:
            raise invalid("Input num_segments == %d must not be negative." % num)
        if data.shape[: segment_ids.ndim] != segment_ids.shape:
            raise invalid(
                f"data.shape = {shape_text(data.shape)} does not start with segment_ids.shape = {shape_text(segment_ids.shape)}"
            )
        checks.require_room((num, *data.shape[segment_ids.ndim :]), data.dtype)
        last = min(num - 1, int(np.iinfo(segment_ids.dtype).max))
        outside = lax.gt(segment_ids, segment_ids.dtype.type(last))
        sizes = segment_ids.shape
        require_inside(outside, segment_ids, lambda at, bad: f"segment_ids{checks.place_text(at, sizes)} = {bad} is out of range [0, {num})")
        return scatter_rows(scatter, segment_ids, data, num, initial(data.dtype))

    text = (
        f"(data: T, segment_ids: Tindices, num_segments: Tnumsegments, *, T: {types}, Tindices: INDEX, "
        "Tnumsegments: INDEX = int32) -> (output: T)"
    )
    op(name, text, shape=_unsorted_shape, kernel=kernel, gradient=gradient, constants=("num_segments",), depth=2, **fields)


def _not_negative(ids: TensorLike) -> Tensor:
    """Segment ids with 0 in place of those that drop their rows."""
    return raw.Maximum(ids, zeros_like(ids))


def _counted(ids: TensorLike, gathered: Any) -> Any:
    """Whether the rows of `ids` are not dropped, in the shape of what was gathered for them."""
    counted = raw.GreaterEqual(ids, 0)
    for _ in range(gathered.shape.ndims - counted.shape.ndims):
        counted = raw.ExpandDims(counted, -1)
    return counted & ones_like(gathered, dtype=dtypes.bool)


def _gather_or_zero(rows: TensorLike, ids: TensorLike) -> Tensor:
    gathered = gather_rows(rows, _not_negative(ids))
    counted = _counted(ids, gathered)
    return raw.Select(counted, gathered, zeros_like(gathered))


def _unsorted_sum_grad(op: Operation, g: Tensor) -> list:
    return [_gather_or_zero(g, op.inputs[1]), None, None]


def _unsorted_extreme_grad(op: Operation, g: Tensor) -> list:
    data, ids, num = op.inputs
    places = _not_negative(ids)
    extremes = gather_rows(op.outputs[0], places)
    counted = _counted(ids, extremes)
    extremes = raw.Select(counted, extremes, zeros_like(extremes))
    chosen = raw.LogicalAnd(raw.Equal(data, extremes), counted)
    counts = raw.UnsortedSegmentSum(cast(chosen, g.dtype), ids, num)
    shares = gather_rows(g / counts, places)
    shares = raw.Select(counted, shares, zeros_like(shares))
    return [raw.Select(chosen, shares, zeros_like(shares)), None, None]


def _unsorted_prod_grad(op: Operation, g: Tensor) -> list:
    """Each element gets the product of the others, which is 0 where one of them is 0."""
    data, ids, num = op.inputs
    is_zero = raw.Equal(data, 0)
    zeros = raw.UnsortedSegmentSum(cast(is_zero, dtypes.int32), ids, num)
    g = raw.Select(raw.Greater(zeros, 1), zeros_like(g), g)
    others = raw.UnsortedSegmentProd(raw.Select(is_zero, ones_like(data), data), ids, num)
    places = _not_negative(ids)
    product, nonzero_product = gather_rows(op.outputs[0], places), gather_rows(others, places)
    slope = raw.Select(is_zero, nonzero_product, product / data)
    gathered = gather_rows(g, places)
    counted = _counted(ids, gathered)
    return [raw.Select(counted, gathered, zeros_like(gathered)) * slope, None, None]


def rows_added_in_numpy(rows: Any, places: Any, count: int) -> Any:
    """The sums of the rows with the same place, [count, ...]; rows with a negative place are left out."""
    total = np.zeros((count, *rows.shape[1:]), rows.dtype)
    add_rows(total, places, rows)
    return total


def _near_unsorted_sum(data: Any, segment_ids: Any, num_segments: Any) -> Any:
    count, places = int(num_segments), segment_ids.reshape(-1)
    if count < 0:
        raise invalid(f"Input num_segments == {count} must not be negative.")
    if data.shape[: segment_ids.ndim] != segment_ids.shape:
        raise invalid(f"data.shape = {shape_text(data.shape)} does not start with segment_ids.shape = {shape_text(segment_ids.shape)}")
    outside = np.flatnonzero(places >= count)
    if outside.size:
        raise invalid(f"segment_ids{checks.place_text(outside[0], segment_ids.shape)} = {places[outside[0]]} is out of range [0, {count})")
    return rows_added_in_numpy(data.reshape(places.size, *data.shape[segment_ids.ndim :]), places, count)


_unsorted("UnsortedSegmentSum", "NUMBER", lax.scatter_add, lambda dtype: 0, _unsorted_sum_grad,
          near=_near_unsorted_sum, facts=Facts(rows_by="segment_ids", row_count="num_segments"))  # fmt: skip
_unsorted("UnsortedSegmentProd", "NUMBER", lax.scatter_mul, lambda dtype: 1, _unsorted_prod_grad)
_unsorted("UnsortedSegmentMax", "REAL", _since_nan(lax.scatter_max), lowest, _unsorted_extreme_grad)
_unsorted("UnsortedSegmentMin", "REAL", _since_nan(lax.scatter_min), highest, _unsorted_extreme_grad)


# ---- public functions ----


def _sorted_function(name: str, op_type: str, doc: str) -> Callable:
    apply = raw.function(op_type)

    def function(data, segment_ids, name=None):
        return apply(data, segment_ids, name=name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{doc} of each segment.

    Args:
      data: a Tensor [n, ...].
      segment_ids: the id of each row, int32 or int64 [n], sorted, not negative.
      name: node name.

    Returns:
      a Tensor [last id + 1, ...].
    """
    return function


def _unsorted_function(name: str, op_type: str, doc: str) -> Callable:
    apply = raw.function(op_type)

    def function(data, segment_ids, num_segments, name=None):
        return apply(data, segment_ids, num_segments, name=name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{doc} of each segment.

    Args:
      data: a Tensor.
      segment_ids: the id of each row, of a shape that begins the shape of `data`; rows with a negative id are dropped.
      num_segments: number of segments.
      name: node name.

    Returns:
      a Tensor [num_segments, ...].
    """
    return function


segment_sum = export("segment_sum", "math.segment_sum")(_sorted_function("segment_sum", "SegmentSum", "The sum"))
segment_mean = export("segment_mean", "math.segment_mean")(_sorted_function("segment_mean", "SegmentMean", "The mean"))
segment_prod = export("segment_prod", "math.segment_prod")(
    _sorted_function("segment_prod", "SegmentProd", "The product")
)
segment_max = export("segment_max", "math.segment_max")(_sorted_function("segment_max", "SegmentMax", "The maximum"))
segment_min = export("segment_min", "math.segment_min")(_sorted_function("segment_min", "SegmentMin", "The minimum"))
unsorted_segment_sum = export("unsorted_segment_sum", "math.unsorted_segment_sum")(
    _unsorted_function("unsorted_segment_sum", "UnsortedSegmentSum", "The sum (0 where empty)")
)
unsorted_segment_prod = export("unsorted_segment_prod", "math.unsorted_segment_prod")(
    _unsorted_function("unsorted_segment_prod", "UnsortedSegmentProd", "The product (1 where empty)")
)
unsorted_segment_max = export("unsorted_segment_max", "math.unsorted_segment_max")(
    _unsorted_function("unsorted_segment_max", "UnsortedSegmentMax", "The maximum (the lowest number where empty)")
)
unsorted_segment_min = export("unsorted_segment_min", "math.unsorted_segment_min")(
    _unsorted_function("unsorted_segment_min", "UnsortedSegmentMin", "The minimum (the highest number where empty)")
)


def _segment_sizes(data: Any, segment_ids: Any, num_segments: TensorLike) -> Tensor:
    """The number of rows of each segment, at least 1, in the rank of a sum over them."""
    counted = ones(shape_internal(segment_ids), dtype=data.dtype)
    counts = raw.UnsortedSegmentSum(counted, segment_ids, num_segments)
    tail = [1] * (data.shape.ndims - segment_ids.shape.ndims)
    return raw.Maximum(raw.Reshape(counts, [num_segments] + tail), 1)


@export("unsorted_segment_mean", "math.unsorted_segment_mean")
def unsorted_segment_mean(data, segment_ids, num_segments, name=None):
    """The mean (0 where empty) of each segment; arguments are those of `unsorted_segment_sum`."""
    with name_scope(name, "UnsortedSegmentMean"):
        data, segment_ids = to_tensor(data), to_tensor(segment_ids)
        sizes = _segment_sizes(data, segment_ids, num_segments)
        return raw.UnsortedSegmentSum(data, segment_ids, num_segments) / sizes


@export("unsorted_segment_sqrt_n", "math.unsorted_segment_sqrt_n")
def unsorted_segment_sqrt_n(data, segment_ids, num_segments, name=None):
    """The sum of each segment divided by the square root of its size; arguments are those of `unsorted_segment_sum`."""
    with name_scope(name, "UnsortedSegmentSqrtN"):
        data, segment_ids = to_tensor(data), to_tensor(segment_ids)
        sizes = _segment_sizes(data, segment_ids, num_segments)
        return raw.UnsortedSegmentSum(data, segment_ids, num_segments) / raw.Sqrt(sizes)
