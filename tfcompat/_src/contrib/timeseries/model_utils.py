"""Small helpers of time series models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.contrib.timeseries.feature_keys import FilteringResults
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.nn.activation import relu
from tfcompat._src.ops.nn.bias import xw_plus_b
from tfcompat._src.variables.initializers import Zeros
from tfcompat._src.variables.scope import get_variable


def fully_connected(
    inp: Tensor, inp_size: int, layer_size: int, name: str, activation: Callable | None = relu, dtype: object = dtypes.float32
) -> Tensor:
    """A dense layer whose variables are `name`_weight and `name`_bias.

    Args:
      inp: Tensor [batch, inp_size].
      inp_size, layer_size: sizes.
      name: how the variables' names begin.
      activation: function of the outputs, or None.
      dtype: dtype of the weights.
    """
    weight = get_variable(f"{name}_weight", shape=[inp_size, layer_size], dtype=dtype)
    bias = get_variable(f"{name}_bias", shape=[layer_size], initializer=Zeros())
    output = xw_plus_b(inp, weight, bias)
    return output if activation is None else activation(output)


def parameter_switch(parameter_overrides: dict[Any, Any]) -> Callable[[Any], np.ndarray]:
    """A function that gives the value of a parameter in the default session, or the one that `parameter_overrides` has for it."""
    return lambda parameter: convert_to_tensor(parameter_overrides.get(parameter, parameter)).eval()


def canonicalize_times_or_steps_from_output(times: object, steps: int | None, previous_model_output: dict[str, Any]) -> np.ndarray:
    """The times [batch, window] of predictions that go on from an evaluation.

    Args:
      times: integers [batch, window] or [window], or None.
      steps: how many times after the last of the evaluation, or None.
      previous_model_output: dict with the TIMES [batch, window] of the evaluation.

    Raises:
      ValueError: both or neither are given, the batch is another, or times are not after those of the evaluation.
    """
    if (steps is None) == (times is None):
        raise ValueError(f"A prediction takes either `steps` or `times`, got {'neither' if steps is None else 'both'}.")
    before = previous_model_output[FilteringResults.TIMES]
    if times is None:
        return before[:, -1:] + 1 + np.arange(steps)[None, :]
    times = np.array(times)
    if times.ndim != 2:
        times = times[None, ...]
    if before.shape[0] != times.shape[0]:
        raise ValueError(
            f"`times` has to have the batch of the evaluation that it goes on from: got {times.shape[0]} series, "
            f"where the evaluation has {before.shape[0]}."
        )
    if not (before[:, -1] < times[:, 0]).all():
        raise ValueError(f"Predictions begin at {times[:, 0]}, which is not after the end of the evaluation at {before[:, -1]}.")
    return times
