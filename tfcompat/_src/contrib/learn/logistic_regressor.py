"""tf.contrib.learn.LogisticRegressor: an Estimator of a function's probabilities, with metrics of two classes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.learn.estimator import Estimator
from tfcompat._src.contrib.learn.keys import MetricKey, ProblemType
from tfcompat._src.contrib.learn.model_fn import ModeKeys, ModelFnOps
from tfcompat._src.contrib.metrics.streaming import (
    streaming_accuracy,
    streaming_auc,
    streaming_mean,
    streaming_precision,
    streaming_recall,
)
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import greater_equal


def _metrics(labels: object, predictions: object, thresholds: Iterable[float]) -> dict[str, Any]:
    if isinstance(labels, dict) and len(labels) == 1:
        labels = next(iter(labels.values()))
    found = {
        MetricKey.PREDICTION_MEAN: streaming_mean(predictions),
        MetricKey.LABEL_MEAN: streaming_mean(labels),
        MetricKey.ACCURACY_BASELINE: streaming_mean(labels),
        MetricKey.AUC: streaming_auc(labels=labels, predictions=predictions),
    }
    for threshold in thresholds:
        name = f"predictions_at_threshold_{threshold:f}"
        classes = cast(greater_equal(predictions, threshold), dtypes.float32, name=name)
        for key, metric in (
            (MetricKey.ACCURACY_MEAN, streaming_accuracy),
            (MetricKey.PRECISION_MEAN, streaming_precision),
            (MetricKey.RECALL_MEAN, streaming_recall),
        ):
            found[key % threshold] = metric(labels=labels, predictions=classes)
    return found


@export("contrib.learn.LogisticRegressor")
def LogisticRegressor(  # noqa: N802
    model_fn: Callable, thresholds: Iterable[float] | None = None, model_dir: str | None = None, config: object = None,
    feature_engineering_fn: Callable | None = None,
) -> Estimator:  # fmt: skip
    """An Estimator of a function's probabilities, with metrics of two classes.

    Args:
      model_fn: function of features, labels and mode that gives (probabilities [batch], loss, training operation).
      thresholds: numbers that part the classes; 0.5 by default.
      model_dir: folder of the model.
      config: a RunConfig.
      feature_engineering_fn: function of features and labels that gives both, before `model_fn`.
    """

    def with_metrics(features: object, labels: object, mode: str, params: dict[str, Any]) -> ModelFnOps:
        predictions, loss, train_op = model_fn(features, labels, mode)
        metrics = None
        if mode == ModeKeys.EVAL:
            metrics = _metrics(labels, predictions, params.get("thresholds") or [0.5])
        outputs = {"head": (ProblemType.LOGISTIC_REGRESSION, {"predictions": predictions})}
        return ModelFnOps(
            mode=mode, predictions=predictions, loss=loss, train_op=train_op, eval_metric_ops=metrics,
            output_alternatives=outputs,
        )  # fmt: skip

    return Estimator(with_metrics, model_dir, config, {"thresholds": thresholds}, feature_engineering_fn)
