"""Calls of the services of other processes, over gRPC."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from typing import Any

import grpc
from google.protobuf.message import Message

from tfcompat._src.base import errors
from tfcompat._src.cluster import trust, wire
from tfcompat._src.cluster.cancellation import Cancellation
from tfcompat._src.cluster.threads import THREADS
from tfcompat._src.proto import pool

OPTIONS = (
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.so_reuseport", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
)
MASTER, WORKER = "tensorflow.MasterService", "tensorflow.WorkerService"
TRANSFER = "tfcompat.TransferService"
"""What workers of tfcompat have besides: several tensors in one call."""
_RETRIES = 10
_channels: dict[str, grpc.Channel] = {}
_lock = threading.Lock()


def request_id() -> int:
    """A random number that tells a request from its repetitions."""
    return secrets.randbits(62) + 1


def channel_to(address: str) -> grpc.Channel:
    """The channel to a server, which all calls share."""
    with _lock:
        if address not in _channels:
            _channels[address] = trust.channel(address, OPTIONS)
        return _channels[address]


class Call:
    """A call that was begun."""

    def __init__(self, start: Callable[[], Any]) -> None:
        self._start, self._tries = start, 0
        self._future = start()
        self._cancelled = False

    def result(self, timeout: float | None = None) -> Any:
        """The reply; a lost connection is tried again.

        Raises:
          errors.OpError: what the service answers, or what became of the call. TimeoutError: `timeout` seconds are over.
        """
        while True:
            try:
                return self._future.result(timeout)
            except grpc.FutureTimeoutError:
                raise TimeoutError from None
            except grpc.FutureCancelledError:
                raise errors.CancelledError(None, None, "The call was cancelled") from None
            except grpc.RpcError as e:
                error = _error(e)
            self._tries += 1
            if not isinstance(error, errors.UnavailableError) or self._tries > _RETRIES or self._cancelled:
                raise error
            self._future = self._start()
            if self._cancelled:
                self._future.cancel()

    def cancel(self) -> None:
        """Has the service stop, and `result` raise CancelledError."""
        self._cancelled = True
        self._future.cancel()

    def when_done(self, callback: Callable[[Call], None]) -> None:
        """Calls back when there is a result or an error; an error in a thread of its own, as the call may be tried again."""

        def done(future: Any) -> None:
            if not future.cancelled() and future.code() is grpc.StatusCode.OK:
                callback(self)
            else:
                THREADS.submit(callback, self)

        self._future.add_done_callback(done)


def _error(error: grpc.RpcError) -> errors.OpError:
    code, text = error.code().value[0], error.details() or ""
    if code == errors.DEADLINE_EXCEEDED:
        text = "Deadline Exceeded"
    elif code == errors.UNKNOWN and "Stream removed" in text:
        code = errors.UNAVAILABLE
    return wire.error_of(code, text)


class RemoteService:
    """A service of another process.

    Args:
      address: "host:port" of its server. service: MASTER, WORKER or TRANSFER.
    """

    def __init__(self, address: str, service: str) -> None:
        self._methods = {
            name: (
                channel_to(address).unary_unary(
                    method.path, request_serializer=method.request.SerializeToString, response_deserializer=method.reply.FromString
                ),
                method.request,
            )
            for name, method in pool.service(service).items()
        }

    def begin(self, name: str, *, timeout: float | None = None, **fields: Any) -> Call:
        """Begins a call of a method with the fields of its request; it ends `timeout` seconds later at the latest."""
        return self.begin_with(name, self._methods[name][1](**fields), timeout=timeout)

    def begin_with(self, name: str, request: Message, *, timeout: float | None = None) -> Call:
        """Begins a call of a method with a request."""
        method, _ = self._methods[name]
        return Call(lambda: method.future(request, timeout=timeout, wait_for_ready=True))

    def call(self, name: str, *, timeout: float | None = None, cancellation: Cancellation | None = None, **fields: Any) -> Any:
        """Calls a method and waits for its reply, until something is cancelled; errors.OpError where it fails."""
        call = self.begin(name, timeout=timeout, **fields)
        if cancellation is not None:
            cancellation.on_cancel(call.cancel)
        try:
            return call.result()
        except BaseException:
            call.cancel()
            raise
