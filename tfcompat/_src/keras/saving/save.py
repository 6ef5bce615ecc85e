"""Whole models in files."""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any

from tfcompat._src.base import tf2
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import executing_eagerly
from tfcompat._src.keras.backend.session import get_session, learning_phase_scope
from tfcompat._src.keras.engine import registry
from tfcompat._src.keras.engine.sequential import Sequential
from tfcompat._src.keras.saving import hdf5_format, revived
from tfcompat._src.keras.saving.model_config import model_from_config
from tfcompat._src.keras.saving.saving_utils import (
    compile_args_from_training_config,
    model_input_signature,
    raise_model_input_error,
)
from tfcompat._src.keras.saving.weights import HDF5_EXTENSIONS
from tfcompat._src.keras.utils import generic_utils
from tfcompat._src.keras.utils.io_utils import ask_to_proceed_with_overwrite
from tfcompat._src.saved_model import save as saved_model
from tfcompat._src.saved_model.files import get_variables_path, read_saved_model


def _is_open_file(filepath: Any) -> bool:
    return hdf5_format.h5py is not None and isinstance(filepath, hdf5_format.h5py.File)


@export("keras.models.save_model")
@registry.provides("save_model")
def save_model(model, filepath, overwrite=True, include_optimizer=True, save_format=None, signatures=None) -> None:
    """Writes a model with its weights and the state of its training, as an HDF5 file or a SavedModel.

    Args:
      model: a functional model or a Sequential; for a SavedModel, any whose inputs are known.
      filepath: a path, or an open h5py.File.
      overwrite: whether to replace a file without asking.
      include_optimizer: whether to write the optimizer and its state.
      save_format: "h5" or "tf"; by default "h5", or "tf" under `tf.enable_v2_behavior`.
      signatures: of a SavedModel, as of `tf.saved_model.save`; by default the call of the model.

    Raises:
      ImportError: h5py is not installed. NotImplementedError: a subclass as an HDF5 file. ValueError: a SavedModel of a
        model without inputs.
    """
    is_h5 = _is_open_file(filepath) or os.path.splitext(os.fspath(filepath))[1] in HDF5_EXTENSIONS
    if not is_h5 and (save_format or ("tf" if tf2.enabled() else "h5")) != "h5":
        _save_as_saved_model(model, os.fspath(filepath), overwrite, include_optimizer, signatures)
        return
    if not model._is_graph_network and not isinstance(model, Sequential):
        raise NotImplementedError(
            "Saving the model to HDF5 format requires the model to be a Functional model or a Sequential model. It does "
            "not work for subclassed models, because such models are defined via the body of a Python method, which "
            "isn't safely serializable. Consider saving to the Tensorflow SavedModel format (by setting "
            'save_format="tf") or using `save_weights`.'
        )
    hdf5_format.save_model_to_hdf5(model, filepath, overwrite, include_optimizer)


def _save_as_saved_model(model: Any, filepath: str, overwrite: bool, include_optimizer: bool, signatures: Any) -> None:
    if not overwrite and os.path.exists(filepath) and not ask_to_proceed_with_overwrite(filepath):
        return
    if not model_input_signature(model) or not model.inputs:
        raise_model_input_error(model)
    optimizer = model.optimizer
    if not include_optimizer:
        model.optimizer = None
    try:
        with learning_phase_scope(0), contextlib.nullcontext() if executing_eagerly() else get_session().as_default():
            saved_model.save(model, filepath, signatures)
    finally:
        model.optimizer = optimizer


def _load_saved_model(filepath: str, custom_objects: Any, compile: bool) -> Any:
    """The model of a SavedModel: of its configuration, or, where that lacks or names unknown classes, of its functions."""
    root = read_saved_model(filepath).meta_graphs[0].object_graph_def.nodes[0]
    metadata = json.loads(root.user_object.metadata or "{}")
    config = metadata.get("model_config", {})
    if "config" not in config:
        return revived.load(filepath, compile)
    try:
        model = model_from_config(config, custom_objects=custom_objects)
    except ValueError as error:
        if not str(error).startswith("Unknown "):
            raise
        return revived.load(filepath, compile)
    training = metadata.get("training_config")
    if compile and training is not None:
        model.compile(**compile_args_from_training_config(training, custom_objects))
    model.load_weights(get_variables_path(filepath)).expect_partial()
    return model


@export("keras.models.load_model")
def load_model(filepath, custom_objects=None, compile=True, *, safe: bool = False) -> Any:
    """Reads a model that `save_model` wrote.

    Args:
      filepath: a path, or an open h5py.File.
      custom_objects: dict from names to classes and functions.
      compile: whether to compile it as it was.
      safe: refuse Python code in the file (Lambda layers), which otherwise runs as in TensorFlow; the variable
        TFCOMPAT_SAFE_LOADING=1 has all calls do so.

    Raises:
      OSError: it is no HDF5 file or SavedModel.
      ValueError: it holds no model, a class is unknown, or it is to be safe and has Python code.
    """
    with generic_utils.loading(safe):
        return _load_model(filepath, custom_objects, compile)


def _load_model(filepath: Any, custom_objects: Any, compile: bool) -> Any:
    if _is_open_file(filepath) or (hdf5_format.h5py is not None and hdf5_format.h5py.is_hdf5(filepath)):
        return hdf5_format.load_model_from_hdf5(filepath, custom_objects, compile)
    if os.path.isdir(filepath):
        return _load_saved_model(os.fspath(filepath), custom_objects, compile)
    raise OSError("Unable to load model. Filepath is not an hdf5 file (or h5py is not available) or SavedModel.")
