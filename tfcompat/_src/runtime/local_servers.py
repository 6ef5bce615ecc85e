"""The servers of this process: sessions with the target of one share its variables."""

from __future__ import annotations

import socket
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from typing import Any

from tfcompat._src.framework import errors
from tfcompat._src.framework.operation import Operation
from tfcompat._src.runtime.devices import TASK, Device, session_devices
from tfcompat._src.runtime.variable_state import HANDLE_OPS, VariableState, variable_key

_SCHEME = "grpc://"
_running: weakref.WeakValueDictionary[str, LocalServer] = weakref.WeakValueDictionary()
_members: list[LocalServer] = []
"""The servers of clusters of several tasks, which live as long as the process."""


class LocalServer:
    """The server of one task: it holds its port, and the variables and resources that are placed on the task, while it lives.

    Args:
      job: name of its job, which is also its default container. task: index in the job.
      port: the port; 0 for a free one.
      config: the ConfigProto of sessions that have none.
      addresses: those of all tasks of its cluster, by job and index.

    Raises:
      errors.UnknownError: the port is taken.
    """

    def __init__(self, job: str, task: int, port: int, config: Any, addresses: dict[tuple[str, int], str]) -> None:
        self._job = job
        self.config, self.addresses = config, addresses
        self.task_name = _task_name(job, task)
        self.variable_state = VariableState()
        self.resources: dict[str, Any] = {}
        self.resets = 0
        self._socket = socket.socket()
        try:
            self._socket.bind(("localhost", port))
        except OSError as e:
            self._socket.close()
            raise errors.UnknownError(None, None, f"Could not start gRPC server: port {port}: {e}") from None
        self.target = f"{_SCHEME}localhost:{self._socket.getsockname()[1]}"
        _running[self.target] = self
        if len(addresses) > 1:
            _running[_SCHEME + addresses[job, task]] = self
            _members.append(self)

    def __del__(self) -> None:
        self._socket.close()

    def reset(self, containers: Iterable[str] | None) -> None:
        """Forgets the variables of containers, by default of all, and then resources too; sessions that exist are aborted."""
        self.resets += 1
        wanted = set(containers or ())
        with self.variable_state.lock:
            values = self.variable_state.values
            for key in [k for k in values if not wanted or (k.partition("/")[0] or self._job) in wanted]:
                del values[key]
        if not wanted:
            self.resources.clear()

    def require_cluster(self) -> None:
        """NotImplementedError where a task of its cluster is no server of this process."""
        for address in self.addresses.values() if len(self.addresses) > 1 else ():
            find(_SCHEME + address)


def _task_name(job: str, task: int) -> str:
    return f"/job:{job}/replica:0/task:{task}"


class _ClusterValues(MutableMapping):
    """The values of variables by key, each kept by the server of the task that the variable is placed on.

    Args:
      graph: where the variables are. task_of: the name of an operation's task. servers: by the name of their task.
    """

    def __init__(self, graph: Any, task_of: Callable[[Operation], str], servers: dict[str, LocalServer]) -> None:
        self._graph, self._task_of, self._servers = graph, task_of, servers
        self._places: dict[str, dict[str, Any]] = {}

    def place(self, key: str) -> dict[str, Any]:
        if key not in self._places:
            for op in self._graph.get_operations():
                if op.type in HANDLE_OPS and variable_key(op) not in self._places:
                    self._places[variable_key(op)] = self._servers[self._task_of(op)].variable_state.held
        return self._places[key]

    def __getitem__(self, key: str) -> Any:
        return self.place(key)[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.place(key)[key] = value

    def __delitem__(self, key: str) -> None:
        del self.place(key)[key]

    def __iter__(self) -> Iterator[str]:
        return (key for key, place in self._places.items() if key in place)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class ClusterState(VariableState):
    """The variables that a session shares with others of its cluster; arguments as for the values."""

    lock = threading.RLock()
    """One for all clusters: whoever writes a variable of a task holds it."""
    unfiled: list[Any] = []

    def __init__(self, graph: Any, task_of: Callable[[Operation], str], servers: dict[str, LocalServer]) -> None:
        self.held = _ClusterValues(graph, task_of, servers)

    def entries(self, keys: list[str], values: Iterable[Any]) -> list[tuple[dict, dict]]:
        return [(self.held.place(key), {key: value}) for key, value in zip(keys, values)]


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


def servers_of(server: LocalServer | None, config: Any) -> dict[str, LocalServer]:
    """The servers of a session by the name of their task: those of the cluster that its ConfigProto names, its own first; else
    those of its server's cluster, by name, as operations without a device are on the first; none where it has no server.

    Raises:
      NotImplementedError: a task of the cluster is another process.
    """
    if server is None:
        return {}
    named = {(job.name, index): address for job in config.cluster_def.job for index, address in job.tasks.items()}
    addresses = named or (server.addresses if len(server.addresses) > 1 else {})
    members = [(_task_name(*task), find(_SCHEME + address)) for task, address in sorted(addresses.items())]
    members = members or [(server.task_name, server)]
    return dict(sorted(members, key=lambda member: (bool(named) and member[1] is not server, member[0])))


def devices_of(servers: dict[str, LocalServer], config: Any) -> list[Device]:
    """The devices of a session with these servers: those of all their tasks, or of a task of its own."""
    if len(servers) < 2:
        return session_devices(config, next(iter(servers), TASK))
    return [device for task, member in servers.items() for device in session_devices(member.config, task)]
