"""The servers (tf.train.Server) of this process. Sessions whose target is one of them share its variables and resources.

If every server of a cluster is in this process, its sessions run here too; other processes are reached through `cluster/`.
"""

from __future__ import annotations

import functools
import importlib
import threading
import weakref
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from typing import Any, Protocol

import jax

from tfcompat._src.base import errors, jax_processes
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.graph.graph import Graph
from tfcompat._src.ops.queues.resource import SharedResource
from tfcompat._src.proto import messages
from tfcompat._src.runtime.devices.devices import TASK, Device, DeviceAttributes, session_devices
from tfcompat._src.runtime.devices.placer import Placer
from tfcompat._src.runtime.state.variable_state import UnfiledCall, VariableState, variable_key

_SCHEME = "grpc://"
_running: weakref.WeakValueDictionary[str, LocalServer] = weakref.WeakValueDictionary()
"""The servers of this process by target ("grpc://HOST:PORT"); a server of a cluster also by its address in the ClusterSpec."""
_members: list[LocalServer] = []
"""The servers of clusters of several tasks. This list keeps them until the process ends."""


class LocalServer:
    """The server of one task: owns its port, and the variables and resources that are placed on the task.

    Args:
      job: name of its job, which is also its default container. task: index in the job.
      config: the ConfigProto of sessions that have none.
      addresses: "HOST:PORT" of all tasks of its cluster, by (job, index); port 0 for a free one.

    Attributes:
      target: "grpc://localhost:PORT". resets: how often `reset` was called; sessions from before are aborted.

    Raises:
      errors.UnknownError: the port is taken.
    """

    def __init__(self, job: str, task: int, config: messages.ConfigProto, addresses: dict[tuple[str, int], str]) -> None:
        # If the environment asks for JAX's collectives, its distributed runtime must start before its backends.
        if len(addresses) > 1:
            jax_processes.join()
        self._job = job
        self.config, self.addresses = config, addresses
        self.task_name = task_name(job, task)
        self.variable_state = VariableState()
        self.resources: dict[str, Any] = {}
        self.resets = 0
        self._listener = _of_clusters("server").Listener(self, addresses[job, task])
        self.target = f"{_SCHEME}localhost:{self._listener.port}"
        _running[self.target] = self
        if len(addresses) > 1:
            _running[_SCHEME + addresses[job, task]] = self
            _members.append(self)

    def start(self) -> None:
        """Starts to answer requests of other processes."""
        self._listener.start()

    @functools.cached_property
    def services(self) -> Any:
        """The master and worker services, for sessions that involve other processes."""
        return _of_clusters("server").Services(self, self._listener.gate)

    def reset(self, containers: Iterable[str] | None) -> None:
        """Aborts existing sessions, and deletes the variables and resources in containers; without containers, those in the server's own."""
        self.resets += 1
        wanted = set(containers or (self._job,))
        # The container is the first part of the key of a variable or resource; what has none is in the job's.
        with self.variable_state.lock:
            values = self.variable_state.values
            for key in [k for k in values if (k.partition("/")[0] or self._job) in wanted]:
                del values[key]
        for key in [k for k in self.resources if (k.partition("/")[0] or self._job) in wanted]:
            resource = self.resources.pop(key)
            if isinstance(resource, SharedResource):
                resource.cancel()


def task_name(job: str, task: int) -> str:
    """The name of a task as it begins device names: "/job:JOB/replica:0/task:N"."""
    return f"/job:{job}/replica:0/task:{task}"


