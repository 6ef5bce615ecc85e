"""tf.contrib.eager.restore_variables_on_create."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import executing_eagerly
from tfcompat._src.train.checkpoint_utils import load_checkpoint
from tfcompat._src.variables.resource_variable import ResourceVariable, eager_creation_observers


@export("contrib.eager.restore_variables_on_create")
@contextlib.contextmanager
def restore_variables_on_create(save_path: str | None, map_func: Callable[[str], str] | None = None) -> Iterator[None]:
    """Gives variables that are made in the context their values in a checkpoint.

    Each value of the checkpoint is used once: a later variable of the same name keeps its own initial value.

    Args:
      save_path: prefix of the checkpoint's files; None restores nothing.
      map_func: returns the name in the checkpoint for the name of a variable; by default the names are equal.

    Raises:
      ValueError: operations do not run at once, or `map_func` is not callable.
      NotFoundError: when a variable is made whose name is not in the checkpoint.
    """
    if not executing_eagerly():
        raise ValueError("Currently, restore_variables_on_create can only be used with eager execution enabled.")
    if not save_path:
        yield
        return
    if map_func is not None and not callable(map_func):
        raise ValueError("map_func must be callable.")
    reader, used = load_checkpoint(save_path), set()

    def restore(variable: ResourceVariable) -> None:
        name = map_func(variable._shared_name) if map_func else variable._shared_name
        if not reader.has_tensor(name):
            raise errors.NotFoundError(None, None, f"{name} not found in checkpoint")
        if name not in used:
            used.add(name)
            variable.assign(reader.get_tensor(name))

    eager_creation_observers.append(restore)
    try:
        yield
    finally:
        eager_creation_observers.remove(restore)
