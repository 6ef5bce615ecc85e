"""tf.contrib.layers' targets: the loss, predictions and metrics of what a model is trained for."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.losses.losses import hinge_loss
from tfcompat._src.contrib.metrics import streaming
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.fill import zeros_like
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import expand_dims, rank, reshape, squeeze
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.control.cond import Assert
from tfcompat._src.ops.math.binary import div, multiply, squared_difference
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import greater_equal, less_equal
from tfcompat._src.ops.math.reduce import argmax, reduce_mean, reduce_sum
from tfcompat._src.ops.math.unary import sigmoid
from tfcompat._src.ops.nn.loss import sigmoid_cross_entropy_with_logits
from tfcompat._src.ops.nn.softmax import softmax, sparse_softmax_cross_entropy_with_logits


@export("contrib.slim.ProblemType")
class ProblemType:
    """What kind of problem a target is."""

    UNSPECIFIED = 0
    CLASSIFICATION = 1
    LINEAR_REGRESSION = 2
    LOGISTIC_REGRESSION = 3


class _MetricKeys:
    AUC = "auc"
    PREDICTION_MEAN = "labels/prediction_mean"
    TARGET_MEAN = "labels/actual_target_mean"
    ACCURACY_BASELINE = "accuracy/baseline_target_mean"
    ACCURACY_MEAN = "accuracy/threshold_%f_mean"
    PRECISION_MEAN = "precision/positive_threshold_%f_mean"
    RECALL_MEAN = "recall/positive_threshold_%f_mean"


class _TargetColumn:
    """What a model is trained for.

    Args:
      loss_fn: function of logits and target that gives the loss of each example.
      num_label_columns: the number of logits.
      label_name: key of the target.
      weight_column_name: key of the feature of the weights of examples, or None.
      problem_type: one of ProblemType.
    """

    def __init__(
        self, loss_fn: Callable, num_label_columns: int, label_name: str | None, weight_column_name: str | None,
        problem_type: int,
    ) -> None:  # fmt: skip
        if not loss_fn:
            raise ValueError("loss_fn must be provided")
        if num_label_columns is None:
            raise ValueError("num_label_columns must be provided")
        self._loss_fn, self._num_label_columns = loss_fn, num_label_columns
        self._label_name, self._weight_column_name, self._problem_type = label_name, weight_column_name, problem_type

    label_name = property(lambda self: self._label_name)
    weight_column_name = property(lambda self: self._weight_column_name)
    num_label_columns = property(lambda self: self._num_label_columns)
    problem_type = property(lambda self: self._problem_type)

    def logits_to_predictions(self, logits: Tensor, proba: bool = False) -> Tensor:
        """The predictions, or with `proba` their probabilities."""
        raise NotImplementedError(f"{type(self).__name__}.logits_to_predictions")

    def get_eval_ops(
        self, features: dict, logits: Tensor, labels: Tensor, metrics: dict | None = None
    ) -> dict[str, Any]:
        """The metrics by name, as pairs of value and update."""
        raise NotImplementedError(f"{type(self).__name__}.get_eval_ops")

    def get_weight_tensor(self, features: dict) -> Tensor | None:
        """The weights of examples as a float32 vector, or None."""
        if not self._weight_column_name:
            return None
        return reshape(cast(features[self._weight_column_name], dtypes.float32), shape=(-1,))

    def training_loss(self, logits: Tensor, target: Tensor, features: dict, name: str = "training_loss") -> Tensor:
        """The mean of the weighted losses."""
        losses, _ = self._weighted_losses(logits, target, features)
        return reduce_mean(losses, name=name)

    def loss(self, logits: Tensor, target: Tensor, features: dict) -> Tensor:
        """The sum of the weighted losses over that of the weights."""
        losses, weights = self._weighted_losses(logits, target, features)
        if weights is None:
            return reduce_mean(losses, name="loss")
        return div(reduce_sum(losses), cast(reduce_sum(weights), dtypes.float32), name="loss")

    def _weighted_losses(self, logits: Tensor, target: Tensor, features: dict) -> tuple[Tensor, Tensor | None]:
        losses, weights = self._loss_fn(logits, target), self.get_weight_tensor(features)
        if weights is None:
            return losses, None
        return multiply(reshape(losses, shape=(-1,)), reshape(weights, shape=(-1,))), weights


class _RegressionTargetColumn(_TargetColumn):
    def __init__(self, loss_fn: Callable, label_name: Any, weight_column_name: Any, label_dimension: int) -> None:
        super().__init__(loss_fn, label_dimension, label_name, weight_column_name, ProblemType.LINEAR_REGRESSION)

    def logits_to_predictions(self, logits: Tensor, proba: bool = False) -> Tensor:
        return squeeze(logits, axis=[1]) if self.num_label_columns == 1 else logits

    def get_eval_ops(
        self, features: dict, logits: Tensor, labels: Tensor, metrics: dict | None = None
    ) -> dict[str, Any]:
        result = {"loss": streaming.streaming_mean(self.loss(logits, labels, features))}
        if metrics:
            predictions = self.logits_to_predictions(logits, proba=False)
            result.update(_run_metrics(predictions, labels, metrics, self.get_weight_tensor(features)))
        return result


class _MultiClassTargetColumn(_TargetColumn):
    def __init__(self, loss_fn: Callable, n_classes: int, label_name: Any, weight_column_name: Any) -> None:
        if n_classes < 2:
            raise ValueError("n_classes must be >= 2")
        columns = 1 if n_classes == 2 else n_classes
        super().__init__(loss_fn, columns, label_name, weight_column_name, ProblemType.CLASSIFICATION)

    def logits_to_predictions(self, logits: Tensor, proba: bool = False) -> Tensor:
        if self.num_label_columns == 1:
            logits = concat([zeros_like(logits), logits], 1)
        return softmax(logits) if proba else argmax(logits, 1)

    def get_eval_ops(
        self, features: dict, logits: Tensor, labels: Tensor, metrics: dict | None = None
    ) -> dict[str, Any]:
        """The metrics by name; those with the key (name, "probabilities") get probabilities, others classes."""
        result = {"loss": streaming.streaming_mean(self.loss(logits, labels, features))}
        metrics = {("accuracy", "classes"): streaming.streaming_accuracy} if metrics is None else metrics
        predictions, floats = sigmoid(logits), cast(labels, dtypes.float32)
        if self._num_label_columns == 1:
            for name, metric in get_default_binary_metrics_for_eval(thresholds=[0.5]).items():
                result[name] = metric(predictions, floats)
        for kind, chosen in _by_kind(metrics).items():
            if chosen:
                of = self.logits_to_predictions(logits, proba=kind == "probabilities")
                result.update(_run_metrics(of, labels, chosen, self.get_weight_tensor(features)))
        return result


def _by_kind(metrics: dict[Any, Callable]) -> dict[str, dict[str, Callable]]:
    """Metrics by name, apart for classes and probabilities; ValueError for a key that is neither."""
    kinds: dict[str, dict[str, Callable]] = {"classes": {}, "probabilities": {}}
    for key, metric in metrics.items():
        if isinstance(key, tuple) and len(key) != 2:
            raise ValueError(f"Ignoring metric {key}. It returned a tuple with len {len(key)}, expected 2.")
        if isinstance(key, tuple) and key[1] not in kinds:
            raise ValueError(
                f"Ignoring metric {key}. The 2nd element of its name should be either 'classes' or 'probabilities'."
            )
        if not isinstance(key, (tuple, str)):
            raise ValueError(f"Ignoring metric {key}. Its name is not in the correct form.")
        name, kind = key if isinstance(key, tuple) else (key, "classes")
        kinds[kind][name] = metric
    return kinds


class _BinarySvmTargetColumn(_MultiClassTargetColumn):
    def __init__(self, label_name: object, weight_column_name: object) -> None:
        super().__init__(_svm_loss, 2, label_name, weight_column_name)

    def logits_to_predictions(self, logits: Tensor, proba: bool = False) -> Tensor:
        if proba:
            raise ValueError("logits to probabilities is not supported for _BinarySvmTargetColumn")
        return argmax(concat([zeros_like(logits), logits], 1), 1)


def _as_column(target: Tensor) -> Tensor:
    return expand_dims(target, axis=1) if target.shape.ndims == 1 else target


def _mean_squared_loss(logits: Tensor, target: Tensor) -> Tensor:
    target = _as_column(target)
    logits.shape.assert_is_compatible_with(target.shape)
    return squared_difference(logits, cast(target, dtypes.float32))


def _log_loss_with_two_classes(logits: Tensor, target: Tensor) -> Tensor:
    return sigmoid_cross_entropy_with_logits(labels=cast(_as_column(target), dtypes.float32), logits=logits)


def _softmax_cross_entropy_loss(logits: Tensor, target: Tensor) -> Tensor:
    if not target.dtype.is_integer:
        raise ValueError(f"Target's dtype should be integer Instead got {target.dtype}.")
    target = squeeze(target, axis=[1]) if target.shape.ndims == 2 else target
    return sparse_softmax_cross_entropy_with_logits(labels=target, logits=logits)


def _svm_loss(logits: Tensor, target: Tensor) -> Tensor:
    message = ["target's shape should be either [batch_size, 1] or [batch_size]"]
    with control_dependencies([Assert(less_equal(rank(target), 2), message)]):
        target = reshape(target, shape=[shape_of(target)[0], 1])
    return hinge_loss(logits, target)


def _run_metrics(predictions: Tensor, labels: Tensor, metrics: dict[str, Callable], weights: object) -> dict[str, Any]:
    labels = cast(labels, predictions.dtype)
    arguments = {} if weights is None else {"weights": weights}
    return {name: metric(predictions, labels, **arguments) for name, metric in metrics.items()}


@export("contrib.layers.regression_target", "contrib.slim.regression_target")
def regression_target(
    label_name: str | None = None, weight_column_name: str | None = None, label_dimension: int = 1
) -> _TargetColumn:
    """A target of numbers, with squared differences as loss.

    Args:
      label_name: key of the target.
      weight_column_name: key of the feature of the weights of examples.
      label_dimension: how many numbers.
    """
    return _RegressionTargetColumn(_mean_squared_loss, label_name, weight_column_name, label_dimension)


@export("contrib.layers.multi_class_target", "contrib.slim.multi_class_target")
def multi_class_target(
    n_classes: int, label_name: str | None = None, weight_column_name: str | None = None
) -> _TargetColumn:
    """A target of classes, with cross entropy as loss.

    Args:
      n_classes: the number of classes; two of them have one logit.
      label_name: key of the target.
      weight_column_name: key of the feature of the weights of examples.

    Raises:
      ValueError: fewer than 2 classes.
    """
    if n_classes < 2:
        raise ValueError("n_classes must be > 1 for classification.")
    loss = _log_loss_with_two_classes if n_classes == 2 else _softmax_cross_entropy_loss
    return _MultiClassTargetColumn(loss, n_classes, label_name, weight_column_name)


@export("contrib.slim.binary_svm_target")
def binary_svm_target(label_name: str | None = None, weight_column_name: str | None = None) -> _TargetColumn:
    """A target of two classes, with the hinge loss of its one logit; arguments as `multi_class_target`'s."""
    return _BinarySvmTargetColumn(label_name, weight_column_name)


