"""The servers of this process: sessions with the target of one share its variables."""

from __future__ import annotations

import socket
import weakref
from collections.abc import Iterable

from tfcompat._src.framework import errors
from tfcompat._src.runtime.variable_state import VariableState

_SCHEME = "grpc://"
_running: weakref.WeakValueDictionary[str, LocalServer] = weakref.WeakValueDictionary()


class LocalServer:
    """A server, which holds its port while it lives.

    Args:
      job: name of its job, which is also its default container. task: index in the job.
      port: the port; 0 for a free one.

    Raises:
      errors.UnknownError: the port is taken.
    """

    def __init__(self, job: str, task: int, port: int) -> None:
        self._job = job
        self.task_name = f"/job:{job}/replica:0/task:{task}"
        self.variable_state = VariableState()
        self.resets = 0
        self._socket = socket.socket()
        try:
            self._socket.bind(("localhost", port))
        except OSError as e:
            self._socket.close()
            raise errors.UnknownError(None, None, f"Could not start gRPC server: port {port}: {e}") from None
        self.target = f"{_SCHEME}localhost:{self._socket.getsockname()[1]}"
        _running[self.target] = self

    def __del__(self) -> None:
        self._socket.close()

    def reset(self, containers: Iterable[str] | None) -> None:
        """Forgets the variables of containers, by default of all; sessions that exist are aborted."""
        self.resets += 1
        wanted = set(containers or ())
        with self.variable_state.lock:
            values = self.variable_state.values
            for key in [k for k in values if not wanted or (k.partition("/")[0] or self._job) in wanted]:
                del values[key]


def find(target: str | bytes) -> LocalServer | None:
    """The server of a session's target; None for the targets of sessions without a server.

    Raises:
      errors.NotFoundError: it is no target. NotImplementedError: it is another process.
    """
    text = target.decode() if isinstance(target, bytes) else target
    if text in ("", "local"):
        return None
    if "://" not in text:
        raise errors.NotFoundError(
            None, None, f'No session factory registered for the given session options: {{target: "{text}"}}: use ""'
        )
    if text not in _running:
        raise NotImplementedError(f"tfcompat runs sessions in this process; the target {text!r} is a remote one.")
    return _running[text]
