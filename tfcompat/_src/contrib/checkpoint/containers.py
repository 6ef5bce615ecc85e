"""tf.contrib.checkpoint: names for dependencies, NumPy arrays in checkpoints."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.base.trackable import Trackable
from tfcompat._src.train.python_state import PythonState
from tfcompat._src.train.trackable_data_structures import TrackableDataStructure


@export("contrib.checkpoint.UniqueNameTracker")
class UniqueNameTracker(TrackableDataStructure):
    """Dependencies under names that are made unique in the order of tracking."""

    def __init__(self) -> None:
        super().__init__()
        self._name_counts: dict[str, int] = {}

    @property
    def _values(self) -> Any:
        return [dependency.ref for dependency in self._checkpoint_dependencies]

    def track(self, trackable: object, base_name: str) -> Any:
        """Makes `trackable` a dependency named `base_name`, with "_1", "_2", ... where the name is taken; returns it.

        Raises:
          ValueError: it is not trackable.
        """
        if not isinstance(trackable, Trackable):
            raise ValueError(
                f"Expected a trackable value, got {trackable} which does not inherit from tf.track.Trackable."
            )
        name = base_name
        while self._lookup_dependency(name) is not None:
            count = self._name_counts[base_name] = self._name_counts.get(base_name, 0) + 1
            name = f"{base_name}_{count}"
        return self._track_value(trackable, name)


class _NumpyWrapper(PythonState):
    """A NumPy array in a checkpoint."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def serialize(self) -> bytes:
        stream = io.BytesIO()
        np.save(stream, self.array, allow_pickle=False)
        return stream.getvalue()

    def deserialize(self, string_value: bytes) -> None:
        self.array = np.load(io.BytesIO(string_value), allow_pickle=False)


@export("contrib.checkpoint.NumpyState")
class NumpyState(Trackable):
    """An object whose NumPy arrays, set as attributes, are saved and restored."""

    def _lookup_dependency(self, name: str) -> Any:
        """The array of that name; one that a checkpoint has and the object lacks is made."""
        found = super()._lookup_dependency(name)
        return self._track_trackable(_NumpyWrapper(np.array([])), name) if found is None else found

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("_"):
            known = object.__getattribute__(self, "_unconditional_dependency_names").get(name)
            if isinstance(known, _NumpyWrapper):
                return known.array
        return super().__getattribute__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if not isinstance(value, (np.ndarray, np.generic)):
            object.__setattr__(self, name, value)
            return
        known = self._unconditional_dependency_names.get(name)
        if known is None:
            self._track_trackable(_NumpyWrapper(value), name)
        else:
            known.array = value
