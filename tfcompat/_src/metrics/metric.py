"""What the metrics share: their variables, the shapes of their inputs, and their collections."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph import distribution_context
from tfcompat._src.graph.scopes import add_to_collections, executing_eagerly
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.shape import expand_dims, rank, squeeze
from tfcompat._src.ops.composed.confusion_matrix import remove_squeezable_dimensions
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.math.compare import equal
from tfcompat._src.variables.policies import VariableAggregation, VariableSynchronization
from tfcompat._src.variables.variable import Variable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike

ARGUMENTS = """Args:
      labels: the true values.
      predictions: what was predicted, of the shape of `labels`.
      weights: what each value counts, 1 by default; its shape can be broadcast to that of the values.
      metrics_collections: names of collections for the value.
      updates_collections: names of collections for the update operation.
      name: variable scope."""


def graph_only(function: Callable) -> Callable:
    """A metric that raises RuntimeError where execution is eager, as its variables belong to a graph."""

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if executing_eagerly():
            raise RuntimeError(f"tf.metrics.{function.__name__} is not supported when eager execution is enabled.")
        return function(*args, **kwargs)

    return checked


def metric_variable(shape: TensorLike, dtype: DTypeLike, validate_shape: bool = True, name: str | None = None) -> Variable:
    """A variable of zeros that is local and of no checkpoint, in the collections of local and of metric variables.

    Values of other shapes may be assigned to it where `validate_shape` is false.
    """
    return Variable(
        lambda: zeros(shape, dtype), trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
        validate_shape=validate_shape, synchronization=VariableSynchronization.ON_READ, aggregation=VariableAggregation.SUM, name=name,
    )  # fmt: skip


def collected(value: Any, collections: Any) -> Any:
    """`value`, added to collections."""
    if collections:
        add_to_collections(collections, value)
    return value


def aggregated(value_fn: Callable[[], Any], collections: object) -> Any:
    """What `value_fn` computes of the metric's variables, added to collections; of those of all replicas, where one runs."""
    mode = distribution_context.current()
    if mode is None or mode.replica_context is None:
        return collected(value_fn(), collections)
    return mode.replica_context.merge_call(lambda strategy: collected(value_fn(), collections))


def fitted(predictions: TensorLike, labels: TensorLike, weights: TensorLike) -> tuple[Any, Any, Any]:
    """(predictions, labels, weights) without the last dimensions of 1 that one of them has and the others lack.

    `labels` and `weights` may be None. Raises ValueError where the shapes of predictions and labels do not fit.
    """
    predictions = convert_to_tensor(predictions)
    if labels is not None:
        labels, predictions = remove_squeezable_dimensions(labels, predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
    return predictions, labels, None if weights is None else _fitted_weights(convert_to_tensor(weights), predictions)


def _fitted_weights(weights: Tensor, values: Tensor) -> Tensor:
    """`weights` with one last dimension less or more where that gives the rank of `values`."""
    have, wanted = weights.shape.ndims, values.shape.ndims
    if have == 0:
        return weights
    if have is not None and wanted is not None:
        if have == wanted + 1:
            return squeeze(weights, [-1])
        return expand_dims(weights, [-1]) if have == wanted - 1 else weights
    dynamic = rank(weights)
    difference = dynamic - rank(values)
    may_squeeze = have is None or weights.shape.dims[-1].is_compatible_with(1)

    def expanded() -> Tensor:
        return cond(equal(difference, -1), lambda: expand_dims(weights, [-1]), lambda: weights)

    def adjusted() -> Tensor:
        shorter = (lambda: squeeze(weights, [-1])) if may_squeeze else (lambda: weights)
        return cond(equal(difference, 1), shorter, expanded)

    return cond(equal(dynamic, 0), lambda: weights, adjusted)
