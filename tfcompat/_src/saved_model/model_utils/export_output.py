"""What an exported model puts out, as the message that a SavedModel holds: tf.estimator.export."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant
from tfcompat._src.saved_model import signature_def_utils


@export("estimator.export.ExportOutput", "compat.v2.estimator.export.ExportOutput")
class ExportOutput(abc.ABC):
    """What one signature of an exported model puts out."""

    _SEPARATOR_CHAR = "/"

    @abc.abstractmethod
    def as_signature_def(self, receiver_tensors: dict[str, Tensor]) -> Any:
        """The SignatureDef from `receiver_tensors`, a dict of input tensors, to the outputs."""


def _key(key: object, what: str) -> str:
    """An output key, a str or a tuple of them, as one str."""
    joined = ExportOutput._SEPARATOR_CHAR.join(key) if isinstance(key, tuple) else key
    if not isinstance(joined, str):
        raise ValueError(f"{what} output key must be a string; got {joined}.")
    return joined


def _outputs(values: object, default_key: str, what: str) -> dict[str, Tensor]:
    """A tensor or a dict of them, checked, as a dict."""
    found = {}
    for key, value in (values if isinstance(values, dict) else {default_key: values}).items():
        key = _key(key, what)
        if not isinstance(value, Tensor):
            raise ValueError(f"{what} output value must be a Tensor; got {value}.")
        found[key] = value
    return found


def _examples(receiver_tensors: dict[str, Tensor], what: str) -> Tensor:
    """The one string tensor of the input."""
    tensors = list(receiver_tensors.values())
    if len(tensors) != 1 or dtypes.as_dtype(tensors[0].dtype) != dtypes.string:
        raise ValueError(f"{what} input must be a single string Tensor; got {receiver_tensors}")
    return tensors[0]


def _is_floating(value: object) -> bool:
    return isinstance(value, Tensor) and value.dtype.is_floating


@export("estimator.export.ClassificationOutput", "compat.v2.estimator.export.ClassificationOutput")
class ClassificationOutput(ExportOutput):
    """Classes and their scores.

    Args:
      scores: floating tensor [batch, classes], or None.
      classes: string tensor [batch, classes], or None.

    Raises:
      ValueError: both are None or one is of another type.
    """

    def __init__(self, scores: Tensor | None = None, classes: Tensor | None = None) -> None:
        if scores is not None and not _is_floating(scores):
            raise ValueError(f"Classification scores must be a float32 Tensor; got {scores}")
        if classes is not None and not (isinstance(classes, Tensor) and dtypes.as_dtype(classes.dtype) == dtypes.string):
            raise ValueError(f"Classification classes must be a string Tensor; got {classes}")
        if scores is None and classes is None:
            raise ValueError("At least one of scores and classes must be set.")
        self._scores, self._classes = scores, classes

    @property
    def scores(self) -> Tensor | None:
        return self._scores

    @property
    def classes(self) -> Tensor | None:
        return self._classes

    def as_signature_def(self, receiver_tensors: dict[str, Tensor]) -> Any:
        examples = _examples(receiver_tensors, "Classification")
        return signature_def_utils.classification_signature_def(examples, self.classes, self.scores)


@export("estimator.export.RegressionOutput", "compat.v2.estimator.export.RegressionOutput")
class RegressionOutput(ExportOutput):
    """Values of a regression.

    Args:
      value: floating tensor [batch].

    Raises:
      ValueError: `value` is of another type.
    """

    def __init__(self, value: Tensor) -> None:
        if not _is_floating(value):
            raise ValueError(f"Regression output value must be a float32 Tensor; got {value}")
        self._value = value

    @property
    def value(self) -> Tensor:
        return self._value

    def as_signature_def(self, receiver_tensors: dict[str, Tensor]) -> Any:
        return signature_def_utils.regression_signature_def(_examples(receiver_tensors, "Regression"), self.value)


@export("estimator.export.PredictOutput", "compat.v2.estimator.export.PredictOutput")
class PredictOutput(ExportOutput):
    """Any tensors.

    Args:
      outputs: tensor, or dict of tensors by str or tuple of str.

    Raises:
      ValueError: a key or value of another type.
    """

    def __init__(self, outputs: object) -> None:
        self._outputs = _outputs(outputs, "output", "Prediction")

    @property
    def outputs(self) -> dict[str, Tensor]:
        return self._outputs

    def as_signature_def(self, receiver_tensors: dict[str, Tensor]) -> Any:
        return signature_def_utils.predict_signature_def(receiver_tensors, self.outputs)


class _SupervisedOutput(ExportOutput):
    """Loss, predictions and metrics, each under keys that begin with what it is.

    Args:
      loss, predictions: tensor or dict of tensors, or None.
      metrics: (value, update operation), an object with `result()` and one of `updates`, or a dict of these; or None.

    Raises:
      ValueError: a key or value of another type.
    """

    LOSS_NAME = "loss"
    PREDICTIONS_NAME = "predictions"
    METRICS_NAME = "metrics"
    METRIC_VALUE_SUFFIX = "value"
    METRIC_UPDATE_SUFFIX = "update_op"

    def __init__(self, loss: object = None, predictions: object = None, metrics: object = None) -> None:
        self._loss = self._named(loss, self.LOSS_NAME)
        self._predictions = self._named(predictions, self.PREDICTIONS_NAME)
        self._metrics = None if metrics is None else self._metric_outputs(metrics)

    def _named(self, values: object, name: str) -> dict[str, Tensor] | None:
        if values is None:
            return None
        return {self._prefixed(key, name): value for key, value in _outputs(values, name, name).items()}

    def _prefixed(self, key: str, name: str) -> str:
        return key if key.startswith(name) else f"{name}{self._SEPARATOR_CHAR}{key}"

    def _metric_outputs(self, metrics: object) -> dict[str, Tensor]:
        found = {}
        for key, metric in (metrics if isinstance(metrics, dict) else {self.METRICS_NAME: metrics}).items():
            value, update = metric if isinstance(metric, tuple) else _parts(metric)
            key = self._prefixed(_key(key, self.METRICS_NAME), self.METRICS_NAME)
            if not isinstance(value, Tensor):
                raise ValueError(f"{key} output value must be a Tensor; got {value}.")
            if not isinstance(update, (Tensor, Operation)):
                raise ValueError(f"{key} update_op must be a Tensor or Operation; got {update}.")
            found[f"{key}{self._SEPARATOR_CHAR}{self.METRIC_VALUE_SUFFIX}"] = value
            found[f"{key}{self._SEPARATOR_CHAR}{self.METRIC_UPDATE_SUFFIX}"] = _as_tensor(update)
        return found

    @property
    def loss(self) -> dict[str, Tensor] | None:
        return self._loss

    @property
    def predictions(self) -> dict[str, Tensor] | None:
        return self._predictions

    @property
    def metrics(self) -> dict[str, Tensor] | None:
        return self._metrics

    @abc.abstractmethod
    def _get_signature_def_fn(self) -> Callable:
        """The function that makes the SignatureDef."""

    def as_signature_def(self, receiver_tensors: dict[str, Tensor]) -> Any:
        return self._get_signature_def_fn()(receiver_tensors, self.loss, self.predictions, self.metrics)


def _parts(metric: Any) -> tuple[Tensor, Any]:
    """Value and update of a Keras metric."""
    value, updates = metric.result(), metric.updates
    if len(updates) != 1:
        raise ValueError(f"A metric of an exported model has one update; {metric} has {len(updates)}.")
    return value, updates[0]


def _as_tensor(update: Tensor | Operation) -> Tensor:
    if isinstance(update, Tensor):
        return update
    with control_dependencies([update]):
        return constant([], name="metric_op_wrapper")


class TrainOutput(_SupervisedOutput):
    """What a training step puts out."""

    def _get_signature_def_fn(self) -> Callable:
        return signature_def_utils.supervised_train_signature_def


class EvalOutput(_SupervisedOutput):
    """What an evaluation puts out."""

    def _get_signature_def_fn(self) -> Callable:
        return signature_def_utils.supervised_eval_signature_def
