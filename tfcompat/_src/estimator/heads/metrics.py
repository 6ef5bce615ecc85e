"""The metrics of heads, as (value, update operation)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tfcompat._src.estimator.heads.keys import MetricKeys
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor_like import is_dense_tensor_like
from tfcompat._src.metrics.counts import precision, recall
from tfcompat._src.metrics.mean import accuracy, mean
from tfcompat._src.metrics.thresholds import auc, precision_at_thresholds, recall_at_thresholds
from tfcompat._src.ops.array.shape import squeeze
from tfcompat._src.ops.composed.weights_broadcast import broadcast_weights
from tfcompat._src.ops.math.binary import maximum
from tfcompat._src.ops.math.cast import to_float
from tfcompat._src.ops.math.compare import greater_equal
from tfcompat._src.ops.math.scan import add_n

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.tensor import Tensor

Metric = tuple[Any, Any]


def of_tensors(fn: Callable, values: dict[str, Any]) -> tuple[Callable, dict[str, Any]]:
    """A function of tensors only, and these tensors, from a function and all its arguments."""
    tensors = {name: value for name, value in values.items() if is_dense_tensor_like(value)}
    others = {name: value for name, value in values.items() if name not in tensors}
    return lambda **given: fn(**others, **given), tensors


def regularized(loss: object, regularization_losses: object) -> tuple[Any, Any]:
    """The sum of the regularization losses (None without any), and the loss with it."""
    if not regularization_losses:
        return None, loss
    regularization = add_n(regularization_losses)
    return regularization, add_n([loss, regularization])


def _broadcast(weights: TensorLike, values: TensorLike) -> Tensor | None:
    return None if weights is None else broadcast_weights(weights, values)


def labels_mean(labels: TensorLike, weights: TensorLike | None = None, name: str | None = None) -> Metric:
    """The mean of the labels."""
    with name_scope(name, "labels_mean", (labels, weights)) as scope:
        labels = to_float(labels, name="labels")
        return mean(labels, weights=_broadcast(weights, labels), name=scope)


def predictions_mean(predictions: TensorLike, weights: TensorLike | None = None, name: str | None = None) -> Metric:
    """The mean of the predictions."""
    with name_scope(name, "predictions_mean", (predictions, weights)) as scope:
        predictions = to_float(predictions, name="predictions")
        return mean(predictions, weights=_broadcast(weights, predictions), name=scope)


def accuracy_baseline(mean_of_labels: Metric) -> Metric:
    """The accuracy of the more frequent of two classes."""
    with name_scope(None, "accuracy_baseline", mean_of_labels):
        value, update = mean_of_labels
        return maximum(value, 1.0 - value, name="value"), maximum(update, 1 - update, name="update_op")


def area_under_curve(labels: object, predictions: TensorLike, weights: TensorLike | None = None, curve: str = "ROC", name: str | None = None) -> Metric:
    """The area under a curve of the predictions."""
    with name_scope(name, "auc", (predictions, labels, weights)) as scope:
        predictions = to_float(predictions, name="predictions")
        return auc(
            labels=labels, predictions=predictions, weights=_broadcast(weights, predictions), curve=curve, name=scope
        )


def _accuracy_at(labels: object, predictions: object, weights: object, threshold: float, name: str) -> Metric:
    with name_scope(name, f"accuracy_at_{threshold}", (predictions, labels, weights, threshold)) as scope:
        classes = to_float(greater_equal(predictions, threshold))
        return accuracy(labels=labels, predictions=classes, weights=weights, name=scope)


def _at_threshold(metric: Callable, labels: object, predictions: object, weights: object, threshold: float, name: str) -> Metric:
    with name_scope(name, None, (predictions, labels, weights, threshold)) as scope:
        value, update = metric(labels=labels, predictions=predictions, thresholds=(threshold,), weights=weights, name=scope)
        return squeeze(value), squeeze(update)


def threshold_metrics(
    labels: object, predictions: object, weights: object, thresholds: Iterable[float], key: Callable[[str], str]
) -> dict[str, Metric]:
    """Accuracy, precision and recall where each threshold separates the classes."""
    found = {}
    for threshold in thresholds:
        name = MetricKeys.ACCURACY_AT_THRESHOLD % threshold
        found[key(name)] = _accuracy_at(labels, predictions, weights, threshold, name)
        for pattern, metric in (
            (MetricKeys.PRECISION_AT_THRESHOLD, precision_at_thresholds),
            (MetricKeys.RECALL_AT_THRESHOLD, recall_at_thresholds),
        ):
            name = pattern % threshold
            found[key(name)] = _at_threshold(metric, labels, predictions, weights, threshold, name)
    return found


def regularization_mean(regularization_loss: TensorLike, key: Callable[[str], str]) -> dict[str, Metric]:
    """The metric of the regularization loss; none without one."""
    if regularization_loss is None:
        return {}
    name = MetricKeys.LOSS_REGULARIZATION
    return {key(name): mean(values=regularization_loss, name=name)}


def binary_metrics(labels: TensorLike, logistic: TensorLike, class_ids: object, weights: TensorLike, losses: TensorLike) -> dict[str, Metric]:
    """The metrics of a head for two classes."""
    mean_of_labels = labels_mean(labels, weights, MetricKeys.LABEL_MEAN)
    return {
        MetricKeys.LOSS_MEAN: mean(losses, weights=weights, name=MetricKeys.LOSS_MEAN),
        MetricKeys.ACCURACY: accuracy(labels, class_ids, weights=weights, name=MetricKeys.ACCURACY),
        MetricKeys.PRECISION: precision(labels, class_ids, weights=weights, name=MetricKeys.PRECISION),
        MetricKeys.RECALL: recall(labels, class_ids, weights=weights, name=MetricKeys.RECALL),
        MetricKeys.PREDICTION_MEAN: predictions_mean(logistic, weights, MetricKeys.PREDICTION_MEAN),
        MetricKeys.LABEL_MEAN: mean_of_labels,
        MetricKeys.ACCURACY_BASELINE: accuracy_baseline(mean_of_labels),
        MetricKeys.AUC: area_under_curve(labels, logistic, weights, name=MetricKeys.AUC),
        MetricKeys.AUC_PR: area_under_curve(labels, logistic, weights, "PR", MetricKeys.AUC_PR),
    }
