"""The servers of this process: sessions with the target of one share its variables."""

from __future__ import annotations

import socket
import weakref
from collections.abc import Iterable
from typing import Any

from tfcompat._src.framework import errors
from tfcompat._src.runtime.devices import TASK, Device, session_devices
from tfcompat._src.runtime.variable_state import VariableState

_SCHEME = "grpc://"
_running: weakref.WeakValueDictionary[str, LocalServer] = weakref.WeakValueDictionary()


class LocalServer:
    """A server, which holds its port while it lives.

    Args:
      job: name of its job, which is also its default container. task: index in the job.
      port: the port; 0 for a free one.
      config: the ConfigProto of sessions that have none.

    Raises:
      errors.UnknownError: the port is taken.
    """

    def __init__(self, job: str, task: int, port: int, config: Any) -> None:
        self._job = job
        self.config = config
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


def devices_of(server: LocalServer | None, config: Any) -> list[Device]:
    """The devices of a session: those of its server, or of all tasks of the cluster that its ConfigProto names, its server's first.

    Raises:
      NotImplementedError: a task of the cluster is another process.
    """
    tasks = [(job.name, index, address) for job in config.cluster_def.job for index, address in sorted(job.tasks.items())]
    if server is None or not tasks:
        return session_devices(config, server.task_name if server else TASK)
    members = [(find(_SCHEME + address), f"/job:{job}/replica:0/task:{index}") for job, index, address in tasks]
    members.sort(key=lambda member: member[0] is not server)
    return [device for member, name in members for device in session_devices(member.config, name)]
