"""tf.contrib.compiler.xla.estimator_model_fn: model functions of estimators that XLA compiles."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.compiler.xla import compile
from tfcompat._src.estimator.model_fn import EstimatorSpec
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.platform import logging
from tfcompat._src.saved_model.model_utils.mode_keys import EstimatorModeKeys as ModeKeys


def _arguments(function: Callable) -> list[str]:
    return list(inspect.signature(function).parameters)


class _CompiledModelFn:
    """A model function whose training or evaluation step is one compiled computation."""

    def __init__(self, model_fn: Callable) -> None:
        self._model_fn = model_fn
        self.__name__, self.__doc__ = getattr(model_fn, "__name__", "model_fn"), model_fn.__doc__

    def __call__(self, features: object, labels: object, mode: str, params: Any) -> Any:
        if params.get("use_tpu"):  # TPUEstimator compiles it
            return self._spec(features, labels, mode, params)
        if mode not in (ModeKeys.TRAIN, ModeKeys.EVAL):
            raise NotImplementedError(f"{mode} is not implemented, only TRAIN and EVAL are supported")
        inner: list[Any] = []

        def step() -> list[Tensor]:
            spec = self._spec(features, labels, mode, params)
            inner.append(spec)
            if mode == ModeKeys.EVAL:
                return [spec.loss, *_metric_arguments(spec)]
            with control_dependencies([spec.train_op]):
                return [identity(spec.loss)]

        loss, *metric_arguments = compile(step)
        scaffold = _scaffold(inner[0])
        if mode == ModeKeys.TRAIN:
            return EstimatorSpec(mode=mode, loss=loss, train_op=identity(loss), scaffold=scaffold)
        metrics = getattr(inner[0], "eval_metrics", None)
        metric_ops = metrics[0](*metric_arguments) if metrics else None
        return EstimatorSpec(mode=mode, loss=loss, eval_metric_ops=metric_ops, scaffold=scaffold)

    def _spec(self, features: object, labels: object, mode: str, params: object) -> Any:
        """What the model function gives; ValueError where it does not suit compilation."""
        taken = _arguments(self._model_fn)
        if "labels" not in taken and labels is not None:
            raise ValueError("model_fn does not take labels, but input_fn returns labels.")
        given = {"labels": labels, "mode": mode, "params": params}
        spec = self._model_fn(features=features, **{name: value for name, value in given.items() if name in taken})
        if getattr(spec, "scaffold", None):
            logging.warning("EstimatorSpec.scaffold is ignored with XLA compilation. Please use TPUEstimatorSpec.scaffold_fn instead.")
        if getattr(spec, "eval_metric_ops", None):
            raise ValueError(
                "EstimatorSpec.eval_metric_ops is not supported with XLA compilation. Please use TPUEstimatorSpec.eval_metrics instead."
            )
        return spec


def _metric_arguments(spec: object) -> list[Tensor]:
    """The tensors for the metrics' function, in the order of its arguments; ValueError where names do not agree."""
    metrics = getattr(spec, "eval_metrics", None)
    if not metrics:
        return []
    function, tensors = metrics
    if not isinstance(tensors, dict):
        return list(tensors)
    names = _arguments(function)
    missing, more = [n for n in names if n not in tensors], [n for n in tensors if n not in names]
    if missing:
        raise ValueError(
            f"Arguments {missing} are needed by metric_fn (first element of TPUEstimatorSpec.eval_metrics) but they are not provided by "
            "evaluation tensors (second element of TPUEstimatorSpec.eval_metrics)."
        )
    if more:
        raise ValueError(
            f"Arguments {more} are provided by evaluation tensors (second element of TPUEstimatorSpec.eval_metrics) but they are not "
            "needed by metric_fn (first element of TPUEstimatorSpec.eval_metrics)."
        )
    return [tensors[name] for name in names]


def _scaffold(spec: object) -> Any:
    make = getattr(spec, "scaffold_fn", None)
    if not make:
        return None
    scaffold = make()
    if scaffold is None:
        raise ValueError("TPUEstimatorSpec.scaffold_fn returns None, which is not allowed")
    return scaffold


@export("contrib.compiler.xla.estimator_model_fn")
def estimator_model_fn(target_model_fn: Callable | None = None) -> Callable:
    """A decorator of model functions: what they build for training and evaluation is one computation of XLA.

    Args:
      target_model_fn: a function of features and, by these names, of labels, mode and params, which gives a TPUEstimatorSpec; without it,
        the decorator is returned.

    Returns:
      A model function of TPUEstimator, or of Estimator with params that are a dict, without prediction. It raises NotImplementedError for
      other modes than training and evaluation, and ValueError for eval_metric_ops, a scaffold_fn that returns None, labels that the
      function does not take, and tensors that are not the arguments of the metrics' function.
    """
    return _CompiledModelFn(target_model_fn) if target_model_fn else _CompiledModelFn
