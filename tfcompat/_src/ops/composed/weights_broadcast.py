"""Weights of losses and metrics: a scalar, or a tensor of the values' rank whose every dimension is 1 or the values'."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import ones_like
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import expand_dims, rank, shape, size
from tfcompat._src.ops.composed.check_ops import label
from tfcompat._src.ops.control.cond import Assert, cond
from tfcompat._src.ops.control.groups import no_op
from tfcompat._src.ops.math.binary import multiply
from tfcompat._src.ops.math.compare import equal

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_MESSAGE = "weights can not be broadcast to values."


def assert_broadcastable(weights: TensorLike, values: TensorLike) -> Operation:
    """An operation that raises where `weights` cannot be broadcast to `values`.

    Raises:
      ValueError: the static shapes show it already.
    """
    with name_scope(None, "assert_broadcastable", (weights, values)) as scope:
        weights, weights_shape, weights_rank = _with_shape(weights, "weights")
        values, values_shape, values_rank = _with_shape(values, "values")
        known = _known_to_fit(weights, weights_shape, weights_rank, values, values_shape, values_rank)
        if known is not None:
            return no_op(name=known)
        is_scalar = equal(0, weights_rank, name="is_scalar")
        is_valid = cond(
            is_scalar,
            lambda: is_scalar,
            lambda: _has_valid_nonscalar_shape(weights_rank, weights_shape, values_rank, values_shape),
            name="is_valid_shape",
        )
        data = (
            _MESSAGE, "weights.shape=", label(weights), weights_shape, "values.shape=", label(values), values_shape,
            "is_scalar=", is_scalar,
        )  # fmt: skip
        return Assert(is_valid, data, name=scope)


def _with_shape(value: TensorLike, name: str) -> tuple[Tensor, Tensor, Tensor]:
    with name_scope(None, name, (value,)) as scope:
        value = convert_to_tensor(value, name=scope)
        return value, shape(value, name="shape"), rank(value, name="rank")


def _known_to_fit(weights, weights_shape, weights_rank, values, values_shape, values_rank) -> str | None:
    """The name of the check that static shapes passed, or None where they are not known; ValueError where they fail."""
    weights_rank, values_rank = constant_value(weights_rank), constant_value(values_rank)
    if weights_rank is None or values_rank is None:
        return None
    if weights_rank == 0:
        return "static_scalar_check_success"
    if weights_rank != values_rank:
        raise ValueError(
            f"{_MESSAGE} values.rank={values_rank}. weights.rank={weights_rank}. values.shape={values.shape}. "
            f"weights.shape={weights.shape}."
        )
    weights_sizes, values_sizes = constant_value(weights_shape), constant_value(values_shape)
    if weights_sizes is None or values_sizes is None:
        return None
    for i, (have, wanted) in enumerate(zip(weights_sizes, values_sizes)):
        if have not in (1, wanted):
            raise ValueError(f"{_MESSAGE} Mismatch at dim {i}. values.shape={values_sizes} weights.shape={weights_sizes}.")
    return "static_dims_check_success"


def _has_valid_nonscalar_shape(weights_rank: Tensor, weights_shape: Tensor, values_rank: Tensor, values_shape: Tensor) -> Tensor:
    inputs = (weights_rank, weights_shape, values_rank, values_shape)
    with name_scope(None, "has_valid_nonscalar_shape", inputs) as scope:
        is_same_rank = equal(values_rank, weights_rank, name="is_same_rank")
        return cond(is_same_rank, lambda: _has_valid_dims(weights_shape, values_shape), lambda: is_same_rank, name=scope)


def _has_valid_dims(weights_shape: Tensor, values_shape: Tensor) -> Tensor:
    with name_scope(None, "has_invalid_dims", (weights_shape, values_shape)) as scope:
        values_column = expand_dims(values_shape, -1)
        valid = concat((values_column, ones_like(values_column)), axis=1)
        weights_column = expand_dims(weights_shape, -1)
        invalid = raw.DenseToDenseSetOperation(weights_column, valid, set_operation="a-b")
        return equal(0, size(invalid.result_values, name="num_invalid_dims"), name=scope)


def broadcast_weights(weights: TensorLike, values: TensorLike) -> Tensor:
    """`weights` in the shape of `values`; ValueError, or InvalidArgumentError in a run, where they cannot be broadcast."""
    with name_scope(None, "broadcast_weights", (weights, values)) as scope:
        values = convert_to_tensor(values, name="values")
        weights = convert_to_tensor(weights, dtype=values.dtype.base_dtype, name="weights")
        if weights.shape.is_fully_defined() and values.shape.is_fully_defined() and weights.shape.is_compatible_with(values.shape):
            return weights
        with control_dependencies((assert_broadcastable(weights, values),)):
            return multiply(weights, ones_like(values), name=scope)
