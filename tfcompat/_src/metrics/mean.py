"""tf.metrics that are means over all batches seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.metrics.metric import ARGUMENTS, aggregated, collected, fitted, graph_only, metric_variable
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.fill import ones_like, zeros_like
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import size
from tfcompat._src.ops.composed.confusion_matrix import remove_squeezable_dimensions
from tfcompat._src.ops.composed.weights_broadcast import broadcast_weights
from tfcompat._src.ops.math.binary import div, div_no_nan, maximum, multiply, subtract
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, less
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.unary import absolute
from tfcompat._src.variables.assign import assign_add
from tfcompat._src.variables.scope import variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

Metric = tuple[Tensor, Tensor]


def _ratio(total: object, count: object, name: str) -> Tensor:
    return div_no_nan(total, maximum(count, 0), name=name)


def _averaged(total: TensorLike, count: TensorLike, values: Tensor, added: Tensor, counted: Tensor, metrics: object, updates: object) -> Metric:
    """The mean kept in two variables, and the operation that adds a batch of `values` to them."""
    new_total = assign_add(total, added)
    with control_dependencies([values]):
        new_count = assign_add(count, counted)
    value = aggregated(lambda: _ratio(total, count, "value"), metrics)
    return value, collected(_ratio(new_total, new_count, "update_op"), updates)


@export("metrics.mean")
@graph_only
def mean(
    values: TensorLike, weights: TensorLike | None = None, metrics_collections: object = None, updates_collections: object = None,
    name: str | None = None,
) -> Metric:  # fmt: skip
    """The weighted mean of all values seen.

    Args:
      values: tensor of any shape.
      weights: what each value counts, 1 by default; its shape can be broadcast to that of `values`.
      metrics_collections: names of collections for the value.
      updates_collections: names of collections for the update operation.
      name: variable scope.

    Returns:
      (value, update_op): scalars float32; running the second adds a batch and gives the new value.

    Raises:
      ValueError: the weights do not fit the values.
    """
    with variable_scope(name, "mean", (values, weights)):
        values = cast(values, dtypes.float32)
        total, count = (metric_variable([], dtypes.float32, name=part) for part in ("total", "count"))
        if weights is None:
            counted = cast(size(values), dtypes.float32)
        else:
            values, _, weights = fitted(values, None, weights)
            weights = broadcast_weights(cast(weights, dtypes.float32), values)
            values = multiply(values, weights)
            counted = reduce_sum(weights)
        added = reduce_sum(values)
        return _averaged(total, count, values, added, counted, metrics_collections, updates_collections)


@export("metrics.mean_tensor")
@graph_only
def mean_tensor(
    values: TensorLike, weights: TensorLike | None = None, metrics_collections: object = None, updates_collections: object = None,
    name: str | None = None,
) -> Metric:  # fmt: skip
    """The weighted mean of each element over all batches seen; arguments are those of `mean`.

    Returns:
      (value, update_op) of the shape of `values`, which must be known, float32.
    """
    with variable_scope(name, "mean", (values, weights)):
        values = cast(values, dtypes.float32)
        total, count = (
            metric_variable(values.shape, dtypes.float32, name=part) for part in ("total_tensor", "count_tensor")
        )
        counted = ones_like(values)
        if weights is not None:
            values, _, weights = fitted(values, None, weights)
            weights = broadcast_weights(cast(weights, dtypes.float32), values)
            values, counted = multiply(values, weights), multiply(counted, weights)
        return _averaged(total, count, values, values, counted, metrics_collections, updates_collections)


@export("metrics.percentage_below")
@graph_only
def percentage_below(
    values: object, threshold: object, weights: TensorLike | None = None, metrics_collections: object = None, updates_collections: object = None,
    name: str | None = None,
) -> Metric:  # fmt: skip
    """The share of values below a scalar `threshold`; other arguments and the result are those of `mean`."""
    is_below = cast(less(values, threshold), dtypes.float32)
    return mean(is_below, weights, metrics_collections, updates_collections, name or "percentage_below_threshold")


# ---- means of a function of labels and predictions ----


def _metric(name: str, what: str, of: Callable) -> Callable:
    """The public metric that is the mean of `of(labels, predictions)`."""
    default_name = name

    def function(
        labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None
    ):  # fmt: skip
        predictions, labels, weights = fitted(predictions, labels, weights)
        return mean(of(labels, predictions), weights, metrics_collections, updates_collections, name or default_name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{what} over all batches seen.

    {ARGUMENTS}

    Returns:
      (value, update_op): scalars float32; running the second adds a batch and gives the new value.

    Raises:
      ValueError: the shapes do not fit.
    """
    return graph_only(function)


def _is_correct(labels: Tensor, predictions: Tensor) -> Tensor:
    if labels.dtype != predictions.dtype:
        predictions = cast(predictions, labels.dtype)
    return cast(equal(predictions, labels), dtypes.float32)


accuracy = export("metrics.accuracy")(_metric("accuracy", "How often predictions equal labels", _is_correct))
mean_absolute_error = export("metrics.mean_absolute_error")(
    _metric("mean_absolute_error", "The mean of |predictions - labels|", lambda y, p: absolute(p - y))
)
mean_squared_error = export("metrics.mean_squared_error")(
    _metric("mean_squared_error", "The mean of (predictions - labels)^2", raw.SquaredDifference)
)


@export("metrics.root_mean_squared_error")
@graph_only
def root_mean_squared_error(
    labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None, metrics_collections: object = None,
    updates_collections: object = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """The square root of `mean_squared_error`, with the same arguments."""
    predictions, labels, weights = fitted(predictions, labels, weights)
    value, update = mean_squared_error(labels, predictions, weights, name=name or "root_mean_squared_error")
    value = aggregated(lambda: raw.Sqrt(value), metrics_collections)
    return value, collected(raw.Sqrt(update), updates_collections)


@export("metrics.mean_relative_error")
@graph_only
def mean_relative_error(
    labels: TensorLike, predictions: TensorLike, normalizer: TensorLike, weights: TensorLike | None = None, metrics_collections: object = None,
    updates_collections: object = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """The mean of |labels - predictions| / normalizer, 0 where the normalizer (of their shape) is 0; else as `accuracy`."""
    predictions, labels, weights = fitted(predictions, labels, weights)
    predictions, normalizer = remove_squeezable_dimensions(predictions, normalizer)
    predictions.shape.assert_is_compatible_with(normalizer.shape)
    is_zero, nothing = equal(normalizer, 0.0), zeros_like(labels)
    errors = where(is_zero, nothing, div(absolute(labels - predictions), normalizer))
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_relative_error")


@export("metrics.mean_cosine_distance")
@graph_only
def mean_cosine_distance(
    labels: TensorLike, predictions: TensorLike, dim: int, weights: TensorLike | None = None, metrics_collections: object = None,
    updates_collections: object = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """1 less the mean of the products of unit vectors along dimension `dim`; else as `accuracy`."""
    predictions, labels, weights = fitted(predictions, labels, weights)
    products = reduce_sum(multiply(predictions, labels), axis=[dim], keepdims=True)
    value, update = mean(products, weights, name=name or "mean_cosine_distance")
    value, update = subtract(1.0, value), subtract(1.0, update)
    return collected(value, metrics_collections), collected(update, updates_collections)
