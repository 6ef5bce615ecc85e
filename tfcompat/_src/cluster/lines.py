"""Lines: one-way byte streams from a process to a server, over a TCP socket if possible, else over a streaming gRPC call.

A socket needs no thread between sender and receiver, and only the kernel copies its bytes. The client asks the server for one by the RPC Open,
which returns a port and a secret that admits one connection. If connections are encrypted, or the port cannot be reached, the bytes are the
messages of one streaming call (Push).
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import queue
import secrets
import socket
import struct
import threading
import time
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeAlias

import grpc

from tfcompat._src.base import errors
from tfcompat._src.cluster import channel, trust
from tfcompat._src.cluster.cancellation import Cancellation
from tfcompat._src.cluster.threads import THREADS
from tfcompat._src.proto import pool

Metadata: TypeAlias = tuple[tuple[str, str], ...]
"""Name-value pairs that tell the server what a line carries."""
_MESSAGE_BYTES = 1 << 20
"""Size of the messages of a streaming call."""
_AHEAD_BYTES = 1 << 16
"""Size of a socket's read-ahead buffer."""
_MOST_PARTS = 512
"""Buffers per sendmsg or recvmsg call. Linux allows 1024 (IOV_MAX)."""
_SECRET_BYTES = 16
_ANSWER_SECONDS = 10.0
"""Timeout of Open, of connecting, and of reading a connection's secret."""
_MOST_EXPECTED = 1024
"""Secrets that are issued and not used yet; one more invalidates the oldest."""
_MOST_UNKNOWN = 64
"""Connections that have not sent their secret yet; one more closes the oldest."""
_REFUSED_SECONDS = 0.1
"""Pause after an accept that failed, as for want of file descriptors."""
_IDLE_SECONDS, _PROBE_SECONDS, _PROBES = 30, 10, 3
"""TCP keep-alive: idle time before the first probe, time between probes, and probes before the connection is closed."""
_STALLED_SECONDS = 60
"""A line breaks if the receiver accepts nothing, or the sender leaves an array unfinished, for this long."""
INTERRUPTED_SECONDS, _LOOKS = 1.0, 10
"""After `interrupt`: a line breaks if a send makes no progress during one interval; it is watched for this many intervals."""


class Source(Protocol):
    """The receiving end of a line."""

    def read_into(self, rooms: Sequence[memoryview], has_begun: bool = False) -> int:
        """Fills the buffers `rooms` in order and returns the number of bytes read, which is less than their size only at the end of the line.

        Raises:
          TimeoutError: a socket delivers nothing for 60 seconds, although these bytes continue an array (`has_begun`, or some came).
        """


class Line(Protocol):
    """The sending end of a line."""

    def send(self, parts: Sequence[bytes | memoryview]) -> None:
        """Sends bytes, which must not change until the receiver has them. Does nothing on a broken line."""

    def interrupt(self) -> None:
        """Breaks the line if `send` is blocked by a receiver that accepts nothing, so that `send` returns. Does not block."""

    def end(self) -> None:
        """Signals the end of the stream."""

    def wait_ended(self, seconds: float) -> None:
        """Waits until the receiver has read everything or has gone, at most `seconds`."""


# ---- the sender ----


def open_line(address: str, metadata: Metadata, broke: Callable[[str], None], cancellation: Cancellation) -> Line:
    """Opens a line to a server.

    Args:
      address: "host:port". metadata: tells the server what the line carries.
      broke: called with the reason if the line breaks before `end`.
      cancellation: cancels the wait for the server.

    Raises:
      errors.UnavailableError: the server does not answer.
    """
    connected = None if trust.is_encrypted() else _connected(address, metadata, cancellation)
    return _CallLine(address, metadata, broke) if connected is None else _SocketLine(connected, broke)


def _connected(address: str, metadata: Metadata, cancellation: Cancellation) -> socket.socket | None:
    """Connects a socket to the server's door; None if the server has none, or it cannot be reached from here."""
    host = address.rpartition(":")[0].strip("[]") or "localhost"
    try:
        # Servers without a door answer UNIMPLEMENTED. A firewall may block its port although gRPC's is open: OSError.
        service = channel.RemoteService(address, channel.TRANSFER)
        found = service.call("Open", timeout=_ANSWER_SECONDS, cancellation=cancellation, purpose=dict(metadata))
        connection = socket.create_connection((host, found.port), _ANSWER_SECONDS)
    except (errors.UnimplementedError, OSError):
        return None
    except errors.OpError as e:
        raise errors.UnavailableError(None, None, f"The server at {address} does not answer: {e.message}") from None
    connection.settimeout(None)
    # Nagle's algorithm would hold small batches back until the previous one is acknowledged.
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    _probe(connection)
    _close_on_fork(connection)
    connection.sendall(found.secret)
    return connection


