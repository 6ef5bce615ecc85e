"""Learning rates with warm restarts (Loshchilov & Hutter 2017)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.math.binary import div, multiply
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal
from tfcompat._src.ops.math.unary import cos, floor, log

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def sgdr_decay(
    learning_rate: TensorLike, global_step: object, initial_period_steps: object, t_mul: object = 2.0, m_mul: object = 1.0,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Half a cosine from `learning_rate` down to 0, again and again.

    Args:
      learning_rate: the rate at the start, a floating number or scalar tensor.
      global_step: the number of steps done.
      initial_period_steps: length of the first period, in steps.
      t_mul: how many times as long each next period is.
      m_mul: how many times as large the rate at the start of each next period is.
      name: name of the result.

    Raises:
      ValueError: `global_step` is None.
    """
    if global_step is None:
        raise ValueError("global_step is required for sgdr_decay.")
    with name_scope(name, "SGDRDecay", [learning_rate, global_step, initial_period_steps, t_mul, m_mul]) as scope:
        learning_rate = convert_to_tensor(learning_rate, name="initial_learning_rate")
        dtype = learning_rate.dtype
        step, period, t_mul, m_mul = (cast(v, dtype) for v in (global_step, initial_period_steps, t_mul, m_mul))
        one, half, pi = (cast(constant(v), dtype) for v in (1.0, 0.5, math.pi))
        position = div(step, period)

        def equal_periods() -> tuple[Tensor, Tensor]:
            restarts = floor(position)
            return restarts, position - restarts

        def growing_periods() -> tuple[Tensor, Tensor]:
            restarts = floor(log(one - position * (one - t_mul)) / log(t_mul))
            before = (one - t_mul**restarts) / (one - t_mul)
            return restarts, (position - before) / t_mul**restarts

        restarts, part = cond(equal(t_mul, one), equal_periods, growing_periods)
        highest = learning_rate * m_mul**restarts
    return multiply(half * highest, cos(part * pi) + one, name=scope)
