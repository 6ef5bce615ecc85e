"""Parameters of `tfcompat.to_jax` in files: NumPy's .npz, .safetensors, Orbax checkpoints and TensorFlow checkpoints."""

from __future__ import annotations

import importlib
import io
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.checkpoint import bundle_writer
from tfcompat._src.checkpoint.bundle_files import index_name
from tfcompat._src.checkpoint.reader import open_checkpoint
from tfcompat._src.interop.to_jax import Params
from tfcompat._src.platform.temporary_files import write_whole

if TYPE_CHECKING:
    from types import ModuleType

_GROUPS = ("trainable", "other", "constants", "random")
_VARIABLES = ("trainable", "other")


@export("interop.save_params")
def save_params(path: str | os.PathLike[str], params: Params, like: Params | None = None) -> None:
    """Writes the parameters of `tfcompat.to_jax` to a file or folder, whole or not at all.

    Args:
      path: its ending chooses the format: `.npz`; `.safetensors`; `.ckpt`, `.ckpt-100`, ...: a TensorFlow checkpoint of version 2, which
        tf.train.Saver restores; no ending: the folder of an Orbax checkpoint, which must not exist yet.
        .npz and .safetensors files name each array `<group>/<name>`; an Orbax checkpoint has the tree of params; a TensorFlow
        checkpoint has the variables alone, by their names, so the state of random operations is not in it.
      params: as of to_jax.
      like: params that to_jax gave. The arrays are written in its dtypes: JAX shortens 64-bit integers such as a global step.

    Raises:
      ValueError: the path ends otherwise; the format has no such dtype or no empty arrays; a TensorFlow checkpoint would lose constants;
        `like` has other names or shapes. FileExistsError: the Orbax folder exists. OSError: the path cannot be written.
      ImportError: the package safetensors or orbax-checkpoint is not installed.
    """
    path = os.fspath(path)
    kind = _format_of(path)
    arrays = {group: {name: np.array(value, order="C") for name, value in params.get(group, {}).items()} for group in _GROUPS}
    kind.write(path, arrays if like is None else _fitted(arrays, like, _GROUPS, "params"))


@export("interop.load_params")
def load_params(path: str | os.PathLike[str], like: Params | None = None) -> Params:
    """Reads parameters of `tfcompat.to_jax` that `save_params` wrote, or the variables of any TensorFlow checkpoint.

    Args:
      path: as of save_params.
      like: params that to_jax gave, whose names and shapes the file must have, and whose dtypes the result has. Names that `like` lacks
        stay out. A TensorFlow checkpoint needs it: it does not say which variables are trainable.
        Constants and states of random operations that the file lacks are those of `like`.

    Returns:
      params as of to_jax, NumPy arrays.

    Raises:
      ValueError: the file holds something else, lacks a name of `like`, or has an array of another shape; or `like` is missing.
      OSError, errors.OpError: there is no such file, or it is damaged.
      ImportError: the package safetensors or orbax-checkpoint is not installed.
    """
    path = os.fspath(path)
    kind = _ORBAX if os.path.isdir(path) else _CHECKPOINT if os.path.exists(index_name(path)) else _format_of(path)
    arrays = kind.read(path, like)
    return arrays if like is None else _fitted(arrays, like, _VARIABLES, path)


def _fitted(arrays: Params, like: Params, needed: tuple[str, ...], source: str) -> Params:
    """The arrays that `like` names, in its dtypes; of groups that are not needed, those of `like` where there are none."""
    found: Params = {}
    for group in _GROUPS:
        found[group] = {}
        for name, wanted in like.get(group, {}).items():
            array = arrays[group].get(name, None if group in needed else np.asarray(wanted))
            if array is None:
                raise ValueError(f"{source} lacks the {group} parameter {name}.")
            if array.shape != np.shape(wanted):
                raise ValueError(f"{source}: {name} has shape {array.shape}, but {np.shape(wanted)} is required.")
            found[group][name] = array.astype(_like_dtype(array.dtype, np.asarray(wanted).dtype, name, source))
    return found


def _like_dtype(got: np.dtype, wanted: np.dtype, name: str, source: str) -> np.dtype:
    """`wanted`; ValueError where it is of another kind than `got`."""
    kinds = (jnp.bool_, jnp.integer, jnp.floating, jnp.complexfloating)
    if any(jnp.issubdtype(got, kind) != jnp.issubdtype(wanted, kind) for kind in kinds):
        raise ValueError(f"{source}: {name} is {got}, but {wanted} is required.")
    return wanted


def _grouped(arrays: dict[str, Any], path: str) -> Params:
    """Params of arrays named `<group>/<name>`."""
    params: Params = {group: {} for group in _GROUPS}
    for key, value in arrays.items():
        group, _, name = key.partition("/")
        if group not in params:
            raise ValueError(f"{path} has no parameters of tfcompat.to_jax: {key!r} is in none of {', '.join(params)}.")
        params[group][name] = value
    return params


