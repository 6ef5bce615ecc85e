"""Checkpoints without a Saver: reading values, waiting for new ones, initial values from them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.checkpoint.reader import CheckpointReader
from tfcompat._src.graph.scopes import device
from tfcompat._src.nodes import raw
from tfcompat._src.platform import compat, file_io, logging
from tfcompat._src.train import checkpoint_management, saveable_object_util
from tfcompat._src.variables.resource_variable import is_resource_variable
from tfcompat._src.variables.scope import get_variable_store
from tfcompat._src.variables.variable import Variable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _prefix(ckpt_dir_or_file: object) -> str | None:
    """The checkpoint that a path means: itself, or the latest of a folder."""
    path = compat.as_text(compat.path_to_str(ckpt_dir_or_file))
    return checkpoint_management.latest_checkpoint(path) if file_io.isdir(path) else path


@export("train.load_checkpoint", "contrib.framework.load_checkpoint")
def load_checkpoint(ckpt_dir_or_file: object) -> CheckpointReader:
    """A CheckpointReader of a checkpoint.

    Args:
      ckpt_dir_or_file: its prefix, or a folder whose latest checkpoint is meant.

    Raises:
      ValueError: the folder has none. errors.NotFoundError: there is none with the prefix.
    """
    prefix = _prefix(ckpt_dir_or_file)
    if prefix is None:
        raise ValueError(f"Couldn't find 'checkpoint' file or checkpoints in given directory {ckpt_dir_or_file}")
    return CheckpointReader(prefix)


@export("train.load_variable", "contrib.framework.load_variable", "contrib.learn.graph_actions.load_variable")
def load_variable(ckpt_dir_or_file: object, name: str) -> Any:
    """The value of a variable in a checkpoint, an array; see `load_checkpoint`.

    Raises:
      errors.NotFoundError: there is no variable of that name. errors.DataLossError: it is damaged.
    """
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


@export("train.list_variables", "contrib.framework.list_variables")
def list_variables(ckpt_dir_or_file: object) -> list[tuple[str, list[int]]]:
    """(name, shape) of all variables in a checkpoint, by name; see `load_checkpoint`."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


# ---- waiting ----


@export("contrib.training.wait_for_new_checkpoint")
def wait_for_new_checkpoint(
    checkpoint_dir: object, last_checkpoint: str | None = None, seconds_to_sleep: float = 1, timeout: float | None = None
) -> str | None:
    """The latest checkpoint of a folder as soon as it is another than `last_checkpoint`; None after `timeout` seconds."""
    logging.info("Waiting for new checkpoint at %s", checkpoint_dir)
    stop = None if timeout is None else time.time() + timeout
    while True:
        path = checkpoint_management.latest_checkpoint(checkpoint_dir)
        if path is not None and path != last_checkpoint:
            logging.info("Found new checkpoint at %s", path)
            return path
        if stop is not None and time.time() + seconds_to_sleep > stop:
            return None
        time.sleep(seconds_to_sleep)


