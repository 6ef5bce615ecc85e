"""Layers models of TensorFlow.js, from Keras models: the configuration as it is, the weights under their names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.convert import tfjs


def files_of(keras: Any, quantize: str | None, shard: int) -> dict[str, bytes]:
    """The files of a layers model, by name; arguments as of tfjs.files_of."""
    described = json.loads(keras.to_json())
    topology = {
        "keras_version": described["keras_version"], "backend": described["backend"],
        "model_config": {"class_name": described["class_name"], "config": described["config"]},
    }  # fmt: skip
    weights = {weight.name.removesuffix(":0"): value for weight, value in zip(keras.weights, keras.get_weights())}
    return tfjs.with_weights({"format": "layers-model", "modelTopology": topology}, weights, quantize, shard)


def run(topology: dict[str, Any], weights: Mapping[str, NDArray], keras: Any, arrays: Mapping[str, NDArray]) -> dict[str, Any]:
    """The outputs of the written model: its configuration as a Keras model, with its weights."""
    again = type(keras).from_config(topology["model_config"]["config"])
    again.set_weights([weights[weight.name.removesuffix(":0")] for weight in keras.weights])
    found = again.predict([arrays[key] for key in keras.input_names])
    return dict(zip(keras.output_names, found if isinstance(found, list) else [found]))
