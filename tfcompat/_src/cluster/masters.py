"""Clients of masters: RemoteMaster calls the master of another process over gRPC, StraightMaster that of a server in this process directly."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.cluster import wire
from tfcompat._src.cluster.cancellation import Cancellation
from tfcompat._src.cluster.channel import MASTER, RemoteService, request_id
from tfcompat._src.cluster.master import Master, MasterSession
from tfcompat._src.proto import messages


class RemoteSteps:
    """A session at the master of another process.

    Args:
      service: its MasterService. handle, version: the session's name, and the version of its graph.
      timeout: of calls other than `run`, in seconds, or None.
    """

    def __init__(self, service: RemoteService, handle: str, version: int, timeout: float | None) -> None:
        self._service, self._handle, self._version, self._timeout = service, handle, version, timeout

    def extend(self, graph_def: Any) -> None:
        """Adds the nodes of a GraphDef."""
        reply = self._service.call(
            "ExtendSession", timeout=self._timeout, session_handle=self._handle, graph_def=graph_def,
            current_graph_version=self._version,
        )  # fmt: skip
        self._version = reply.new_graph_version

    def run(
        self, feeds: dict[Any, Any], fetches: list[Any], targets: list[Any], options: Any, timeout: float | None, partial: str = ""
    ) -> tuple[list[Any], Any]:  # fmt: skip
        """Returns the values of `fetches` and a RunMetadata message; see MasterSession.run."""
        # The request_id makes a repetition after a lost connection harmless. An error in the body may be longer than a gRPC status.
        reply = self._service.call(
            "RunStep", timeout=timeout, session_handle=self._handle, feed=[_named(t, value) for t, value in feeds.items()],
            fetch=[t.name for t in fetches], target=[op.name for op in targets], options=options, partial_run_handle=partial,
            store_errors_in_response_body=True, request_id=request_id(),
        )  # fmt: skip
        if reply.status_code:
            raise wire.error_of(reply.status_code, reply.status_error_message)
        found = {named.name: wire.from_proto(named.tensor) for named in reply.tensor}
        return [found[t.name] for t in fetches], reply.metadata

    def set_up(self, feeds: list[Any], fetches: list[Any], targets: list[Any]) -> str:
        """Prepares a partial run; returns the name that `run` takes as `partial`."""
        reply = self._service.call(
            "PartialRunSetup", timeout=self._timeout, session_handle=self._handle, feed=[t.name for t in feeds], fetch=[t.name for t in fetches],
            target=[op.name for op in targets], request_id=request_id(),
        )  # fmt: skip
        return str(reply.partial_run_handle)

    def devices(self) -> list[Any]:
        """Returns the DeviceAttributes messages of the session's tasks."""
        reply = self._service.call("ListDevices", timeout=self._timeout, session_handle=self._handle)
        return [*reply.local_device, *reply.remote_device]

    def close(self) -> None:
        """Closes the session."""
        self._service.call("CloseSession", timeout=self._timeout, session_handle=self._handle)


def _named(tensor: Any, value: Any) -> Any:
    return messages.NamedTensorProto(name=tensor.name, tensor=wire.to_proto(value, tensor.dtype))


class RemoteMaster:
    """The master of another process, by its address."""

    def __init__(self, address: str) -> None:
        self._target = f"grpc://{address}"
        self._service = RemoteService(address, MASTER)

    def create(self, graph_def: Any, config: Any, timeout: float | None) -> RemoteSteps:
        """Creates a session with the nodes of a GraphDef, and a ConfigProto or None; `timeout` in seconds limits the calls of the session."""
        reply = self._service.call("CreateSession", timeout=timeout, graph_def=graph_def, config=config, target=self._target)
        return RemoteSteps(self._service, reply.session_handle, reply.graph_version, timeout)

    def devices(self, timeout: float | None) -> list[Any]:
        """Returns the DeviceAttributes messages of all tasks of its cluster."""
        reply = self._service.call("ListDevices", timeout=timeout)
        return [*reply.local_device, *reply.remote_device]

    def reset(self, containers: Sequence[str], config: Any) -> None:
        """Clears containers, by default that of each job. The ConfigProto, or None, has device filters and a timeout."""
        # The filters choose the tasks; a reset has no other settings.
        filters = config.device_filters if config is not None else ()
        self._service.call("Reset", timeout=_reset_seconds(config), container=containers, device_filters=filters)


