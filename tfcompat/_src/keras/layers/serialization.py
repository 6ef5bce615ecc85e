"""Layers as configurations, and back."""

from __future__ import annotations

import inspect
import types
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.keras.engine import input_layer, network, op_layer, sequential, training
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.keras.engine.registry import LAYERS, provides
from tfcompat._src.keras.layers import (
    advanced_activations,
    convolutional,
    convolutional_recurrent,
    core,
    cudnn_recurrent,
    dense_attention,
    elementwise,
    embeddings,
    kernelized,
    lambda_layer,
    layer_normalization,
    local,
    merge,
    noise,
    normalization,
    pooling,
    recurrent,
    resizing,
    rnn,
    rnn_cells,
    wrappers,
)
from tfcompat._src.keras.layers.preprocessing import normalization as preprocessing_normalization
from tfcompat._src.keras.layers.rnn import class_and_config
from tfcompat._src.keras.premade import linear, wide_deep
from tfcompat._src.keras.utils.generic_utils import deserialize_keras_object

_MODULES: tuple[types.ModuleType, ...] = (
    elementwise, advanced_activations, convolutional, convolutional_recurrent, core, cudnn_recurrent, dense_attention, embeddings, kernelized, lambda_layer, layer_normalization, local,
    merge, noise, normalization, pooling, recurrent, resizing, rnn, rnn_cells, wrappers, input_layer, op_layer,
    network, training, sequential, linear, wide_deep, preprocessing_normalization,
)  # fmt: skip
_LAYERS = {
    name: value
    for module in _MODULES
    for name, value in vars(module).items()
    if inspect.isclass(value) and issubclass(value, Layer)
}
_ALIASES = {
    "BatchNormalizationV1": "BatchNormalization",
    "BatchNormalizationV2": "BatchNormalization",
    **{f"Convolution{n}D": f"Conv{n}D" for n in (1, 2, 3)},
    **{f"Convolution{n}DTranspose": f"Conv{n}DTranspose" for n in (2, 3)},
    **{f"SeparableConvolution{n}D": f"SeparableConv{n}D" for n in (1, 2)},
}


@export("keras.layers.serialize")
def serialize(layer):
    """The class name and configuration of a layer."""
    return class_and_config(layer)


@export("keras.layers.deserialize")
@provides("layers.deserialize")
def deserialize(config, custom_objects=None):
    """The layer, or model, that `serialize` gave `config` for.

    Args:
      config: dict with "class_name" and "config".
      custom_objects: dict from names to further classes and functions.

    Raises:
      ValueError: the class is unknown.
    """
    name = config["class_name"]
    renamed: dict[str, Any] = {**config, "class_name": _ALIASES.get(name, name)}
    return deserialize_keras_object(
        renamed, module_objects={**_LAYERS, **LAYERS}, custom_objects=custom_objects, printable_module_name="layer"
    )
