"""Ragged and dense values brought to the same rows for elementwise functions."""

from __future__ import annotations

from typing import Any

from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.fill import fill, zeros
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import expand_dims, reshape, shape
from tfcompat._src.ops.control.cond import Assert
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, logical_or, not_equal
from tfcompat._src.ops.math.reduce import reduce_all
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.ragged.partition import lengths_to_splits, repeat
from tfcompat._src.ops.ragged.tensor import RaggedTensor, is_ragged


class Operand:
    """One value while it is matched with another: `place[i]` is where slot i of the result is found in it."""

    def __init__(self, value: Any, missing: int, depth: int, dtype: Any) -> None:
        self.depth_in = max(depth - missing, 0)
        if is_ragged(value):
            sizes: list = [value.nrows(), *value.nested_row_lengths()]
            self.splits: list = [None, *value.nested_row_splits]
            flat, inner = value.flat_values, self.depth_in - len(sizes)
            extent = shape(flat, out_type=dtype)
            sizes += [extent[1 + i] for i in range(inner)]
            self.flat = reshape(flat, concat([[-1], extent[1 + inner :]], axis=0)) if inner > 0 else flat
        else:
            extent = shape(value, out_type=dtype)
            sizes = [extent[i] for i in range(self.depth_in)]
            self.splits = []
            self.flat = reshape(value, concat([[-1], extent[self.depth_in :]], axis=0))
        self.splits = [None] * missing + self.splits + [None] * depth
        self.sizes = [cast(s, dtype) for s in [1] * missing + sizes]
        self.place = zeros([1], dtype)

    def is_ragged(self, axis: int) -> bool:
        return self.splits[axis] is not None

    def lengths(self, axis: int) -> Tensor:
        """The lengths of the rows of a ragged dimension, for each slot."""
        return gather(self.sizes[axis], self.place)

    def descend(self, axis: int, parents: Tensor, offsets: Tensor) -> None:
        """Moves on to the slots of the next dimension: number `offsets` in the slot `parents` of this one."""
        above = gather(self.place, parents)
        if self.is_ragged(axis):
            self.place = gather(self.splits[axis], above) + offsets
        else:
            count = self.sizes[axis]
            self.place = above * count + offsets * cast(not_equal(count, 1), offsets.dtype)

    def values(self) -> Tensor:
        return gather(self.flat, self.place)


def _require(condition: Tensor, axis: int) -> Any:
    return Assert(condition, ["Unable to broadcast: dimension size mismatch in dimension", axis])


def _common_lengths(a: Operand, b: Operand, axis: int, slots: Tensor) -> tuple[Tensor, Any]:
    """The lengths of the result's rows in dimension `axis`, one per slot, and the check that the operands fit."""
    if a.is_ragged(axis) and b.is_ragged(axis):
        lengths = a.lengths(axis)
        return lengths, _require(reduce_all(equal(lengths, b.lengths(axis))), axis)
    if a.is_ragged(axis):
        return a.lengths(axis), _require(equal(b.sizes[axis], 1), axis)
    if b.is_ragged(axis):
        return b.lengths(axis), _require(equal(a.sizes[axis], 1), axis)
    m, n = a.sizes[axis], b.sizes[axis]
    fits = logical_or(equal(m, n), logical_or(equal(m, 1), equal(n, 1)))
    return fill(expand_dims(slots, 0), where(equal(m, 1), n, m)), _require(fits, axis)


def matched(x: Any, y: Any) -> tuple[Tensor, Tensor, list]:
    """Two values of known ranks, broadcast to the same rows: their innermost values and the splits of the result.

    Uniform dimensions of size 1 are repeated; ragged ones must agree, or InvalidArgumentError is raised when it runs.
    """
    ranks = x.shape.ndims, y.shape.ndims
    if None in ranks:
        raise ValueError("Unable to broadcast: unknown rank")
    missing = [max(ranks) - r for r in ranks]
    depth = max(m + v.ragged_rank + 1 for m, v in zip(missing, (x, y)) if is_ragged(v))
    dtype = (x if is_ragged(x) else y).row_splits.dtype
    a, b = (Operand(v, m, depth, dtype) for v, m in zip((x, y), missing))
    slots, nested = cast(1, dtype), []
    for axis in range(depth):
        lengths, check = _common_lengths(a, b, axis, slots)
        with control_dependencies([check]):
            splits = lengths_to_splits(lengths)
            parents = repeat(arange(slots), lengths, axis=0)
            offsets = arange(splits[-1]) - gather(splits, parents)
        a.descend(axis, parents, offsets)
        b.descend(axis, parents, offsets)
        slots = splits[-1]
        nested.append(splits)
    return a.values(), b.values(), nested[1:]


def _is_inner(dense: Tensor, values: Tensor) -> bool:
    """Whether a Tensor broadcasts within each of `values`: it has fewer dimensions."""
    ndims, limit = dense.shape.ndims, values.shape.ndims
    return ndims == 0 or None not in (ndims, limit) and ndims < limit


def apply_elementwise(function: Any, x: Any, y: Any) -> RaggedTensor:
    """`function` of the elements of two values of which one or both are ragged, with broadcasting."""
    both = is_ragged(x) and is_ragged(y)
    if both and x.nested_row_splits == y.nested_row_splits:
        return x.with_flat_values(function(x.flat_values, y.flat_values))
    if not both and is_ragged(x) and _is_inner(y, x.flat_values):
        return x.with_flat_values(function(x.flat_values, y))
    if not both and is_ragged(y) and _is_inner(x, y.flat_values):
        return y.with_flat_values(function(x, y.flat_values))
    first, second, nested_splits = matched(x, y)
    return RaggedTensor.from_nested_row_splits(function(first, second), nested_splits, validate=False)
