"""Numbers of the intervals that values fall into."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("contrib.slim.bucketize")
def bucketize(input_tensor: TensorLike, boundaries: list[float], name: str | None = None) -> Tensor:
    """How many of the sorted `boundaries` are at most as great as each value, as int32.

    Args:
      input_tensor: int32, int64, float32 or float64 Tensor.
      boundaries: floats in ascending order.
      name: node name.

    Raises:
      TypeError: `boundaries` is no list. InvalidArgumentError: when it runs, they are not sorted.
    """
    return raw.Bucketize(input_tensor, boundaries=boundaries, name=name)
