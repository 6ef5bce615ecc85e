"""Whole models in files."""

from __future__ import annotations

import os
from typing import Any

from tfcompat._src.framework.export import export
from tfcompat._src.keras.engine import registry
from tfcompat._src.keras.engine.sequential import Sequential
from tfcompat._src.keras.saving import hdf5_format
from tfcompat._src.keras.saving.weights import HDF5_EXTENSIONS


def _is_open_file(filepath: Any) -> bool:
    return hdf5_format.h5py is not None and isinstance(filepath, hdf5_format.h5py.File)


@export("keras.models.save_model")
@registry.provides("save_model")
def save_model(model, filepath, overwrite=True, include_optimizer=True, save_format=None, signatures=None) -> None:
    """Writes a model with its weights and the state of its training as an HDF5 file.

    Args:
      model: a functional model or a Sequential.
      filepath: a path, or an open h5py.File.
      overwrite: whether to replace a file without asking.
      include_optimizer: whether to write the optimizer and its state.
      save_format: "h5"; SavedModels ("tf") are not written.
      signatures: of a SavedModel.

    Raises:
      ImportError: h5py is not installed. NotImplementedError: the model is a subclass, or the format is "tf".
    """
    is_h5 = _is_open_file(filepath) or os.path.splitext(os.fspath(filepath))[1] in HDF5_EXTENSIONS
    if not is_h5 and (save_format or "h5") != "h5":
        raise NotImplementedError("tfcompat does not write Keras models as SavedModels (save_format='tf'); save an HDF5 file.")
    if not model._is_graph_network and not isinstance(model, Sequential):
        raise NotImplementedError(
            "Saving the model to HDF5 format requires the model to be a Functional model or a Sequential model. It does "
            "not work for subclassed models, because such models are defined via the body of a Python method, which "
            "isn't safely serializable. Consider saving to the Tensorflow SavedModel format (by setting "
            'save_format="tf") or using `save_weights`.'
        )
    hdf5_format.save_model_to_hdf5(model, filepath, overwrite, include_optimizer)


@export("keras.models.load_model")
def load_model(filepath, custom_objects=None, compile=True) -> Any:
    """Reads a model that `save_model` wrote.

    Args:
      filepath: a path, or an open h5py.File.
      custom_objects: dict from names to classes and functions.
      compile: whether to compile it as it was.

    Raises:
      OSError: it is no HDF5 file. ValueError: it holds no model, or a class is unknown. NotImplementedError: it is a
        SavedModel.
    """
    if _is_open_file(filepath) or (hdf5_format.h5py is not None and hdf5_format.h5py.is_hdf5(filepath)):
        return hdf5_format.load_model_from_hdf5(filepath, custom_objects, compile)
    if os.path.isdir(filepath):
        raise NotImplementedError(f"tfcompat does not make Keras models from SavedModels ({filepath}); call tf.saved_model.load.")
    raise OSError("Unable to load model. Filepath is not an hdf5 file (or h5py is not available) or SavedModel.")
