"""The master of a server: the sessions that it keeps for clients."""

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
from tfcompat._src.cluster.trust import Gate
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.proto import messages

_CLOSED = "Step was cancelled by an explicit call to `Session::Close()`."


class _Steps(Protocol):
    """What runs the steps of a session: in this process, or over tasks of several."""

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
    """The graph of a client's session, and what runs its steps.

    Args:
      master: the Master. handle: the session's name.
      config: the ConfigProto of the session, with the server's settings.
      cancellation: tells it to wait no more for tasks that do not answer. is_remote: whether the client is another process.
    """

    def __init__(self, master: Master, handle: str, config: Any, cancellation: Cancellation, is_remote: bool) -> None:
        self.handle, self.graph, self.version = handle, Graph(), 0
        self._lock = threading.Lock()
        self._running: set[Cancellation] = set()
        self.is_closed = False
        self._callables: dict[int, Any] = {}
        self._numbers = itertools.count(1)
        members = members_of(master.server, config)
        gate = master.gate if is_remote else None
        self._gate = None
        if all(member.server is not None for member in members):
            self._gate = gate
            self._steps: _Steps = LocalSteps({m.task: m.server for m in members}, self.graph, config)
        else:
            self._steps = ClusterSteps(master.worker, members, self.graph, config, handle, cancellation, gate)

    def extend(self, graph_def: Any, version: int) -> int:
        """Adds nodes to a graph of which the client knows this version; the new version.

        Raises:
          errors.AbortedError: the version is another. errors.OpError: the nodes do not fit.
        """
        with self._lock:
            if version != self.version:
                raise errors.AbortedError(None, None, f"Current version is {self.version} but caller expected {version}.")
            self.add(graph_def)
            self.version += 1
            return self.version

    def add(self, graph_def: messages.GraphDef) -> None:
        """Adds nodes to the graph; those of another process are checked, here or by the workers that get them."""
        session_graph.extend(self.graph, graph_def if self._gate is None else self._gate.checked(graph_def))

    def run(
        self, feeds: dict[str, Any], fetches: Sequence[str], targets: Sequence[str], options: Any, cancellation: Cancellation,
        partial: str = "",
    ) -> tuple[list[Any], Any]:  # fmt: skip
        """Runs a step, or goes on with the one that was set up as `partial`.

        Returns:
          the values of `fetches`, tensors by name, and a RunMetadata message, or None where `options` ask for none.

        Raises:
          errors.OpError: what went wrong.
        """
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
            if self.is_closed:
                raise errors.CancelledError(None, None, _CLOSED) from None
            raise
        finally:
            with self._lock:
                self._running.discard(cancellation)

    def set_up(self, feeds: Iterable[str], fetches: Iterable[str], targets: Iterable[str]) -> str:
        """Prepares a step that several calls of `run` make; its name for these."""
        graph = self.graph
        return self._steps.set_up(
            [session_graph.tensor(graph, name) for name in feeds],
            [session_graph.tensor(graph, name) for name in fetches],
            [session_graph.operation(graph, name) for name in targets],
        )

    def make_callable(self, options: Any) -> int:
        """Keeps a CallableOptions message; its number.

        Raises:
          NotImplementedError: it connects tensors.
        """
        if options.tensor_connection:
            raise NotImplementedError("tfcompat has no CallableOptions.tensor_connection.")
        number = next(self._numbers)
        self._callables[number] = options
        return number

    def callable_options(self, number: int) -> Any:
        """The CallableOptions of a number; errors.InvalidArgumentError where there is none."""
        if number not in self._callables:
            raise errors.InvalidArgumentError(None, None, f"No such callable handle: {number}")
        return self._callables[number]

    def release_callable(self, number: int) -> None:
        """Forgets a CallableOptions message."""
        self.callable_options(number)
        del self._callables[number]

    def devices(self) -> list[Any]:
        """DeviceAttributes messages of all its tasks."""
        return self._steps.devices()

    def close(self) -> None:
        """Cancels what runs, and lets go of the tasks."""
        with self._lock:
            self.is_closed = True
            running = list(self._running)
        for cancellation in running:
            cancellation.cancel()
        self._steps.close()


class Master:
    """The sessions of a server's clients.

    Args:
      server: the LocalServer. worker: its Worker. gate: what graphs of other processes may do.
    """

    def __init__(self, server: Any, worker: Any, gate: Gate) -> None:
        self.server, self.worker, self.gate = server, worker, gate
        self._sessions = SessionTable[MasterSession]()

    def create(
        self, graph_def: messages.GraphDef, config: messages.ConfigProto, cancellation: Cancellation, is_remote: bool = False
    ) -> MasterSession:
        """A new session; waits until its tasks answer.

        Args:
          graph_def: its nodes. config: the client's ConfigProto; the server's settings come first.
          cancellation: tells it to wait no more. is_remote: whether the client is another process.

        Raises:
          errors.OpError: the nodes or the settings are refused.
        """
        if config.session_inter_op_thread_pool:
            raise errors.InvalidArgumentError(None, None, "A session of a server takes no thread pools: session_inter_op_thread_pool is set")
        merged = messages.ConfigProto()
        for part in (self.server.config, config, self.server.config):
            merged.MergeFrom(part)
        session = MasterSession(self, secrets.token_hex(8), merged, cancellation, is_remote)
        session.add(graph_def)
        self._sessions.add(session.handle, session)
        return session

    def session(self, handle: str) -> MasterSession:
        """The session of a handle; errors.AbortedError where there is none."""
        found = self._sessions.get(handle)
        if found is None:
            raise errors.AbortedError(None, None, f"Session {handle} is not found.")
        return found

    def close(self, handle: str) -> None:
        """Ends a session; errors.AbortedError where there is none."""
        session = self._sessions.pop(handle)
        if session is None:
            raise errors.AbortedError(None, None, f"Session {handle} is not found. Possibly, this master has restarted.")
        session.close()

    def reset(self, containers: Sequence[str], device_filters: Iterable[str], cancellation: Cancellation) -> None:
        """Forgets the variables of containers, by default of all, on all tasks that pass the filters; ends all sessions.

        `cancellation` tells it to wait no more for tasks that do not answer.
        """
        config = messages.ConfigProto()
        config.MergeFrom(self.server.config)
        config.device_filters.extend(device_filters)
        for member in members_of(self.server, config):
            worker = member.worker(self.worker)
            if worker is self.worker:
                worker.cleanup_all(list(containers))
            else:
                worker.cleanup_all(list(containers), cancellation)
        for session in self._sessions.pop_all():
            session.close()

    def devices(self, cancellation: Cancellation) -> list[Any]:
        """DeviceAttributes messages of all tasks of the server's cluster; `cancellation` tells it to wait no more for them."""
        return devices_of({member.task: member.worker(self.worker) for member in members_of(self.server, self.server.config)}, cancellation)
