"""Lines on which a process sends bytes to a server, in one direction: a socket of their own where one can be had, else a call of gRPC.

A socket has no threads between the sender and the receiver, and its bytes are copied by the kernel alone. The server is asked for one by the
method Open, which answers a port and a secret that lets one connection in. Where connections are encrypted, or the port cannot be
reached from here, the bytes go in messages of one call that stays open.
"""

from __future__ import annotations

import contextlib
import io
import os
import queue
import secrets
import socket
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeAlias, cast

import grpc

from tfcompat._src.base import errors
from tfcompat._src.cluster import channel, trust
from tfcompat._src.cluster.threads import THREADS
from tfcompat._src.proto import pool

Metadata: TypeAlias = tuple[tuple[str, str], ...]
"""What the line is for, by names."""
_MESSAGE_BYTES = 1 << 20
_SECRET_BYTES = 16
_ANSWER_SECONDS = 10.0
_MOST_EXPECTED = 1024
_IDLE_SECONDS, _PROBE_SECONDS, _PROBES = 30, 10, 3
"""A line on which nothing comes for so long is asked whether its other end is alive, so often."""


class Source(Protocol):
    """Where bytes of a line come from."""

    def read_into(self, room: memoryview) -> int:
        """Fills `room`; how much of it, less than all only where the line has ended."""


class Line(Protocol):
    """A line to a server."""

    def send(self, parts: Sequence[bytes | memoryview]) -> None:
        """Sends bytes, which must stay as they are until the receiver has them; nothing where the line has broken."""

    def end(self) -> None:
        """Says that nothing more comes."""

    def wait_ended(self, seconds: float) -> None:
        """Waits until the receiver has all, or has gone, but no longer than so."""


# ---- this end ----


def open_line(address: str, metadata: Metadata, broke: Callable[[str], None]) -> Line:
    """A line to the server at an address.

    Args:
      address: "host:port". metadata: what it is for.
      broke: is called with the reason when it breaks before it has ended.

    Raises:
      errors.UnavailableError: the server does not answer.
    """
    connected = None if trust.is_encrypted() else _connected(address, metadata)
    return _CallLine(address, metadata, broke) if connected is None else _SocketLine(connected, broke)


def _connected(address: str, metadata: Metadata) -> socket.socket | None:
    """A socket whose other end expects a line; None where there is none."""
    host = address.rpartition(":")[0].strip("[]") or "localhost"
    try:
        found = channel.RemoteService(address, channel.TRANSFER).call("Open", timeout=_ANSWER_SECONDS, purpose=dict(metadata))
        connection = socket.create_connection((host, found.port), _ANSWER_SECONDS)
    except (errors.UnimplementedError, OSError):
        return None
    except errors.OpError as e:
        raise errors.UnavailableError(None, None, f"The server at {address} does not answer: {e.message}") from None
    connection.settimeout(None)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    _probe(connection)
    _of_this_process(connection)
    connection.sendall(found.secret)
    return connection


class _SocketLine:
    def __init__(self, connection: socket.socket, broke: Callable[[str], None]) -> None:
        self._socket, self._broke = connection, broke
        self._is_ending = self._is_over = False
        self._watcher = threading.Thread(target=self._watch, name="tfcompat-line", daemon=True)
        self._watcher.start()

    def send(self, parts: Sequence[bytes | memoryview]) -> None:
        if self._is_over:
            return
        left = [memoryview(part).cast("B") for part in parts if len(part)]
        try:
            while left:
                count = self._socket.sendmsg(left)
                while left and count >= len(left[0]):
                    count -= len(left.pop(0))
                if left:
                    left[0] = left[0][count:]
        except OSError as e:
            self._end(str(e))

    def _watch(self) -> None:
        """Waits for the other end to close the connection, on which it says nothing."""
        why = "its other end has closed it"
        try:
            self._socket.recv(1)
        except OSError as e:
            why = str(e)
        self._end(why)

    def _end(self, why: str) -> None:
        if not self._is_over:
            self._is_over = True
            with contextlib.suppress(OSError):  # it may have been shut down by the other end
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()
            if not self._is_ending:
                self._broke(why)

    def end(self) -> None:
        self._is_ending = True
        with contextlib.suppress(OSError):  # it may have broken
            self._socket.shutdown(socket.SHUT_WR)

    def wait_ended(self, seconds: float) -> None:
        self._watcher.join(seconds)
        self._end("")


class _CallLine:
    def __init__(self, address: str, metadata: Metadata, broke: Callable[[str], None]) -> None:
        self._queue: queue.SimpleQueue[Sequence[bytes | memoryview] | None] = queue.SimpleQueue()
        self._broke, self._is_ending = broke, False
        path = pool.service(channel.TRANSFER)["Push"].path
        self._call = channel.channel_to(address).stream_unary(path).future(self._messages(), metadata=metadata, wait_for_ready=True)
        self._call.add_done_callback(self._ended)

    def send(self, parts: Sequence[bytes | memoryview]) -> None:
        self._queue.put(parts)

    def _messages(self) -> Iterator[bytes]:
        """What is sent, in messages that are not too large: small parts share one."""
        held: list[bytes | memoryview] = []
        room = _MESSAGE_BYTES
        while (parts := self._queue.get()) is not None:
            for part in parts:
                view = memoryview(part).cast("B") if len(part) else memoryview(b"")
                while len(view) > room:
                    yield b"".join([*held, view[:room]])
                    view, held, room = view[room:], [], _MESSAGE_BYTES
                held.append(view)
                room -= len(view)
            if self._queue.empty():
                yield b"".join(held)
                held, room = [], _MESSAGE_BYTES
        if held:
            yield b"".join(held)

    def _ended(self, call: grpc.Future) -> None:
        if not self._is_ending:
            self._broke("it was cancelled" if call.cancelled() else call.details() or "it has ended")

    def end(self) -> None:
        self._is_ending = True
        self._queue.put(None)

    def wait_ended(self, seconds: float) -> None:
        try:
            self._call.result(seconds)
        except grpc.FutureTimeoutError:
            self._call.cancel()
        except (grpc.RpcError, grpc.FutureCancelledError):
            return  # it has ended before this process: what it did not take it does not need