class _ClusterValues(MutableMapping[str, NDArray | jax.Array]):
    """A mapping of variable keys to values that delegates each key to the server of the task on which the variable is placed.

    Args:
      graph: has the variables. placer: knows the task of each. servers: by task name.
    """

    def __init__(self, graph: Graph, placer: Placer, servers: dict[str, LocalServer]) -> None:
        self._graph, self._placer, self._servers = graph, placer, servers
        self._places: dict[str, MutableMapping[str, NDArray | jax.Array]] = {}

    def place(self, key: str) -> MutableMapping[str, NDArray | jax.Array]:
        """The mapping of the server that has a key. Raises KeyError if no variable of the graph has that key."""
        # Variables may have been added to the graph since the last lookup.
        if key not in self._places:
            for op in self._graph.get_operations():
                if op.spec.facts.names_variable and variable_key(op) not in self._places:
                    self._places[variable_key(op)] = self._servers[self._placer.task_of(op)].variable_state.held
        return self._places[key]

    def __getitem__(self, key: str) -> NDArray | jax.Array:
        return self.place(key)[key]

    def __setitem__(self, key: str, value: NDArray | jax.Array) -> None:
        self.place(key)[key] = value

    def __delitem__(self, key: str) -> None:
        del self.place(key)[key]

    def __iter__(self) -> Iterator[str]:
        return (key for key, place in self._places.items() if key in place)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class ClusterState(VariableState):
    """The variables that the sessions of a cluster of several servers share. Arguments as for `_ClusterValues`."""

    lock = threading.RLock()
    """Held while variables are written; one lock for all clusters, as a server may be in several."""
    unfiled: list[UnfiledCall] = []

    def __init__(self, graph: Graph, placer: Placer, servers: dict[str, LocalServer]) -> None:
        self.held: _ClusterValues = _ClusterValues(graph, placer, servers)

    def entries(self, keys: list[str], values: Iterable[Any]) -> list[tuple[dict[Any, Any], dict[Any, Any]]]:
        """Pairs (dict of a server, entries to put into it), for `put_all`."""
        return [(self.held.place(key), {key: value}) for key, value in zip(keys, values)]  # type: ignore[misc]  # a server has a dict


def shared_variables(graph: Graph, placer: Placer, servers: dict[str, LocalServer]) -> VariableState:
    """The variables that a session shares with other sessions on its servers. Arguments as for `_ClusterValues`."""
    if len(servers) == 1:
        return next(iter(servers.values())).variable_state
    return ClusterState(graph, placer, servers)


class RemoteSession(Protocol):
    """A session that involves other processes. Methods as those of tf.Session."""

    def run(
        self, fetches: object, feed_dict: dict[Any, Any] | None = None, options: messages.RunOptions | None = None,
        run_metadata: messages.RunMetadata | None = None,
    ) -> Any:  # fmt: skip
        """As Session.run."""

    def partial_run_setup(self, fetches: object, feeds: Sequence[object] | None = None) -> Any:
        """As Session.partial_run_setup."""

    def partial_run(self, handle: object, fetches: object, feed_dict: dict[Any, Any] | None = None) -> Any:
        """As Session.partial_run."""

    def list_devices(self) -> list[DeviceAttributes]:
        """As Session.list_devices."""

    def close(self) -> None:
        """As Session.close; the other processes drop what they keep for it."""


PROTOCOL: list[str] = []
"""The name of the package that implements the cluster protocol. `late.py` sets it, as the runtime does not depend on that package."""


def _of_clusters(module: str) -> Any:
    """Imports a module of the cluster protocol lazily: programs without servers do not load it."""
    return importlib.import_module(f"{PROTOCOL[0]}.{module}")


def find(target: str | bytes) -> LocalServer | None:
    """The server of this process with a session's target; None for a local session's target, and for one of another process.

    Raises:
      errors.NotFoundError: the target has an unknown scheme.
    """
    text = target.decode() if isinstance(target, bytes) else target
    if text in ("", "local"):
        return None
    if not text.startswith(_SCHEME):
        raise errors.NotFoundError(
            None, None, f'No session factory registered for the given session options: {{target: "{text}"}}: use "" or "{_SCHEME}HOST:PORT"'
        )
    return _running.get(text)


