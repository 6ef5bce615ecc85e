"""The heads of tf.estimator's canned models: from logits to loss, predictions, metrics and training operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from tfcompat._src.base import dtypes
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.estimator.heads import checks, metrics, outputs
from tfcompat._src.estimator.heads.keys import MetricKeys, PredictionKeys, keyed
from tfcompat._src.estimator.model_fn import EstimatorSpec, _TPUEstimatorSpec
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import get_collection, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.losses.losses import (
    Reduction,
    compute_weighted_loss,
    mean_squared_error,
    sparse_softmax_cross_entropy,
)  # fmt: skip
from tfcompat._src.metrics.mean import accuracy, mean
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import ones_like
from tfcompat._src.ops.array.shape import expand_dims
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.math.cast import to_float
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.unary import sigmoid
from tfcompat._src.ops.nn.loss import sigmoid_cross_entropy_with_logits
from tfcompat._src.ops.nn.softmax import softmax
from tfcompat._src.saved_model.model_utils.mode_keys import EstimatorModeKeys as ModeKeys
from tfcompat._src.summary.summary import scalar
from tfcompat._src.variables.training_util import get_global_step

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


class LossSpec(NamedTuple):
    """A loss: reduced, per example without weights, the weights, and the labels as the head uses them."""

    training_loss: Any
    unreduced_loss: Any
    weights: Any
    processed_labels: Any


class _Head:
    """What stands on the logits of a model; subclasses give `name`, `logits_dimension` and the two `create_` methods."""

    @property
    def name(self) -> str | None:
        raise NotImplementedError("Calling an abstract method.")

    @property
    def logits_dimension(self) -> Any:
        raise NotImplementedError("Calling an abstract method.")

    def create_loss(self, features: Any, mode: str, logits: Any, labels: Any) -> LossSpec:
        """The loss of logits.

        Args:
          features: dict of tensors.
          mode: one of ModeKeys.
          logits: tensor [D0, ..., DN, logits_dimension].
          labels: tensor, or dict of tensors.
        """
        raise NotImplementedError("Calling an abstract method.")

    def create_estimator_spec(
        self, features: Any, mode: str, logits: Any, labels: Any = None, optimizer: Any = None,
        train_op_fn: Callable | None = None, regularization_losses: Any = None,
    ) -> EstimatorSpec:  # fmt: skip
        """The EstimatorSpec of a model.

        Args:
          features: dict of tensors.
          mode: one of ModeKeys.
          logits: tensor [D0, ..., DN, logits_dimension].
          labels: tensor, or dict of tensors.
          optimizer: a tf.train.Optimizer that minimizes the loss.
          train_op_fn: function from the loss to a training operation, instead of `optimizer`.
          regularization_losses: scalars that are added to the loss.

        Raises:
          ValueError: for training, neither or both of `optimizer` and `train_op_fn` are given.
        """
        try:
            spec = self._create_tpu_estimator_spec(
                features, mode, logits, labels, optimizer, train_op_fn, regularization_losses
            )
            return spec.as_estimator_spec()
        except NotImplementedError as error:
            raise NotImplementedError(
                "Subclasses of _Head must implement `create_estimator_spec()` or _create_tpu_estimator_spec()."
            ) from error

    def _create_tpu_estimator_spec(
        self, features: Any, mode: str, logits: Any, labels: Any = None, optimizer: Any = None,
        train_op_fn: Callable | None = None, regularization_losses: Any = None,
    ) -> _TPUEstimatorSpec:  # fmt: skip
        raise NotImplementedError("TPUEstimatorSpec not available for this model head.")


def minimized(loss: Tensor, optimizer: Any, train_op_fn: Callable | None) -> Any:
    """The operation of a training step; ValueError where neither or both of optimizer and function are given."""
    if optimizer is not None:
        if train_op_fn is not None:
            raise ValueError("train_op_fn and optimizer cannot both be set.")
        return optimizer.minimize(loss, global_step=get_global_step())
    if train_op_fn is None:
        raise ValueError("train_op_fn and optimizer cannot both be None.")
    return train_op_fn(loss)


def _with_updates(train_op: Any) -> Operation:
    updates = get_collection(GraphKeys.UPDATE_OPS)
    return group(train_op, *updates) if updates else train_op


def check_reduction(loss_reduction: str) -> None:
    """ValueError where the reduction is unknown or NONE."""
    if loss_reduction not in Reduction.all() or loss_reduction == Reduction.NONE:
        raise ValueError(f"Invalid loss_reduction: {loss_reduction}")


class SingleHead(_Head):
    """One head: subclasses say what predictions, labels, losses and metrics are.

    Args:
      logits_dimension: size of the last dimension of the logits.
      weight_column: name or numeric column of the examples' weights.
      loss_reduction: one of tf.losses.Reduction but NONE.
      loss_fn: function of `labels`, `logits` and perhaps `features` to losses [D0, ..., DN, last dimension].
      name: name of the head, which ends the keys of its metrics.
    """

    _PER_LOGIT = False

    def __init__(
        self, logits_dimension: Any, weight_column: Any = None, loss_reduction: str = Reduction.SUM,
        loss_fn: Callable | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        check_reduction(loss_reduction)
        checks.check_loss_fn(loss_fn)
        self._logits_dimension, self._weight_column, self._name = logits_dimension, weight_column, name
        self._loss_reduction, self._loss_fn = loss_reduction, loss_fn

    @property
    def name(self) -> str | None:
        return self._name

    @property
    def logits_dimension(self) -> Any:
        return self._logits_dimension

    def _key(self, key: str) -> str:
        return keyed(key, self._name)

    def _predictions(self, logits: Any) -> dict[str, Tensor]:
        raise NotImplementedError

    def _export_outputs(self, predictions: dict[str, Tensor]) -> dict[str, Any]:
        raise NotImplementedError

    def _processed_labels(self, labels: Any, logits: Tensor) -> Tensor:
        raise NotImplementedError

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        """Losses [D0, ..., DN, last dimension] where the head has no loss function of the user."""
        raise NotImplementedError

    def _metric_tensors(self, predictions: dict[str, Tensor]) -> dict[str, Tensor]:
        """What `_eval_metric_ops` takes of the predictions."""
        raise NotImplementedError

    def _eval_metric_ops(self, **tensors: Any) -> dict[str, Any]:
        raise NotImplementedError

    def create_loss(self, features: Any, mode: str, logits: object, labels: object) -> LossSpec:
        logits = convert_to_tensor(logits)
        labels = self._processed_labels(labels, logits)
        if self._loss_fn:
            last_dimension = self._logits_dimension if self._PER_LOGIT else 1
            losses = checks.call_loss_fn(self._loss_fn, labels, logits, features, last_dimension)
        else:
            losses = self._losses(labels, logits)
        weights = checks.example_weights(features, self._weight_column, logits, per_logit=self._PER_LOGIT)
        loss = compute_weighted_loss(losses, weights=weights, reduction=self._loss_reduction)
        return LossSpec(loss, losses, weights, labels)

    def _create_tpu_estimator_spec(
        self, features: object, mode: str, logits: object, labels: object = None, optimizer: object = None,
        train_op_fn: Callable | None = None, regularization_losses: object = None,
    ) -> _TPUEstimatorSpec:  # fmt: skip
        with name_scope(self._name, "head"):
            predictions = self._predictions(logits)
            logits = predictions.get(PredictionKeys.LOGITS, predictions.get(PredictionKeys.PREDICTIONS))
            if mode == ModeKeys.PREDICT:
                exported = self._export_outputs(predictions)
                return _TPUEstimatorSpec(mode=mode, predictions=predictions, export_outputs=exported)
            spec = self.create_loss(features=features, mode=mode, logits=logits, labels=labels)
            regularization, loss = metrics.regularized(spec.training_loss, regularization_losses)
            if mode == ModeKeys.EVAL:
                values = {
                    **self._metric_tensors(predictions), "labels": spec.processed_labels, "weights": spec.weights,
                    "unreduced_loss": spec.unreduced_loss, "regularization_loss": regularization,
                }  # fmt: skip
                of_tensors = metrics.of_tensors(self._eval_metric_ops, values)
                return _TPUEstimatorSpec(mode=mode, predictions=predictions, loss=loss, eval_metrics=of_tensors)
            train_op = _with_updates(minimized(loss, optimizer, train_op_fn))
            mean_loss = None
            if self._loss_reduction == Reduction.SUM:
                mean_loss = spec.training_loss / reduce_sum(spec.weights * ones_like(spec.unreduced_loss))
        with name_scope(""):
            for key, value in (
                (MetricKeys.LOSS, loss), (MetricKeys.LOSS_MEAN, mean_loss), (MetricKeys.LOSS_REGULARIZATION, regularization),
            ):  # fmt: skip
                if value is not None:
                    scalar(self._key(key), value)
        return _TPUEstimatorSpec(mode=ModeKeys.TRAIN, predictions=predictions, loss=loss, train_op=train_op)


class _MultiClassHeadWithSoftmaxCrossEntropyLoss(SingleHead):
    """One of more than two classes; arguments as `_multi_class_head_with_softmax_cross_entropy_loss` has them."""

    def __init__(
        self, n_classes: TensorLike, weight_column: object = None, label_vocabulary: object = None, loss_reduction: str = Reduction.SUM,
        loss_fn: Callable | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        checks.check_vocabulary(label_vocabulary)
        super().__init__(n_classes, weight_column, loss_reduction, loss_fn, name)
        self._n_classes, self._label_vocabulary = checks.checked_n_classes(n_classes), label_vocabulary

    def _predictions(self, logits: TensorLike) -> dict[str, Tensor]:
        logits = checks.float_logits(logits, self._n_classes)
        with name_scope(None, "predictions", (logits,)):
            every_id = outputs.all_class_ids(logits, self._n_classes)
            every_class = outputs.all_classes(logits, self._n_classes, self._label_vocabulary)
            class_ids = outputs.best_class_ids(logits)
            classes = outputs.class_names(class_ids, self._label_vocabulary)
            return {
                PredictionKeys.LOGITS: logits,
                PredictionKeys.PROBABILITIES: softmax(logits, name=PredictionKeys.PROBABILITIES),
                PredictionKeys.CLASS_IDS: class_ids,
                PredictionKeys.CLASSES: classes,
                PredictionKeys.ALL_CLASS_IDS: every_id,
                PredictionKeys.ALL_CLASSES: every_class,
            }

    def _export_outputs(self, predictions: dict[str, Tensor]) -> dict[str, Any]:
        return outputs.classification_outputs(predictions, self._n_classes, self._label_vocabulary)

    def _label_ids(self, labels: Tensor) -> Tensor:
        if self._label_vocabulary is None:
            if not labels.dtype.is_integer:
                raise ValueError(f"Labels dtype should be integer. Instead got {labels.dtype}.")
            label_ids = labels
        else:
            if labels.dtype != dtypes.string:
                raise ValueError(f"Labels dtype should be string if there is a vocabulary. Instead got {labels.dtype}")
            label_ids = outputs.class_id_table(self._label_vocabulary).lookup(labels)
        return checks.labels_in_range(label_ids, self._n_classes)

    def _processed_labels(self, labels: TensorLike, logits: Tensor) -> Tensor:
        return self._label_ids(checks.dense_labels(labels, logits, 1))

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        losses = sparse_softmax_cross_entropy(labels=labels, logits=logits, reduction=Reduction.NONE)
        return expand_dims(losses, axis=-1)

    def _metric_tensors(self, predictions: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"class_ids": predictions[PredictionKeys.CLASS_IDS]}

    def _eval_metric_ops(
        self, labels: object, class_ids: object, weights: TensorLike, unreduced_loss: TensorLike, regularization_loss: TensorLike
    ) -> dict[str, Any]:
        with name_scope(None, "metrics", (labels, class_ids, weights, unreduced_loss, regularization_loss)):
            return {
                self._key(MetricKeys.LOSS_MEAN): mean(unreduced_loss, weights=weights, name=MetricKeys.LOSS_MEAN),
                self._key(MetricKeys.ACCURACY): accuracy(labels, class_ids, weights=weights, name=MetricKeys.ACCURACY),
                **metrics.regularization_mean(regularization_loss, self._key),
            }


class _BinaryLogisticHeadWithSigmoidCrossEntropyLoss(SingleHead):
    """One of two classes; arguments as `_binary_logistic_head_with_sigmoid_cross_entropy_loss` has them."""

    def __init__(
        self, weight_column: object = None, thresholds: Any = None, label_vocabulary: Any = None,
        loss_reduction: str = Reduction.SUM, loss_fn: Callable | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        checks.check_vocabulary(label_vocabulary, TypeError)
        self._thresholds, self._label_vocabulary = checks.checked_thresholds(thresholds), label_vocabulary
        super().__init__(1, weight_column, loss_reduction, loss_fn, name)

    def _predictions(self, logits: TensorLike) -> dict[str, Tensor]:
        with name_scope(None, "predictions", (logits,)):
            logits = checks.float_logits(logits, self.logits_dimension)
            logistic = sigmoid(logits, name=PredictionKeys.LOGISTIC)
            two_classes = outputs.two_class_logits(logits)
            probabilities = softmax(two_classes, name=PredictionKeys.PROBABILITIES)
            class_ids = outputs.best_class_ids(two_classes)
            every_id = outputs.all_class_ids(logits, 2)
            every_class = outputs.all_classes(logits, 2, self._label_vocabulary)
            return {
                PredictionKeys.LOGITS: logits,
                PredictionKeys.LOGISTIC: logistic,
                PredictionKeys.PROBABILITIES: probabilities,
                PredictionKeys.CLASS_IDS: class_ids,
                PredictionKeys.CLASSES: outputs.class_names(class_ids, self._label_vocabulary),
                PredictionKeys.ALL_CLASS_IDS: every_id,
                PredictionKeys.ALL_CLASSES: every_class,
            }

    def _export_outputs(self, predictions: dict[str, Tensor]) -> dict[str, Any]:
        logistic = predictions[PredictionKeys.LOGISTIC]
        return outputs.classification_outputs(predictions, 2, self._label_vocabulary, logistic)

    def _processed_labels(self, labels: TensorLike, logits: Tensor) -> Tensor:
        labels = checks.dense_labels(labels, logits, 1)
        if self._label_vocabulary is not None:
            labels = outputs.class_id_table(self._label_vocabulary).lookup(labels)
        return checks.labels_in_range(to_float(labels), 2)

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        return sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    def _metric_tensors(self, predictions: dict[str, Tensor]) -> dict[str, Tensor]:
        return {key: predictions[key] for key in ("logits", "logistic", "class_ids")}

    def _eval_metric_ops(
        self, labels: TensorLike, logits: object, logistic: TensorLike, class_ids: object, weights: TensorLike, unreduced_loss: TensorLike,
        regularization_loss: TensorLike,
    ) -> dict[str, Any]:  # fmt: skip
        with name_scope(
            None, "metrics", (labels, logits, logistic, class_ids, weights, unreduced_loss, regularization_loss)
        ):
            found = metrics.binary_metrics(labels, logistic, class_ids, weights, unreduced_loss)
            found = {self._key(key): value for key, value in found.items()}
            found.update(metrics.regularization_mean(regularization_loss, self._key))
            found.update(metrics.threshold_metrics(labels, logistic, weights, self._thresholds, self._key))
            return found


class _RegressionHeadWithMeanSquaredErrorLoss(SingleHead):
    """Numbers; arguments as `_regression_head` has them."""

    _PER_LOGIT = True

    def __init__(
        self, label_dimension: int, weight_column: object = None, loss_reduction: str = Reduction.SUM,
        loss_fn: Callable | None = None, inverse_link_fn: Callable | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(label_dimension, weight_column, loss_reduction, loss_fn, name)
        if label_dimension < 1:
            raise ValueError(f"Invalid label_dimension {label_dimension}.")
        self._inverse_link_fn = inverse_link_fn

    def _predictions(self, logits: TensorLike) -> dict[str, Tensor]:
        logits = checks.float_logits(logits, self._logits_dimension)
        if not self._inverse_link_fn:
            return {PredictionKeys.PREDICTIONS: logits}
        return {PredictionKeys.PREDICTIONS: self._inverse_link_fn(logits), PredictionKeys.LOGITS: logits}

    def _export_outputs(self, predictions: dict[str, Tensor]) -> dict[str, Any]:
        return outputs.regression_outputs(predictions)

    def _processed_labels(self, labels: TensorLike, logits: Tensor) -> Tensor:
        return to_float(checks.dense_labels(labels, logits, self._logits_dimension))

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        return mean_squared_error(labels=labels, predictions=logits, reduction=Reduction.NONE)

    def _metric_tensors(self, predictions: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"predicted_value": predictions[PredictionKeys.PREDICTIONS]}

    def _eval_metric_ops(
        self, predicted_value: TensorLike, labels: TensorLike, weights: TensorLike, unreduced_loss: TensorLike, regularization_loss: TensorLike
    ) -> dict[str, Any]:
        return {
            self._key(MetricKeys.LOSS_MEAN): mean(unreduced_loss, weights=weights),
            self._key(MetricKeys.PREDICTION_MEAN): metrics.predictions_mean(
                predicted_value, weights, MetricKeys.PREDICTION_MEAN
            ),
            self._key(MetricKeys.LABEL_MEAN): mean(labels, weights=weights),
            **metrics.regularization_mean(regularization_loss, self._key),
        }


def _multi_class_head_with_softmax_cross_entropy_loss(
    n_classes: object, weight_column: object = None, label_vocabulary: object = None, loss_reduction: str = Reduction.SUM,
    loss_fn: Callable | None = None, name: str | None = None,
) -> _Head:  # fmt: skip
    """A head for one of several classes.

    Args:
      n_classes: number of classes, above 2.
      weight_column: name or numeric column of the examples' weights.
      label_vocabulary: names of the classes, where labels are strings.
      loss_reduction: one of tf.losses.Reduction but NONE.
      loss_fn: function of `labels`, `logits` and perhaps `features` to losses [D0, ..., DN, 1].
      name: name of the head.

    Raises:
      ValueError: an argument is out of range.
    """
    return _MultiClassHeadWithSoftmaxCrossEntropyLoss(
        n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name
    )


def _binary_logistic_head_with_sigmoid_cross_entropy_loss(
    weight_column: object = None, thresholds: object = None, label_vocabulary: object = None, loss_reduction: str = Reduction.SUM,
    loss_fn: Callable | None = None, name: str | None = None,
) -> _Head:  # fmt: skip
    """A head for one of two classes, with one logit.

    Args:
      thresholds: numbers in (0, 1) for which there are metrics too.
      others: as `_multi_class_head_with_softmax_cross_entropy_loss` has them.

    Raises:
      ValueError, TypeError: an argument is out of range.
    """
    return _BinaryLogisticHeadWithSigmoidCrossEntropyLoss(
        weight_column, thresholds, label_vocabulary, loss_reduction, loss_fn, name
    )


def _regression_head(
    weight_column: object = None, label_dimension: int = 1, loss_reduction: str = Reduction.SUM,
    loss_fn: Callable | None = None, inverse_link_fn: Callable | None = None, name: str | None = None,
) -> _Head:  # fmt: skip
    """A head for numbers.

    Args:
      label_dimension: how many numbers an example has.
      loss_fn: function of `labels`, `logits` and perhaps `features` to losses [D0, ..., DN, label_dimension]; by default
        the squared difference.
      inverse_link_fn: function from logits to predictions; by default they are the same.
      others: as `_multi_class_head_with_softmax_cross_entropy_loss` has them.

    Raises:
      ValueError: an argument is out of range.
    """
    return _RegressionHeadWithMeanSquaredErrorLoss(
        label_dimension, weight_column, loss_reduction, loss_fn, inverse_link_fn, name
    )


def _binary_logistic_or_multi_class_head(
    n_classes: int, weight_column: object, label_vocabulary: object, loss_reduction: str
) -> _Head:
    """The head for `n_classes` classes, 2 or more."""
    if n_classes == 2:
        return _binary_logistic_head_with_sigmoid_cross_entropy_loss(
            weight_column=weight_column, label_vocabulary=label_vocabulary, loss_reduction=loss_reduction
        )
    return _multi_class_head_with_softmax_cross_entropy_loss(
        n_classes, weight_column=weight_column, label_vocabulary=label_vocabulary, loss_reduction=loss_reduction
    )