# ---- the server's end ----


class MessageSource:
    """The bytes of messages of a call."""

    def __init__(self, messages: Iterator[bytes]) -> None:
        self._messages, self._left = messages, memoryview(b"")

    def read_into(self, room: memoryview) -> int:
        filled = 0
        while filled < len(room):
            while not self._left:
                message = next(self._messages, None)
                if message is None:
                    return filled
                self._left = memoryview(message)
            count = min(len(room) - filled, len(self._left))
            room[filled : filled + count] = self._left[:count]
            self._left = self._left[count:]
            filled += count
        return filled


class SocketSource:
    """The bytes of a connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._file = cast(io.BufferedReader, connection.makefile("rb", 1 << 16))

    def read_into(self, room: memoryview) -> int:
        filled = 0
        while filled < len(room) and (count := self._file.readinto(room[filled:])):
            filled += count
        return filled

    def close(self) -> None:
        """Lets go of what it reads by; the connection stays."""
        self._file.close()

    def is_open(self) -> bool:
        """Whether the other end may still send."""
        try:
            return self._socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False


class Door:
    """Where connections come in, once they have been asked for.

    Args:
      host: where it listens, from the first time on that it expects a connection.
      take: is called with what a line is for and its source, in a thread of its own; the line has ended when it returns.
    """

    def __init__(self, host: str, take: Callable[[dict[str, str], SocketSource], None]) -> None:
        self._host, self._take = host.strip("[]"), take
        self._lock = threading.Lock()
        self._listening: socket.socket | None = None
        self._held: socket.socket | None = None
        self._expected: OrderedDict[bytes, dict[str, str]] = OrderedDict()

    def expect(self, metadata: dict[str, str]) -> tuple[int, bytes]:
        """Expects a connection; the port, and the secret that it begins with.

        Raises:
          errors.UnimplementedError: connections are encrypted, or it cannot listen.
        """
        if trust.is_encrypted():
            raise errors.UnimplementedError(None, None, "This server takes encrypted connections only")
        with self._lock:
            if self._listening is None:
                self._listening = self._listen()
            secret = secrets.token_bytes(_SECRET_BYTES)
            self._expected[secret] = metadata
            if len(self._expected) > _MOST_EXPECTED:
                self._expected.popitem(last=False)
            return int(self._listening.getsockname()[1]), secret

    def _listen(self) -> socket.socket:
        try:
            found = socket.create_server((self._host, 0), family=socket.AF_INET6 if ":" in self._host else socket.AF_INET)
            self._held = _other_loopback(found)
        except OSError as e:
            raise errors.UnimplementedError(None, None, f"This server cannot listen at another port of {self._host}: {e}") from None
        _of_this_process(found)
        threading.Thread(target=_accept, args=(found, weakref.ref(self)), name="tfcompat-door", daemon=True).start()
        return found

    def let_in(self, connection: socket.socket) -> None:
        """Takes the line of a connection that knows a secret, and ends the others."""
        with connection, contextlib.closing(SocketSource(connection)) as source:
            _of_this_process(connection)
            _probe(connection)
            room = bytearray(_SECRET_BYTES)
            connection.settimeout(_ANSWER_SECONDS)
            try:
                source.read_into(memoryview(room))
            except OSError:
                return
            with self._lock:
                metadata = self._expected.pop(bytes(room), None)
            if metadata is not None:
                connection.settimeout(None)
                self._take(metadata, source)

    def close(self) -> None:
        """Lets nobody in any more."""
        with self._lock:
            if self._listening is not None:
                with contextlib.suppress(OSError):  # some systems do not shut down what listens
                    self._listening.shutdown(socket.SHUT_RDWR)
                self._listening.close()
            if self._held is not None:
                self._held.close()


def _other_loopback(listening: socket.socket) -> socket.socket | None:
    """Holds the port of a socket on the loopback interface of IPv6 too, so that no server of "localhost" gets half of it; None without IPv6."""
    held = None
    try:
        held = socket.socket(socket.AF_INET6)
        held.bind(("::1", listening.getsockname()[1]))
    except OSError:  # there is no IPv6, or the port is held there already: either way nobody else gets it now
        if held is not None:
            held.close()
        return None
    _of_this_process(held)
    return held


def _accept(listening: socket.socket, door: Callable[[], Door | None]) -> None:
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            return  # the door was closed
        found = door()
        if found is None:
            connection.close()
            return
        THREADS.submit(found.let_in, connection)


# ---- both ----

_own: weakref.WeakSet[socket.socket] = weakref.WeakSet()


def _of_this_process(connection: socket.socket) -> None:
    """Has a child of this process not keep a connection open that ends with this process."""
    _own.add(connection)


def _close_in_child() -> None:
    for connection in list(_own):
        os.close(connection.detach()) if connection.fileno() >= 0 else None


os.register_at_fork(after_in_child=_close_in_child)


def _probe(connection: socket.socket) -> None:
    """Has the kernel look whether the other end's machine is alive where nothing is sent."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", _IDLE_SECONDS), ("TCP_KEEPINTVL", _PROBE_SECONDS), ("TCP_KEEPCNT", _PROBES)):
        if hasattr(socket, option):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