def remote_session(target: str | bytes, graph: Graph, config: messages.ConfigProto | None) -> RemoteSession | None:
    """Connects a session that involves other processes; None if this process does everything.

    Args:
      target: of the session. graph: its tf.Graph. config: its ConfigProto, or None.

    Raises:
      errors.NotFoundError: the target has an unknown scheme.
    """
    # This process does everything if the target is local, or is a server here and so are all servers of its cluster.
    server = find(target)
    text = target.decode() if isinstance(target, bytes) else target
    if server is None:
        if text in ("", "local"):
            return None
    else:
        settings = config or server.config
        if cluster_error(server, settings) is None and all(_SCHEME + a in _running for a in addresses_of(server, settings).values()):
            return None
    sessions = _of_clusters("remote_session")
    session: RemoteSession = sessions.RemoteSession(sessions.master_of(text.removeprefix(_SCHEME), server), graph, config)
    return session


def reset(target: str | bytes, containers: Iterable[str] | None, config: messages.ConfigProto) -> None:
    """Deletes the variables and resources in containers on a server and on the tasks of its cluster. See tf.Session.reset.

    Raises:
      errors.InvalidArgumentError: the target is "". errors.NotFoundError: the target has an unknown scheme.
    """
    server = find(target)
    text = target.decode() if isinstance(target, bytes) else target
    if server is None and text in ("", "local"):
        raise errors.InvalidArgumentError(
            None, None, f"Session.reset needs the target of a server, but got {text!r}. The state of a local session is deleted when it is closed."
        )
    if server is not None and len(server.addresses) == 1:
        server.reset(containers)
    else:
        _of_clusters("remote_session").master_of(text.removeprefix(_SCHEME), server).reset(containers or (), config)


def addresses_of(server: LocalServer, config: messages.ConfigProto) -> dict[tuple[str, int], str]:
    """The addresses of the tasks of a session by (job, index); empty if its server is the only one.

    A ClusterDef in the session's ConfigProto takes precedence over the server's cluster.
    """
    named = {(job.name, index): address for job in config.cluster_def.job for index, address in job.tasks.items()}
    return named or (server.addresses if len(server.addresses) > 1 else {})


def cluster_error(server: LocalServer, config: messages.ConfigProto) -> errors.InvalidArgumentError | None:
    """The error if the ClusterDef in a session's ConfigProto is invalid for its server, else None.

    As in 1.15, the ClusterDef must name the server's address exactly once, under another job and index than the server was started with.
    """
    # The messages are 1.15's.
    named = [(job.name, index) for job in config.cluster_def.job for index, address in job.tasks.items() if _running.get(_SCHEME + address) is server]
    if not config.cluster_def.job or (len(named) == 1 and task_name(*named[0]) != server.task_name):
        return None
    if not named:
        text = f"The master (current machine) is not included in the provided cluster_def. {config.cluster_def}"
    elif task_name(*named[0]) != server.task_name:
        text = f"Found multiple matching tasks that correspond to to the master. Master target: '{server.target}'. ClusterDef: {config.cluster_def}"
    else:
        text = (
            "The ClusterSpec names the job and task index to be the same names that were provided when the server booted. This is currently "
            f"not allowed. Job: {named[0][0]}, task index: {named[0][1]}"
        )
    return errors.InvalidArgumentError(None, None, text)


def servers_of(server: LocalServer | None, config: messages.ConfigProto) -> dict[str, LocalServer]:
    """The servers of a session by task name; empty without a server. Operations without a device are placed on the first.

    With a ClusterDef in the session's ConfigProto, these are its tasks, the session's own server first; else the tasks of the server's
    cluster in the order of names.
    """
    if server is None:
        return {}
    # Sorted by (not the session's own, name). Without a ClusterDef the order is that of names alone, the same for all sessions.
    named = bool(config.cluster_def.job)
    members = [(task_name(*task), _running[_SCHEME + address]) for task, address in sorted(addresses_of(server, config).items())]
    members = members or [(server.task_name, server)]
    return dict(sorted(members, key=lambda member: (named and member[1] is not server, member[0])))


def devices_of(servers: dict[str, LocalServer], config: messages.ConfigProto) -> list[Device]:
    """The devices of a session: those of the tasks of all its servers; without servers those of /job:localhost."""
    if len(servers) < 2:
        return session_devices(config, next(iter(servers), TASK))
    return [device for task, member in servers.items() for device in session_devices(member.config, task)]
