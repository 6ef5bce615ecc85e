"""tf.contrib.metrics that are tf.metrics with predictions before labels, and means."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.metrics import at_k, classes, counts, mean, thresholds
from tfcompat._src.metrics.metric import collected, fitted, metric_variable
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import size
from tfcompat._src.ops.composed import confusion_matrix as confusion
from tfcompat._src.ops.composed.weights_broadcast import broadcast_weights
from tfcompat._src.ops.math.binary import div
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import greater
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.nn.top_k import in_top_k
from tfcompat._src.ops.sets import sets
from tfcompat._src.variables.assign import assign_add
from tfcompat._src.variables.scope import variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

Metric = tuple[Tensor, Tensor]

set_difference = export("contrib.metrics.set_difference")(sets.set_difference)
set_intersection = export("contrib.metrics.set_intersection")(sets.set_intersection)
set_size = export("contrib.metrics.set_size")(sets.set_size)
set_union = export("contrib.metrics.set_union")(sets.set_union)


def _reordered(metric: Callable, order: str) -> Callable:
    """`metric` with its parameters in the order given by their names."""
    parameters = inspect.signature(metric).parameters
    keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([parameters[each].replace(kind=keyword) for each in order.split()])

    def function(*args: Any, **kwargs: Any) -> Any:
        return metric(**signature.bind(*args, **kwargs).arguments)

    function.__name__ = function.__qualname__ = metric.__name__
    function.__doc__ = f"`tf.metrics.{metric.__name__}` with the arguments {signature}."
    function.__signature__ = signature
    return function


_REST = " metrics_collections updates_collections name"
_BATCH = "predictions labels weights" + _REST

streaming_true_positives = export("contrib.metrics.streaming_true_positives")(
    _reordered(counts.true_positives, _BATCH)
)
streaming_true_negatives = export("contrib.metrics.streaming_true_negatives")(
    _reordered(counts.true_negatives, _BATCH)
)
streaming_false_positives = export("contrib.metrics.streaming_false_positives")(
    _reordered(counts.false_positives, _BATCH)
)
streaming_false_negatives = export("contrib.metrics.streaming_false_negatives")(
    _reordered(counts.false_negatives, _BATCH)
)
streaming_precision = export("contrib.metrics.streaming_precision")(
    _reordered(counts.precision, _BATCH)
)
streaming_recall = export("contrib.metrics.streaming_recall")(
    _reordered(counts.recall, _BATCH)
)
streaming_mean = export("contrib.metrics.streaming_mean")(
    _reordered(mean.mean, "values weights" + _REST)
)
streaming_mean_tensor = export("contrib.metrics.streaming_mean_tensor")(
    _reordered(mean.mean_tensor, "values weights" + _REST)
)
streaming_percentage_less = export("contrib.metrics.streaming_percentage_less")(
    _reordered(mean.percentage_below, "values threshold weights" + _REST)
)
streaming_accuracy = export("contrib.metrics.streaming_accuracy")(
    _reordered(mean.accuracy, _BATCH)
)
streaming_mean_absolute_error = export("contrib.metrics.streaming_mean_absolute_error")(
    _reordered(mean.mean_absolute_error, _BATCH)
)
streaming_mean_squared_error = export("contrib.metrics.streaming_mean_squared_error")(
    _reordered(mean.mean_squared_error, _BATCH)
)
streaming_root_mean_squared_error = export("contrib.metrics.streaming_root_mean_squared_error")(
    _reordered(mean.root_mean_squared_error, _BATCH)
)
streaming_mean_relative_error = export("contrib.metrics.streaming_mean_relative_error")(
    _reordered(mean.mean_relative_error, "predictions labels normalizer weights" + _REST)
)
streaming_mean_cosine_distance = export("contrib.metrics.streaming_mean_cosine_distance")(
    _reordered(mean.mean_cosine_distance, "predictions labels dim weights" + _REST)
)
streaming_mean_iou = export("contrib.metrics.streaming_mean_iou")(
    _reordered(classes.mean_iou, "predictions labels num_classes weights" + _REST)
)
streaming_auc = export("contrib.metrics.streaming_auc")(
    _reordered(thresholds.auc, "predictions labels weights num_thresholds metrics_collections updates_collections curve name")
)
streaming_specificity_at_sensitivity = export("contrib.metrics.streaming_specificity_at_sensitivity")(
    _reordered(thresholds.specificity_at_sensitivity, "predictions labels sensitivity weights num_thresholds" + _REST)
)
streaming_sensitivity_at_specificity = export("contrib.metrics.streaming_sensitivity_at_specificity")(
    _reordered(thresholds.sensitivity_at_specificity, "predictions labels specificity weights num_thresholds" + _REST)
)
streaming_precision_at_thresholds = export("contrib.metrics.streaming_precision_at_thresholds")(
    _reordered(thresholds.precision_at_thresholds, "predictions labels thresholds weights" + _REST)
)
streaming_recall_at_thresholds = export("contrib.metrics.streaming_recall_at_thresholds")(
    _reordered(thresholds.recall_at_thresholds, "predictions labels thresholds weights" + _REST)
)
streaming_sparse_recall_at_k = export("contrib.metrics.streaming_sparse_recall_at_k")(
    _reordered(at_k.recall_at_k, "predictions labels k class_id weights" + _REST)
)
streaming_sparse_precision_at_k = export("contrib.metrics.streaming_sparse_precision_at_k")(
    _reordered(at_k.precision_at_k, "predictions labels k class_id weights" + _REST)
)
streaming_sparse_average_precision_at_k = export("contrib.metrics.streaming_sparse_average_precision_at_k")(
    _reordered(at_k.average_precision_at_k, "predictions labels k weights" + _REST)
)
confusion_matrix = export("contrib.metrics.confusion_matrix")(
    _reordered(confusion.confusion_matrix, "labels predictions num_classes dtype name weights")
)


# ---- of the classes that were predicted ----


@export("contrib.metrics.streaming_recall_at_k")
def streaming_recall_at_k(
    predictions: TensorLike, labels: TensorLike, k: int, weights: object = None, metrics_collections: object = None,
    updates_collections: object = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """How often the one label of a row is among the `k` classes with the largest scores `predictions`."""
    found = cast(in_top_k(predictions, labels, k), dtypes.float32)
    name = name or at_k.at_k_name("recall", k)
    return streaming_mean(found, weights, metrics_collections, updates_collections, name)


@export("contrib.metrics.streaming_sparse_precision_at_top_k")
def streaming_sparse_precision_at_top_k(
    top_k_predictions: TensorLike, labels: TensorLike, class_id: int | None = None, weights: TensorLike | None = None,
    metrics_collections: object = None, updates_collections: object = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """`tf.metrics.precision_at_top_k` with predictions before labels."""
    with name_scope(name, at_k.at_k_name("precision", class_id=class_id), (top_k_predictions, labels, weights)) as scope:
        return at_k.precision_at_top_k(
            labels, top_k_predictions, None, class_id, weights, metrics_collections, updates_collections, scope
        )


@export("contrib.metrics.sparse_recall_at_top_k")
def sparse_recall_at_top_k(
    labels: TensorLike, top_k_predictions: TensorLike, class_id: int | None = None, weights: TensorLike | None = None,
    metrics_collections: object = None, updates_collections: object = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """`tf.metrics.recall_at_top_k` of predicted classes."""
    with name_scope(name, at_k.at_k_name("recall", class_id=class_id), (top_k_predictions, labels, weights)) as scope:
        return at_k.recall_at_top_k(
            labels, top_k_predictions, None, class_id, weights, metrics_collections, updates_collections, scope
        )


@export("contrib.metrics.streaming_sparse_average_precision_at_top_k")
def streaming_sparse_average_precision_at_top_k(
    top_k_predictions: TensorLike, labels: TensorLike, weights: object = None, metrics_collections: object = None,
    updates_collections: object = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """`tf.metrics.average_precision_at_k` of predicted classes [..., k], best first."""
    return at_k.average_precision_at_top_k(
        labels, top_k_predictions, weights, metrics_collections, updates_collections, name
    )


# ---- rates and counts ----


def _rate(scope: str, wrong: Callable, right: Callable) -> Callable:
    """The public metric wrong / (wrong + right)."""

    def ratio(errors: Any, others: Any, name: str) -> Tensor:
        some = greater(errors + others, 0)
        return where(some, div(errors, errors + others), 0, name)

    def function(
        predictions, labels, weights=None, metrics_collections=None, updates_collections=None, name=None
    ):  # fmt: skip
        with variable_scope(name, scope, (predictions, labels, weights)):
            predictions, labels, weights = counts.as_booleans(predictions, labels, weights)
            errors, new_errors = wrong(labels, predictions, weights)
            others, new_others = right(labels, predictions, weights)
            value = collected(ratio(errors, others, "value"), metrics_collections)
            return value, collected(ratio(new_errors, new_others, "update_op"), updates_collections)

    function.__name__ = function.__qualname__ = "streaming_" + scope
    function.__doc__ = f"""{wrong.__name__} / ({wrong.__name__} + {right.__name__}), 0 where there are none.

    Args:
      predictions, labels: tensors of one shape, taken as bool.
      weights: what each value counts, 1 by default; its shape can be broadcast to that of the values.
      metrics_collections, updates_collections: names of collections for the value and the update operation.
      name: variable scope.

    Returns:
      (value, update_op): scalars float32; running the second adds a batch and gives the new value.
    """
    return function


streaming_false_positive_rate = export("contrib.metrics.streaming_false_positive_rate")(
    _rate("false_positive_rate", counts.false_positives, counts.true_negatives)
)
streaming_false_negative_rate = export("contrib.metrics.streaming_false_negative_rate")(
    _rate("false_negative_rate", counts.false_negatives, counts.true_positives)
)


@export("contrib.metrics.count")
def count(
    values: TensorLike, weights: TensorLike | None = None, metrics_collections: object = None, updates_collections: object = None,
    name: str | None = None,
) -> Metric:  # fmt: skip
    """The number of values seen, or the sum of their weights.

    Args:
      values: Tensor of any shape.
      weights: what each value counts; its shape can be broadcast to that of `values`.
      metrics_collections, updates_collections: names of collections for the value and the update operation.
      name: variable scope.

    Returns:
      (value, update_op): scalars float32; running the second adds a batch and gives the new value.
    """
    with variable_scope(name, "count", (values, weights)):
        total = metric_variable([], dtypes.float32, name="count")
        if weights is None:
            added = cast(size(values), dtypes.float32)
        else:
            values, _, weights = fitted(cast(values, dtypes.float32), None, weights)
            added = reduce_sum(broadcast_weights(cast(weights, dtypes.float32), values))
        with control_dependencies([values]):
            update = assign_add(total, added)
        return collected(raw.Identity(total), metrics_collections), collected(update, updates_collections)


@export("contrib.metrics.aggregate_metrics")
def aggregate_metrics(*value_update_tuples: object) -> tuple[list, list]:
    """The values and the update operations of several metrics as two lists; ValueError where there are none."""
    if not value_update_tuples:
        raise ValueError("Expected at least one value_tensor/update_op pair")
    values, updates = zip(*value_update_tuples)
    return list(values), list(updates)


@export("contrib.metrics.aggregate_metric_map")
def aggregate_metric_map(names_to_tuples: dict[str, Any]) -> tuple[dict, dict]:
    """The values and the update operations of a dict of metrics as two dicts."""
    values, updates = zip(*names_to_tuples.values())
    return dict(zip(names_to_tuples, values)), dict(zip(names_to_tuples, updates))
