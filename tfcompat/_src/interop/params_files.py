"""Parameters of `tfcompat.to_jax` in files: .npz, or .safetensors where the package safetensors is installed."""

from __future__ import annotations

import importlib
import io
import os
from typing import Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.interop.to_jax import Params
from tfcompat._src.platform.temporary_files import write_whole

_SAFE = ".safetensors"


def _is_safe(path: str) -> bool:
    """Whether a path is of a safetensors file; ValueError where it is of neither kind."""
    if not path.endswith((".npz", _SAFE)):
        raise ValueError(f"{path} must end with .npz or {_SAFE}, which say the format.")
    return path.endswith(_SAFE)


def _safetensors() -> Any:
    try:
        return importlib.import_module("safetensors.numpy")
    except ImportError:
        raise ImportError(f"{_SAFE} files need the package safetensors: pip install 'tfcompat[safetensors]', or use .npz.") from None


@export("interop.save_params")
def save_params(path: str | os.PathLike[str], params: Params) -> None:
    """Writes the parameters of `tfcompat.to_jax` to a file, whole or not at all: each array as `<group>/<name>`.

    Args:
      path: ends with .npz or .safetensors. params: as of to_jax.

    Raises:
      ValueError: the path ends with neither, or .npz has no such dtype (bfloat16). ImportError: safetensors is not installed.
    """
    path = os.fspath(path)
    arrays = {f"{group}/{name}": np.array(value, order="C") for group, part in params.items() for name, value in part.items()}
    if _is_safe(path):
        write_whole(path, _safetensors().save(arrays))
        return
    for name, array in arrays.items():
        if array.dtype.kind not in "biufc":
            raise ValueError(f"{name} is {array.dtype}, which .npz files have not: use {_SAFE}, or convert it.")
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    write_whole(path, buffer.getvalue())


@export("interop.load_params")
def load_params(path: str | os.PathLike[str]) -> Params:
    """Reads what `save_params` wrote: params as of `tfcompat.to_jax`. Raises as `save_params` does, and OSError where there is no file."""
    path = os.fspath(path)
    if _is_safe(path):
        arrays = _safetensors().load_file(path)
    else:
        with np.load(path, allow_pickle=False) as found:
            arrays = dict(found)
    params: Params = {"trainable": {}, "other": {}, "constants": {}, "random": {}}
    for key, value in arrays.items():
        group, _, name = key.partition("/")
        if group not in params:
            raise ValueError(f"{path} has no parameters of tfcompat.to_jax: {key!r} is in none of {', '.join(params)}.")
        params[group][name] = value
    return params
