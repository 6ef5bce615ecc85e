"""The master of a server: keeps the sessions of clients, each with its graph, and runs their steps."""

from __future__ import annotations

import itertools
import secrets
import threading
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from tfcompat._src.base import errors
from tfcompat._src.cluster import session_graph
from tfcompat._src.cluster.cancellation import Cancellation
from tfcompat._src.cluster.cluster_steps import ClusterSteps, devices_of
from tfcompat._src.cluster.local_steps import LocalSteps
from tfcompat._src.cluster.members import members_of
from tfcompat._src.cluster.session_table import SessionTable
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.proto import messages

_CLOSED = "Step was cancelled by an explicit call to `Session::Close()`."


class _Steps(Protocol):
    """Runs the steps of a session: LocalSteps in this process, ClusterSteps over several."""

    def run(
        self, feeds: dict[Tensor, Any], fetches: Sequence[Tensor], targets: Sequence[Operation], options: Any, cancellation: Cancellation
    ) -> tuple[list[Any], Any]: ...

    def set_up(self, feeds: list[Tensor], fetches: list[Tensor], targets: list[Operation]) -> str: ...

    def go_on(
        self, name: str, feeds: dict[Tensor, Any], fetches: Sequence[Tensor], targets: Sequence[Operation], cancellation: Cancellation
    ) -> list[Any]: ...

    def devices(self) -> list[Any]: ...

    def close(self) -> None: ...


class MasterSession:
    """A client's session: its graph, the version of that, and the steps that run.

    Args:
      master: the Master. handle: the session's name.
      config: the ConfigProto of the session, merged with the server's.
      cancellation: cancels the wait for tasks that do not answer.
    """

    def __init__(self, master: Master, handle: str, config: Any, cancellation: Cancellation) -> None:
        self.handle, self.graph, self.version = handle, Graph(), 0
        self._lock = threading.Lock()
        self._running: set[Cancellation] = set()
        self.is_closed = False
        self._callables: dict[int, Any] = {}
        self._numbers = itertools.count(1)
        members = members_of(master.server, config)
        if all(member.server is not None for member in members):
            self._steps: _Steps = LocalSteps({m.task: m.server for m in members}, self.graph, config)
        else:
            self._steps = ClusterSteps(master.worker, members, self.graph, config, handle, cancellation)

    def extend(self, graph_def: Any, version: int) -> int:
        """Adds nodes to the graph; returns its new version.

        Args:
          graph_def: the nodes. version: of the graph as the client knows it.

        Raises:
          errors.AbortedError: the graph has another version. errors.OpError: the nodes cannot be added.
        """
        with self._lock:
            if version != self.version:
                raise errors.AbortedError(None, None, f"Current version is {self.version} but caller expected {version}.")
            self.add(graph_def)
            self.version += 1
            return self.version

    def add(self, graph_def: messages.GraphDef) -> None:
        """Adds nodes to the graph, without a check of the version."""
        session_graph.extend(self.graph, graph_def)

    def run(
        self, feeds: dict[str, Any], fetches: Sequence[str], targets: Sequence[str], options: Any, cancellation: Cancellation,
        partial: str = "",
    ) -> tuple[list[Any], Any]:  # fmt: skip
        """Runs a step, or continues the partial run named `partial`.

        Returns:
          The values of `fetches`, in order, and a RunMetadata message, or None if `options` ask for none.

        Raises:
          errors.OpError: the step failed, or the session was closed.
        """
        # Names are resolved first: an unknown one raises NotFoundError before the step counts as running.
        graph = self.graph
        given = {session_graph.tensor(graph, name): value for name, value in feeds.items()}
        wanted = [session_graph.tensor(graph, name) for name in fetches]
        needed = [session_graph.operation(graph, name) for name in targets]
        with self._lock:
            if self.is_closed:
                raise errors.CancelledError(None, None, _CLOSED)
            self._running.add(cancellation)
        try:
            if partial:
                return self._steps.go_on(partial, given, wanted, needed, cancellation), None
            return self._steps.run(given, wanted, needed, options, cancellation)
        except (errors.CancelledError, RuntimeError):
            # A step that `close` stopped says so, whatever it raised.
            if self.is_closed:
                raise errors.CancelledError(None, None, _CLOSED) from None
            raise
        finally:
            with self._lock:
                self._running.discard(cancellation)

    def set_up(self, feeds: Iterable[str], fetches: Iterable[str], targets: Iterable[str]) -> str:
        """Prepares a partial run; returns the name that `run` takes as `partial`."""
        graph = self.graph
        return self._steps.set_up(
            [session_graph.tensor(graph, name) for name in feeds],
            [session_graph.tensor(graph, name) for name in fetches],
            [session_graph.operation(graph, name) for name in targets],
        )

    def make_callable(self, options: Any) -> int:
        """Stores a CallableOptions message; returns its handle.

        Raises:
          NotImplementedError: the options have tensor_connection.
        """
        if options.tensor_connection:
            raise NotImplementedError("tfcompat does not support CallableOptions.tensor_connection: feed the tensors instead.")
        number = next(self._numbers)
        self._callables[number] = options
        return number

    def callable_options(self, number: int) -> Any:
        """Returns the CallableOptions of a handle; errors.InvalidArgumentError if it is unknown."""
        if number not in self._callables:
            raise errors.InvalidArgumentError(None, None, f"No such callable handle: {number}")
        return self._callables[number]

    def release_callable(self, number: int) -> None:
        """Removes a CallableOptions message; errors.InvalidArgumentError if the handle is unknown."""
        self.callable_options(number)
        del self._callables[number]

    def devices(self) -> list[Any]:
        """Returns the DeviceAttributes messages of the session's tasks."""
        return self._steps.devices()

    def close(self) -> None:
        """Cancels the running steps, and ends the session at its tasks."""
        with self._lock:
            self.is_closed = True
            # Cancelled outside of the lock, which a step takes when it ends.
            running = list(self._running)
        for cancellation in running:
            cancellation.cancel()
        self._steps.close()


