"""Layers that round values as a quantized program would, with ranges kept in variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.math.fake_quant import (
    fake_quant_with_min_max_args,
    fake_quant_with_min_max_vars,
    fake_quant_with_min_max_vars_per_channel,
)
from tfcompat._src.ops.math.reduce import reduce_max, reduce_min
from tfcompat._src.train.moving_averages import assign_moving_average
from tfcompat._src.variables.assign import assign
from tfcompat._src.variables.initializers import Constant
from tfcompat._src.variables.policies import VariableAggregation
from tfcompat._src.variables.scope import get_variable, variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def FixedQuantize(inputs: TensorLike, init_min: float = -6.0, init_max: float = 6.0, scope: str | None = None) -> Tensor:
    """Values rounded to 256 levels of a fixed range, under the name scope `scope`."""
    with name_scope(scope, "FixedQuantize", values=[inputs]):
        return fake_quant_with_min_max_args(inputs, min=init_min, max=init_max)


def _range_variable(name: str, shape: list, value: float, collection: object) -> Any:
    return get_variable(
        name, shape=shape, initializer=Constant(value), trainable=False, aggregation=VariableAggregation.MEAN,
        collections=[*([collection] if collection else []), GraphKeys.GLOBAL_VARIABLES],
    )  # fmt: skip


def _range_of(inputs: Tensor, per_channel: bool, symmetric: bool, narrow_range: bool, num_bits: int) -> tuple[Tensor, Tensor]:
    """The least range that holds the values and 0: of each channel, symmetric around 0."""
    if per_channel and inputs.shape.ndims == 1:
        lowest = highest = inputs
    else:
        axes = list(range(inputs.shape.ndims - 1)) if per_channel else None
        lowest, highest = reduce_min(inputs, axis=axes, name="BatchMin"), reduce_max(inputs, axis=axes, name="BatchMax")
    if not symmetric:
        return raw.Minimum(lowest, 0.0), raw.Maximum(highest, 0.0)
    # Without the narrow range there is one level more below 0 than above.
    ratio = -1 if narrow_range else -((1 << num_bits) - 2) / (1 << num_bits)
    return raw.Minimum(lowest, highest / ratio), raw.Maximum(highest, lowest * ratio)


def _quantize(
    inputs: Tensor, update: Callable, per_channel: bool, init_min: float, init_max: float, vars_collection: object,
    name_prefix: str, reuse: object, is_training: bool, num_bits: int, narrow_range: bool, symmetric: bool,
) -> Tensor:  # fmt: skip
    """Rounded values; `update` gives the new values of the variables `min` and `max` in training."""
    with variable_scope(None, default_name=name_prefix, values=[inputs], reuse=reuse) as scope:
        scope.set_partitioner(None)
        if per_channel and inputs.shape.ndims not in (1, 2, 4):
            raise AssertionError(f"Expected 1D, 2D or 4D input, was: {inputs.shape} in  scope: {name_prefix}")
        shape = [inputs.shape[-1]] if per_channel else []
        lowest = _range_variable("min", shape, init_min, vars_collection)
        highest = _range_variable("max", shape, init_max, vars_collection)
        if is_training:
            least, most = _range_of(inputs, per_channel, symmetric, narrow_range, num_bits)
            lowest, highest = update(lowest, least, "Min"), update(highest, most, "Max")
        fake_quant = fake_quant_with_min_max_vars_per_channel if per_channel else fake_quant_with_min_max_vars
        return fake_quant(inputs, lowest, highest, num_bits=num_bits, narrow_range=narrow_range)


def LastValueQuantize(
    inputs: Tensor, per_channel: bool = False, init_min: float = -6.0, init_max: float = 6.0, vars_collection: object = None,
    name_prefix: str = "LastValueQuant", reuse: object = None, is_training: bool = True, num_bits: int = 8,
    narrow_range: bool = False, symmetric: bool = False,
) -> Tensor:  # fmt: skip
    """Values rounded to the levels of their range; the last one in training is kept in the variables `min` and `max`.

    Args:
      inputs: a float32 tensor.
      per_channel: a range for each channel (the last dimension) of a tensor of rank 1, 2 or 4.
      init_min, init_max: the initial range.
      vars_collection: a collection for the variables, besides GLOBAL_VARIABLES.
      name_prefix: the variable scope, made unique.
      reuse: whether the variables are there already.
      is_training: False: the range is what the variables hold.
      num_bits: 2 to 8 (16 where the kernel allows it): the logarithm of the number of levels.
      narrow_range: leaves out the lowest level.
      symmetric: the range is symmetric around 0.

    Raises:
      AssertionError: a range for each channel of a tensor of another rank.
    """
    return _quantize(
        inputs, lambda variable, value, label: assign(variable, value, name=f"Assign{label}Last"), per_channel, init_min,
        init_max, vars_collection, name_prefix, reuse, is_training, num_bits, narrow_range, symmetric,
    )  # fmt: skip


def MovingAvgQuantize(
    inputs: Tensor, per_channel: bool = False, init_min: float = -6.0, init_max: float = 6.0, ema_decay: float = 0.999,
    vars_collection: object = GraphKeys.MOVING_AVERAGE_VARIABLES, name_prefix: str = "MovingAvgQuantize", reuse: object = None,
    is_training: bool = True, num_bits: int = 8, narrow_range: bool = False, symmetric: bool = False,
) -> Tensor:  # fmt: skip
    """`LastValueQuantize` with the exponential moving average, of decay `ema_decay`, of the ranges in training."""

    def update(variable: TensorLike, value: Tensor, label: str) -> Any:
        return assign_moving_average(variable, value, ema_decay, name=f"Assign{label}Ema")

    return _quantize(
        inputs, update, per_channel, init_min, init_max, vars_collection, name_prefix, reuse, is_training, num_bits,
        narrow_range, symmetric,
    )  # fmt: skip
