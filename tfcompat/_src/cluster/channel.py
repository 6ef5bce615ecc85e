"""gRPC calls of other servers' services. Lost connections are retried; statuses become tf.errors."""

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

# No limit on messages that this process sends or receives as a client; a server sets its own. Reconnects quickly, as servers of a cluster
# start in any order. so_reuseport is off, so that two servers cannot share a port.
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
"""tfcompat's own service: several tensors in one call, and lines."""
_RETRIES = 10
"""Retries of a call after a lost connection, as many as TensorFlow 1.15 makes of calls to workers."""
_channels: dict[str, grpc.Channel] = {}
_lock = threading.Lock()


def request_id() -> int:
    """Returns a random request_id, by which a server recognizes a repeated request. 0 means no id."""
    return secrets.randbits(62) + 1


def channel_to(address: str) -> grpc.Channel:
    """Returns the channel to a server, which all calls of this process share."""
    with _lock:
        if address not in _channels:
            _channels[address] = trust.channel(address, OPTIONS)
        return _channels[address]


class Call:
    """A call in progress.

    Args:
      start: starts the call, and again for each retry; returns a grpc.Future.
    """

    def __init__(self, start: Callable[[], Any]) -> None:
        self._start, self._tries = start, 0
        self._future = start()
        self._cancelled = False

    def result(self, timeout: float | None = None) -> Any:
        """Waits for the reply; repeats the call after a lost connection.

        Raises:
          errors.OpError: the error of the service, or of the call. TimeoutError: there is no reply after `timeout` seconds.
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
            # UNAVAILABLE means that the connection was lost. The request_id lets the server detect a repetition.
            self._tries += 1
            if not isinstance(error, errors.UnavailableError) or self._tries > _RETRIES or self._cancelled:
                raise error
            self._future = self._start()
            # `cancel` may have cancelled the previous future in the meantime.
            if self._cancelled:
                self._future.cancel()

    def cancel(self) -> None:
        """Cancels the call; `result` then raises CancelledError."""
        self._cancelled = True
        self._future.cancel()

    def when_done(self, callback: Callable[[Call], None]) -> None:
        """Calls `callback` when the call ends. After an error it runs in another thread, as `result` may repeat the call and wait."""

        def done(future: Any) -> None:
            if not future.cancelled() and future.code() is grpc.StatusCode.OK:
                callback(self)
            else:
                THREADS.submit(callback, self)

        self._future.add_done_callback(done)


def _error(error: grpc.RpcError) -> errors.OpError:
    """Converts gRPC's error. As in TensorFlow 1.15, "Stream removed", which gRPC reports as UNKNOWN, means that the peer has gone."""
    code, text = error.code().value[0], error.details() or ""
    if code == errors.DEADLINE_EXCEEDED:
        text = "Deadline Exceeded"
    elif code == errors.UNKNOWN and "Stream removed" in text:
        code = errors.UNAVAILABLE
    return wire.error_of(code, text)


class RemoteService:
    """Calls the methods of a service in another process, by name.

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
        """Starts a call of a method; `fields` are those of its request. The deadline is `timeout` seconds from now."""
        return self.begin_with(name, self._methods[name][1](**fields), timeout=timeout)

    def begin_with(self, name: str, request: Message, *, timeout: float | None = None) -> Call:
        """Starts a call of a method with a request message."""
        # wait_for_ready: a server that has not started yet is waited for.
        method, _ = self._methods[name]
        return Call(lambda: method.future(request, timeout=timeout, wait_for_ready=True))

    def call(self, name: str, *, timeout: float | None = None, cancellation: Cancellation | None = None, **fields: Any) -> Any:
        """Calls a method and returns its reply; `cancellation` cancels the call.

        Raises:
          errors.OpError: the call fails, or is cancelled.
        """
        call = self.begin(name, timeout=timeout, **fields)
        if cancellation is not None:
            cancellation.on_cancel(call.cancel)
        try:
            return call.result()
        # Also after KeyboardInterrupt, so that the service does not work on for nobody.
        except BaseException:
            call.cancel()
            raise
