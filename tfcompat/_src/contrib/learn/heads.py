"""The heads of tf.contrib.learn: regression, one of two or several classes, several labels, a loss alone, several heads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.learn import head_losses, head_metrics
from tfcompat._src.contrib.learn.head import Head, SingleHead, check_mode, no_op_train_fn
from tfcompat._src.contrib.learn.head_parts import classification_output
from tfcompat._src.contrib.learn.keys import MetricKey, PredictionKey, ProblemType
from tfcompat._src.contrib.learn.model_fn import ModeKeys, ModelFnOps
from tfcompat._src.estimator.heads.keys import keyed
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.lookup.vocabulary import index_table_from_tensor, index_to_string_table_from_tensor
from tfcompat._src.metrics.mean import accuracy
from tfcompat._src.nodes.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import zeros_like
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import squeeze
from tfcompat._src.ops.array.slice import slice_
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.math.binary import multiply
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import greater
from tfcompat._src.ops.math.reduce import argmax
from tfcompat._src.ops.math.scan import add_n
from tfcompat._src.ops.math.unary import exp, sigmoid
from tfcompat._src.ops.nn.softmax import softmax
from tfcompat._src.ops.sparse.convert import sparse_to_indicator
from tfcompat._src.summary.summary import scalar
from tfcompat._src.variables.scope import variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


class _RegressionHead(SingleHead):
    _DEFAULT_SCOPE = "regression_head"

    def __init__(self, label_dimension: int, loss_fn: Callable, link_fn: Callable, **settings: Any) -> None:
        super().__init__(ProblemType.LINEAR_REGRESSION, label_dimension, loss_fn, **settings)
        self._link_fn = link_fn

    def _logits_to_predictions(self, logits: Tensor) -> dict[str, Tensor]:
        with name_scope(None, "predictions", (logits,)):
            if self.logits_dimension == 1:
                logits = squeeze(logits, axis=(1,), name=PredictionKey.SCORES)
            return {PredictionKey.SCORES: self._link_fn(logits)}

    def _metrics(self, eval_loss: Tensor, predictions: dict[str, Tensor], labels: Any, weights: Any) -> dict[str, Any]:
        with name_scope("metrics", values=[eval_loss]):
            return self._loss_metric(eval_loss)


def _two_class_logits(logits: Tensor) -> Tensor:
    return concat((zeros_like(logits), logits), 1)


class _BinaryLogisticHead(SingleHead):
    _DEFAULT_SCOPE = "binary_logistic_head"

    def __init__(self, loss_fn: Callable | None = None, thresholds: Any = None, **settings: Any) -> None:
        super().__init__(ProblemType.LOGISTIC_REGRESSION, 1, loss_fn or head_losses.two_classes, **settings)
        self._thresholds = thresholds or (0.5,)

    def _create_output_alternatives(self, predictions: dict[str, Tensor]) -> dict[Any, Any]:
        return classification_output(predictions, self._head_name, self._problem_type)

    def _logits_to_predictions(self, logits: Tensor) -> dict[str, Tensor]:
        with name_scope(None, "predictions", (logits,)):
            two_classes = _two_class_logits(logits)
            return {
                PredictionKey.LOGITS: logits,
                PredictionKey.LOGISTIC: sigmoid(logits, name=PredictionKey.LOGISTIC),
                PredictionKey.PROBABILITIES: softmax(two_classes, name=PredictionKey.PROBABILITIES),
                PredictionKey.CLASSES: argmax(two_classes, 1, name=PredictionKey.CLASSES),
            }

    def _metrics(self, eval_loss: Tensor, predictions: dict[str, Tensor], labels: Any, weights: Any) -> dict[str, Any]:
        with name_scope("metrics", values=[eval_loss, labels, weights, *predictions.values()]):
            logistic, area = predictions[PredictionKey.LOGISTIC], head_metrics.area_under_curve
            found = {
                **self._loss_metric(eval_loss),
                self._key(MetricKey.ACCURACY): accuracy(labels, predictions[PredictionKey.CLASSES], weights),
                self._key(MetricKey.PREDICTION_MEAN): head_metrics.float_mean(logistic, weights),
                self._key(MetricKey.LABEL_MEAN): head_metrics.float_mean(labels, weights),
                self._key(MetricKey.ACCURACY_BASELINE): head_metrics.float_mean(labels, weights),
                self._key(MetricKey.AUC): area(logistic, labels, weights),
                self._key(MetricKey.AUC_PR): area(logistic, labels, weights, curve="PR"),
            }
            for threshold in self._thresholds:
                for key, metric in (
                    (MetricKey.ACCURACY_MEAN, head_metrics.accuracy_at),
                    (MetricKey.PRECISION_MEAN, head_metrics.precision_at),
                    (MetricKey.RECALL_MEAN, head_metrics.recall_at),
                ):
                    found[self._key(key % threshold)] = metric(logistic, labels, weights, threshold)
            return found


def _checked_class_ids(metric_class_ids: Any, n_classes: int) -> tuple[int, ...]:
    for class_id in metric_class_ids or ():
        if not 0 <= class_id < n_classes:
            raise ValueError(f"Class ID {class_id} not in [0, {n_classes}).")
    return tuple(metric_class_ids or ())


class _MultiClassHead(SingleHead):
    _DEFAULT_SCOPE = "multi_class_head"

    def __init__(
        self, n_classes: int, loss_fn: Callable | None = None, metric_class_ids: object = None, label_keys: Any = None,
        **settings: Any,
    ) -> None:  # fmt: skip
        super().__init__(ProblemType.CLASSIFICATION, n_classes, self._loss_of_ids, **settings)
        if n_classes is None or n_classes <= 2:
            raise ValueError(f"n_classes must be > 2: {n_classes}.")
        self._loss_of_labels = loss_fn or head_losses.softmax
        self._metric_class_ids = _checked_class_ids(metric_class_ids, n_classes)
        if label_keys and len(label_keys) != n_classes:
            raise ValueError("Length of label_keys must equal n_classes.")
        self._label_keys = label_keys

    def _create_output_alternatives(self, predictions: dict[str, Tensor]) -> dict[Any, Any]:
        return classification_output(predictions, self._head_name, self._problem_type, self._label_keys)

    def _transform_labels(self, mode: str, labels: object) -> Any:
        labels = super()._transform_labels(mode, labels)
        if labels is None:
            return None
        ids = labels
        if self._label_keys:
            ids = index_table_from_tensor(self._label_keys, name="label_id_lookup").lookup(labels)
        return {"labels": labels, "label_ids": ids}

    def _loss_of_ids(self, labels: dict[str, Tensor], logits: Tensor, weights: object = None) -> Any:
        return self._loss_of_labels(labels["label_ids"], logits, weights=weights)

    def _logits_to_predictions(self, logits: Tensor) -> dict[str, Tensor]:
        with name_scope(None, "predictions", (logits,)):
            classes = argmax(logits, 1, name=PredictionKey.CLASSES)
            if self._label_keys:
                classes = index_to_string_table_from_tensor(self._label_keys, name="class_string_lookup").lookup(classes)
            return {
                PredictionKey.LOGITS: logits,
                PredictionKey.PROBABILITIES: softmax(logits, name=PredictionKey.PROBABILITIES),
                PredictionKey.CLASSES: classes,
            }

    def _metrics(self, eval_loss: Tensor, predictions: dict[str, Tensor], labels: Any, weights: Any) -> dict[str, Any]:
        with name_scope("metrics", values=(eval_loss, *labels.values(), weights, *predictions.values())):
            classes = predictions[PredictionKey.CLASSES]
            found = {
                **self._loss_metric(eval_loss),
                self._key(MetricKey.ACCURACY): accuracy(labels["labels"], classes, weights),
            }
            for class_id in () if self._label_keys else self._metric_class_ids:
                probabilities, logits = predictions[PredictionKey.PROBABILITIES], predictions[PredictionKey.LOGITS]
                frequency, mean_of = head_metrics.class_frequency, head_metrics.float_mean
                for key, metric in (
                    (MetricKey.CLASS_PREDICTION_MEAN, frequency(classes, weights, class_id)),
                    (MetricKey.CLASS_LABEL_MEAN, frequency(labels["label_ids"], weights, class_id)),
                    (MetricKey.CLASS_PROBABILITY_MEAN, mean_of(probabilities, weights, class_id)),
                    (MetricKey.CLASS_LOGITS_MEAN, mean_of(logits, weights, class_id)),
                ):
                    found[self._key(key % class_id)] = metric
            return found


class _BinarySvmHead(SingleHead):
    _DEFAULT_SCOPE = "binary_svm_head"

    def __init__(self, thresholds: Any = None, **settings: Any) -> None:
        super().__init__(ProblemType.LOGISTIC_REGRESSION, 1, head_losses.hinge, **settings)
        self._thresholds = thresholds or (0.5,)

    def _logits_to_predictions(self, logits: Tensor) -> dict[str, Tensor]:
        with name_scope(None, "predictions", (logits,)):
            classes = argmax(_two_class_logits(logits), 1, name=PredictionKey.CLASSES)
            return {PredictionKey.LOGITS: logits, PredictionKey.CLASSES: classes}

    def _metrics(self, eval_loss: Tensor, predictions: dict[str, Tensor], labels: object, weights: object) -> dict[str, Any]:
        with name_scope("metrics", values=[eval_loss, labels, weights, *predictions.values()]):
            classes = predictions[PredictionKey.CLASSES]
            return {
                **self._loss_metric(eval_loss),
                self._key(MetricKey.ACCURACY): accuracy(labels, classes, weights),
            }


class _MultiLabelHead(SingleHead):
    _DEFAULT_SCOPE = "multi_label_head"

    def __init__(
        self, n_classes: int, loss_fn: Callable | None = None, thresholds: Any = None, metric_class_ids: object = None,
        **settings: Any,
    ) -> None:  # fmt: skip
        super().__init__(ProblemType.CLASSIFICATION, n_classes, loss_fn or head_losses.sigmoid, **settings)
        self._thresholds = thresholds or (0.5,)
        self._metric_class_ids = _checked_class_ids(metric_class_ids, n_classes)

    def _create_output_alternatives(self, predictions: dict[str, Tensor]) -> dict[Any, Any]:
        return classification_output(predictions, self._head_name, self._problem_type)

    def _labels_tensor(self, labels: object) -> Tensor:
        labels = convert_to_tensor_or_sparse_tensor(labels[self._label_name] if isinstance(labels, dict) else labels)
        if not isinstance(labels, SparseTensor):
            return labels
        if self._logits_dimension < 2:
            raise ValueError("Must set num_classes >= 2 when passing labels as a SparseTensor.")
        return cast(sparse_to_indicator(labels, self._logits_dimension), dtypes.int64)

    def _logits_to_predictions(self, logits: Tensor) -> dict[str, Tensor]:
        with name_scope(None, "predictions", (logits,)):
            return {
                PredictionKey.LOGITS: logits,
                PredictionKey.PROBABILITIES: sigmoid(logits, name=PredictionKey.PROBABILITIES),
                PredictionKey.CLASSES: cast(greater(logits, 0), dtypes.int64, name=PredictionKey.CLASSES),
            }

    def _metrics(self, eval_loss: Tensor, predictions: dict[str, Tensor], labels: object, weights: object) -> dict[str, Any]:
        with name_scope("metrics", values=[eval_loss, labels, weights, *predictions.values()]):
            classes, logits = predictions[PredictionKey.CLASSES], predictions[PredictionKey.LOGITS]
            probabilities = predictions[PredictionKey.PROBABILITIES]
            area, mean_of = head_metrics.area_under_curve, head_metrics.float_mean
            found = {
                **self._loss_metric(eval_loss),
                self._key(MetricKey.ACCURACY): accuracy(labels, classes, weights),
                self._key(MetricKey.AUC): area(probabilities, labels, weights),
                self._key(MetricKey.AUC_PR): area(probabilities, labels, weights, curve="PR"),
            }
            for class_id in self._metric_class_ids:
                for key, metric in (
                    (MetricKey.CLASS_PREDICTION_MEAN, mean_of(classes, weights, class_id)),
                    (MetricKey.CLASS_LABEL_MEAN, mean_of(labels, weights, class_id)),
                    (MetricKey.CLASS_PROBABILITY_MEAN, mean_of(probabilities, weights, class_id)),
                    (MetricKey.CLASS_LOGITS_MEAN, mean_of(logits, weights, class_id)),
                    (MetricKey.CLASS_AUC, area(probabilities, labels, weights, class_id)),
                    (MetricKey.CLASS_AUC_PR, area(probabilities, labels, weights, class_id, curve="PR")),
                ):
                    found[self._key(key % class_id)] = metric
            return found


class _LossOnlyHead(Head):
    def __init__(self, loss_fn: Callable, head_name: str | None = None) -> None:
        self._loss_fn, self.head_name = loss_fn, head_name or "loss_only_head"

    @property
    def logits_dimension(self) -> int:
        return 0

    def create_model_fn_ops(
        self, features: object, mode: str, labels: object = None, train_op_fn: Callable | None = None, logits: object = None,
        logits_input: object = None, scope: object = None,
    ) -> ModelFnOps:  # fmt: skip
        check_mode(mode)
        loss = step = None
        if mode != ModeKeys.INFER:
            with variable_scope(scope, default_name=self.head_name):
                loss = self._loss_fn()
                if isinstance(loss, list):
                    loss = add_n(loss)
                with name_scope(""):
                    scalar(keyed(MetricKey.LOSS, self.head_name), identity(loss))
                if mode == ModeKeys.TRAIN:
                    if train_op_fn is None:
                        raise ValueError("train_op_fn can not be None in TRAIN mode")
                    with name_scope(None, "train_op", (loss,)):
                        step = train_op_fn(loss)
        return ModelFnOps(mode=mode, loss=loss, train_op=step, predictions={}, eval_metric_ops={})


class _MultiHead(Head):
    def __init__(self, heads: Sequence[Any], loss_merger: Callable) -> None:
        for head in heads:
            if not head.head_name:
                raise ValueError("Members of MultiHead must have names.")
        self._logits_dimension = sum(head.logits_dimension for head in heads)
        self._heads, self._loss_merger = heads, loss_merger

    @property
    def logits_dimension(self) -> int:
        return self._logits_dimension

    def create_model_fn_ops(
        self, features: object, mode: str, labels: object = None, train_op_fn: Callable | None = None, logits: object = None,
        logits_input: object = None, scope: object = None,
    ) -> ModelFnOps:  # fmt: skip
        check_mode(mode)
        parts = []
        for head, inputs in zip(self._heads, self._inputs(logits, logits_input), strict=True):
            parts.append(
                head.create_model_fn_ops(
                    features=features, mode=mode, labels=labels, train_op_fn=no_op_train_fn, scope=scope, **inputs
                )
            )
        if mode == ModeKeys.TRAIN:
            if train_op_fn is None:
                raise ValueError("train_op_fn can not be None in TRAIN mode.")
            loss = self._loss_merger([part.loss for part in parts])
            step = group(train_op_fn(loss), *[part.train_op for part in parts])
            return ModelFnOps(mode=mode, loss=loss, train_op=step, eval_metric_ops=self._merged_metrics(parts))
        if mode == ModeKeys.INFER:
            outputs = {
                head.head_name: part.output_alternatives[head.head_name]
                for head, part in zip(self._heads, parts, strict=True)
                if not isinstance(head, _LossOnlyHead)
            }
            return ModelFnOps(mode=mode, predictions=self._merged_predictions(parts), output_alternatives=outputs)
        return ModelFnOps(
            mode=mode, predictions=self._merged_predictions(parts), loss=self._loss_merger([part.loss for part in parts]),
            eval_metric_ops=self._merged_metrics(parts),
        )  # fmt: skip

    def _inputs(self, logits: TensorLike, logits_input: object) -> list[dict[str, Any]]:
        """What each head is given."""
        if logits is None:
            return [{"logits_input": logits_input} for _ in self._heads]
        if isinstance(logits, dict):
            return [
                {"logits": None if isinstance(head, _LossOnlyHead) else logits[head.head_name]} for head in self._heads
            ]
        found, begin = [], 0
        for head in self._heads:
            found.append({"logits": slice_(logits, [0, begin], [-1, head.logits_dimension])})
            begin += head.logits_dimension
        return found

    def _merged_predictions(self, parts: list[ModelFnOps]) -> dict[Any, Tensor]:
        return {
            (head.head_name, key): value
            for head, part in zip(self._heads, parts, strict=True)
            for key, value in part.predictions.items()
        }

    @staticmethod
    def _merged_metrics(parts: list[ModelFnOps]) -> dict[str, Any]:
        return {key: value for part in parts for key, value in part.eval_metric_ops.items()}


@export("contrib.learn.regression_head")
def regression_head(
    label_name=None, weight_column_name=None, label_dimension=1, enable_centered_bias=False, head_name=None, link_fn=None
) -> Head:
    """A head for numbers with the squared difference as loss.

    Args:
      label_name: key of the labels where they are a dict.
      weight_column_name: key of the examples' weights.
      label_dimension: how many numbers an example has.
      enable_centered_bias: whether a bias is learned that is shared by all examples.
      head_name: name, which ends the keys of metrics.
      link_fn: function from logits to predictions; by default they are the same.

    Raises:
      ValueError: the dimension is not positive.
    """
    return _RegressionHead(
        label_dimension, head_losses.mean_squared, link_fn if link_fn is not None else identity, label_name=label_name,
        weight_column_name=weight_column_name, enable_centered_bias=enable_centered_bias, head_name=head_name,
    )  # fmt: skip


@export("contrib.learn.poisson_regression_head")
def poisson_regression_head(
    label_name=None, weight_column_name=None, label_dimension=1, enable_centered_bias=False, head_name=None
) -> Head:
    """A head for counts, whose predictions are exp(logits); arguments as regression_head."""
    return _RegressionHead(
        label_dimension, head_losses.poisson, exp, label_name=label_name, weight_column_name=weight_column_name,
        enable_centered_bias=enable_centered_bias, head_name=head_name,
    )  # fmt: skip


@export("contrib.learn.multi_class_head")
def multi_class_head(
    n_classes, label_name=None, weight_column_name=None, enable_centered_bias=False, head_name=None, thresholds=None,
    metric_class_ids=None, loss_fn=None, label_keys=None,
) -> Head:  # fmt: skip
    """A head for one of two or more classes.

    Args:
      n_classes: number of classes.
      thresholds: numbers in (0, 1) for which there are metrics too, with two classes.
      metric_class_ids: classes that have metrics of their own, with more than two.
      loss_fn: function of `labels`, `logits` and `weights` to a loss.
      label_keys: names of the classes, where labels are strings, with more than two.
      others: as regression_head.

    Raises:
      ValueError: an argument is out of range.
    """
    if n_classes is None or n_classes < 2:
        raise ValueError(f"n_classes must be > 1 for classification: {n_classes}.")
    settings = {
        "label_name": label_name, "weight_column_name": weight_column_name, "head_name": head_name,
        "enable_centered_bias": enable_centered_bias, "loss_fn": head_losses.custom(loss_fn),
    }  # fmt: skip
    if n_classes > 2:
        return _MultiClassHead(n_classes, metric_class_ids=metric_class_ids, label_keys=label_keys, **settings)
    if metric_class_ids:
        raise ValueError("metric_class_ids invalid for n_classes==2.")
    if label_keys:
        raise ValueError("label_keys is not supported for n_classes=2.")
    return _BinaryLogisticHead(thresholds=thresholds, **settings)


@export("contrib.learn.binary_svm_head")
def binary_svm_head(
    label_name=None, weight_column_name=None, enable_centered_bias=False, head_name=None, thresholds=None
) -> Head:
    """A head for one of two classes with the hinge loss; arguments as regression_head."""
    return _BinarySvmHead(
        thresholds, label_name=label_name, weight_column_name=weight_column_name,
        enable_centered_bias=enable_centered_bias, head_name=head_name,
    )  # fmt: skip


@export("contrib.learn.multi_label_head")
def multi_label_head(
    n_classes, label_name=None, weight_column_name=None, enable_centered_bias=False, head_name=None, thresholds=None,
    metric_class_ids=None, loss_fn=None,
) -> Head:  # fmt: skip
    """A head for any number of several classes; labels are indicators or a SparseTensor of ids. Arguments as multi_class_head."""
    if n_classes < 2:
        raise ValueError("n_classes must be > 1 for classification.")
    return _MultiLabelHead(
        n_classes, head_losses.custom(loss_fn), thresholds, metric_class_ids, label_name=label_name,
        weight_column_name=weight_column_name, enable_centered_bias=enable_centered_bias, head_name=head_name,
    )  # fmt: skip


def loss_only_head(loss_fn: Callable, head_name: str | None = None) -> Head:
    """A head without predictions, whose loss (or list of losses) `loss_fn()` gives."""
    return _LossOnlyHead(loss_fn, head_name=head_name)


@export("contrib.learn.multi_head")
def multi_head(heads: Sequence[Any], loss_weights: Iterable[float] | None = None) -> Head:
    """A head of several heads with names, whose losses are added with weights; ValueError where weights are not one for each."""
    weights = list(loss_weights or ())
    if weights and len(weights) != len(heads):
        raise ValueError("heads and loss_weights must have same size")

    def merged(losses: list[Tensor]) -> Tensor:
        if not weights:
            return add_n(losses)
        return add_n([multiply(loss, weight) for loss, weight in zip(losses, weights, strict=True)])

    return _MultiHead(heads, loss_merger=merged)


