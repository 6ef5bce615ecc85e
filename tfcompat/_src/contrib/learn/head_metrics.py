"""The metrics of contrib.learn's heads, as (value, update operation)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.metrics.mean import accuracy, mean
from tfcompat._src.metrics.thresholds import auc, precision_at_thresholds, recall_at_thresholds
from tfcompat._src.ops.array.fill import ones_like, zeros_like
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import squeeze
from tfcompat._src.ops.composed.weights_broadcast import broadcast_weights
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, greater_equal
from tfcompat._src.platform import logging

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

Metric = tuple[Any, Any]


def _float_weights(weights: object) -> Tensor | None:
    if weights is None:
        return None
    with name_scope(None, "float_weights", (weights,)) as name:
        return cast(weights, dtypes.float32, name=name)


def _of_class(class_id: int | None, *tensors: Any) -> tuple:
    """One column of each tensor; all of it where no class is given."""
    if class_id is None:
        return tensors
    return tuple(tensor if tensor is None else tensor[:, class_id] for tensor in tensors)


def float_mean(values: TensorLike, weights: TensorLike | None = None, class_id: int | None = None) -> Metric:
    """The mean of labels or predictions, of one column where a class is given."""
    values = cast(values, dtypes.float32)
    weights = _float_weights(weights)
    if weights is not None:
        weights = broadcast_weights(weights, values)
    weights, values = _of_class(class_id, weights, values)
    return mean(values, weights)


def class_frequency(classes: TensorLike, weights: TensorLike, class_id: int) -> Metric:
    """How often class ids are this one."""
    is_class = equal(cast(class_id, dtypes.int32), cast(classes, dtypes.int32))
    return mean(where(is_class, ones_like(classes), zeros_like(classes)), weights=weights)


def area_under_curve(
    predictions: TensorLike, labels: Any, weights: TensorLike | None = None, class_id: int | None = None, curve: str = "ROC"
) -> Metric:
    """The area under a curve of predictions, of one column where a class is given."""
    predictions = cast(predictions, dtypes.float32)
    if labels.dtype.base_dtype != dtypes.bool:
        logging.warning("Casting %s labels to bool.", labels.dtype)
        labels = cast(labels, dtypes.bool)
    weights = _float_weights(weights)
    if weights is not None:
        weights = broadcast_weights(weights, predictions)
    weights, predictions, labels = _of_class(class_id, weights, predictions, labels)
    return auc(labels, predictions, weights, curve=curve)


def accuracy_at(predictions: object, labels: object, weights: object, threshold: float) -> Metric:
    """The accuracy where a threshold separates two classes."""
    return accuracy(labels, cast(greater_equal(predictions, threshold), dtypes.float32), weights)


def precision_at(predictions: object, labels: object, weights: object, threshold: float) -> Metric:
    """The precision where a threshold separates two classes."""
    value, update = precision_at_thresholds(labels, predictions, (threshold,), _float_weights(weights))
    return squeeze(value), squeeze(update)


def recall_at(predictions: object, labels: object, weights: object, threshold: float) -> Metric:
    """The recall where a threshold separates two classes."""
    value, update = recall_at_thresholds(labels, predictions, (threshold,), _float_weights(weights))
    return squeeze(value), squeeze(update)
