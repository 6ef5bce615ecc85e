"""tf.contrib.estimator: heads, and the head for several labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.estimator.heads import checks, metrics, outputs
from tfcompat._src.estimator.heads import head as head_lib
from tfcompat._src.estimator.heads.class_slices import class_key, of_class
from tfcompat._src.estimator.heads.keys import MetricKeys, PredictionKeys
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.losses.losses import Reduction, sigmoid_cross_entropy
from tfcompat._src.metrics.mean import mean
from tfcompat._src.metrics.thresholds import auc
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.composed.check_ops import assert_integer, assert_less, assert_non_negative
from tfcompat._src.ops.math.cast import to_int64
from tfcompat._src.ops.math.reduce import reduce_mean
from tfcompat._src.ops.math.unary import exp, sigmoid
from tfcompat._src.ops.nn.loss import log_poisson_loss, sigmoid_cross_entropy_with_logits
from tfcompat._src.ops.sparse.convert import sparse_to_indicator

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_MEAN = Reduction.SUM_OVER_BATCH_SIZE


@export("contrib.estimator.multi_class_head")
def multi_class_head(
    n_classes: object, weight_column: object = None, label_vocabulary: object = None, loss_reduction: str = _MEAN,
    loss_fn: Callable | None = None, name: str | None = None,
) -> head_lib._Head:  # fmt: skip
    """A head for one of several classes.

    Args:
      n_classes: number of classes, above 2.
      weight_column: name or numeric column of the examples' weights.
      label_vocabulary: names of the classes, where labels are strings.
      loss_reduction: one of tf.losses.Reduction but NONE.
      loss_fn: function of `labels`, `logits` and perhaps `features` to losses [D0, ..., DN, 1].
      name: name of the head, which ends the keys of its metrics.

    Raises:
      ValueError: an argument is out of range.
    """
    return head_lib._multi_class_head_with_softmax_cross_entropy_loss(
        n_classes=n_classes, weight_column=weight_column, label_vocabulary=label_vocabulary, loss_reduction=loss_reduction,
        loss_fn=loss_fn, name=name,
    )  # fmt: skip


@export("contrib.estimator.binary_classification_head")
def binary_classification_head(
    weight_column: object = None, thresholds: object = None, label_vocabulary: object = None, loss_reduction: str = _MEAN,
    loss_fn: Callable | None = None, name: str | None = None,
) -> head_lib._Head:  # fmt: skip
    """A head for one of two classes, with one logit.

    Args:
      thresholds: numbers in (0, 1) for which there are metrics too.
      others: as multi_class_head.

    Raises:
      ValueError, TypeError: an argument is out of range.
    """
    return head_lib._binary_logistic_head_with_sigmoid_cross_entropy_loss(
        weight_column=weight_column, thresholds=thresholds, label_vocabulary=label_vocabulary,
        loss_reduction=loss_reduction, loss_fn=loss_fn, name=name,
    )  # fmt: skip


@export("contrib.estimator.regression_head")
def regression_head(
    weight_column: object = None, label_dimension: int = 1, loss_reduction: str = _MEAN, loss_fn: Callable | None = None,
    inverse_link_fn: Callable | None = None, name: str | None = None,
) -> head_lib._Head:  # fmt: skip
    """A head for numbers.

    Args:
      label_dimension: how many numbers an example has.
      loss_fn: function to losses [D0, ..., DN, label_dimension]; by default the squared difference.
      inverse_link_fn: function from logits to predictions; by default they are the same.
      others: as multi_class_head.

    Raises:
      ValueError: an argument is out of range.
    """
    return head_lib._regression_head(
        weight_column=weight_column, label_dimension=label_dimension, loss_reduction=loss_reduction, loss_fn=loss_fn,
        inverse_link_fn=inverse_link_fn, name=name,
    )  # fmt: skip


@export("contrib.estimator.poisson_regression_head")
def poisson_regression_head(
    weight_column: object = None, label_dimension: int = 1, loss_reduction: str = _MEAN, compute_full_loss: bool = True,
    name: str | None = None,
) -> head_lib._Head:  # fmt: skip
    """A regression head whose predictions are exp(logits), with tf.nn.log_poisson_loss; arguments as regression_head.

    Args:
      compute_full_loss: whether the loss has the term of the labels alone.
    """

    def _poisson_loss(labels: Tensor, logits: Tensor) -> Tensor:
        return log_poisson_loss(targets=labels, log_input=logits, compute_full_loss=compute_full_loss)

    return regression_head(weight_column, label_dimension, loss_reduction, _poisson_loss, exp, name)


@export("contrib.estimator.logistic_regression_head")
def logistic_regression_head(
    weight_column: object = None, loss_reduction: str = _MEAN, name: str | None = None
) -> head_lib._Head:
    """A regression head whose predictions are sigmoid(logits), for labels in [0, 1]; arguments as regression_head."""

    def _logistic_loss(labels: Tensor, logits: Tensor) -> Tensor:
        labels = checks.labels_in_range(labels, 2, message="Labels must be in range [0, 1]")
        return sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    return regression_head(weight_column, 1, loss_reduction, _logistic_loss, sigmoid, name)


@export("contrib.estimator.multi_label_head")
def multi_label_head(
    n_classes: int, weight_column: object = None, thresholds: object = None, label_vocabulary: object = None,
    loss_reduction: str = _MEAN, loss_fn: Callable | None = None, classes_for_class_based_metrics: object = None,
    name: str | None = None,
) -> head_lib._Head:  # fmt: skip
    """A head for any number of several classes; labels are indicators, or a SparseTensor of ids or names.

    Args:
      n_classes: number of classes, above 1.
      thresholds: numbers in (0, 1) for which there are metrics too.
      classes_for_class_based_metrics: ids or names of classes that have metrics of their own.
      others: as multi_class_head.

    Raises:
      ValueError: an argument is out of range.
    """
    thresholds = checks.check_multi_label(n_classes, thresholds, label_vocabulary)
    classes = checks.checked_metric_classes(classes_for_class_based_metrics, n_classes, label_vocabulary)
    return _MultiLabelHead(
        n_classes=n_classes, weight_column=weight_column, thresholds=thresholds, label_vocabulary=label_vocabulary,
        loss_reduction=loss_reduction, loss_fn=loss_fn, classes_for_class_based_metrics=classes, name=name,
    )  # fmt: skip


class _MultiLabelHead(head_lib.SingleHead):
    """Any number of several classes; arguments as multi_label_head has them."""

    def __init__(
        self, n_classes: int, weight_column: object = None, thresholds: Any = None, label_vocabulary: object = None,
        loss_reduction: str = _MEAN, loss_fn: Callable | None = None, classes_for_class_based_metrics: Any = None,
        name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(n_classes, weight_column, loss_reduction, loss_fn, name)
        self._n_classes, self._label_vocabulary = n_classes, label_vocabulary
        self._thresholds = tuple(thresholds or ())
        self._classes_for_class_based_metrics = tuple(classes_for_class_based_metrics or ())

    def _predictions(self, logits: TensorLike) -> dict[str, Tensor]:
        logits = checks.float_logits(logits, self._n_classes)
        with name_scope(None, "predictions", (logits,)):
            probabilities = sigmoid(logits, name=PredictionKeys.PROBABILITIES)
            return {PredictionKeys.LOGITS: logits, PredictionKeys.PROBABILITIES: probabilities}

    def _export_outputs(self, predictions: dict[str, Tensor]) -> dict[str, Any]:
        return outputs.classification_outputs(predictions, self._n_classes, self._label_vocabulary)

    def _processed_labels(self, labels: object, logits: Tensor) -> Tensor:
        return checks.dense_labels(self._indicators(labels), logits, self._n_classes)

    def _indicators(self, labels: Any) -> Tensor:
        """Labels as indicators [D0, ..., DN, n_classes]."""
        if labels is None:
            raise ValueError(checks.LABELS_ARE_NONE)
        if not isinstance(labels, SparseTensor):
            return checks.labels_in_range(labels, 2, "labels must be an integer indicator Tensor with values in [0, 1]")
        if labels.dtype == dtypes.string:
            ids = outputs.class_id_table(self._label_vocabulary).lookup(labels.values)
            ids = SparseTensor(labels.indices, ids, labels.dense_shape)
            return to_int64(sparse_to_indicator(ids, self._n_classes))
        message = f"labels must be an integer SparseTensor with values in [0, {self._n_classes})"
        checked = [
            assert_integer(labels.values, message=message),
            assert_less(labels.values, convert_to_tensor(self._n_classes, dtype=labels.dtype), message=message),
            assert_non_negative(labels.values, message=message),
        ]
        with control_dependencies(checked):
            return to_int64(sparse_to_indicator(labels, self._n_classes))

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        losses = sigmoid_cross_entropy(multi_class_labels=labels, logits=logits, reduction=Reduction.NONE)
        return reduce_mean(losses, axis=-1, keepdims=True)

    def _metric_tensors(self, predictions: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"probabilities": predictions[PredictionKeys.PROBABILITIES]}

    def _eval_metric_ops(
        self, labels: Any, probabilities: Any, weights: Any, unreduced_loss: TensorLike, regularization_loss: TensorLike
    ) -> dict[str, Any]:
        with name_scope(None, "metrics", [labels, probabilities, weights, unreduced_loss, regularization_loss]):
            found = {
                self._key(MetricKeys.LOSS_MEAN): mean(unreduced_loss, weights=weights, name=MetricKeys.LOSS_MEAN),
                self._key(MetricKeys.AUC): auc(labels, probabilities, weights=weights, name=MetricKeys.AUC),
                self._key(MetricKeys.AUC_PR): auc(
                    labels, probabilities, weights=weights, curve="PR", name=MetricKeys.AUC_PR
                ),
            }
            found.update(metrics.regularization_mean(regularization_loss, self._key))
            found.update(metrics.threshold_metrics(labels, probabilities, weights, self._thresholds, self._key))
            for class_id in self._classes_for_class_based_metrics:
                found.update(self._class_metrics(class_id, labels, probabilities, weights))
            return found

    def _class_metrics(self, class_id: int, labels: Tensor, probabilities: Tensor, weights: TensorLike) -> dict[str, Any]:
        class_probabilities, class_labels = of_class(class_id, probabilities, labels)
        mean_key, auc_key, pr_key = (
            class_key(kind, class_id, self._label_vocabulary) for kind in ("PROBABILITY_MEAN", "AUC", "AUC_PR")
        )
        area = metrics.area_under_curve
        return {
            self._key(mean_key): metrics.predictions_mean(class_probabilities, weights, mean_key),
            self._key(auc_key): area(class_labels, class_probabilities, weights, name=auc_key),
            self._key(pr_key): area(class_labels, class_probabilities, weights, "PR", pr_key),
        }
