"""tf.contrib.tensor_forest.client.eval_metrics: metrics of forests by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.learn.keys import PredictionKey
from tfcompat._src.contrib.losses.losses import log_loss, sigmoid_cross_entropy, sparse_softmax_cross_entropy
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.metrics.counts import precision, recall
from tfcompat._src.metrics.mean import accuracy, mean
from tfcompat._src.metrics.thresholds import auc, precision_at_thresholds, recall_at_thresholds
from tfcompat._src.ops.array.gather import one_hot
from tfcompat._src.ops.array.shape import shape, squeeze
from tfcompat._src.ops.array.slice import slice_
from tfcompat._src.ops.math.binary import squared_difference
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import reduce_mean, reduce_sum
from tfcompat._src.ops.nn.top_k import in_top_k

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

INFERENCE_PROB_NAME = PredictionKey.PROBABILITIES
INFERENCE_PRED_NAME = PredictionKey.CLASSES
FEATURE_IMPORTANCE_NAME = "global_feature_importance"
_THRESHOLDS = np.arange(0, 1, 0.01, dtype=np.float32)

Metric = tuple[Tensor, Any]


def _one_hot(targets: Tensor, probabilities: Tensor) -> Tensor:
    return one_hot(cast(squeeze(targets, axis=[1]), dtypes.int32), shape(probabilities)[1])


def _of_second_class(probabilities: Tensor) -> Tensor:
    return slice_(probabilities, [0, 1], [-1, 1])


def _top_k_generator(k: int) -> Callable[[Tensor, Tensor], Metric]:
    """The metric that says how often the target is among the `k` most probable classes."""

    def _top_k(probabilities: Tensor, targets: Tensor) -> Metric:
        targets = cast(targets, dtypes.int32)
        if targets.get_shape().ndims > 1:
            targets = squeeze(targets, axis=[1])
        return mean(in_top_k(probabilities, targets, k))

    return _top_k


def _accuracy(predictions: Tensor, targets: Tensor, weights: object = None) -> Metric:
    return accuracy(labels=targets, predictions=predictions, weights=weights)


def _r2(probabilities: Tensor, targets: Tensor, weights: TensorLike | None = None) -> Metric:
    targets = cast(targets, dtypes.float32)
    total = reduce_sum(squared_difference(targets, reduce_mean(targets, 0)), 0)
    residual = reduce_sum(squared_difference(targets, probabilities), 0)
    return mean(1 - reduce_sum(residual / total), weights=weights)


def _sigmoid_entropy(probabilities: Tensor, targets: Tensor, weights: TensorLike | None = None) -> Metric:
    return mean(sigmoid_cross_entropy(probabilities, _one_hot(targets, probabilities)), weights=weights)


def _softmax_entropy(probabilities: Tensor, targets: Tensor, weights: TensorLike | None = None) -> Metric:
    return mean(sparse_softmax_cross_entropy(probabilities, cast(targets, dtypes.int32)), weights=weights)


def _predictions(predictions: Tensor, unused_targets: object, **unused_kwargs: object) -> Tensor:
    return predictions


def _class_log_loss(probabilities: Tensor, targets: Tensor, weights: TensorLike | None = None) -> Metric:
    return mean(log_loss(probabilities, _one_hot(targets, probabilities)), weights=weights)


def _precision(predictions: Tensor, targets: Tensor, weights: object = None) -> Metric:
    return precision(labels=targets, predictions=predictions, weights=weights)


def _precision_at_thresholds(predictions: Tensor, targets: Tensor, weights: object = None) -> Metric:
    return precision_at_thresholds(
        labels=targets, predictions=_of_second_class(predictions), thresholds=_THRESHOLDS, weights=weights
    )


def _recall(predictions: Tensor, targets: Tensor, weights: object = None) -> Metric:
    return recall(labels=targets, predictions=predictions, weights=weights)


def _recall_at_thresholds(predictions: Tensor, targets: Tensor, weights: object = None) -> Metric:
    return recall_at_thresholds(
        labels=targets, predictions=_of_second_class(predictions), thresholds=_THRESHOLDS, weights=weights
    )


def _auc(probs: Tensor, targets: Tensor, weights: TensorLike | None = None) -> Metric:
    return auc(labels=targets, predictions=_of_second_class(probs), weights=weights)


_METRICS: dict[str, tuple[Callable, str]] = {
    "auc": (_auc, INFERENCE_PROB_NAME),
    "sigmoid_entropy": (_sigmoid_entropy, INFERENCE_PROB_NAME),
    "softmax_entropy": (_softmax_entropy, INFERENCE_PROB_NAME),
    "accuracy": (_accuracy, INFERENCE_PRED_NAME),
    "r2": (_r2, PredictionKey.SCORES),
    "predictions": (_predictions, INFERENCE_PRED_NAME),
    "classification_log_loss": (_class_log_loss, INFERENCE_PROB_NAME),
    "precision": (_precision, INFERENCE_PRED_NAME),
    "precision_at_thresholds": (_precision_at_thresholds, INFERENCE_PROB_NAME),
    "recall": (_recall, INFERENCE_PRED_NAME),
    "recall_at_thresholds": (_recall_at_thresholds, INFERENCE_PROB_NAME),
    "top_5": (_top_k_generator(5), INFERENCE_PROB_NAME),
}
"""By name the function of predictions, targets and weights, and the key of the predictions that it takes."""


@export("contrib.tensor_forest.client.eval_metrics.get_metric")
def get_metric(metric_name: str) -> Callable:
    """The function of (predictions, targets, weights) that makes a metric; KeyError for an unknown name."""
    return _METRICS[metric_name][0]


@export("contrib.tensor_forest.client.eval_metrics.get_prediction_key")
def get_prediction_key(metric_name: str) -> str:
    """The key of the predictions that a metric takes; KeyError for an unknown name."""
    return _METRICS[metric_name][1]
