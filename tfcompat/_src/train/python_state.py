"""Python state in checkpoints of objects."""

from __future__ import annotations

import abc
import functools
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.trackable import Trackable
from tfcompat._src.train.trackable_graph import PythonStringStateSaveable


@export("train.experimental.PythonState", "contrib.checkpoint.PythonStateWrapper")
class PythonState(Trackable, abc.ABC):
    """An object whose state is a string that `serialize` gives and `deserialize` takes."""

    @abc.abstractmethod
    def serialize(self) -> bytes | str:
        """The state."""

    @abc.abstractmethod
    def deserialize(self, string_value: bytes) -> None:
        """Takes a state that `serialize` gave."""

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        make = functools.partial(
            PythonStringStateSaveable, state_callback=self.serialize, restore_callback=self.deserialize
        )
        return {"py_state": make}
