"""tf.contrib.learn.MetricSpec: a metric, and the tensors that it takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.platform import logging

_LABELS = frozenset(("labels", "label", "targets", "target"))
_PREDICTIONS = frozenset(("predictions", "prediction", "logits", "logit"))
_WEIGHTS = frozenset(("weights", "weight"))


def _args(fn: Callable) -> tuple[str, ...]:
    """The names of the arguments that are left to give."""
    given = getattr(fn, "keywords", None) or {}
    parameters = inspect.signature(fn).parameters.values()
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return tuple(p.name for p in parameters if p.kind not in several and p.name not in given)


def _matching_arg(
    fn_name: str, fn_args: tuple[str, ...], candidates: frozenset[str], canonical: str, is_required: bool = False
) -> str | None:
    matching = sorted(candidates.intersection(fn_args))
    if len(matching) > 1:
        raise ValueError(f"Ambiguous arguments {set(matching)}, must provide only one of {set(candidates)}.")
    if not matching:
        if is_required:
            raise ValueError(f"{set(candidates)} missing from {fn_name}({fn_args}).")
        return None
    if matching[0] != canonical:
        logging.warning("Canonical arg %s missing from %s(%s), using %s.", canonical, fn_name, fn_args, matching[0])
    return matching[0]


def _fn_name(fn: object) -> str:
    for named in (fn, getattr(fn, "func", None)):
        if hasattr(named, "__name__"):
            return named.__name__
    return str(fn)


def _adapted(metric_fn: Callable, fn_name: str, needs_labels: bool, needs_weights: bool) -> Callable:
    """The metric as a function of `labels`, `predictions` and `weights`."""
    names = _args(metric_fn)
    labels_arg = _matching_arg(fn_name, names, _LABELS, "labels", needs_labels)
    predictions_arg = _matching_arg(fn_name, names, _PREDICTIONS, "predictions")
    weights_arg = _matching_arg(fn_name, names, _WEIGHTS, "weights", needs_weights)

    def adapted(_sentinel: object = None, labels: object = None, predictions: object = None, weights: object = None) -> Any:
        if _sentinel is not None:
            raise ValueError("`metric_fn` requires named args: `labels`, `predictions`, and optionally `weights`.")
        named = {} if weights is None else {weights_arg: weights}
        if predictions_arg:
            labelled = {labels_arg: labels} if labels_arg else {}
            return metric_fn(**labelled, **{predictions_arg: predictions}, **named)
        if labels_arg and labels_arg == names[0]:
            return metric_fn(labels, predictions, **named)
        if labels_arg:
            return metric_fn(predictions, **{labels_arg: labels}, **named)
        return metric_fn(predictions, **named)

    return adapted


def _chosen(name: str, values: object, key: str | None) -> Any:
    """The tensor with this key; without one the only tensor."""
    if key:
        if not isinstance(values, dict):
            raise ValueError(
                f"MetricSpec with {name}_key specified requires {name}s dict, got {values}.\n"
                f"You must not provide a {name}_key if you only have a single Tensor as {name}s."
            )
        if key not in values:
            raise KeyError(f"Key '{key}' missing from {values.keys()}.")
        return values[key]
    if not isinstance(values, dict):
        return values
    if len(values) != 1:
        raise ValueError(
            f"MetricSpec without specified {name}_key requires {name}s tensor or single element dict, got {values}"
        )
    return next(iter(values.values()))


@export("contrib.learn.MetricSpec")
class MetricSpec:
    """A metric, and the tensors that it takes.

    Args:
      metric_fn: function of labels, predictions and perhaps weights to (value, update operation); its arguments have these
        names, or predictions and labels are taken by position.
      prediction_key, label_key: key of predictions and labels where these are dicts.
      weight_key: key of the feature that weighs examples.

    Raises:
      ValueError: the function lacks an argument that has a key.
    """

    def __init__(
        self, metric_fn: Callable, prediction_key: str | None = None, label_key: str | None = None,
        weight_key: str | None = None,
    ) -> None:  # fmt: skip
        self._metric_fn_name = _fn_name(metric_fn)
        self._metric_fn = _adapted(metric_fn, self._metric_fn_name, label_key is not None, weight_key is not None)
        self._prediction_key, self._label_key, self._weight_key = prediction_key, label_key, weight_key

    @property
    def prediction_key(self) -> str | None:
        return self._prediction_key

    @property
    def label_key(self) -> str | None:
        return self._label_key

    @property
    def weight_key(self) -> str | None:
        return self._weight_key

    @property
    def metric_fn(self) -> Callable:
        return self._metric_fn

    def __str__(self) -> str:
        return (
            f"MetricSpec(metric_fn={self._metric_fn_name}, prediction_key={self.prediction_key}, "
            f"label_key={self.label_key}, weight_key={self.weight_key})"
        )

    def create_metric_ops(self, inputs: Any, labels: object, predictions: object) -> Any:
        """The metric's (value, update operation).

        Args:
          inputs: dict of features.
          labels, predictions: tensor, or dict of tensors.

        Raises:
          ValueError: a key is missing for a dict, or given for a tensor. KeyError: it is not in the dict.
        """
        prediction = _chosen("prediction", predictions, self.prediction_key)
        label = _chosen("label", labels, self.label_key)
        weights = inputs[self.weight_key] if self.weight_key else None
        try:
            return self.metric_fn(labels=label, predictions=prediction, weights=weights)
        except Exception as error:
            logging.error("Could not create metric ops for %s, %s.", self, error)
            raise
