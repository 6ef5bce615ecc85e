"""Assigning values from arrays and checkpoints to variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.checkpoint.reader import CheckpointReader
from tfcompat._src.contrib.framework.variables import get_unique_variable, get_variable_full_name
from tfcompat._src.ops.array.constant import placeholder
from tfcompat._src.ops.control.groups import group
from tfcompat._src.platform import logging
from tfcompat._src.train.saver import Saver


def _assignment(variable: Any, name: str) -> tuple[Any, Any]:
    """A placeholder, and the operation that assigns it to a variable."""
    value = placeholder(variable.dtype.base_dtype, shape=variable.get_shape(), name=name)
    return value, variable.assign(value)


@export("contrib.framework.assign_from_values", "contrib.slim.assign_from_values")
def assign_from_values(var_names_to_values: dict[str, Any]) -> tuple[Any, dict[Any, np.ndarray]]:
    """An operation and a feed_dict that give variables the values of arrays.

    Args:
      var_names_to_values: arrays by name of variable.

    Raises:
      ValueError: there is no such variable, or the array does not fit it.
    """
    feeds, assigns = {}, []
    for name, value in var_names_to_values.items():
        variable = get_unique_variable(name)
        fed, assign = _assignment(variable, "placeholder/" + variable.op.name)
        feeds[fed] = np.asarray(value).reshape(variable.get_shape().as_list())
        assigns.append(assign)
    return group(*assigns), feeds


@export("contrib.framework.assign_from_values_fn", "contrib.slim.assign_from_values_fn")
def assign_from_values_fn(var_names_to_values: dict[str, Any]) -> Callable[[Any], Any]:
    """A function of a session that gives variables the values of arrays; see `assign_from_values`."""
    operation, feeds = assign_from_values(var_names_to_values)
    return lambda session: session.run(operation, feeds)


@export("contrib.framework.assign_from_checkpoint", "contrib.slim.assign_from_checkpoint")
def assign_from_checkpoint(
    model_path: str, var_list: Any, ignore_missing_vars: bool = False
) -> tuple[Any, dict[Any, np.ndarray]]:
    """An operation and a feed_dict that give variables the values of a checkpoint.

    Args:
      model_path: its prefix.
      var_list: list of variables, or dict of variables or lists of parts by name in the checkpoint.
      ignore_missing_vars: whether variables that it lacks are left out with a warning.

    Raises:
      ValueError: it lacks a variable, or a shape differs.
    """
    if isinstance(var_list, dict):
        grouped = {name: v if isinstance(v, (tuple, list)) else [v] for name, v in var_list.items()}
    else:
        grouped = {}
        for variable in var_list:
            grouped.setdefault(get_variable_full_name(variable), []).append(variable)
    reader = CheckpointReader(model_path)
    feeds, assigns = {}, []
    for name, variables in grouped.items():
        if not reader.has_tensor(name):
            if not ignore_missing_vars:
                raise ValueError(f"Checkpoint is missing variable [{name}]")
            logging.warning("Checkpoint is missing variable [%s]", name)
            continue
        value = np.asarray(reader.get_tensor(name))
        for variable in variables:
            fed, assign = _assignment(variable, "placeholder/" + variable.op.name)
            feeds[fed] = _part(name, value, variable)
            assigns.append(assign)
    return group(*assigns), feeds


def _part(name: str, value: np.ndarray, variable: Any) -> np.ndarray:
    """What of a saved value belongs to a variable, which may be a part of one."""
    info = variable._save_slice_info
    if info:
        return value[tuple(slice(start, start + size) for start, size in zip(info.var_offset, info.var_shape))]
    if variable.get_shape() != value.shape:
        raise ValueError(
            f"Total size of new array must be unchanged for {name} lh_shape: [{value.shape}], rh_shape: [{variable.get_shape()}]"
        )
    return value


@export("contrib.framework.assign_from_checkpoint_fn", "contrib.slim.assign_from_checkpoint_fn")
def assign_from_checkpoint_fn(
    model_path: str, var_list: Any, ignore_missing_vars: bool = False, reshape_variables: bool = False
) -> Callable[[Any], Any] | None:
    """A function of a session that gives variables the values of a checkpoint; None where it has none of them.

    Args:
      model_path: its prefix.
      var_list: list of variables, or dict of them by name in the checkpoint.
      ignore_missing_vars: whether variables that it lacks are left out with a warning.
      reshape_variables: whether values take the shapes of the variables.

    Raises:
      ValueError: `var_list` is empty.
    """
    if not var_list:
        raise ValueError("var_list cannot be empty")
    if ignore_missing_vars:
        reader = CheckpointReader(model_path)
        named = var_list if isinstance(var_list, dict) else {v.op.name: v for v in var_list}
        for name in named:
            if not reader.has_tensor(name):
                logging.warning("Variable %s missing in checkpoint %s", name, model_path)
        var_list = {name: v for name, v in named.items() if reader.has_tensor(name)}
    if not var_list:
        logging.warning("No Variables to restore")
        return None
    saver = Saver(var_list, reshape=reshape_variables, write_version=1)
    return lambda session: saver.restore(session, model_path)
