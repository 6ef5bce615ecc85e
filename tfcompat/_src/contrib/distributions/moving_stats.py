"""Exponentially moving means and variances in variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.scopes import colocate_with, control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import ones_like
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.math.reduce import reduce_logsumexp
from tfcompat._src.ops.math.unary import log, log1p, square
from tfcompat._src.variables.assign import assign_add, assign_sub
from tfcompat._src.variables.initializers import Zeros
from tfcompat._src.variables.scope import get_variable, variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DType


def _require_float(dtype: DType, what: str) -> None:
    if not dtype.is_floating:
        raise TypeError(f"{what}.base_dtype({dtype.name}) does not have float type `dtype`.")


@export("contrib.distributions.assign_moving_mean_variance")
def assign_moving_mean_variance(
    mean_var: Any, variance_var: Any, value: TensorLike, decay: TensorLike, name: str | None = None
) -> tuple[Any, Any]:
    """Updates a moving mean and variance by a value: d = value - mean; mean += (1 - decay) d; variance moves to decay d^2.

    Args:
      mean_var, variance_var: float variables.
      value: Tensor of their shape.
      decay: scalar in [0, 1].
      name: name scope.

    Returns:
      (the updated mean, the updated variance).

    Raises:
      TypeError: the variables are not of one float dtype.
    """
    with name_scope(name, "assign_moving_mean_variance", [variance_var, mean_var, value, decay]):
        with colocate_with(variance_var), colocate_with(mean_var):
            dtype, other = mean_var.dtype.base_dtype, variance_var.dtype.base_dtype
            _require_float(dtype, "mean_var")
            if dtype != other:
                raise TypeError(f"mean_var.base_dtype({dtype.name}) != variance_var.base_dtype({other.name})")
            value = convert_to_tensor(value, dtype=dtype, name="value")
            decay = convert_to_tensor(decay, dtype=dtype, name="decay")
            delta = value - mean_var
            with control_dependencies([delta]):
                mean = assign_add(mean_var, (1.0 - decay) * delta)
                variance = assign_sub(variance_var, (1.0 - decay) * (variance_var - decay * square(delta)))
            return mean, variance


@export("contrib.distributions.assign_log_moving_mean_exp")
def assign_log_moving_mean_exp(log_mean_exp_var: Any, log_value: TensorLike, decay: object, name: str | None = None) -> Any:
    """Updates the logarithm of a moving mean: log(decay exp(variable) + (1 - decay) exp(log_value)).

    Args:
      log_mean_exp_var: float variable.
      log_value: Tensor of its shape.
      decay: scalar in [0, 1].
      name: name scope.

    Returns:
      the updated variable.

    Raises:
      TypeError: the variable is not of floats.
    """
    with name_scope(name, "assign_log_moving_mean_exp", [log_mean_exp_var, log_value, decay]):
        with colocate_with(log_mean_exp_var):
            dtype = log_mean_exp_var.dtype.base_dtype
            _require_float(dtype, "log_mean_exp_var")
            log_value = convert_to_tensor(log_value, dtype=dtype, name="log_value")
            decay = convert_to_tensor(decay, dtype=dtype, name="decay")
            delta = (log_value - log_mean_exp_var)[None, ...]
            parts = concat([log(decay) * ones_like(delta), delta + log1p(-decay)], axis=0)
            return log_mean_exp_var.assign_add(reduce_logsumexp(parts, axis=0))


@export("contrib.distributions.moving_mean_variance")
def moving_mean_variance(
    value: TensorLike, decay: TensorLike, collections: list[str] | None = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Makes variables "moving_mean" and "moving_variance" of zeros and updates them by `value`; see `assign_moving_mean_variance`.

    Args:
      value: float Tensor.
      decay: scalar in [0, 1].
      collections: where the variables are added; the global variables by default.
      name: variable scope.

    Raises:
      TypeError: `value` is not of floats.
    """
    collections = [GraphKeys.GLOBAL_VARIABLES] if collections is None else collections
    with variable_scope(name, "moving_mean_variance", [value, decay]):
        value = convert_to_tensor(value, name="value")
        _require_float(value.dtype.base_dtype, "value")
        decay = convert_to_tensor(decay, dtype=value.dtype.base_dtype, name="decay")
        variance, mean = (
            get_variable(
                name, shape=value.shape, dtype=value.dtype, initializer=Zeros(), trainable=False, collections=collections
            )
            for name in ("moving_variance", "moving_mean")
        )
        return assign_moving_mean_variance(mean, variance, value, decay)
