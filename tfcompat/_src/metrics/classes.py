"""tf.metrics of several classes: mean_iou, mean_per_class_accuracy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.metrics.metric import aggregated, collected, graph_only, metric_variable
from tfcompat._src.ops.array.diagonal import diag_part
from tfcompat._src.ops.array.fill import ones, ones_like
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import reshape, size
from tfcompat._src.ops.composed.confusion_matrix import confusion_matrix
from tfcompat._src.ops.math.binary import div, div_no_nan, maximum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, greater, not_equal
from tfcompat._src.ops.math.reduce import reduce_mean, reduce_sum
from tfcompat._src.variables.assign import assign_add, scatter_add
from tfcompat._src.variables.scope import variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _flat(x: Any) -> Any:
    return reshape(x, [-1]) if x is not None and x.shape.ndims > 1 else x


def streaming_confusion_matrix(
    labels: TensorLike, predictions: TensorLike, num_classes: int, weights: TensorLike | None = None
) -> tuple[Any, Tensor]:
    """Returns the variable with the confusion matrix of all batches, a float64 [num_classes, num_classes], and the operation that adds a batch."""
    total = metric_variable([num_classes, num_classes], dtypes.float64, name="total_confusion_matrix")
    predictions, labels = cast(predictions, dtypes.int64), cast(labels, dtypes.int64)
    num_classes = cast(num_classes, dtypes.int64)
    predictions, labels, weights = _flat(predictions), _flat(labels), _flat(weights)
    current = confusion_matrix(labels, predictions, num_classes, weights=weights, dtype=dtypes.float64)
    return total, assign_add(total, current)


def _mean_overlap(confusion: TensorLike) -> Tensor:
    """The mean of intersection over union of the classes that occur."""
    rows = cast(reduce_sum(confusion, 0), dtypes.float32)
    columns = cast(reduce_sum(confusion, 1), dtypes.float32)
    intersection = cast(diag_part(confusion), dtypes.float32)
    union = rows + columns - intersection
    occurring = reduce_sum(cast(not_equal(union, 0), dtypes.float32))
    union = where(greater(union, 0), union, ones_like(union))
    overlap = div(intersection, union)
    return where(greater(occurring, 0), reduce_sum(overlap, name="mean_iou") / occurring, 0)


@export("metrics.mean_iou")
@graph_only
def mean_iou(
    labels: Any, predictions: Any, num_classes: int, weights: TensorLike | None = None, metrics_collections: object = None,
    updates_collections: object = None, name: str | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The mean over classes of intersection over union, TP / (TP + FP + FN), in all batches.

    Args:
      labels, predictions: tensors of class numbers, of one shape.
      num_classes: number of classes.
      weights: what each element counts, of the shape of `labels`; 1 by default.
      metrics_collections, updates_collections: names of collections for the value and the update operation.
      name: variable scope.

    Returns:
      (value, update_op): a scalar float32; running the second adds a batch and gives the confusion matrix.

    Raises:
      ValueError: the shapes do not fit. InvalidArgumentError: a class number is outside the range.
    """
    with variable_scope(name, "mean_iou", (predictions, labels, weights)):
        predictions.shape.assert_is_compatible_with(labels.shape)
        total, update = streaming_confusion_matrix(labels, predictions, num_classes, weights)
        return aggregated(lambda: _mean_overlap(total), metrics_collections), collected(update, updates_collections)


@export("metrics.mean_per_class_accuracy")
@graph_only
def mean_per_class_accuracy(
    labels: Any, predictions: Any, num_classes: int, weights: TensorLike | None = None, metrics_collections: object = None,
    updates_collections: object = None, name: str | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The mean over classes of the share of their examples that were predicted; arguments are those of `mean_iou`.

    Returns:
      (value, update_op): a scalar float32; running the second adds a batch and gives the accuracy of each class.
    """
    with variable_scope(name, "mean_accuracy", (predictions, labels, weights)):
        labels = _flat(cast(labels, dtypes.int64))
        predictions = _flat(predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
        total, count = (metric_variable([num_classes], dtypes.float32, name=part) for part in ("total", "count"))
        seen = ones([size(labels)], dtypes.float32)
        if labels.dtype != predictions.dtype:
            predictions = cast(predictions, labels.dtype)
        correct = cast(equal(predictions, labels), dtypes.float32)
        if weights is not None:
            weights = cast(_flat(weights), dtypes.float32)
            correct, seen = correct * weights, seen * weights
        new_total, new_count = scatter_add(total, labels, seen), scatter_add(count, labels, correct)
        value = aggregated(
            lambda: reduce_mean(div_no_nan(count, maximum(total, 0)), name="mean_accuracy"), metrics_collections
        )
        update = div_no_nan(new_count, maximum(new_total, 0), name="update_op")
        return value, collected(update, updates_collections)
