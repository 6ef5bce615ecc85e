"""`tensorflow.python.keras.distribute.multi_worker_training_state`: files of models that workers go on from."""

from __future__ import annotations

import os
import shutil


def checkpoint_exists(filepath: str) -> bool:
    """Whether there is a model in one HDF5 file (a name that ends with ".h5"), a SavedModel, or a checkpoint of weights of this name."""
    return os.path.exists(filepath) or (not filepath.endswith(".h5") and os.path.exists(filepath + ".index"))


def remove_checkpoint_if_exists(ckpt_dir: str, filepath: str) -> None:
    """Removes the folder of a model that is there; nothing where `checkpoint_exists(filepath)` is false.

    Raises:
      RuntimeError: the model is still there.
    """
    if checkpoint_exists(filepath):
        shutil.rmtree(ckpt_dir)
    if checkpoint_exists(filepath):
        raise RuntimeError(f"Checkpoint at {filepath} was not removed from disk")
