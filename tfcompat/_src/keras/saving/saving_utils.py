"""What a file says of a model besides its weights."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.function.def_function import Function, function
from tfcompat._src.keras import losses
from tfcompat._src.keras.backend.config import backend
from tfcompat._src.keras.engine import registry
from tfcompat._src.keras.engine.network import KERAS_VERSION, Network
from tfcompat._src.keras.engine.training_data import generic_output_names
from tfcompat._src.keras.optimizers import identifiers as optimizers
from tfcompat._src.keras.optimizers.legacy import TFOptimizer
from tfcompat._src.keras.utils.io_utils import ask_to_proceed_with_overwrite
from tfcompat._src.nodes.tensor_spec import TensorSpec
from tfcompat._src.platform import logging
from tfcompat._src.saved_model.save import register_default_signature
from tfcompat._src.train.trackable_layers import layers_below


@registry.provides("model_metadata")
def model_metadata(model: Any, include_optimizer: bool = True, require_config: bool = True) -> dict[str, Any]:
    """The configuration of a model and, where wanted, of its training.

    Args:
      model: the model.
      include_optimizer: whether to say how it is trained.
      require_config: whether a model without configuration is an error.

    Raises:
      NotImplementedError: the model has no configuration.
    """
    config: dict[str, Any] = {"class_name": type(model).__name__}
    try:
        config["config"] = model.get_config()
    except NotImplementedError:
        if require_config:
            raise
    metadata = {"keras_version": KERAS_VERSION, "backend": backend(), "model_config": config}
    if not model.optimizer or not include_optimizer:
        return metadata
    if isinstance(model.optimizer, TFOptimizer):
        logging.warning(
            "TensorFlow optimizers do not make it possible to access optimizer attributes or optimizer state after "
            "instantiation. As a result, we cannot save the optimizer as part of the model save file. You will have to "
            "compile your model again after loading it. Prefer using a Keras optimizer instead (see "
            "keras.io/optimizers)."
        )
        return metadata
    metadata["training_config"] = {
        "loss": model.loss,
        "metrics": model._compile_metrics,
        "weighted_metrics": model._compile_weighted_metrics,
        "sample_weight_mode": model.sample_weight_mode,
        "loss_weights": model.loss_weights,
        "optimizer_config": {
            "class_name": type(model.optimizer).__name__,
            "config": model.optimizer.get_config(),
        },
    }
    return metadata


def compile_args_from_training_config(training_config: dict[str, Any], custom_objects: Any = None) -> dict[str, Any]:
    """The arguments of `compile` from "training_config" of `model_metadata`."""
    custom = custom_objects or {}

    def known(config: Any) -> Any:
        return nest.map_structure(lambda x: custom.get(x, x) if isinstance(x, str) else x, config)

    loss = training_config["loss"]
    if isinstance(loss, dict) and "class_name" in loss:
        loss = losses.get(loss)
    return {
        "optimizer": optimizers.deserialize(training_config["optimizer_config"], custom_objects=custom_objects),
        "loss": known(loss),
        "metrics": known(training_config["metrics"]),
        "weighted_metrics": known(training_config.get("weighted_metrics")),
        "loss_weights": training_config["loss_weights"],
        "sample_weight_mode": training_config["sample_weight_mode"],
    }


def should_overwrite(filepath: str, overwrite: bool) -> bool:
    """Whether a file may be written: it does not exist, or the user agrees."""
    return overwrite or not os.path.isfile(filepath) or ask_to_proceed_with_overwrite(filepath)


def extract_model_metrics(model: Any) -> dict[str, Any] | None:
    """The metrics of `compile` by name; None where there are none."""
    if not getattr(model, "_compile_metrics", None):
        return None
    return {m.name: m for m in model._compile_metric_functions}


def layers_in(layer: Any) -> list[Any]:
    """The layers directly inside a layer."""
    return layer.layers if isinstance(layer, Network) else list(layers_below(layer.__dict__.get("_layers", ())))


def with_all_below(layer: Any) -> list[Any]:
    """A layer and all layers below it."""
    found, waiting = [], [layer]
    while waiting:
        current = waiting.pop()
        if not any(current is other for other in found):
            found.append(current)
            waiting.extend(layers_in(current))
    return found


@contextlib.contextmanager
def losses_set_aside(layer: Any) -> Iterator[None]:
    """The layer and all below have no losses and updates when the block begins, and the earlier ones after it."""
    held = [kept for each in with_all_below(layer) for kept in (each._losses, each._eager_losses, each._updates)]
    before = [list(kept) for kept in held]
    for kept in held:
        kept.clear()
    try:
        yield
    finally:
        for kept, values in zip(held, before):
            kept[:] = values


def model_input_signature(model: Any) -> list[Any] | None:
    """The TensorSpecs of a model's inputs, for any batch size; None for a model without inputs."""
    if not hasattr(model, "inputs") or not hasattr(model, "input_names"):
        return None
    specs = [
        TensorSpec(shape=[None, *x.shape[1:].as_list()], dtype=x.dtype, name=name)
        for x, name in zip(nest.flatten(model.inputs), nest.flatten(model.input_names))
    ]
    packed = nest.pack_sequence_as(model.inputs, specs)
    return packed if isinstance(packed, (list, tuple)) and len(packed) == 1 else [packed]


def raise_model_input_error(model: Any) -> None:
    """Raises ValueError for a model whose inputs are not known."""
    raise ValueError(
        f"Model {model} cannot be saved because the input shapes have not been set. Usually, input shapes are "
        "automatically determined from calling .fit() or .predict(). To manually set the shapes, call "
        "model._set_inputs(inputs)."
    )


def trace_model_call(model: Any, input_signature: Any = None) -> Function:
    """A function of the model's inputs that gives its outputs by name; ValueError where the inputs are not known."""
    if input_signature is None and isinstance(model.call, Function):
        input_signature = model.call.input_signature
    if input_signature is None:
        input_signature = model_input_signature(model)
    if not input_signature or not nest.flatten(input_signature):
        raise_model_input_error(model)

    @function(input_signature=input_signature, autograph=False)
    def _wrapped_model(*args: Any) -> dict[str, Any]:
        with losses_set_aside(model):
            outputs = nest.flatten(model(inputs=args[0] if len(input_signature) == 1 else list(args), training=False))
        return dict(zip(getattr(model, "output_names", None) or generic_output_names(outputs), outputs))

    return _wrapped_model


@register_default_signature
def _default_signature(obj: Any) -> Function | None:
    """The call of a network with known inputs."""
    return trace_model_call(obj) if isinstance(obj, Network) and model_input_signature(obj) and obj.inputs else None
