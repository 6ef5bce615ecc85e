"""Datasets of the rows of NumPy arrays, which variables on a host keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.base import nest
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.data.dataset_v1 import Dataset
from tfcompat._src.graph.scopes import device, executing_eagerly
from tfcompat._src.ops.array.constant import placeholder
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.variables.variable import Variable, variable_creator_scope


def init_var_from_numpy(input_var: Any, numpy_input: np.ndarray, session: SessionLike | None) -> None:
    """Gives a variable the value of an array: by a session, which it is fed to, or at once where operations run at once.

    Raises:
      ValueError: there is no session and a graph is built.
    """
    if executing_eagerly():
        input_var.assign(numpy_input)
        return
    if session is None:
        raise ValueError("A graph keeps NumPy arrays in variables, which a session fills: experimental_make_numpy_dataset(..., session=session).")
    session.run(input_var.initializer)
    fed = placeholder(numpy_input.dtype, numpy_input.shape)
    session.run(input_var.assign(fed), {fed: numpy_input})


def one_host_numpy_dataset(numpy_input: object, host_device: str, session: SessionLike | None) -> Any:
    """A dataset of the rows of a structure of arrays, kept in variables on a device, to which `session` gives their values."""
    arrays = [np.asarray(each) for each in nest.flatten(numpy_input)]

    def on_host(next_creator: Callable, *args: Any, **kwargs: Any) -> Any:
        with device(host_device):
            return next_creator(*args, **kwargs)

    with variable_creator_scope(on_host):
        kept = [Variable(zeros(each.shape, each.dtype), trainable=False) for each in arrays]
    for each, array in zip(kept, arrays):
        init_var_from_numpy(each, array, session)
    return Dataset.from_tensor_slices(nest.pack_sequence_as(numpy_input, kept))
