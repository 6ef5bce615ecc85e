"""tf.contrib.eager.Iterator and Saver."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.base.export import export
from tfcompat._src.data.iterator import EagerIterator
from tfcompat._src.graph.scopes import executing_eagerly
from tfcompat._src.train.saver import Saver as _Saver


@export("contrib.eager.Iterator")
class Iterator(EagerIterator):
    """An iterator over a dataset; RuntimeError where operations do not run at once."""

    def __init__(self, dataset: Any) -> None:
        if not executing_eagerly():
            raise RuntimeError(
                f"{type(dataset)} objects can only be used with eager execution enabled, use tf.data.Dataset.make_initializable_iterator or "
                "tf.data.Dataset.make_one_shot_iterator for graph construction"
            )
        super().__init__(dataset)


@export("contrib.eager.Saver")
class Saver:
    """Saves variables by their names, and restores them.

    Args:
      var_list: list of variables, or dict of them by the names in the file.

    Raises:
      RuntimeError: operations do not run at once.
    """

    def __init__(self, var_list: Any) -> None:
        if not executing_eagerly():
            raise RuntimeError("tfe.Saver can only be used when eager execution is enabled. Use tf.train.Saver when building graphs.")
        variables = var_list if isinstance(var_list, dict) else nest.flatten(var_list)
        self._saver = _Saver(var_list=variables)

    def save(self, file_prefix: str, global_step: Any = None) -> str:
        """Writes a checkpoint; its path."""
        return self._saver.save(None, file_prefix, write_meta_graph=False, global_step=global_step)

    def restore(self, file_prefix: str) -> None:
        """Reads the variables from a checkpoint."""
        self._saver.restore(None, file_prefix)


@export("contrib.eager.get_optimizer_variables")
def get_optimizer_variables(optimizer: Any) -> list[Any]:
    """The variables of an optimizer."""
    return optimizer.variables()
