"""The gRPC server: a master and a worker behind one port, which answers MasterService, WorkerService and tfcompat's TransferService."""

from __future__ import annotations

import functools
import os
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import grpc

from tfcompat._src.base import errors
from tfcompat._src.base.confinement import Confinement, confined
from tfcompat._src.cluster import channel, trust, wire
from tfcompat._src.cluster.cancellation import Cancellation
from tfcompat._src.cluster.collective_groups import CollectiveGroups
from tfcompat._src.cluster.lines import Door, MessageSource, SocketSource, Source
from tfcompat._src.cluster.master import Master
from tfcompat._src.cluster.master_service import MasterService
from tfcompat._src.cluster.peers import GROUP, RANK, Groups
from tfcompat._src.cluster.tensor_streams import SENDER, TENSORS
from tfcompat._src.cluster.threads import THREADS
from tfcompat._src.cluster.trust import Gate
from tfcompat._src.cluster.worker import Worker
from tfcompat._src.cluster.worker_service import WorkerService
from tfcompat._src.proto import pool

if TYPE_CHECKING:
    from tfcompat._src.runtime.devices.local_servers import LocalServer

LISTEN_HOST = "TFCOMPAT_LISTEN_HOST"
_SERVED = {
    "grpc.server_handshake_timeout_ms": 10_000, "grpc.keepalive_time_ms": 30_000, "grpc.keepalive_timeout_ms": 30_000,
    "grpc.http2.min_ping_interval_without_data_ms": 10_000,
}  # fmt: skip
"""Close connections that do not begin to speak gRPC within 10 seconds, or whose peer does not answer keep-alive pings."""
_Request = TypeVar("_Request")
_Reply = TypeVar("_Reply")
_CODES = {code.value[0]: code for code in grpc.StatusCode}


class Services:
    """The master and the worker of a server: objects for sessions of this process, services for other processes.

    Args:
      server: the LocalServer. gate: restricts graphs of other processes.
    """

    def __init__(self, server: Any, gate: Gate) -> None:
        self.worker = Worker(server)
        self.master = Master(server, self.worker)
        self._confinement = gate.confinement
        self.groups = Groups()
        self.collectives = CollectiveGroups(server, self.groups)
        self.door = Door(gate.host, functools.partial(_take_line, weakref.ref(server)))
        # The door and the port close with the server object, not at exit: lines are used until the process ends.
        weakref.finalize(server, self.door.close).atexit = False
        service = WorkerService(self.worker, self.collectives, self.door)
        self.worker.streams.calls.answer = functools.partial(_confined, gate.confinement, service.RunGraph)
        self._by_name = {channel.MASTER: MasterService(self.master), channel.WORKER: service, channel.TRANSFER: service}

    def answer(self, service: str, method: str, request: Any, cancellation: Cancellation) -> Any:
        """Returns the reply to a request of another process, within the limits of such requests; raises one of `wire.FAILURES`."""
        return _confined(self._confinement, getattr(self._by_name[service], method), request, cancellation)

    def take(self, purpose: dict[str, str], source: Source, is_open: Callable[[], bool]) -> None:
        """Receives a line until it ends: tensors of a worker, or arrays of a group's process.

        Args:
          purpose: the line's metadata. source: the line. is_open: whether the sender still holds the line.
        """
        if purpose.get(GROUP) == TENSORS:
            self.worker.streams.receive(purpose.get(SENDER, ""), source)
            return
        # A process may send to a group before this one has joined it: its line waits.
        rank = purpose.get(RANK, "")
        peers = self.groups.wait_for(purpose.get(GROUP, ""), lambda: not is_open())
        if peers is not None and rank.isdigit() and int(rank) in peers.others:
            peers.receive(int(rank), source)


def _confined(
    limits: Confinement | None, method: Callable[[_Request, Cancellation], _Reply], request: _Request, cancellation: Cancellation
) -> _Reply:  # fmt: skip
    with confined(limits):
        return method(request, cancellation)


class Listener:
    """The port of a server's services, which is open while the server object lives.

    It listens at the host of its task's address; "localhost" is reached from this machine only. TFCOMPAT_LISTEN_HOST sets another host to
    listen at (0.0.0.0: all addresses of this machine), for a task address that another machine forwards to this one.

    Args:
      server: the LocalServer. address: "host:port" of its task; port 0 for a free one.

    Raises:
      errors.UnknownError: it cannot listen there.
    """

    def __init__(self, server: Any, address: str) -> None:
        host, _, port = address.rpartition(":")
        host = os.environ.get(LISTEN_HOST) or host or "localhost"
        self.gate, where = Gate(host), f"{host}:{port}"
        options = {**dict(channel.OPTIONS), **_SERVED, "grpc.max_receive_message_length": trust.largest_message(self.gate.is_beyond_loopback)}
        # Weak references: gRPC's threads must not keep a server alive that the program has dropped.
        self._grpc = grpc.server(THREADS, handlers=[_Handlers(weakref.ref(server))], options=list(options.items()))
        weakref.finalize(server, self._grpc.stop, None).atexit = False
        self._where = where
        try:
            self.port = trust.add_port(self._grpc, where)
        except RuntimeError as e:
            raise errors.UnknownError(None, None, f"Could not start gRPC server: it cannot listen at {where}: {e}") from None

    def start(self) -> None:
        """Starts to answer calls."""
        self.gate.say(self._where)
        self._grpc.start()


class _Handlers(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc has no types
    """Looks up the handler of a call by its path."""

    def __init__(self, server: Callable[[], Any]) -> None:
        self._by_path = {
            method.path: grpc.unary_unary_rpc_method_handler(
                functools.partial(_answer, server, service, name), method.request.FromString, method.reply.SerializeToString
            )
            for service in (channel.MASTER, channel.WORKER, channel.TRANSFER)
            for name, method in pool.service(service).items()
            if not method.client_streaming
        }
        # The messages of a line are raw bytes, without a protobuf around them.
        push = pool.service(channel.TRANSFER)["Push"].path
        self._by_path[push] = grpc.stream_unary_rpc_method_handler(functools.partial(_take_stream, server))

    def service(self, handler_call_details: Any) -> Any:
        return self._by_path.get(handler_call_details.method)


def _take_line(server: Callable[[], LocalServer | None], purpose: dict[str, str], source: SocketSource) -> None:
    """Receives a line that is a socket; `server` is a weak reference."""
    running = server()
    if running is not None:
        running.services.take(purpose, source, source.is_open)


def _take_stream(server: Callable[[], Any], messages: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
    """Receives a line that is a streaming call, Push."""
    running = server()
    if running is None:
        context.abort(grpc.StatusCode.UNAVAILABLE, "The server has ended")
    # A line that waits for its group looks again when the call ends.
    context.add_callback(running.services.groups.wake)
    running.services.take(dict(context.invocation_metadata()), MessageSource(messages), context.is_active)
    return b""


def _answer(server: Callable[[], Any], service: str, method: str, request: Any, context: grpc.ServicerContext) -> Any:
    """Answers a call with a reply or an error status; cancels the work if the caller gives up."""
    cancellation = Cancellation()
    context.add_callback(cancellation.cancel)
    running = server()
    if running is None:
        context.abort(grpc.StatusCode.UNAVAILABLE, "The server has ended")
    try:
        return running.services.answer(service, method, request, cancellation)
    except wire.FAILURES as e:
        code, text = wire.status_of(e)
    finally:
        cancellation.over()
    context.abort(_CODES[code], wire.status_text(text))
