"""The variables of a run that computes operation by operation and changes all of them at its end, or none."""

from __future__ import annotations

import collections
from collections.abc import Iterable, MutableMapping
from typing import Any

from tfcompat._src.base.arrays import Array
from tfcompat._src.runtime.state.variable_state import VariableState, put_all


class StagedVariables(VariableState):
    """Variables whose writes become those of a session when `commit` is called.

    From the first write on the run holds the session's lock, so that no write of another thread comes between what it has read and what it
    stores. Before, it reads as every other run. A signal handler that runs the session in between first gets what has been written so far.
    """

    def __init__(self, session: VariableState) -> None:
        super().__init__()
        self.lock = session.lock
        self._session = session
        self._written: dict[str, Array] = {}
        self.held = collections.ChainMap(self._written, session.held)
        self._is_writing = False

    @property
    def values(self) -> MutableMapping[str, Array]:
        """The values that the run sees."""
        if not self._is_writing and self._session.unfiled:
            self._session._file_left()
        return self.held

    def store(self, keys: list[str], values: Iterable[Any]) -> None:
        """Stores values of variables for this run."""
        if not self._is_writing:
            self.lock.acquire()
            self._is_writing = True
            self._session.file_left()
            self._session.unfiled.append(self)
        self._written.update(zip(keys, values))

    def file_left(self) -> None:
        """Hands what has been written so far to a run of a signal handler; see `UnfiledCall`."""
        self.commit(self._written)

    def commit(self, keys: Iterable[str] | None = None) -> None:
        """Makes writes those of the session: all, or those of the variables with some keys."""
        written = self._written if keys is None else {key: self._written[key] for key in keys if key in self._written}
        if written:
            put_all(self._session.entries(list(written), written.values()))

    def close(self) -> None:
        """Ends the run; what has not been committed is dropped."""
        if self._is_writing:
            self._session.unfiled.remove(self)
            self._is_writing = False
            self.lock.release()