def _reset_seconds(config: messages.ConfigProto | None) -> float | None:
    """Returns the timeout of a reset in seconds, from a ConfigProto or None; None without a limit."""
    return config.operation_timeout_in_ms / 1000 if config is not None and config.operation_timeout_in_ms > 0 else None


class _Limited:
    """A context with a Cancellation that is cancelled after some seconds; the work's error becomes DeadlineExceededError then.

    Other errors get the text that they would have after a call over gRPC.
    """

    def __init__(self, seconds: float | None) -> None:
        self.cancellation, self._is_over = Cancellation(), False
        self._timer = None if seconds is None else threading.Timer(seconds, self._end)

    def _end(self) -> None:
        self._is_over = True
        self.cancellation.cancel()

    def __enter__(self) -> Cancellation:
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()
        return self.cancellation

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if self._timer is not None:
            self._timer.cancel()
        # Cancelled work raises CancelledError, or UnavailableError if its line was broken to unblock it.
        if isinstance(error, (errors.CancelledError, errors.UnavailableError)) and self._is_over:
            raise errors.DeadlineExceededError(None, None, "Deadline Exceeded") from None
        # The master's nodes are not those of the client's graph: RemoteSession finds these again by the text.
        if isinstance(error, errors.OpError):
            raise wire.error_of(*wire.status_of(error)) from None


class StraightSteps:
    """A session at a master of this process; the interface of RemoteSteps."""

    def __init__(self, master: Master, session: MasterSession) -> None:
        self._master, self._session = master, session

    def extend(self, graph_def: Any) -> None:
        """Adds the nodes of a GraphDef."""
        self._session.extend(graph_def, self._session.version)

    def run(
        self, feeds: dict[Any, Any], fetches: list[Any], targets: list[Any], options: Any, timeout: float | None, partial: str = ""
    ) -> tuple[list[Any], Any]:  # fmt: skip
        """Returns the values of `fetches` and a RunMetadata message, or None."""
        # Looked up on each run: the table keeps the sessions that are in use, and raises AbortedError for one that it has dropped.
        session = self._master.session(self._session.handle)
        given = {t.name: value for t, value in feeds.items()}
        with _Limited(timeout) as cancellation:
            return session.run(
                given, [t.name for t in fetches], [op.name for op in targets], options or messages.RunOptions(), cancellation, partial
            )

    def set_up(self, feeds: list[Any], fetches: list[Any], targets: list[Any]) -> str:
        """Prepares a partial run; returns the name that `run` takes as `partial`."""
        names = [[element.name for element in part] for part in (feeds, fetches, targets)]
        return self._session.set_up(*names)

    def devices(self) -> list[Any]:
        """Returns the DeviceAttributes messages of the session's tasks."""
        return self._session.devices()

    def close(self) -> None:
        """Closes the session."""
        self._master.close(self._session.handle)


class StraightMaster:
    """The master of a server in this process; the interface of RemoteMaster."""

    def __init__(self, master: Master) -> None:
        self._master = master

    def create(self, graph_def: Any, config: Any, timeout: float | None) -> StraightSteps:
        """Creates a session; waits at most `timeout` seconds for its tasks."""
        with _Limited(timeout) as cancellation:
            return StraightSteps(self._master, self._master.create(graph_def, config or messages.ConfigProto(), cancellation))

    def devices(self, timeout: float | None) -> list[Any]:
        """Returns the DeviceAttributes messages of all tasks of its cluster."""
        with _Limited(timeout) as cancellation:
            return self._master.devices(cancellation)

    def reset(self, containers: Sequence[str], config: Any) -> None:
        """Clears containers; see RemoteMaster.reset."""
        filters = config.device_filters if config is not None else ()
        with _Limited(_reset_seconds(config)) as cancellation:
            self._master.reset(containers, filters, cancellation)