class Master:
    """The sessions of a server's clients, by handle.

    Args:
      server: the LocalServer. worker: its Worker.
    """

    def __init__(self, server: Any, worker: Any) -> None:
        self.server, self.worker = server, worker
        self._sessions = SessionTable[MasterSession]()

    def create(self, graph_def: messages.GraphDef, config: messages.ConfigProto, cancellation: Cancellation) -> MasterSession:
        """Creates a session; waits until its tasks answer.

        Args:
          graph_def: the first nodes. config: the client's ConfigProto; settings of the server override it.
          cancellation: cancels the wait.

        Raises:
          errors.OpError: the nodes or the settings are not accepted.
        """
        if config.session_inter_op_thread_pool:
            raise errors.InvalidArgumentError(
                None, None, "A session of a server cannot have thread pools of its own: leave ConfigProto.session_inter_op_thread_pool empty."
            )  # fmt: skip
        # The server's settings are merged again at the end, so that they override the client's.
        merged = messages.ConfigProto()
        for part in (self.server.config, config, self.server.config):
            merged.MergeFrom(part)
        session = MasterSession(self, secrets.token_hex(8), merged, cancellation)
        session.add(graph_def)
        self._sessions.add(session.handle, session)
        return session

    def session(self, handle: str) -> MasterSession:
        """Returns a session; errors.AbortedError if the handle is unknown, as after a restart of this server."""
        found = self._sessions.get(handle)
        if found is None:
            raise errors.AbortedError(None, None, f"Session {handle} is not found.")
        return found

    def close(self, handle: str) -> None:
        """Closes a session; errors.AbortedError if the handle is unknown."""
        session = self._sessions.pop(handle)
        if session is None:
            raise errors.AbortedError(None, None, f"Session {handle} is not found. Possibly, this master has restarted.")
        session.close()

    def reset(self, containers: Sequence[str], device_filters: Iterable[str], cancellation: Cancellation) -> None:
        """Clears containers (by default that of each job) on the tasks that pass the filters; closes all sessions.

        `cancellation` cancels the wait for tasks that do not answer.
        """
        config = messages.ConfigProto()
        config.MergeFrom(self.server.config)
        config.device_filters.extend(device_filters)
        # Also on tasks that no session of this master uses: variables belong to the servers.
        for member in members_of(self.server, config):
            worker = member.worker(self.worker)
            if worker is self.worker:
                worker.cleanup_all(list(containers))
            else:
                worker.cleanup_all(list(containers), cancellation)
        for session in self._sessions.pop_all():
            session.close()

    def devices(self, cancellation: Cancellation) -> list[Any]:
        """Returns the DeviceAttributes messages of all tasks of the server's cluster; `cancellation` cancels the wait for them."""
        return devices_of({member.task: member.worker(self.worker) for member in members_of(self.server, self.server.config)}, cancellation)
