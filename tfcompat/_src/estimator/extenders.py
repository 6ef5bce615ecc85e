"""Estimators made of other ones: further metrics, features among the predictions, clipped gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.estimator.estimator import Estimator
from tfcompat._src.estimator.model_fn import EstimatorSpec
from tfcompat._src.estimator.util import call_with_known, fn_args
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from tfcompat._src.ops.math.clip import clip_by_global_norm
from tfcompat._src.ops.sparse.convert import sparse_tensor_to_dense
from tfcompat._src.saved_model.model_utils.export_output import PredictOutput
from tfcompat._src.saved_model.model_utils.mode_keys import EstimatorModeKeys as ModeKeys
from tfcompat._src.train.optimizer import Optimizer

_VALID_METRIC_FN_ARGS = frozenset(("features", "labels", "predictions", "config"))


@export("estimator.add_metrics", "contrib.estimator.add_metrics", "compat.v2.estimator.add_metrics")
def add_metrics(estimator: Estimator, metric_fn: Callable) -> Estimator:
    """An Estimator whose evaluations have further metrics.

    Args:
      estimator: the Estimator.
      metric_fn: function of any of `features`, `labels`, `predictions`, `config` that gives metrics as for
        EstimatorSpec.

    Raises:
      ValueError: `metric_fn` takes other arguments.
    """
    _verify_metric_fn_args(metric_fn)

    def new_model_fn(features: object, labels: object, mode: str, config: object) -> EstimatorSpec:
        spec = estimator.model_fn(features, labels, mode, config)
        if mode != ModeKeys.EVAL:
            return spec
        metrics = call_with_known(
            metric_fn, features=features, labels=labels, predictions=spec.predictions, config=config
        )
        return spec._replace(eval_metric_ops={**(spec.eval_metric_ops or {}), **metrics})

    return Estimator(
        new_model_fn,
        model_dir=estimator.model_dir,
        config=estimator.config,
        warm_start_from=estimator._warm_start_settings,
    )


def _verify_metric_fn_args(metric_fn: Callable) -> None:
    unknown = list(set(fn_args(metric_fn)) - _VALID_METRIC_FN_ARGS)
    if unknown:
        raise ValueError(f"metric_fn ({metric_fn}) has following not expected args: {unknown}")


@export("contrib.estimator.forward_features")
def forward_features(
    estimator: Estimator, keys: str | Iterable[str] | None = None, sparse_default_values: dict[str, Any] | None = None
) -> Estimator:
    """An Estimator whose predictions hold features, too.

    Args:
      estimator: the Estimator, whose predictions are a dict.
      keys: the features, by default all.
      sparse_default_values: values where a sparse feature has none, by key.

    Raises:
      TypeError: `keys` are no strings. ValueError: when the model is built, where a feature is lacking, sparse without
        a value, or a prediction has its key.
    """
    keys = _verified_keys(keys)

    def new_model_fn(features: Any, labels: object, mode: str, config: object) -> EstimatorSpec:
        spec = estimator.model_fn(features, labels, mode, config)
        if spec.predictions is None:
            return spec
        names = list(features) if keys is None else keys
        _verify_forwarded(names, features, spec.predictions)
        forwarded = {name: _dense_feature(name, features[name], sparse_default_values or {}) for name in names}
        spec = spec._replace(predictions={**spec.predictions, **forwarded})
        for name in ("predict", "serving_default"):
            output = (spec.export_outputs or {}).get(name)
            if isinstance(output, PredictOutput):
                output.outputs.update(forwarded)
        return spec

    return Estimator(new_model_fn, model_dir=estimator.model_dir, config=estimator.config)


def _verified_keys(keys: object) -> list[str] | None:
    if keys is None:
        return None
    if isinstance(keys, str):
        return [keys]
    if not isinstance(keys, (list, tuple)):
        raise TypeError(f"keys should be either a string or a list of strings. Given: {type(keys)}")
    for key in keys:
        if not isinstance(key, str):
            raise TypeError(
                f"All items in the given keys list should be a string. There exist an item with type: {type(key)}"
            )
    return list(keys)


def _verify_forwarded(names: list[str], features: dict[str, Any], predictions: object) -> None:
    if not isinstance(predictions, dict):
        raise ValueError(f"Predictions should be a dict to be able to forward features. Given: {type(predictions)}")
    for name in names:
        if name not in features:
            raise ValueError(
                f'keys should be exist in features. Key "{name}" is not in features dict. features dict has following '
                "keys: "
                f"{features.keys()}. Please check arguments of forward_features."
            )
        if name in predictions:
            raise ValueError(
                f"Cannot forward feature key ({name}). Since it does exist in predictions. Existing prediction keys: "
                f"{predictions.keys()}. Please check arguments of forward_features."
            )


def _dense_feature(name: str, feature: object, default_values: dict[str, Any]) -> Tensor:
    feature = convert_to_tensor_or_sparse_tensor(feature)
    if name in default_values:
        if not isinstance(feature, SparseTensor):
            raise ValueError(f"Feature ({name}) is expected to be a `SparseTensor`.")
        feature = sparse_tensor_to_dense(feature, default_value=default_values[name])
    if not isinstance(feature, Tensor):
        raise ValueError(
            f"Feature ({name}) should be a Tensor. Please use `keys` argument of forward_features to filter unwanted "
            f"features, oradd key to argument `sparse_default_values`.Type of features[{name}] is {type(feature)}."
        )
    return feature


@export("contrib.estimator.clip_gradients_by_norm")
def clip_gradients_by_norm(optimizer: Optimizer, clip_norm: float) -> Optimizer:
    """An optimizer that scales all gradients down together, where the norm of all is above `clip_norm`."""

    def clip_grads(grads_and_vars: Iterable[tuple]) -> list[tuple]:
        gradients, variables = zip(*grads_and_vars)
        return list(zip(clip_by_global_norm(gradients, clip_norm)[0], variables))

    return _TransformGradients(optimizer, clip_grads, name="ClipByNorm" + optimizer.get_name())


class _TransformGradients(Optimizer):
    """An optimizer whose gradients a function changes.

    Args:
      optimizer: the optimizer. transform_grads_fn: function from pairs of gradient and variable to such pairs.
      name: the name, by default that of `optimizer`.
    """

    def __init__(self, optimizer: Optimizer, transform_grads_fn: Callable, name: str | None = None) -> None:
        super().__init__(use_locking=False, name=name or optimizer.get_name())
        self._optimizer, self._transform_grads_fn = optimizer, transform_grads_fn

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars: object, global_step: object = None, name: str | None = None) -> Any:
        return self._optimizer.apply_gradients(self._transform_grads_fn(grads_and_vars), global_step, name)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        return self._optimizer.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        return self._optimizer.get_slot_names(*args, **kwargs)


@export("contrib.estimator.export_saved_model_for_mode")
def export_saved_model_for_mode(
    estimator: Estimator, export_dir_base: object, input_receiver_fn: Callable, assets_extra: dict[str, str] | None = None,
    as_text: bool = False, checkpoint_path: str | None = None, mode: str = ModeKeys.PREDICT,
) -> bytes:  # fmt: skip
    """Deprecated: `estimator.export_saved_model` with `experimental_mode`."""
    return estimator.export_saved_model(
        export_dir_base, input_receiver_fn, assets_extra, as_text, checkpoint_path, mode
    )


@export("contrib.estimator.export_all_saved_models")
def export_all_saved_models(
    estimator: Estimator, export_dir_base: object, input_receiver_fn_map: dict[str, Callable],
    assets_extra: dict[str, str] | None = None, as_text: bool = False, checkpoint_path: str | None = None,
) -> bytes:  # fmt: skip
    """Deprecated: `estimator.experimental_export_all_saved_models`."""
    return estimator.experimental_export_all_saved_models(
        export_dir_base, input_receiver_fn_map, assets_extra, as_text, checkpoint_path
    )
