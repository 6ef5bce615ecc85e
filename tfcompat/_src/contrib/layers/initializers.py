"""tf.contrib.layers initializers, which keep the scale of what flows through a layer."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.random.stateful import random_uniform, truncated_normal

if TYPE_CHECKING:
    from tfcompat._src.base.dtypes import DTypeLike


@export(
    "contrib.layers.xavier_initializer", "contrib.layers.xavier_initializer_conv2d",
    "contrib.slim.xavier_initializer", "contrib.slim.xavier_initializer_conv2d",
)  # fmt: skip
def xavier_initializer(uniform: bool = True, seed: int | None = None, dtype: DTypeLike = dtypes.float32) -> Callable:
    """Random weights of variance 2 / (inputs + outputs) (Glorot and Bengio 2010).

    Args:
      uniform: uniform numbers, else normal ones cut off at two standard deviations.
      seed: op seed.
      dtype: floating element type.

    Returns:
      an initializer, for instance of `tf.get_variable`.

    Raises:
      TypeError: `dtype` is not floating.
    """
    return variance_scaling_initializer(factor=1.0, mode="FAN_AVG", uniform=uniform, seed=seed, dtype=dtype)


@export("contrib.layers.variance_scaling_initializer", "contrib.slim.variance_scaling_initializer")
def variance_scaling_initializer(
    factor: float = 2.0,
    mode: str = "FAN_IN",
    uniform: bool = False,
    seed: int | None = None,
    dtype: DTypeLike = dtypes.float32,
) -> Callable:
    """Random with variance factor / n, where n is the number of inputs, of outputs, or their mean (He et al. 2015).

    Args:
      factor: the factor.
      mode: "FAN_IN", "FAN_OUT" or "FAN_AVG".
      uniform: a uniform distribution; else a truncated normal one of variance 1.3 factor / n before it is truncated.
      seed: op seed.
      dtype: floating element type.

    Returns:
      a function `(shape, dtype, partition_info)` that gives a tensor.

    Raises:
      TypeError: the dtype is not floating, or the mode is unknown.
    """
    if mode not in ("FAN_IN", "FAN_OUT", "FAN_AVG"):
        raise TypeError("Unknown mode %s [FAN_IN, FAN_OUT, FAN_AVG]", mode)
    default = _floating(dtype)

    def initializer(shape: Any, dtype: DTypeLike = default, partition_info: object = None) -> Tensor:
        dtype = _floating(dtype)
        sizes = [float(d) for d in shape] or [1.0]
        field = math.prod(sizes[:-2])
        fan_in, fan_out = field * sizes[max(len(sizes) - 2, 0)], field * sizes[-1]
        n = {"FAN_IN": fan_in, "FAN_OUT": fan_out, "FAN_AVG": (fan_in + fan_out) / 2.0}[mode]
        if uniform:
            limit = math.sqrt(3.0 * factor / n)
            return random_uniform(shape, -limit, limit, dtype, seed=seed)
        return truncated_normal(shape, 0.0, math.sqrt(1.3 * factor / n), dtype, seed=seed)

    return initializer


def _floating(dtype: DTypeLike) -> dtypes.DType:
    found = dtypes.as_dtype(dtype)
    if not found.is_floating:
        raise TypeError("Cannot create initializer for non-floating point type.")
    return found
