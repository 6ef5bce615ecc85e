"""Network.save_weights and load_weights: HDF5 files and checkpoints."""

from __future__ import annotations

import os
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.base.trackable import Trackable
from tfcompat._src.checkpoint.reader import NewCheckpointReader
from tfcompat._src.keras.backend.session import get_session
from tfcompat._src.keras.engine import registry
from tfcompat._src.keras.saving import hdf5_format
from tfcompat._src.keras.saving.saving_utils import should_overwrite
from tfcompat._src.platform import logging
from tfcompat._src.platform.temporary_files import replacing
from tfcompat._src.train.checkpoint import TrackableSaver
from tfcompat._src.train.checkpoint_management import update_checkpoint_state_internal
from tfcompat._src.train.trackable_graph import ObjectGraphView
from tfcompat._src.train.trackable_restore import streaming_restore

HDF5_EXTENSIONS = (".h5", ".keras", ".hdf5")


def _format(filepath: str, save_format: str | None) -> str:
    """ "h5" or "tf"; ValueError for another format, or one that does not fit the file's name."""
    is_h5 = filepath.endswith(HDF5_EXTENSIONS)
    if save_format is None:
        return "h5" if is_h5 else "tf"
    wanted = save_format.lower().strip()
    if wanted in ("hdf5", "h5", "keras"):
        return "h5"
    if wanted not in ("tensorflow", "tf"):
        raise ValueError(f'Unknown format "{save_format}". Was expecting one of {{"tf", "h5"}}.')
    if is_h5:
        raise ValueError(
            f'save_weights got save_format="tf"/"tensorflow", but the filepath ("{filepath}") looks like an HDF5 file. '
            'Omit the ".h5"/".keras" when saving in TensorFlow format.'
        )
    return "tf"


def _saver(network: Any) -> TrackableSaver:
    """The saver of a network, kept so that its operations are made once."""
    if "_trackable_saver" not in network.__dict__:
        object.__setattr__(network, "_trackable_saver", TrackableSaver(ObjectGraphView(network)))
    return network._trackable_saver


@registry.provides("save_weights")
def save_weights(network: Any, filepath: Any, overwrite: bool, save_format: str | None) -> None:
    """See Network.save_weights."""
    filepath = os.fspath(filepath)
    network._assert_weights_created()
    chosen = _format(filepath, save_format)
    if chosen == "h5":
        hdf5_format.required_h5py("`save_weights`")
    if not should_overwrite(filepath if chosen == "h5" else f"{filepath}.index", overwrite):
        return
    if chosen == "h5":
        with replacing(filepath) as temporary, hdf5_format.h5py.File(temporary, "w") as f:
            hdf5_format.save_weights_to_hdf5_group(f, network.layers)
        return
    optimizer = getattr(network, "optimizer", None)
    if optimizer and not isinstance(optimizer, Trackable):
        logging.warning(
            f"This model was compiled with a Keras optimizer ({optimizer}) but is being saved in TensorFlow format with "
            "`save_weights`. The model's weights will be saved, but unlike with TensorFlow optimizers in the TensorFlow "
            "format the optimizer's state will not be saved.\n\nConsider using a TensorFlow optimizer from `tf.train`."
        )
    _saver(network).save(filepath, session=get_session())
    update_checkpoint_state_internal(
        save_dir=os.path.dirname(filepath), model_checkpoint_path=filepath, save_relative_paths=True,
        all_model_checkpoint_paths=[filepath],
    )  # fmt: skip


@registry.provides("load_weights")
def load_weights(network: Any, filepath: Any, by_name: bool) -> Any:
    """See Network.load_weights."""
    filepath = os.fspath(filepath)
    if not filepath.endswith(HDF5_EXTENSIONS) and _is_checkpoint(filepath):
        return _restore(network, filepath, by_name)
    hdf5_format.required_h5py("`load_weights`")
    if network._is_graph_network and not network.built:
        raise NotImplementedError(
            "Unable to load weights saved in HDF5 format into a subclassed Model which has not created its variables "
            "yet. Call the Model first, then load the weights."
        )
    network._assert_weights_created()
    with hdf5_format.h5py.File(filepath, "r") as f:
        group = f["model_weights"] if "layer_names" not in f.attrs and "model_weights" in f else f
        if by_name:
            hdf5_format.load_weights_from_hdf5_group_by_name(group, network.layers)
        else:
            hdf5_format.load_weights_from_hdf5_group(group, network.layers)
    return None


def _is_checkpoint(filepath: str) -> bool:
    try:
        NewCheckpointReader(filepath)
    except errors.DataLossError:
        return False
    return True


def _restore(network: Any, filepath: str, by_name: bool) -> Any:
    if by_name:
        raise NotImplementedError(
            "Weights may only be loaded based on topology into Models when loading TensorFlow-formatted weights (got "
            "by_name=True to load_weights)."
        )
    status = _saver(network).restore(filepath)
    streaming_restore(status=status, session=get_session())
    status.assert_nontrivial_match()
    return status
