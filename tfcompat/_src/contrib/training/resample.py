"""Examples repeated or left out at random, by rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.constant import stop_gradient
from tfcompat._src.ops.array.fill import fill, zeros
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.control.while_loop import while_loop
from tfcompat._src.ops.flow.tensor_array import TensorArray
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import reduce_mean
from tfcompat._src.ops.random.stateful import random_poisson
from tfcompat._src.train.moving_averages import assign_moving_average
from tfcompat._src.variables.scope import get_local_variable, variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _repeat_range(counts: TensorLike, name: str | None = None) -> Tensor:
    """`counts[0]` times 0, `counts[1]` times 1, and so on."""
    with name_scope(name, "repeat_range", [counts]) as scope:
        counts = convert_to_tensor(counts, name="counts")
        size = shape_of(counts)[0]
        start = TensorArray(dtype=dtypes.int32, size=size, infer_shape=False)

        def step(output: TensorArray, i: Tensor) -> tuple[TensorArray, Tensor]:
            return output.write(i, fill(counts[i : i + 1], i)), i + 1

        output, written = while_loop(lambda output, i: i < size, step, loop_vars=[start, 0])
        return cond(written > 0, output.concat, lambda: zeros(shape=[0], dtype=dtypes.int32), name=scope)


@export("contrib.training.resample_at_rate")
def resample_at_rate(
    inputs: list[Any], rates: TensorLike, scope: str | None = None, seed: int | None = None, back_prop: bool = False
) -> list[Tensor]:
    """Each example as often as a Poisson random number with its rate says.

    Args:
      inputs: tensors [n, ...].
      rates: [n], floating, the mean number of copies of each example.
      scope: name scope.
      seed: of the random numbers.
      back_prop: whether gradients flow through the choice.

    Returns:
      for each input the chosen examples, [m, ...].
    """
    with name_scope(scope, "resample_at_rate", [*inputs, rates]):
        rates = convert_to_tensor(rates, name="rates")
        counts = cast(random_poisson(rates, (), rates.dtype, seed=seed), dtypes.int32)
        chosen = _repeat_range(counts)
        if not back_prop:
            chosen = stop_gradient(chosen)
        return [gather(x, chosen) for x in inputs]


@export("contrib.training.weighted_resample")
def weighted_resample(
    inputs: list[Any], weights: Tensor, overall_rate: object, scope: str | None = None, mean_decay: float = 0.999,
    seed: int | None = None,
) -> tuple[list[Tensor], Tensor]:  # fmt: skip
    """Resamples with rates in proportion to `weights`, whose mean is estimated from batch to batch.

    Args:
      inputs: tensors [n, ...].
      weights: [n], floating.
      overall_rate: the mean number of copies of all examples, a number or scalar tensor.
      scope: name scope and variable scope.
      mean_decay: decay of the moving average of the mean weight.
      seed: of the random numbers.

    Returns:
      for each input the chosen examples, [m, ...], and their rates, [m].
    """
    with name_scope(scope, "weighted_resample", inputs) as opscope:
        with variable_scope(scope, "estimate_mean", inputs):
            estimate = get_local_variable("estimated_mean", initializer=cast(0, weights.dtype), dtype=weights.dtype)
            mean = assign_moving_average(estimate, reduce_mean(weights), mean_decay)
        rates = weights * overall_rate / mean
        rates, *results = resample_at_rate([rates, *inputs], rates, scope=opscope, seed=seed, back_prop=False)
        return results, rates