class _SocketLine:
    """A line over a socket. A thread watches for its end, as a sender that is idle would not notice it."""

    def __init__(self, connection: socket.socket, broke: Callable[[str], None]) -> None:
        self._socket, self._broke = connection, broke
        self._is_ending = self._is_over = self._is_sending = False
        self._sent, self._is_watched, self._lock = 0, False, threading.Lock()
        self._watcher = threading.Thread(target=self._watch, name="tfcompat-line", daemon=True)
        self._watcher.start()

    def send(self, parts: Sequence[bytes | memoryview]) -> None:
        if self._is_over:
            return
        left = deque(memoryview(part).cast("B") for part in parts if len(part))
        self._is_sending = True
        try:
            # Gather output: the kernel copies the arrays from where they are, without one joined buffer.
            while left:
                count = self._socket.sendmsg(itertools.islice(left, _MOST_PARTS))
                self._sent += count
                _drop_bytes(left, count)
        # The send timeout of `_probe` has passed.
        except BlockingIOError:
            self._end(f"its other end has taken nothing for {_STALLED_SECONDS} s")
        except OSError as e:
            self._end(str(e))
        finally:
            self._is_sending = False

    def interrupt(self) -> None:
        with self._lock:
            is_watched, self._is_watched = self._is_watched, True
        if not is_watched:
            THREADS.submit(self._break_if_stalled)

    def _break_if_stalled(self) -> None:
        """Breaks the line if a send makes no progress; watches for some time, as the cancelled step may not have begun to send."""
        for _ in range(_LOOKS):
            # The join is a wait that ends early if the line does.
            sent = self._sent if self._is_sending else None
            self._watcher.join(INTERRUPTED_SECONDS)
            if self._is_over:
                return
            if sent == self._sent and self._is_sending:
                self._end("its other end takes nothing, and a step that waits for that was cancelled")
                return
        self._is_watched = False

    def _watch(self) -> None:
        """Waits until the receiver, which never sends, closes the connection."""
        why = "its other end has closed it"
        try:
            while not self._is_closed_there():
                continue
        except OSError as e:
            why = str(e)
        self._end(why)

    def _is_closed_there(self) -> bool:
        try:
            self._socket.recv(1)
        except BlockingIOError:
            return False  # the receive timeout of the socket has passed
        return True

    def _end(self, why: str) -> None:
        if not self._is_over:
            self._is_over = True
            # Wakes the watcher and a blocked send, which `close` alone does not.
            with contextlib.suppress(OSError):  # it may have been shut down by the other end
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()
            if not self._is_ending:
                self._broke(why)

    def end(self) -> None:
        # Closes one direction: the receiver reads what is on its way, then closes the other, which ends the watcher.
        self._is_ending = True
        with contextlib.suppress(OSError):  # it may have broken
            self._socket.shutdown(socket.SHUT_WR)

    def wait_ended(self, seconds: float) -> None:
        self._watcher.join(seconds)
        self._end("")


class _CallLine:
    """A line over a streaming gRPC call, for encrypted connections and ports that cannot be reached."""

    def __init__(self, address: str, metadata: Metadata, broke: Callable[[str], None]) -> None:
        self._queue: queue.SimpleQueue[Sequence[bytes | memoryview] | None] = queue.SimpleQueue()
        self._broke, self._is_ending = broke, False
        path = pool.service(channel.TRANSFER)["Push"].path
        self._call = channel.channel_to(address).stream_unary(path).future(self._messages(), metadata=metadata, wait_for_ready=True)
        self._call.add_done_callback(self._ended)

    def send(self, parts: Sequence[bytes | memoryview]) -> None:
        self._queue.put(parts)

    def _messages(self) -> Iterator[bytes]:
        """Yields what is sent as messages of at most 1 MiB; small parts share a message."""
        held: list[bytes | memoryview] = []
        room = _MESSAGE_BYTES
        while (parts := self._queue.get()) is not None:
            for part in parts:
                # Large arrays are cut; each full message goes out at once.
                view = memoryview(part).cast("B") if len(part) else memoryview(b"")
                while len(view) > room:
                    yield b"".join([*held, view[:room]])
                    view, held, room = view[room:], [], _MESSAGE_BYTES
                held.append(view)
                room -= len(view)
            # Nothing more to add at the moment: a message that waited to be full would delay its receiver.
            if self._queue.empty():
                yield b"".join(held)
                held, room = [], _MESSAGE_BYTES
        if held:
            yield b"".join(held)

    def interrupt(self) -> None:
        """Does nothing: `send` never blocks."""

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
            return  # the receiver has gone, and needs nothing more


