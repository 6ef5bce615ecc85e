"""tf.estimator.BinaryClassHead, MultiClassHead and MultiLabelHead."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.estimator.heads import checks, outputs
from tfcompat._src.estimator.heads.base_head import MEAN, OneHead, update_with_broadcast_weights, wanted_keys
from tfcompat._src.estimator.heads.class_slices import class_key, of_class
from tfcompat._src.estimator.heads.keys import MetricKeys, PredictionKeys
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.metrics.confusion import AUC, Precision, Recall
from tfcompat._src.keras.metrics.metric import Mean, Metric
from tfcompat._src.keras.metrics.wrapped import Accuracy, BinaryAccuracy
from tfcompat._src.losses.losses import Reduction, sigmoid_cross_entropy, sparse_softmax_cross_entropy
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.shape import expand_dims
from tfcompat._src.ops.composed.weights_broadcast import broadcast_weights
from tfcompat._src.ops.control.groups import no_op
from tfcompat._src.ops.math.binary import maximum
from tfcompat._src.ops.math.cast import to_float, to_int64
from tfcompat._src.ops.math.reduce import reduce_mean
from tfcompat._src.ops.math.unary import sigmoid
from tfcompat._src.ops.nn.loss import sigmoid_cross_entropy_with_logits
from tfcompat._src.ops.nn.softmax import softmax
from tfcompat._src.ops.sparse.convert import sparse_to_indicator

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_CLASS_KEYS = (
    PredictionKeys.PROBABILITIES, PredictionKeys.CLASS_IDS, PredictionKeys.CLASSES, PredictionKeys.ALL_CLASS_IDS,
    PredictionKeys.ALL_CLASSES,
)  # fmt: skip
_AT_THRESHOLD = (
    (MetricKeys.ACCURACY_AT_THRESHOLD, lambda name, threshold: BinaryAccuracy(name=name, threshold=threshold)),
    (MetricKeys.PRECISION_AT_THRESHOLD, lambda name, threshold: Precision(name=name, thresholds=threshold)),
    (MetricKeys.RECALL_AT_THRESHOLD, lambda name, threshold: Recall(name=name, thresholds=threshold)),
)


class _ClassHead(OneHead):
    """A head with class names and thresholds."""

    def __init__(self, logits_dimension: Any, n_classes: Any, label_vocabulary: Any, thresholds: Any, **common: Any) -> None:
        super().__init__(logits_dimension, **common)
        self._n_classes, self._label_vocabulary, self._thresholds = n_classes, label_vocabulary, thresholds

    def _export_outputs(self, predictions: dict[str, Tensor]) -> dict[str, Any]:
        logistic = predictions.get(PredictionKeys.LOGISTIC)
        return outputs.classification_outputs(predictions, self._n_classes, self._label_vocabulary, logistic)

    def _of_classes(self, keys: list[str], logits: Tensor, logits_of_classes: Tensor) -> dict[str, Tensor]:
        """The predictions with `keys` that are about classes."""
        found = {}
        if PredictionKeys.PROBABILITIES in keys:
            found[PredictionKeys.PROBABILITIES] = softmax(logits_of_classes, name=PredictionKeys.PROBABILITIES)
        if PredictionKeys.CLASS_IDS in keys or PredictionKeys.CLASSES in keys:
            class_ids = outputs.best_class_ids(logits_of_classes)
            if PredictionKeys.CLASS_IDS in keys:
                found[PredictionKeys.CLASS_IDS] = class_ids
            if PredictionKeys.CLASSES in keys:
                found[PredictionKeys.CLASSES] = outputs.class_names(class_ids, self._label_vocabulary)
        if PredictionKeys.ALL_CLASS_IDS in keys:
            found[PredictionKeys.ALL_CLASS_IDS] = outputs.all_class_ids(logits, self._n_classes)
        if PredictionKeys.ALL_CLASSES in keys:
            found[PredictionKeys.ALL_CLASSES] = outputs.all_classes(logits, self._n_classes, self._label_vocabulary)
        return found

    def _threshold_metrics(self) -> dict[str, Metric]:
        found = {}
        for threshold in self._thresholds:
            for pattern, metric in _AT_THRESHOLD:
                key = self._summary_key(pattern % threshold)
                found[key] = metric(key, threshold)
        return found

    def _update_threshold_metrics(
        self, eval_metrics: dict[str, Metric], labels: Tensor, predictions: Tensor, weights: object
    ) -> None:
        for threshold in self._thresholds:
            for pattern, _ in _AT_THRESHOLD:
                metric = eval_metrics[self._summary_key(pattern % threshold)]
                metric.update_state(y_true=labels, y_pred=predictions, sample_weight=weights)


@export("estimator.BinaryClassHead")
class BinaryClassHead(_ClassHead):
    """One of two classes, with one logit.

    Args:
      weight_column: name or numeric column of the examples' weights.
      thresholds: numbers in (0, 1) for which there are metrics too.
      label_vocabulary: names of the classes, where labels are strings.
      loss_reduction: one of tf.losses.Reduction but NONE.
      loss_fn: function of `labels`, `logits` and perhaps `features` to losses [D0, ..., DN, 1].
      name: name of the head, which ends the keys of its metrics.

    Raises:
      ValueError: an argument is out of range.
    """

    def __init__(
        self, weight_column=None, thresholds=None, label_vocabulary=None, loss_reduction=MEAN, loss_fn=None, name=None
    ) -> None:
        checks.check_vocabulary(label_vocabulary)
        super().__init__(
            1, 2, label_vocabulary, checks.checked_thresholds(thresholds), weight_column=weight_column,
            loss_reduction=loss_reduction, loss_fn=loss_fn, name=name,
        )  # fmt: skip

    def _processed_labels(self, logits: Tensor, labels: TensorLike) -> Tensor:
        labels = checks.dense_labels(labels, logits, 1, shapes_first=False)
        if self._label_vocabulary is not None:
            labels = outputs.class_id_table(self._label_vocabulary).lookup(labels)
        return checks.labels_in_range(to_float(labels), 2, scope="check_label_range")

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        return sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    def predictions(self, logits: object, keys: Iterable[str] | None = None) -> dict[Any, Tensor]:
        keys = wanted_keys(keys, (PredictionKeys.LOGITS, PredictionKeys.LOGISTIC, *_CLASS_KEYS))
        logits = self._checked_logits(logits)
        found = {}
        with name_scope("predictions", values=(logits,)):
            if PredictionKeys.LOGITS in keys:
                found[PredictionKeys.LOGITS] = logits
            if PredictionKeys.LOGISTIC in keys:
                found[PredictionKeys.LOGISTIC] = sigmoid(logits, name=PredictionKeys.LOGISTIC)
            return {**found, **self._of_classes(keys, logits, outputs.two_class_logits(logits))}

    def metrics(self, regularization_losses: object = None) -> dict[str, Metric]:
        keys = MetricKeys
        with name_scope("metrics", values=(regularization_losses,)):
            made = [
                Mean(name=keys.LOSS_MEAN), Accuracy(name=keys.ACCURACY), Precision(name=keys.PRECISION),
                Recall(name=keys.RECALL), Mean(name=keys.PREDICTION_MEAN), Mean(name=keys.LABEL_MEAN),
                Mean(name=keys.ACCURACY_BASELINE), AUC(name=keys.AUC), AUC(curve="PR", name=keys.AUC_PR),
            ]  # fmt: skip
            found = {self._summary_key(metric.name): metric for metric in made}
            found.update(self._regularization_metric(regularization_losses))
            return {**found, **self._threshold_metrics()}

    def update_metrics(
        self, eval_metrics: dict[str, Metric], features: object, logits: object, labels: TensorLike, mode: str | None = None,
        regularization_losses: object = None,
    ) -> dict[str, Metric]:  # fmt: skip
        class_ids = self.predictions(logits)[PredictionKeys.CLASS_IDS]
        logits = self._checked_logits(logits)
        labels = self._processed_labels(logits, labels)
        losses, weights = self._unweighted_loss_and_weights(logits, labels, features)
        metric = {key: eval_metrics[self._summary_key(key)] for key in _BINARY_METRICS}
        metric[MetricKeys.LOSS_MEAN].update_state(values=losses, sample_weight=weights)
        for key in (MetricKeys.ACCURACY, MetricKeys.PRECISION, MetricKeys.RECALL):
            metric[key].update_state(y_true=labels, y_pred=class_ids, sample_weight=weights)
        logistic = self.predictions(logits, [PredictionKeys.LOGISTIC])[PredictionKeys.LOGISTIC]
        update_with_broadcast_weights(metric[MetricKeys.PREDICTION_MEAN], logistic, weights)
        update_with_broadcast_weights(metric[MetricKeys.LABEL_MEAN], labels, weights)
        _show_more_frequent(metric[MetricKeys.ACCURACY_BASELINE], metric[MetricKeys.LABEL_MEAN])
        for key in (MetricKeys.AUC, MetricKeys.AUC_PR):
            predicted = to_float(logistic)
            fitted = None if weights is None else broadcast_weights(weights, predicted)
            metric[key].update_state(y_true=labels, y_pred=predicted, sample_weight=fitted)
        self._update_regularization(eval_metrics, regularization_losses)
        self._update_threshold_metrics(eval_metrics, labels, logistic, weights)
        return eval_metrics


_BINARY_METRICS = (
    MetricKeys.LOSS_MEAN, MetricKeys.ACCURACY, MetricKeys.PRECISION, MetricKeys.RECALL, MetricKeys.PREDICTION_MEAN,
    MetricKeys.LABEL_MEAN, MetricKeys.ACCURACY_BASELINE, MetricKeys.AUC, MetricKeys.AUC_PR,
)  # fmt: skip


def _show_more_frequent(baseline: Mean, label_mean: Mean) -> None:
    """Makes a mean the frequency of the more frequent of two classes, which another mean counts."""
    baseline._updates = [no_op()]
    baseline.total = maximum(label_mean.total, label_mean.count - label_mean.total)
    baseline.count = label_mean.count


@export("estimator.MultiClassHead")
class MultiClassHead(_ClassHead):
    """One of more than two classes; arguments as BinaryClassHead, `n_classes` is the number of classes."""

    def __init__(
        self, n_classes, weight_column=None, label_vocabulary=None, loss_reduction=MEAN, loss_fn=None, name=None
    ) -> None:
        if n_classes is None:
            raise ValueError("n_classes cannot be None")
        checks.check_vocabulary(label_vocabulary)
        if label_vocabulary is not None and len(label_vocabulary) != n_classes:
            raise ValueError(
                f'"label_vocabulary" does not have "n_classes" items. len(label_vocabulary)={len(label_vocabulary)}, '
                f"n_classes={n_classes}, label_vocabulary={label_vocabulary}"
            )
        super().__init__(
            n_classes, n_classes, label_vocabulary, (), weight_column=weight_column, loss_reduction=loss_reduction,
            loss_fn=loss_fn, name=name,
        )  # fmt: skip
        checks.checked_n_classes(n_classes)

    def _processed_labels(self, logits: Tensor, labels: TensorLike) -> Tensor:
        labels = checks.dense_labels(labels, logits, 1, shapes_first=False)
        if self._label_vocabulary is None:
            if not labels.dtype.is_integer:
                raise ValueError(f"Labels dtype should be integer. Instead got {labels.dtype}.")
        else:
            if labels.dtype != dtypes.string:
                raise ValueError(f"Labels dtype should be string if there is a vocabulary. Instead got {labels.dtype}")
            labels = outputs.class_id_table(self._label_vocabulary).lookup(labels)
        return checks.labels_in_range(labels, self._n_classes, scope="check_label_range")

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        losses = sparse_softmax_cross_entropy(labels=labels, logits=logits, reduction=Reduction.NONE)
        return expand_dims(losses, axis=-1)

    def predictions(self, logits: object, keys: Iterable[str] | None = None) -> dict[Any, Tensor]:
        keys = wanted_keys(keys, (PredictionKeys.LOGITS, *_CLASS_KEYS))
        logits = self._checked_logits(logits)
        with name_scope("predictions", values=(logits,)):
            found = {PredictionKeys.LOGITS: logits} if PredictionKeys.LOGITS in keys else {}
            return {**found, **self._of_classes(keys, logits, logits)}

    def metrics(self, regularization_losses: object = None) -> dict[str, Metric]:
        with name_scope("metrics", values=(regularization_losses,)):
            return {
                self._summary_key(MetricKeys.LOSS_MEAN): Mean(name=MetricKeys.LOSS_MEAN),
                **self._regularization_metric(regularization_losses),
                self._summary_key(MetricKeys.ACCURACY): Accuracy(name=MetricKeys.ACCURACY),
            }

    def update_metrics(
        self, eval_metrics: dict[str, Metric], features: object, logits: object, labels: object, mode: str | None = None,
        regularization_losses: object = None,
    ) -> dict[str, Metric]:  # fmt: skip
        class_ids = self.predictions(logits)[PredictionKeys.CLASS_IDS]
        logits = self._checked_logits(logits)
        labels = self._processed_labels(logits, labels)
        losses, weights = self._unweighted_loss_and_weights(logits, labels, features)
        eval_metrics[self._summary_key(MetricKeys.LOSS_MEAN)].update_state(values=losses, sample_weight=weights)
        accuracy = eval_metrics[self._summary_key(MetricKeys.ACCURACY)]
        accuracy.update_state(y_true=labels, y_pred=class_ids, sample_weight=weights)
        self._update_regularization(eval_metrics, regularization_losses)
        return eval_metrics


@export("estimator.MultiLabelHead")
class MultiLabelHead(_ClassHead):
    """Any number of several classes; labels are indicators, or a SparseTensor of ids or names.

    Args:
      n_classes: number of classes, above 1.
      classes_for_class_based_metrics: ids or names of classes that have metrics of their own.
      others: as BinaryClassHead.

    Raises:
      ValueError: an argument is out of range.
    """

    def __init__(
        self, n_classes, weight_column=None, thresholds=None, label_vocabulary=None, loss_reduction=MEAN, loss_fn=None,
        classes_for_class_based_metrics=None, name=None,
    ) -> None:  # fmt: skip
        thresholds = checks.check_multi_label(n_classes, thresholds, label_vocabulary, "multi-label")
        super().__init__(
            n_classes, n_classes, label_vocabulary, thresholds, weight_column=weight_column,
            loss_reduction=loss_reduction, loss_fn=loss_fn, name=name,
        )  # fmt: skip
        self._classes_for_class_based_metrics = checks.checked_metric_classes(
            classes_for_class_based_metrics, n_classes, label_vocabulary
        )

    def _processed_labels(self, logits: Tensor, labels: object) -> Tensor:
        return checks.dense_labels(self._indicators(labels), logits, self._logits_dimension, shapes_first=False)

    def _indicators(self, labels: Any) -> Tensor:
        if labels is None:
            raise ValueError(checks.LABELS_ARE_NONE)
        if not isinstance(labels, SparseTensor):
            message = "labels must be an integer indicator Tensor with values in [0, 1]"
            return checks.labels_in_range(labels, 2, message, scope="check_label_range")
        if labels.dtype == dtypes.string:
            ids = outputs.class_id_table(self._label_vocabulary).lookup(labels.values)
            indicators = sparse_to_indicator(SparseTensor(labels.indices, ids, labels.dense_shape), self._n_classes)
        else:
            if not labels.values.dtype.is_integer:
                raise ValueError(f"Labels dtype should be integer. Instead got {labels.values.dtype}.")
            message = f"labels must be an integer SparseTensor with values in [0, {self._n_classes})"
            checked = checks.labels_in_range(labels.values, self._n_classes, message, scope="check_label_range")
            with control_dependencies([checked]):
                indicators = sparse_to_indicator(labels, self._n_classes)
        return to_int64(indicators)

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        losses = sigmoid_cross_entropy(multi_class_labels=labels, logits=logits, reduction=Reduction.NONE)
        return reduce_mean(losses, axis=-1, keepdims=True)

    def predictions(self, logits: object, keys: Iterable[str] | None = None) -> dict[Any, Tensor]:
        keys = wanted_keys(keys, (PredictionKeys.LOGITS, PredictionKeys.PROBABILITIES))
        logits = self._checked_logits(logits)
        found = {}
        with name_scope("predictions", values=(logits,)):
            if PredictionKeys.LOGITS in keys:
                found[PredictionKeys.LOGITS] = logits
            if PredictionKeys.PROBABILITIES in keys:
                found[PredictionKeys.PROBABILITIES] = sigmoid(logits, name=PredictionKeys.PROBABILITIES)
            return found

    def _class_keys(self, class_id: int) -> list[str]:
        kinds = ("PROBABILITY_MEAN", "AUC", "AUC_PR")
        return [self._summary_key(class_key(kind, class_id, self._label_vocabulary)) for kind in kinds]

    def metrics(self, regularization_losses: object = None) -> dict[str, Metric]:
        with name_scope(None, "metrics", (regularization_losses,)):
            made = [
                Mean(name=MetricKeys.LOSS_MEAN), AUC(name=MetricKeys.AUC), AUC(curve="PR", name=MetricKeys.AUC_PR),
            ]  # fmt: skip
            found = {self._summary_key(metric.name): metric for metric in made}
            found.update(self._regularization_metric(regularization_losses))
            found.update(self._threshold_metrics())
            for class_id in self._classes_for_class_based_metrics:
                mean_key, auc_key, pr_key = self._class_keys(class_id)
                found[mean_key] = Mean(name=mean_key)
                found[auc_key], found[pr_key] = AUC(name=auc_key), AUC(curve="PR", name=pr_key)
            return found

    def update_metrics(
        self, eval_metrics: dict[str, Metric], features: object, logits: object, labels: object, mode: str | None = None,
        regularization_losses: object = None,
    ) -> dict[str, Metric]:  # fmt: skip
        logits = self._checked_logits(logits)
        labels = self._processed_labels(logits, labels)
        losses, weights = self._unweighted_loss_and_weights(logits, labels, features)
        probabilities = self.predictions(logits, [PredictionKeys.PROBABILITIES])[PredictionKeys.PROBABILITIES]
        eval_metrics[self._summary_key(MetricKeys.LOSS_MEAN)].update_state(values=losses, sample_weight=weights)
        for key in (MetricKeys.AUC, MetricKeys.AUC_PR):
            metric = eval_metrics[self._summary_key(key)]
            metric.update_state(y_true=labels, y_pred=probabilities, sample_weight=weights)
        self._update_regularization(eval_metrics, regularization_losses)
        self._update_threshold_metrics(eval_metrics, labels, probabilities, weights)
        for class_id in self._classes_for_class_based_metrics:
            mean_key, *area_keys = self._class_keys(class_id)
            class_probabilities, class_labels = of_class(class_id, probabilities, labels)
            update_with_broadcast_weights(eval_metrics[mean_key], class_probabilities, weights)
            for key in area_keys:
                eval_metrics[key].update_state(
                    y_true=class_labels, y_pred=class_probabilities, sample_weight=weights
                )
        return eval_metrics