@export("train.checkpoints_iterator", "contrib.training.checkpoints_iterator")
def checkpoints_iterator(
    checkpoint_dir: object, min_interval_secs: float = 0, timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:  # fmt: skip
    """Yields the checkpoints of a folder as they appear; those that are replaced meanwhile are left out.

    Args:
      checkpoint_dir: the folder.
      min_interval_secs: least seconds between two.
      timeout: seconds to wait for one; None for ever.
      timeout_fn: asked after that time whether to end; without it, the iteration ends.
    """
    path = None
    while True:
        new = wait_for_new_checkpoint(checkpoint_dir, path, timeout=timeout)
        if new is None:
            if timeout_fn is None:
                logging.info("Timed-out waiting for a checkpoint.")
                return
            if timeout_fn():
                return
            continue
        start, path = time.time(), new
        yield path
        rest = start + min_interval_secs - time.time()
        if rest > 0:
            time.sleep(rest)


# ---- initial values ----


@export("train.init_from_checkpoint", "contrib.framework.init_from_checkpoint")
def init_from_checkpoint(ckpt_dir_or_file: object, assignment_map: dict[str, Any]) -> None:
    """Makes the initializers of variables read a checkpoint.

    Args:
      ckpt_dir_or_file: its prefix, or a folder whose latest checkpoint is meant.
      assignment_map: by name in the checkpoint, a variable, a list of the parts of one, or its name; or scopes that end
        in "/" on both sides; "/" is the outermost.

    Raises:
      ValueError: the checkpoint lacks a variable, a shape differs, or a scope is mapped to a variable.
    """
    prefix = _prefix(ckpt_dir_or_file)
    shapes = load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map()
    known = get_variable_store()._vars
    for saved_name, current in sorted(assignment_map.items()):
        variable = current if _is_variable_or_parts(current) else _variable_named(current, known)
        if variable is None:
            _init_scope(prefix, ckpt_dir_or_file, shapes, saved_name, current, known)
            continue
        if saved_name not in shapes:
            raise ValueError(f"Tensor {saved_name} is not found in {ckpt_dir_or_file} checkpoint {shapes}")
        if not isinstance(variable, (list, tuple)) and not variable.get_shape().is_compatible_with(shapes[saved_name]):
            raise ValueError(
                f"Shape of variable {variable.name} ({variable.get_shape()}) doesn't match with shape of tensor {saved_name} "
                f"({shapes[saved_name]}) from checkpoint reader."
            )
        _set_initializers(variable, prefix, saved_name)


def _init_scope(
    prefix: TensorLike, shown: object, shapes: dict, saved_scope: str, current_scope: str, known: dict[str, Any]
) -> None:
    scope = current_scope[: current_scope.rindex("/")] if "/" in current_scope else ""
    if not saved_scope.endswith("/"):
        raise ValueError(
            f"Assignment map with scope only name {scope} should map to scope only {saved_scope}. Should be 'scope/': 'other_scope/'."
        )
    below = {name.partition("/part_")[0] for name in known if not scope or name.startswith(scope + "/")}
    for name in sorted(below):
        rest = name[len(scope) :] if current_scope == "/" else name[len(scope) + 1 :]
        saved_name = (rest if saved_scope == "/" else saved_scope + rest).removesuffix("/")
        if saved_name not in shapes:
            raise ValueError(
                f"Tensor {saved_name} ({name[len(scope) + 1 :]} in {saved_scope}) is not found in {shown} checkpoint"
            )
        _set_initializers(_variable_named(name, known), prefix, saved_name)


def _is_variable(value: object) -> bool:
    return isinstance(value, Variable) or is_resource_variable(value)


def _is_variable_or_parts(value: object) -> bool:
    return _is_variable(value) or (isinstance(value, list) and all(map(_is_variable, value)))


def _variable_named(name: str, known: dict[str, Any]) -> Any:
    """The variable of that name, or the list of its parts; None where there is none."""
    if name in known:
        return known[name]
    parts = []
    while f"{name}/part_{len(parts)}" in known:
        parts.append(known[f"{name}/part_{len(parts)}"])
    return parts or None


def _set_initializers(variable: object, prefix: TensorLike, saved_name: str) -> None:
    if not isinstance(variable, (list, tuple)):
        _set_checkpoint_initializer(variable, prefix, saved_name, "")
        return
    wholes = [v._save_slice_info.full_name for v in variable]
    for part, whole in zip(variable, wholes):
        if whole != wholes[0]:
            raise ValueError(f"Slices must all be from the same tensor: {wholes[0]} != {whole}")
        _set_checkpoint_initializer(part, prefix, saved_name, part._save_slice_info.spec)


def _set_checkpoint_initializer(
    variable: Any, ckpt_file: object, tensor_name: str, slice_spec: str, name: str = "checkpoint_initializer"
) -> None:
    """Makes the initializer of a variable read a tensor, or a part of one, from a checkpoint."""
    with device(variable.device), device("/cpu:0"):
        (restored,) = raw.RestoreV2(
            ckpt_file, [tensor_name], [slice_spec], dtypes=[variable.dtype.base_dtype], name=name
        )
        ((saved_as, op),) = saveable_object_util.op_list_to_dict([variable]).items()
        (saveable,) = saveable_object_util.saveable_objects_for_op(op, saved_as)
    variable._initializer_op = saveable.restore([restored], restored_shapes=None)
    restored.set_shape(variable.shape)
    variable._initial_value = restored