# ---- the receiver ----


class MessageSource:
    """Reads a line from the messages of a streaming call."""

    def __init__(self, messages: Iterator[bytes]) -> None:
        self._messages, self._left = messages, memoryview(b"")

    def read_into(self, rooms: Sequence[memoryview], has_begun: bool = False) -> int:
        filled, left = 0, deque(room for room in rooms if len(room))
        while left:
            while not self._left:
                message = next(self._messages, None)
                if message is None:
                    return filled
                self._left = memoryview(message)
            count, self._left = _copy_into(self._left, left)
            filled += count
        return filled


class SocketSource:
    """Reads a line from a socket.

    Small buffers are read together with what follows them, by one system call; large ones by one call that returns when they are full.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._ahead, self._left = memoryview(bytearray(_AHEAD_BYTES)), memoryview(b"")

    def read_into(self, rooms: Sequence[memoryview], has_begun: bool = False) -> int:
        # The common case: what is wanted came with what was read before.
        wanted = sum(map(len, rooms))
        if wanted <= len(self._left):
            for room in rooms:
                room[:], self._left = self._left[: len(room)], self._left[len(room) :]
            return wanted
        filled, left = 0, deque(room for room in rooms if len(room))
        while left:
            if self._left:
                count, self._left = _copy_into(self._left, left)
                filled += count
                continue
            try:
                count = self._receive(left)
            except BlockingIOError:
                # Between arrays a line may be idle for any time; within one, silence means that the sender hangs.
                if has_begun or filled:
                    raise TimeoutError(f"nothing more of an array has come for {_STALLED_SECONDS} s") from None
                continue
            if count == 0:
                break
            filled += count
        return filled

    def _receive(self, rooms: deque[memoryview]) -> int:
        """Receives bytes into `rooms`, drops the filled ones, and returns how many bytes were for them; 0 at the end of the line."""
        parts = list(itertools.islice(rooms, _MOST_PARTS))
        wanted = sum(map(len, parts))
        # MSG_WAITALL: the thread wakes once, not for each segment. Small reads take in the next header too.
        if wanted >= _AHEAD_BYTES:
            count: int = self._socket.recvmsg_into(parts, 0, socket.MSG_WAITALL)[0]
        else:
            count = self._socket.recvmsg_into([*parts, self._ahead])[0]
            self._left = self._ahead[: max(count - wanted, 0)]
        count = min(count, wanted)
        _drop_bytes(rooms, count)
        return count

    def is_open(self) -> bool:
        """Whether the sender has neither ended nor broken the connection."""
        try:
            return self._socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False


def _copy_into(data: memoryview, rooms: deque[memoryview]) -> tuple[int, memoryview]:
    """Copies bytes into the first of `rooms`; returns their number, and the bytes that did not fit."""
    count = min(len(rooms[0]), len(data))
    rooms[0][:count] = data[:count]
    _drop_bytes(rooms, count)
    return count, data[count:]


class Door:
    """Accepts the connections of lines. Each must begin with a secret that `expect` issued; other connections are closed.

    Args:
      host: the address to listen at. The door listens from the first `expect` on.
      take: called in a thread of its own with a line's metadata and source. The connection is closed when it returns.
    """

    def __init__(self, host: str, take: Callable[[dict[str, str], SocketSource], None]) -> None:
        self._host, self._take = host.strip("[]"), take
        self._lock = threading.Lock()
        self._listening: socket.socket | None = None
        self._held: socket.socket | None = None
        self._expected: OrderedDict[bytes, dict[str, str]] = OrderedDict()
        self._unknown: OrderedDict[socket.socket, None] = OrderedDict()

    def expect(self, metadata: dict[str, str]) -> tuple[int, bytes]:
        """Issues a secret for one connection; returns the port and the secret.

        Raises:
          errors.UnimplementedError: connections are encrypted, or no port is free to listen at. The client uses gRPC then.
        """
        if trust.is_encrypted():
            raise errors.UnimplementedError(None, None, "This server takes encrypted connections only")
        # The secret ties a connection to this request, which came over gRPC. Unused ones expire, the oldest first.
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
        _close_on_fork(found)
        # The thread has a weak reference, so that a dropped server's door closes.
        threading.Thread(target=_accept, args=(found, weakref.ref(self)), name="tfcompat-door", daemon=True).start()
        return found

    def let_in(self, connection: socket.socket) -> None:
        """Serves a connection that begins with a secret, until its line ends; closes any other."""
        with connection:
            source = SocketSource(connection)
            _close_on_fork(connection)
            _probe(connection)
            # A stranger may connect and send nothing: the secret must come in time.
            room = bytearray(_SECRET_BYTES)
            connection.settimeout(_ANSWER_SECONDS)
            try:
                source.read_into([memoryview(room)])
            except OSError:
                return
            finally:
                with self._lock:
                    self._unknown.pop(connection, None)
            # A secret admits one connection.
            with self._lock:
                metadata = self._expected.pop(bytes(room), None)
            if metadata is not None:
                connection.settimeout(None)
                self._take(metadata, source)

    def receive(self, connection: socket.socket) -> None:
        """Reads a new connection's secret in a thread; closes the oldest one without a secret if there are too many."""
        with self._lock:
            self._unknown[connection] = None
            longest = self._unknown.popitem(last=False)[0] if len(self._unknown) > _MOST_UNKNOWN else None
        if longest is not None:
            with contextlib.suppress(OSError):  # it may have ended
                longest.shutdown(socket.SHUT_RDWR)
        THREADS.submit(self.let_in, connection)

    def close(self) -> None:
        """Stops listening."""
        with self._lock:
            if self._listening is not None:
                with contextlib.suppress(OSError):  # some systems do not shut down what listens
                    self._listening.shutdown(socket.SHUT_RDWR)
                self._listening.close()
            if self._held is not None:
                self._held.close()


