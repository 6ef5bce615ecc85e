"""Sorting along a dimension, by way of TopKV2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, to_tensor
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import rank, shape
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.nn.top_k import top_k

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

DIRECTIONS = ("ASCENDING", "DESCENDING")


@export("sort")
def sort(values: TensorLike, axis: TensorLike = -1, direction: str = "ASCENDING", name: str | None = None) -> Tensor:
    """The elements of `values` in order along `axis`.

    Args:
      values: numeric tensor of at least one dimension.
      axis: the dimension, a constant.
      direction: "ASCENDING" or "DESCENDING".
      name: name scope.

    Raises:
      ValueError: another direction, or `axis` is not a constant scalar or no dimension.
    """
    with name_scope(name, "sort"):
        axis, values = _arguments(values, axis, direction)
        if direction == "DESCENDING":
            return _descending(values, axis, places=False)
        return -_descending(-values, axis, places=False)


@export("argsort")
def argsort(
    values: TensorLike, axis: TensorLike = -1, direction: str = "ASCENDING", stable: bool = False, name: str | None = None
) -> Tensor:
    """The int32 places that sort `values` along `axis`: equal elements keep their order.

    Args:
      values, axis, direction: as in `sort`.
      stable: the order is stable either way, as in 1.15.
      name: name scope.

    Raises:
      ValueError: as in `sort`.
    """
    with name_scope(name, "argsort"):
        axis, values = _arguments(values, axis, direction)
        return _descending(values if direction == "DESCENDING" else -values, axis, places=True)


def _arguments(values: TensorLike, axis: TensorLike, direction: str) -> tuple[int, Tensor]:
    if direction not in DIRECTIONS:
        raise ValueError(f"{direction} should be one of {', '.join(DIRECTIONS)}")
    axis = to_tensor(axis, name="axis")
    known = constant_value(axis)
    if known is None or known.ndim:
        raise ValueError("axis must be a constant scalar")
    return int(known), to_tensor(values, name="values")


def _descending(values: Tensor, axis: int, places: bool) -> Tensor:
    """`values` in falling order along `axis`, or the places of its elements."""
    count, dims, known = shape(values)[axis], rank(values), values.shape.ndims
    if axis == -1 or axis + 1 == known:
        return top_k(values, count)[places]
    order = _swapped_with_last(axis, dims, known)
    return transpose(top_k(transpose(values, order), count)[places], order)


def _swapped_with_last(axis: int, dims: Tensor, known: int | None) -> Tensor:
    """The permutation that swaps `axis` and the last dimension."""
    if known is not None:
        order = np.arange(known)
        order[[axis, -1]] = order[[-1, axis]]
        return constant(order, name="transposition")
    if axis < 0:
        axis = axis + dims
    return concat([arange(axis), [dims - 1], arange(axis + 1, dims - 1), [axis]], 0)
