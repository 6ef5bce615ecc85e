"""tf.estimator.RegressionHead and its kin."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.estimator.heads import checks, outputs
from tfcompat._src.estimator.heads.base_head import MEAN, OneHead, update_with_broadcast_weights
from tfcompat._src.estimator.heads.keys import MetricKeys, PredictionKeys
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.metrics.metric import Mean, Metric
from tfcompat._src.losses.losses import Reduction, mean_squared_error
from tfcompat._src.ops.math.cast import to_float
from tfcompat._src.ops.math.unary import exp, sigmoid
from tfcompat._src.ops.nn.loss import log_poisson_loss, sigmoid_cross_entropy_with_logits

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("estimator.RegressionHead")
class RegressionHead(OneHead):
    """Numbers.

    Args:
      label_dimension: how many numbers an example has.
      weight_column: name or numeric column of the examples' weights.
      loss_reduction: one of tf.losses.Reduction but NONE.
      loss_fn: function of `labels`, `logits` and perhaps `features` to losses [D0, ..., DN, label_dimension]; by default the
        squared difference.
      inverse_link_fn: function from logits to predictions; by default they are the same.
      name: name of the head, which ends the keys of its metrics.

    Raises:
      ValueError: an argument is out of range.
    """

    _PER_LOGIT = True

    def __init__(
        self, label_dimension=1, weight_column=None, loss_reduction=MEAN, loss_fn=None, inverse_link_fn=None, name=None
    ) -> None:
        if label_dimension < 1:
            raise ValueError(f"Invalid label_dimension {label_dimension}.")
        super().__init__(label_dimension, weight_column, loss_reduction, loss_fn, name)
        self._inverse_link_fn: Callable | None = inverse_link_fn

    def _processed_labels(self, logits: Tensor, labels: TensorLike) -> Tensor:
        return to_float(checks.dense_labels(labels, logits, self._logits_dimension, shapes_first=False))

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        return mean_squared_error(labels=labels, predictions=logits, reduction=Reduction.NONE)

    def _export_outputs(self, predictions: dict[str, Tensor]) -> dict[str, Any]:
        return outputs.regression_outputs(predictions)

    def predictions(self, logits: object, keys: Iterable[str] | None = None) -> dict[Any, Tensor]:
        logits = self._checked_logits(logits)
        with name_scope("predictions", values=(logits,)):
            if not self._inverse_link_fn:
                return {PredictionKeys.PREDICTIONS: logits}
            return {PredictionKeys.PREDICTIONS: self._inverse_link_fn(logits), PredictionKeys.LOGITS: logits}

    def metrics(self, regularization_losses: object = None) -> dict[str, Metric]:
        with name_scope("metrics", values=(regularization_losses,)):
            names = (MetricKeys.LOSS_MEAN, MetricKeys.PREDICTION_MEAN, MetricKeys.LABEL_MEAN)
            found = {self._summary_key(name): Mean(name=name) for name in names}
            return {**found, **self._regularization_metric(regularization_losses)}

    def update_metrics(
        self, eval_metrics: dict[str, Metric], features: object, logits: object, labels: object, mode: str | None = None,
        regularization_losses: object = None,
    ) -> dict[str, Metric]:  # fmt: skip
        predicted = self.predictions(logits)[PredictionKeys.PREDICTIONS]
        logits = self._checked_logits(logits)
        losses, weights = self._unweighted_loss_and_weights(logits, self._processed_labels(logits, labels), features)
        eval_metrics[self._summary_key(MetricKeys.LOSS_MEAN)].update_state(values=losses, sample_weight=weights)
        eval_metrics[self._summary_key(MetricKeys.LABEL_MEAN)].update_state(values=labels, sample_weight=weights)
        update_with_broadcast_weights(eval_metrics[self._summary_key(MetricKeys.PREDICTION_MEAN)], predicted, weights)
        self._update_regularization(eval_metrics, regularization_losses)
        return eval_metrics


@export("estimator.PoissonRegressionHead")
class PoissonRegressionHead(RegressionHead):
    """Counts, predicted as exp(logits) with tf.nn.log_poisson_loss; arguments as RegressionHead.

    Args:
      compute_full_loss: whether the loss has the term of the labels alone.
    """

    def __init__(
        self, label_dimension=1, weight_column=None, loss_reduction=MEAN, compute_full_loss=True, name=None
    ) -> None:
        self._compute_full_loss = compute_full_loss
        super().__init__(label_dimension, weight_column, loss_reduction, self._poisson_loss, exp, name)

    def _poisson_loss(self, labels: Tensor, logits: Tensor) -> Tensor:
        return log_poisson_loss(targets=labels, log_input=logits, compute_full_loss=self._compute_full_loss)


@export("estimator.LogisticRegressionHead")
class LogisticRegressionHead(RegressionHead):
    """Numbers in [0, 1], predicted as sigmoid(logits) with the cross entropy; arguments as RegressionHead."""

    def __init__(self, weight_column=None, loss_reduction=MEAN, name=None) -> None:
        super().__init__(1, weight_column, loss_reduction, self._logistic_loss, sigmoid, name)

    def _logistic_loss(self, labels: Tensor, logits: Tensor) -> Tensor:
        labels = checks.labels_in_range(labels, 2, "Labels must be in range [0, 1]", scope="check_label_range")
        return sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
