"""tf.keras.estimator.model_to_estimator: an Estimator of a compiled Keras model."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.estimator.estimator import Estimator, EstimatorV2, maybe_overwrite_model_dir_and_session_config
from tfcompat._src.estimator.model_fn import EstimatorSpec
from tfcompat._src.graph import distribution_context
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import executing_eagerly_outside_functions
from tfcompat._src.graph.tensor_like import is_tensor
from tfcompat._src.keras.backend import session as backend_session
from tfcompat._src.keras.engine.sequential import Sequential
from tfcompat._src.keras.engine.training_data import standardize_sample_weights
from tfcompat._src.keras.models import clone_and_build_model, in_place_subclassed_model_state_restoration
from tfcompat._src.keras.saving.save import load_model
from tfcompat._src.keras.saving.saving_utils import extract_model_metrics
from tfcompat._src.nodes.sparse_tensor import convert_to_tensor_or_sparse_tensor
from tfcompat._src.ops.random.seeds import set_random_seed
from tfcompat._src.platform import file_io, logging
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.saved_model.model_utils.export_output import PredictOutput
from tfcompat._src.saved_model.model_utils.mode_keys import EstimatorModeKeys as ModeKeys
from tfcompat._src.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from tfcompat._src.train.checkpoint_management import latest_checkpoint
from tfcompat._src.train.saver import Saver
from tfcompat._src.train.scaffold import Scaffold, saver_of_objects
from tfcompat._src.variables.training_util import create_global_step, get_global_step, get_or_create_global_step

_WEIGHTED_FEATURES = {"features", "sample_weights"}
_LOST_WEIGHTS = (
    "You are creating an Estimator from a Keras model manually subclassed from `Model`, that was already called on "
    "some inputs (and thus already had weights). We are currently unable to preserve the model's state (its weights) "
    "as part of the estimator in this case. Be warned that the estimator has been created using a freshly initialized "
    "version of your model.\nNote that this doesn't affect the state of the model instance you passed as "
    "`keras_model` argument."
)


@export("keras.estimator.model_to_estimator")
def model_to_estimator(
    keras_model: object = None, keras_model_path: str | None = None, custom_objects: dict[str, Any] | None = None,
    model_dir: str | None = None, config: object = None, checkpoint_format: str | None = "saver",
) -> Estimator:  # fmt: skip
    """An Estimator of a compiled Keras model, with the model's weights as first values.

    Args:
      keras_model: the model. keras_model_path: in its place, the file of a saved one.
      custom_objects: dict from names to classes and functions that the model needs.
      model_dir: the Estimator's folder. config: a RunConfig.
      checkpoint_format: "saver" for checkpoints by names, "checkpoint" for checkpoints by objects.

    Raises:
      ValueError: not exactly one model, one that is not compiled, or an unknown format.
      KeyError: when it runs, where keys of a dict of features or labels are not those of the model.
      NotImplementedError: a path in Google's cloud.
    """
    return _model_to_estimator(
        keras_model, keras_model_path, custom_objects, model_dir, config, checkpoint_format or "checkpoint", Estimator
    )


@export("compat.v2.keras.estimator.model_to_estimator")
def model_to_estimator_v2(
    keras_model: object = None, keras_model_path: str | None = None, custom_objects: dict[str, Any] | None = None,
    model_dir: str | None = None, config: object = None, checkpoint_format: str | None = "checkpoint",
) -> Estimator:  # fmt: skip
    """`model_to_estimator` of the second API, which makes checkpoints by objects by default."""
    return _model_to_estimator(
        keras_model, keras_model_path, custom_objects, model_dir, config, checkpoint_format or "checkpoint", EstimatorV2
    )


def _model_to_estimator(
    keras_model: Any, keras_model_path: str | None, custom_objects: object, model_dir: str | None, config: object,
    checkpoint_format: str, estimator_class: type[Estimator],
) -> Estimator:  # fmt: skip
    if not (keras_model or keras_model_path):
        raise ValueError("Either `keras_model` or `keras_model_path` needs to be provided.")
    if keras_model and keras_model_path:
        raise ValueError("Please specity either `keras_model` or `keras_model_path`, but not both.")
    config = maybe_overwrite_model_dir_and_session_config(config, model_dir)
    if keras_model:
        logging.info("Using the Keras model provided.")
    else:
        keras_model = _loaded(keras_model_path)
    if checkpoint_format not in ("checkpoint", "saver"):
        raise ValueError(f'Checkpoint format must be one of "checkpoint" or "saver". Got {checkpoint_format}')
    by_objects = checkpoint_format == "checkpoint"
    if by_objects and not (keras_model._is_graph_network or isinstance(keras_model, Sequential)):
        raise ValueError("Object-based checkpoints are currently not supported with subclassed models.")
    if not getattr(keras_model, "optimizer", None):
        raise ValueError(
            "The given keras model has not been compiled yet. Please compile the model with `model.compile()` before "
            "calling `model_to_estimator()`."
        )
    model_fn = _create_keras_model_fn(keras_model, custom_objects, by_objects)
    if not _any_weight_initialized(keras_model):
        backend_session.set_session(Session(config=config.session_config))
    elif config.session_config.HasField("gpu_options"):
        logging.warning(
            "The Keras backend session has already been set. The _session_config passed to model_to_estimator will "
            "not be used."
        )
    warm_start_path = None
    if keras_model._is_graph_network:
        warm_start_path = _save_first_checkpoint(keras_model, custom_objects, config, by_objects)
    elif keras_model.built:
        logging.warning(_LOST_WEIGHTS)
    return estimator_class(model_fn, config=config, warm_start_from=warm_start_path)


def _loaded(path: str) -> Any:
    if path.startswith("gs://") or "storage.googleapis.com" in path:
        raise NotImplementedError(
            f"model_to_estimator: tfcompat does not read from Google's cloud ({path}); copy the file first."
        )
    logging.info("Loading models from %s", path)
    return load_model(path)


def _any_weight_initialized(keras_model: Any) -> bool:
    """Whether some weight has a value in the session of Keras."""
    if keras_model is None:
        return False
    if executing_eagerly_outside_functions():
        return True
    return any(hasattr(weight, "_keras_initialized") for layer in keras_model.layers for weight in layer.weights)


def _as_tensor(x: object) -> Any:
    return x if is_tensor(x) else convert_to_tensor_or_sparse_tensor(x)


def _to_ordered_tensor_list(values: object, names: list[str] | None, what: str, role: str) -> list[Any] | None:
    """Features or labels as a list of tensors, in the order of the model."""
    if values is None:
        return None
    if not isinstance(values, dict):
        return [_as_tensor(x) for x in (values if isinstance(values, (list, tuple)) else [values])]
    difference = set(values) ^ set(names)
    if difference:
        raise KeyError(
            f"The dictionary passed into {what} does not have the expected {role} keys defined in the keras "
            f"model.\n\tExpected keys: {set(names)}\n\t{what} keys: {set(values)}\n\tDifference: {difference}"
        )
    return [_as_tensor(values[name]) for name in names]


def _convert_estimator_io_to_keras(keras_model: Any, features: Any, labels: object) -> tuple[Any, Any, Any]:
    """Tensors of inputs, targets and sample weights (None where there are none)."""
    sample_weights = None
    if isinstance(features, dict) and set(features) == _WEIGHTED_FEATURES:
        features, sample_weights = features["features"], features["sample_weights"]

    def names(values: object, kind: str) -> list[str] | None:
        if not isinstance(values, dict):
            return None
        if keras_model._is_graph_network:
            return getattr(keras_model, kind + "_names")
        return [f"{kind}_{i + 1}" for i in range(len(values))]

    if isinstance(keras_model.inputs, dict):
        inputs: Any = {name: _as_tensor(features[name]) for name in keras_model.inputs}
    else:
        inputs = _to_ordered_tensor_list(features, names(features, "input"), "features", "inputs")
    return inputs, _to_ordered_tensor_list(labels, names(labels, "output"), "labels", "outputs"), sample_weights


def _clone_and_build_model(
    mode: str,
    keras_model: Any,
    custom_objects: Any,
    features: Any = None,
    labels: Any = None,
    optimizer_config: Any = None,
) -> Any:
    """A copy of the model in the default graph, for a mode and with an Estimator's input."""
    backend_session.set_learning_phase(mode == ModeKeys.TRAIN)
    inputs, targets, sample_weights = _convert_estimator_io_to_keras(keras_model, features, labels)
    step = None
    if mode != ModeKeys.PREDICT:
        step = get_or_create_global_step()
        backend_session.track_variable(step)
    clone = clone_and_build_model(
        keras_model, inputs, targets, custom_objects, compile_clone=mode != ModeKeys.PREDICT,
        in_place_reset=not keras_model._is_graph_network, optimizer_iterations=step, optimizer_config=optimizer_config,
    )  # fmt: skip
    if sample_weights is not None:
        clone._compile_weights_loss_and_weighted_metrics(standardize_sample_weights(sample_weights, clone.output_names))
    return clone


