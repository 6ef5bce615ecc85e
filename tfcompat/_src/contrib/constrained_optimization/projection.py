"""Euclidean projections onto simplices, by rounds that shift what is above 0 (Michelot 1986)."""

from __future__ import annotations

from collections.abc import Callable

from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.fill import ones_like
from tfcompat._src.ops.control.while_loop import while_loop
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import logical_and, not_equal
from tfcompat._src.ops.math.reduce import reduce_any


def project(values: Tensor, rounds: int, scale: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """`values` after the projection.

    Args:
      values: floating tensor.
      rounds: the most rounds.
      scale: function of the values and of a mask, 1 where they are above 0, that gives what is added under the mask.
    """

    def unfinished(i: Tensor, values: Tensor, mask: Tensor, old_mask: Tensor) -> Tensor:
        enough = i < rounds
        return logical_and(enough, reduce_any(not_equal(mask, old_mask)))

    def step(i: Tensor, values: Tensor, mask: Tensor, old_mask: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        i += 1
        values = values + scale(values, mask) * mask
        new_mask = cast(values > 0, values.dtype)
        return i, values * new_mask, new_mask, mask

    i = constant(0)
    mask = ones_like(values, dtype=values.dtype)
    start = step(i, values, mask, mask)
    return while_loop(unfinished, step, loop_vars=start, name="euclidean_projection")[1]
