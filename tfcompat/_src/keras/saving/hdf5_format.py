"""Weights and models in HDF5 files."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from tfcompat._src.keras.backend.config import backend
from tfcompat._src.keras.backend.values import batch_get_value, batch_set_value
from tfcompat._src.keras.engine.network import KERAS_VERSION
from tfcompat._src.keras.optimizers.legacy import TFOptimizer
from tfcompat._src.keras.saving import saving_utils
from tfcompat._src.keras.saving.model_config import model_from_config
from tfcompat._src.keras.saving.weight_conversion import preprocess_weights_for_loading
from tfcompat._src.keras.utils.generic_utils import get_json_type
from tfcompat._src.platform import logging
from tfcompat._src.platform.temporary_files import replacing

try:
    import h5py
except ImportError:
    h5py = None

HDF5_OBJECT_HEADER_LIMIT = 64512


def required_h5py(what: str) -> Any:
    """The module h5py; ImportError where it is not installed."""
    if h5py is None:
        raise ImportError(f"{what} requires h5py.")
    return h5py


@contextlib.contextmanager
def _opened(file: Any, mode: str) -> Iterator[Any]:
    """An open file itself, or the file of a path, closed at the end."""
    if isinstance(file, h5py.File):
        yield file
    elif mode == "w":
        with replacing(os.fspath(file)) as temporary, h5py.File(temporary, mode) as opened:
            yield opened
    else:
        with h5py.File(file, mode) as opened:
            yield opened


def _text(value: Any) -> str:
    return value.decode("utf8") if isinstance(value, bytes) else str(value)


# ---- models ----


def save_model_to_hdf5(model: Any, filepath: Any, overwrite: bool = True, include_optimizer: bool = True) -> None:
    """Writes a model.

    Args:
      model: a model with a configuration.
      filepath: a path, or an open h5py.File.
      overwrite: whether to replace a file without asking.
      include_optimizer: whether to write the state of training.

    Raises:
      ImportError: h5py is not installed. NotImplementedError: the model has no configuration.
    """
    required_h5py("`save_model`")
    if not isinstance(filepath, h5py.File) and not saving_utils.should_overwrite(filepath, overwrite):
        return
    metadata = saving_utils.model_metadata(model, include_optimizer)
    with _opened(filepath, "w") as f:
        for key, value in metadata.items():
            structured = isinstance(value, (dict, list, tuple))
            f.attrs[key] = json.dumps(value, default=get_json_type).encode("utf8") if structured else value
        save_weights_to_hdf5_group(f.create_group("model_weights"), model.layers)
        if include_optimizer and model.optimizer and not isinstance(model.optimizer, TFOptimizer):
            save_optimizer_weights_to_hdf5_group(f, model.optimizer)
        f.flush()


def load_model_from_hdf5(filepath: Any, custom_objects: Any = None, compile: bool = True) -> Any:
    """Reads a model.

    Args:
      filepath: a path, or an open h5py.File.
      custom_objects: dict from names to classes and functions.
      compile: whether to compile it as it was.

    Raises:
      ImportError: h5py is not installed. ValueError: the file holds no model, or a class is unknown.
    """
    required_h5py("`load_model`")
    with _opened(filepath, "r") as f:
        config = f.attrs.get("model_config")
        if config is None:
            raise ValueError("No model found in config file.")
        model = model_from_config(json.loads(_text(config)), custom_objects=custom_objects)
        load_weights_from_hdf5_group(f["model_weights"], model.layers)
        if compile:
            _compile(model, f, custom_objects)
    return model


def _compile(model: Any, f: Any, custom_objects: Any) -> None:
    config = f.attrs.get("training_config")
    if config is None:
        logging.warning(
            "No training configuration found in save file: the model was *not* compiled. Compile it manually."
        )
        return
    model.compile(**saving_utils.compile_args_from_training_config(json.loads(_text(config)), custom_objects))
    if "optimizer_weights" not in f:
        return
    if not model._is_graph_network:
        logging.warning(
            "Sequential models without an `input_shape` passed to the first layer cannot reload their optimizer state. "
            "As a result, your model isstarting with a freshly initialized optimizer."
        )
        return
    model._make_train_function()
    try:
        model.optimizer.set_weights(load_optimizer_weights_from_hdf5_group(f))
    except ValueError:
        logging.warning(
            "Error in loading the saved optimizer state. As a result, your model is starting with a freshly "
            "initialized optimizer."
        )


# ---- weights ----


def _legacy_weights(layer: Any) -> list[Any]:
    return layer.trainable_weights + layer.non_trainable_weights


def _write_weights(group: Any, variables: list[Any]) -> None:
    names = [v.name.encode("utf8") for v in variables]
    save_attributes_to_hdf5_group(group, "weight_names", names)
    for name, value in zip(names, batch_get_value(variables)):
        group.create_dataset(name, value.shape, dtype=value.dtype)[() if not value.shape else slice(None)] = value


def save_optimizer_weights_to_hdf5_group(hdf5_group: Any, optimizer: Any) -> None:
    """Writes the weights of an optimizer below "optimizer_weights"."""
    if optimizer.weights:
        _write_weights(hdf5_group.create_group("optimizer_weights"), optimizer.weights)


def load_optimizer_weights_from_hdf5_group(hdf5_group: Any) -> list[np.ndarray]:
    """The weights below "optimizer_weights"."""
    group = hdf5_group["optimizer_weights"]
    return [np.asarray(group[name]) for name in load_attributes_from_hdf5_group(group, "weight_names")]


def save_weights_to_hdf5_group(f: Any, layers: list[Any]) -> None:
    """Writes the weights of layers, each in a group of its name."""
    save_attributes_to_hdf5_group(f, "layer_names", [layer.name.encode("utf8") for layer in layers])
    f.attrs["backend"] = backend().encode("utf8")
    f.attrs["keras_version"] = KERAS_VERSION.encode("utf8")
    for layer in layers:
        _write_weights(f.create_group(layer.name), _legacy_weights(layer))


def _origin(f: Any) -> tuple[str, str | None]:
    version = _text(f.attrs["keras_version"]) if "keras_version" in f.attrs else "1"
    return version, _text(f.attrs["backend"]) if "backend" in f.attrs else None


def _read_weights(group: Any) -> list[np.ndarray]:
    return [np.asarray(group[name]) for name in load_attributes_from_hdf5_group(group, "weight_names")]


def load_weights_from_hdf5_group(f: Any, layers: list[Any]) -> None:
    """Reads weights into layers by their order; ValueError where numbers differ."""
    origin = _origin(f)
    layers = [layer for layer in layers if _legacy_weights(layer)]
    groups = load_attributes_from_hdf5_group(f, "layer_names")
    names = [name for name in groups if load_attributes_from_hdf5_group(f[name], "weight_names")]
    if len(names) != len(layers):
        raise ValueError(
            f"You are trying to load a weight file containing {len(names)} layers into a model with {len(layers)} "
            "layers."
        )
    pairs: list[tuple[Any, np.ndarray]] = []
    for k, (name, layer) in enumerate(zip(names, layers)):
        variables = _legacy_weights(layer)
        values = preprocess_weights_for_loading(layer, _read_weights(f[name]), *origin)
        if len(values) != len(variables):
            raise ValueError(
                f'Layer #{k} (named "{layer.name}" in the current model) was found to correspond to layer {name} in '
                f"the save file. However the new layer {layer.name} expects {len(variables)} weights, but the saved "
                f"weights have {len(values)} elements."
            )
        pairs += zip(variables, values)
    batch_set_value(pairs)


def load_weights_from_hdf5_group_by_name(f: Any, layers: list[Any]) -> None:
    """Reads weights into the layers of the same names; ValueError where numbers or shapes differ."""
    origin = _origin(f)
    pairs: list[tuple[Any, np.ndarray]] = []
    for k, name in enumerate(load_attributes_from_hdf5_group(f, "layer_names")):
        saved = _read_weights(f[name])
        for layer in (layer for layer in layers if layer.name == name):
            variables = _legacy_weights(layer)
            values = preprocess_weights_for_loading(layer, saved, *origin)
            if len(values) != len(variables):
                raise ValueError(
                    f'Layer #{k} (named "{layer.name}") expects {len(variables)} weight(s), but the saved weights have '
                    f"{len(values)} element(s)."
                )
            for variable, value in zip(variables, values):
                shape = tuple(variable.shape.as_list())
                if shape != value.shape:
                    raise ValueError(
                        f'Layer #{k} (named "{layer.name}"), weight {variable} has shape {shape}, but the saved weight '
                        f"has shape {value.shape}."
                    )
            pairs += zip(variables, values)
    batch_set_value(pairs)


# ---- attributes that may be too long for one header ----


def save_attributes_to_hdf5_group(group: Any, name: str, data: list[bytes]) -> None:
    """Writes a list of names as an attribute, in several where it is too long; RuntimeError where one name is."""
    too_long = [x for x in data if len(x) > HDF5_OBJECT_HEADER_LIMIT]
    if too_long:
        raise RuntimeError(
            "The following attributes cannot be saved to HDF5 file because they are larger than "
            f"{HDF5_OBJECT_HEADER_LIMIT} bytes: {', '.join(map(str, too_long))}"
        )
    array, count = np.asarray(data), 1
    chunks = [array]
    while any(chunk.nbytes > HDF5_OBJECT_HEADER_LIMIT for chunk in chunks):
        count += 1
        chunks = np.array_split(array, count)
    for i, chunk in enumerate(chunks):
        group.attrs[name if count == 1 else f"{name}{i}"] = chunk


def load_attributes_from_hdf5_group(group: Any, name: str) -> list[str]:
    """The list of names that `save_attributes_to_hdf5_group` wrote."""
    if name in group.attrs:
        return [_text(x) for x in group.attrs[name]]
    found: list[str] = []
    chunk = 0
    while f"{name}{chunk}" in group.attrs:
        found += [_text(x) for x in group.attrs[f"{name}{chunk}"]]
        chunk += 1
    return found