def _optimizer_config(keras_model: Any) -> Any:
    optimizer = keras_model.optimizer
    try:
        return (
            [each.get_config() for each in optimizer]
            if isinstance(optimizer, (tuple, list))
            else optimizer.get_config()
        )
    except (NotImplementedError, AttributeError):
        return None


def _create_keras_model_fn(keras_model: Any, custom_objects: object = None, save_object_ckpt: bool = False) -> Callable:
    """The model function of an Estimator that builds copies of a Keras model."""
    optimizer_config = _optimizer_config(keras_model)

    def model_fn(features: object, labels: object, mode: str) -> EstimatorSpec:
        model = _clone_and_build_model(mode, keras_model, custom_objects, features, labels, optimizer_config)
        predictions = dict(zip(_output_names(model), model.outputs))
        loss, train_op, metrics = None, None, None
        if mode == ModeKeys.TRAIN:
            model._make_train_function()
            train_op = model.train_function.updates_op
        elif mode == ModeKeys.EVAL:
            model._make_test_function()
        if mode != ModeKeys.PREDICT:
            loss, metrics = model.total_loss, extract_model_metrics(model)
        if not model._is_graph_network and getattr(keras_model, "_original_attributes_cache", None) is not None:
            in_place_subclassed_model_state_restoration(keras_model)
        scaffold = None
        if save_object_ckpt:
            model._track_trackable(get_global_step(), "estimator_global_step")
            scaffold = Scaffold(saver=saver_of_objects(model))
        return EstimatorSpec(
            mode=mode, predictions=predictions, loss=loss, train_op=train_op, eval_metric_ops=metrics,
            export_outputs={DEFAULT_SERVING_SIGNATURE_DEF_KEY: PredictOutput(predictions)}, scaffold=scaffold,
        )  # fmt: skip

    return model_fn


def _output_names(model: Any) -> list[str]:
    """The names of the outputs, which are the same in each replica."""
    if distribution_context.current() is None:
        return model.output_names
    return [re.sub(r"_\d$", "", name) for name in model.output_names]


def _save_first_checkpoint(keras_model: Any, custom_objects: object, config: Any, save_object_ckpt: bool) -> str:
    """Saves the weights of the model, or first values of a copy, unless there is a checkpoint; gives its path."""
    folder = os.path.join(config.model_dir, "keras")
    path = latest_checkpoint(folder)
    if path:
        return path
    weights = keras_model.get_weights() if _any_weight_initialized(keras_model) else None
    file_io.makedirs(folder)
    path = os.path.join(folder, "keras_model.ckpt")
    with Graph().as_default():
        set_random_seed(config.tf_random_seed)
        create_global_step()
        model = _clone_and_build_model(ModeKeys.TRAIN, keras_model, custom_objects)
        model._make_train_function()
        with Session(config=config.session_config) as sess:
            if weights:
                model.set_weights(weights)
            backend_session._initialize_variables(sess)
            if save_object_ckpt:
                model._track_trackable(get_global_step(), "estimator_global_step")
                model.save_weights(path)
            else:
                Saver().save(sess, path)
    return path