def _other_loopback(listening: socket.socket) -> socket.socket | None:
    """Binds the port of a socket on the IPv6 loopback too; None if that cannot be.

    Otherwise another server of "localhost" could bind [::1] with the same port, and clients would reach either.
    """
    held = None
    try:
        held = socket.socket(socket.AF_INET6)
        held.bind(("::1", listening.getsockname()[1]))
    except OSError:  # no IPv6, or the port is bound there already: nobody else can bind it either
        if held is not None:
            held.close()
        return None
    _close_on_fork(held)
    return held


def _accept(listening: socket.socket, door: Callable[[], Door | None]) -> None:
    """Accepts connections until the door is closed or garbage collected; `door` is a weak reference."""
    while True:
        try:
            connection, _ = listening.accept()
        except OSError as e:
            if e.errno in (errno.EINVAL, errno.EBADF):
                return  # the door was closed
            time.sleep(_REFUSED_SECONDS)  # EMFILE: the process has no file descriptor left
            continue
        found = door()
        if found is None:
            connection.close()
            return
        found.receive(connection)
        # A local variable would keep the door alive during the next accept.
        del found


# ---- both ----


def _drop_bytes(parts: deque[memoryview], count: int) -> None:
    """Drops the first `count` bytes of a sequence of buffers."""
    while parts and count >= len(parts[0]):
        count -= len(parts.popleft())
    if count:
        parts[0] = parts[0][count:]


# A forked child inherits the descriptors; a peer would not see the end of this process while a child keeps the connection open.
_own: weakref.WeakSet[socket.socket] = weakref.WeakSet()


def _close_on_fork(connection: socket.socket) -> None:
    """Has forked children close their copy of a connection."""
    _own.add(connection)


def _close_in_child() -> None:
    for connection in list(_own):
        os.close(connection.detach()) if connection.fileno() >= 0 else None


os.register_at_fork(after_in_child=_close_in_child)


def _probe(connection: socket.socket) -> None:
    """Turns on TCP keep-alive, and limits how long a read or a send may block."""
    # Options that the platform lacks are left out: macOS has other names for some of them.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", _IDLE_SECONDS), ("TCP_KEEPINTVL", _PROBE_SECONDS), ("TCP_KEEPCNT", _PROBES)):
        if hasattr(socket, option):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    # Bytes that were sent and are not acknowledged: keep-alive does not probe then.
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _STALLED_SECONDS * 1000)
    # Not settimeout, which makes the socket non-blocking: MSG_WAITALL would return early.
    for limit in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
        connection.setsockopt(socket.SOL_SOCKET, limit, struct.pack("ll", _STALLED_SECONDS, 0))