@export("contrib.slim.get_default_binary_metrics_for_eval")
def get_default_binary_metrics_for_eval(thresholds: list[float]) -> dict[str, Callable]:
    """Metrics of a target of two classes, by name: functions of probabilities, labels and weights.

    Args:
      thresholds: probabilities from which on an example counts as positive, for accuracy, precision and recall.
    """
    metrics: dict[str, Callable] = {
        _MetricKeys.PREDICTION_MEAN: _predictions_streaming_mean,
        _MetricKeys.TARGET_MEAN: _labels_streaming_mean,
        _MetricKeys.ACCURACY_BASELINE: _labels_streaming_mean,
        _MetricKeys.AUC: _streaming_auc,
    }
    for threshold in thresholds:
        metrics[_MetricKeys.ACCURACY_MEAN % threshold] = functools.partial(_accuracy_at, threshold)
        for key, metric in (
            (_MetricKeys.PRECISION_MEAN, streaming.streaming_precision_at_thresholds),
            (_MetricKeys.RECALL_MEAN, streaming.streaming_recall_at_thresholds),
        ):
            metrics[key % threshold] = functools.partial(_streaming_at, metric, threshold)
    return metrics


def _floats(weights: object) -> Tensor | None:
    return None if weights is None else cast(weights, dtypes.float32)


def _labels_streaming_mean(predictions: Tensor, labels: Tensor, weights: object = None) -> tuple:
    return streaming.streaming_mean(labels, weights=weights)


def _predictions_streaming_mean(predictions: Tensor, labels: Tensor, weights: object = None) -> tuple:
    return streaming.streaming_mean(predictions, weights=weights)


def _streaming_auc(predictions: Tensor, labels: Tensor, weights: object = None) -> tuple:
    return streaming.streaming_auc(predictions, labels, weights=_floats(weights))


def _accuracy_at(threshold: float, predictions: Tensor, labels: Tensor, weights: object = None) -> tuple:
    positive = cast(greater_equal(predictions, threshold), dtypes.float32)
    return streaming.streaming_accuracy(predictions=positive, labels=labels, weights=weights)


def _streaming_at(
    metric: Callable, threshold: float, predictions: Tensor, labels: Tensor, weights: object = None
) -> tuple:
    value, update = metric(predictions, labels=labels, thresholds=[threshold], weights=_floats(weights))
    return squeeze(value), update
