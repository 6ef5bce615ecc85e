"""Saving and restoring of the variables of a tf.contrib.eager.Network."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.eager.network import Network
from tfcompat._src.graph.scopes import executing_eagerly
from tfcompat._src.runtime.session.session import get_default_session
from tfcompat._src.train.checkpoint_utils import load_checkpoint
from tfcompat._src.train.saver import Saver
from tfcompat._src.variables.resource_variable import eager_creation_observers
from tfcompat._src.variables.training_util import get_global_step

MapFunc = Callable[[str], str]


@export("contrib.eager.save_network_checkpoint")
def save_network_checkpoint(network: Network, save_path: str, global_step: object = None, map_func: MapFunc | None = None) -> str:
    """Writes the variables of a network that was called to a checkpoint.

    Args:
      network: the network.
      save_path: prefix of the files, or a folder: the prefix is then the network's name in it.
      global_step: number, variable or tensor at the end of the prefix; by default the global step, where there is one.
      map_func: returns the name in the checkpoint for the name of a variable; by default that without the network's scope.

    Returns:
      The prefix of the files.

    Raises:
      ValueError: the network was not called, or two variables have one name in the checkpoint.
    """
    if not network.built:
        raise ValueError(
            "Attempt to save the Network before it was first called. This means variables have not yet been created, so there is "
            "nothing to save."
        )
    named = _named_in_checkpoint(network, map_func, "save_network_checkpoint")
    step = get_global_step() if global_step is None else global_step
    return Saver(named).save(_session(), _prefix(network, save_path), global_step=step, write_meta_graph=False)


@export("contrib.eager.restore_network_checkpoint")
def restore_network_checkpoint(network: Network, save_path: str, map_func: MapFunc | None = None) -> None:
    """Gives the variables of a network their values in a checkpoint: those that exist at once, later ones when a call makes them.

    Args:
      network: the network, which gets its variable scope now where it was not called.
      save_path: prefix of the files, or a folder: the prefix is then the network's name in it.
      map_func: returns the name in the checkpoint for the name of a variable; by default that without the network's scope.

    Raises:
      ValueError: two variables have one name in the checkpoint.
      NotFoundError: there is no such checkpoint, or it lacks a variable that exists.
    """
    with network._in_scope():
        path = _prefix(network, save_path)
    reader = load_checkpoint(path)
    named = _named_in_checkpoint(network, map_func, "restore_network_checkpoint")
    if named:
        Saver(named).restore(_session(), path)
    later = {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map() if name not in named}
    if later:
        network._restorations = (*network._restorations, _Later(network, later, map_func))


class _Later:
    """Values for variables that a network does not have yet; a call of the network is made in the context that this gives."""

    def __init__(self, network: Network, values: dict[str, Any], map_func: MapFunc | None) -> None:
        self.network, self.values, self.map_func = network, values, map_func
        self.restored: dict[str, Any] = {}

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        if executing_eagerly():
            eager_creation_observers.append(self.restore)
            try:
                yield
            finally:
                eager_creation_observers.remove(self.restore)
            return
        before = {id(variable) for variable in self.network.variables}
        yield
        for variable in self.network.variables:
            if id(variable) not in before:
                self.restore(variable)

    def restore(self, variable: Any) -> None:
        name = _name_in_checkpoint(self.network, variable, self.map_func)
        if name not in self.values:
            return
        _check_one_name(self.network, name, self.restored.setdefault(name, variable), variable, "restore_network_checkpoint")
        if executing_eagerly():
            variable.assign(self.values[name])
        else:
            variable.load(self.values[name], get_default_session())


def _session() -> Any:
    return None if executing_eagerly() else get_default_session()


def _prefix(network: Network, save_path: str) -> str:
    return os.path.join(save_path, network.scope_name.replace("/", "_")) if os.path.isdir(save_path) else save_path


def _name_in_checkpoint(network: Network, variable: Any, map_func: MapFunc | None) -> str:
    name = variable._shared_name
    return map_func(name) if map_func else name.removeprefix(network.scope_name + "/")


def _named_in_checkpoint(network: Network, map_func: MapFunc | None, function: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for variable in network.variables:
        name = _name_in_checkpoint(network, variable, map_func)
        _check_one_name(network, name, found.setdefault(name, variable), variable, function)
    return found


def _check_one_name(network: Network, name: str, first: Any, second: Any, function: str) -> None:
    if first is not second:
        raise ValueError(
            f"{function} has two variables of the Network '{network.scope_name}' for the name '{name}' of the checkpoint: "
            f"'{first._shared_name}' and '{second._shared_name}'. Pass a map_func that gives each variable a name of its own, "
            "or rename layers of the network."
        )