def _ungrouped(params: Params) -> dict[str, Any]:
    return {f"{group}/{name}": value for group, part in params.items() for name, value in part.items()}


# ---- formats ----


class _Format(NamedTuple):
    """How params are written to a path, and read from it; `read` also takes `like`."""

    write: Callable[[str, Params], None]
    read: Callable[[str, Params | None], Params]


def _format_of(path: str) -> _Format:
    """The format that a path's ending chooses; ValueError where it chooses none."""
    ending = os.path.splitext(path)[1]
    if ending.startswith(".ckpt"):
        return _CHECKPOINT
    if ending not in _BY_ENDING:
        raise ValueError(
            f"{path} must end with .npz, .safetensors or .ckpt (a TensorFlow checkpoint), or have no ending (the folder of an Orbax checkpoint)."
        )
    return _BY_ENDING[ending]


def _write_npz(path: str, params: Params) -> None:
    arrays = _ungrouped(params)
    for name, array in arrays.items():
        if array.dtype.kind not in "biufc":
            raise ValueError(f"{name} is {array.dtype}, which .npz files have not: use .safetensors, or convert it.")
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    write_whole(path, buffer.getvalue())


def _read_npz(path: str, like: Params | None) -> Params:
    with np.load(path, allow_pickle=False) as found:
        return _grouped(dict(found), path)


def _package(module: str, package: str, extra: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError(f"This format needs the package {package}: pip install 'tfcompat[{extra}]', or use .npz.") from None


def _safetensors() -> ModuleType:
    return _package("safetensors.numpy", "safetensors", "safetensors")


def _write_safetensors(path: str, params: Params) -> None:
    write_whole(path, _safetensors().save(_ungrouped(params)))


def _read_safetensors(path: str, like: Params | None) -> Params:
    return _grouped(_safetensors().load_file(path), path)


def _orbax() -> ModuleType:
    return _package("orbax.checkpoint", "orbax-checkpoint", "orbax")


def _write_orbax(path: str, params: Params) -> None:
    orbax, path = _orbax(), os.path.abspath(path)
    if os.path.lexists(path):
        raise FileExistsError(f"{path} exists: an Orbax checkpoint is a new folder.")
    for name, array in _ungrouped(params).items():
        if not array.size:
            raise ValueError(f"{name} has shape {array.shape}, and Orbax saves no empty arrays: use .npz or .safetensors.")
    with orbax.Checkpointer(orbax.PyTreeCheckpointHandler()) as checkpointer:
        checkpointer.save(path, params)


def _read_orbax(path: str, like: Params | None) -> Params:
    """Reads to NumPy arrays, whatever devices the checkpoint was written from."""
    orbax, path = _orbax(), os.path.abspath(path)
    with orbax.Checkpointer(orbax.PyTreeCheckpointHandler()) as checkpointer:
        if not os.path.isdir(path):
            raise FileNotFoundError(f"There is no Orbax checkpoint at {path}.")
        metadata = checkpointer.metadata(path).item_metadata
        tree = None if metadata is None else metadata.tree
        if not isinstance(tree, dict) or not tree or any(group not in _GROUPS or not isinstance(part, dict) for group, part in tree.items()):
            raise ValueError(f"{path} has no parameters of tfcompat.to_jax: it must be a tree of {', '.join(_GROUPS)}.")
        arguments = jax.tree.map(lambda _: orbax.RestoreArgs(restore_type=np.ndarray), tree)
        found = checkpointer.restore(path, restore_args=arguments)
    return {group: {name: np.asarray(value) for name, value in found.get(group, {}).items()} for group in _GROUPS}


def _write_checkpoint(path: str, params: Params) -> None:
    if params["constants"]:
        raise ValueError(f"A TensorFlow checkpoint has variables alone, but params has constants ({', '.join(sorted(params['constants']))}): use .npz or .safetensors.")
    with bundle_writer.writing(path) as writer:
        for name, array in sorted({**params["trainable"], **params["other"]}.items()):
            writer.add(name, array, dtypes.as_dtype(array.dtype))


def _read_checkpoint(path: str, like: Params | None) -> Params:
    if like is None:
        raise ValueError(f"{path} is a TensorFlow checkpoint, which does not say which variables are trainable: give the params of to_jax as `like`.")
    reader = open_checkpoint(path)
    params: Params = {group: {} for group in _GROUPS}
    for group in _VARIABLES:
        params[group] = {name: reader.read(name) for name in like.get(group, {}) if reader.info(name) is not None}
    return params


_ORBAX = _Format(_write_orbax, _read_orbax)
_CHECKPOINT = _Format(_write_checkpoint, _read_checkpoint)
_BY_ENDING = {".npz": _Format(_write_npz, _read_npz), ".safetensors": _Format(_write_safetensors, _read_safetensors), "": _ORBAX}
