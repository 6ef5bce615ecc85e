"""Lines on which a process sends bytes to a server, in one direction: a socket of their own where one can be had, else a call of gRPC.

A socket has no threads between the sender and the receiver, and its bytes are copied by the kernel alone. The server is asked for one by the
method Open, which answers a port and a secret that lets one connection in. Where connections are encrypted, or the port cannot be
reached from here, the bytes go in messages of one call that stays open.
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
"""What the line is for, by names."""
_MESSAGE_BYTES = 1 << 20
_AHEAD_BYTES = 1 << 16
_MOST_PARTS = 512
"""So many parts are sent or received in one call; Linux takes 1024."""
_SECRET_BYTES = 16
_ANSWER_SECONDS = 10.0
_MOST_EXPECTED = 1024
_MOST_UNKNOWN = 64
"""So many connections may be about to say their secret; one more ends the one that has waited longest."""
_REFUSED_SECONDS = 0.1
_IDLE_SECONDS, _PROBE_SECONDS, _PROBES = 30, 10, 3
"""A line on which nothing comes for so long is asked whether its other end is alive, so often."""
_STALLED_SECONDS = 60
"""A line breaks whose other end takes nothing, or sends no more of an array that it has begun, for so long."""
INTERRUPTED_SECONDS, _LOOKS = 1.0, 10
"""So long a line that a cancelled step may wait for must have got nothing rid before it is broken."""


class Source(Protocol):
    """Where bytes of a line come from."""

    def read_into(self, rooms: Sequence[memoryview], has_begun: bool = False) -> int:
        """Fills `rooms`, one behind the other; how much of them, less than all only where the line has ended.

        Where it continues what `has_begun`, the bytes may not be long in coming: TimeoutError.
        """


class Line(Protocol):
    """A line to a server."""

    def send(self, parts: Sequence[bytes | memoryview]) -> None:
        """Sends bytes, which must stay as they are until the receiver has them; nothing where the line has broken."""

    def interrupt(self) -> None:
        """Breaks the line where `send` waits for a receiver that takes nothing, so that whoever waits for `send` need not."""

    def end(self) -> None:
        """Says that nothing more comes."""

    def wait_ended(self, seconds: float) -> None:
        """Waits until the receiver has all, or has gone, but no longer than so."""


# ---- this end ----


def open_line(address: str, metadata: Metadata, broke: Callable[[str], None], cancellation: Cancellation) -> Line:
    """A line to the server at an address.

    Args:
      address: "host:port". metadata: what it is for.
      broke: is called with the reason when it breaks before it has ended.
      cancellation: tells it to wait no more for the server.

    Raises:
      errors.UnavailableError: the server does not answer.
    """
    connected = None if trust.is_encrypted() else _connected(address, metadata, cancellation)
    return _CallLine(address, metadata, broke) if connected is None else _SocketLine(connected, broke)


def _connected(address: str, metadata: Metadata, cancellation: Cancellation) -> socket.socket | None:
    """A socket whose other end expects a line; None where there is none."""
    host = address.rpartition(":")[0].strip("[]") or "localhost"
    try:
        service = channel.RemoteService(address, channel.TRANSFER)
        found = service.call("Open", timeout=_ANSWER_SECONDS, cancellation=cancellation, purpose=dict(metadata))
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
            while left:
                count = self._socket.sendmsg(itertools.islice(left, _MOST_PARTS))
                self._sent += count
                _pass_over(left, count)
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
        """Looks for some time, as what was cancelled may be about to send."""
        for _ in range(_LOOKS):
            sent = self._sent if self._is_sending else None
            self._watcher.join(INTERRUPTED_SECONDS)
            if self._is_over:
                return
            if sent == self._sent and self._is_sending:
                self._end("its other end takes nothing, and a step that waits for that was cancelled")
                return
        self._is_watched = False

    def _watch(self) -> None:
        """Waits for the other end to close the connection, on which it says nothing."""
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
            return False  # nothing has come for as long as a read may wait
        return True

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

    def interrupt(self) -> None:
        """Nothing: `send` does not wait."""

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

    def read_into(self, rooms: Sequence[memoryview], has_begun: bool = False) -> int:
        filled, left = 0, deque(room for room in rooms if len(room))
        while left:
            while not self._left:
                message = next(self._messages, None)
                if message is None:
                    return filled
                self._left = memoryview(message)
            count, self._left = _moved(self._left, left)
            filled += count
        return filled


class SocketSource:
    """The bytes of a connection. Small rooms are filled together with what comes behind; large ones are waited for in the kernel, until all is there."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._ahead, self._left = memoryview(bytearray(_AHEAD_BYTES)), memoryview(b"")

    def read_into(self, rooms: Sequence[memoryview], has_begun: bool = False) -> int:
        filled, left = 0, deque(room for room in rooms if len(room))
        while left:
            if self._left:
                count, self._left = _moved(self._left, left)
                filled += count
                continue
            try:
                count = self._receive(left)
            except BlockingIOError:
                if has_begun or filled:
                    raise TimeoutError(f"nothing more of an array has come for {_STALLED_SECONDS} s") from None
                continue
            if count == 0:
                break
            filled += count
        return filled

    def _receive(self, rooms: deque[memoryview]) -> int:
        """Receives bytes, which are then passed over in `rooms`; how many of them are for these, 0 where the line has ended."""
        parts = list(itertools.islice(rooms, _MOST_PARTS))
        wanted = sum(map(len, parts))
        if wanted >= _AHEAD_BYTES:
            count: int = self._socket.recvmsg_into(parts, 0, socket.MSG_WAITALL)[0]
        else:
            count = self._socket.recvmsg_into([*parts, self._ahead])[0]
            self._left = self._ahead[: max(count - wanted, 0)]
        count = min(count, wanted)
        _pass_over(rooms, count)
        return count

    def is_open(self) -> bool:
        """Whether the other end may still send."""
        try:
            return self._socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False


def _moved(data: memoryview, rooms: deque[memoryview]) -> tuple[int, memoryview]:
    """Copies bytes into the first of `rooms`; how many, and those that it has no room for."""
    count = min(len(rooms[0]), len(data))
    rooms[0][:count] = data[:count]
    _pass_over(rooms, count)
    return count, data[count:]


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
        self._unknown: OrderedDict[socket.socket, None] = OrderedDict()

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
        with connection:
            source = SocketSource(connection)
            _of_this_process(connection)
            _probe(connection)
            room = bytearray(_SECRET_BYTES)
            connection.settimeout(_ANSWER_SECONDS)
            try:
                source.read_into([memoryview(room)])
            except OSError:
                return
            finally:
                with self._lock:
                    self._unknown.pop(connection, None)
            with self._lock:
                metadata = self._expected.pop(bytes(room), None)
            if metadata is not None:
                connection.settimeout(None)
                self._take(metadata, source)

    def receive(self, connection: socket.socket) -> None:
        """Hears in a thread what a connection begins with, for few strangers at a time."""
        with self._lock:
            self._unknown[connection] = None
            longest = self._unknown.popitem(last=False)[0] if len(self._unknown) > _MOST_UNKNOWN else None
        if longest is not None:
            with contextlib.suppress(OSError):  # it may have ended
                longest.shutdown(socket.SHUT_RDWR)
        THREADS.submit(self.let_in, connection)

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
        except OSError as e:
            if e.errno in (errno.EINVAL, errno.EBADF):
                return  # the door was closed
            time.sleep(_REFUSED_SECONDS)  # the process has no file descriptor left for this one
            continue
        found = door()
        if found is None:
            connection.close()
            return
        found.receive(connection)
        del found


# ---- both ----


def _pass_over(parts: deque[memoryview], count: int) -> None:
    """Takes so many bytes off the beginning of parts."""
    while parts and count >= len(parts[0]):
        count -= len(parts.popleft())
    if count:
        parts[0] = parts[0][count:]


_own: weakref.WeakSet[socket.socket] = weakref.WeakSet()


def _of_this_process(connection: socket.socket) -> None:
    """Has a child of this process not keep a connection open that ends with this process."""
    _own.add(connection)


def _close_in_child() -> None:
    for connection in list(_own):
        os.close(connection.detach()) if connection.fileno() >= 0 else None


os.register_at_fork(after_in_child=_close_in_child)


def _probe(connection: socket.socket) -> None:
    """Has the kernel look whether the other end's machine is alive where nothing is sent, and limits how long a read or a send may wait."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", _IDLE_SECONDS), ("TCP_KEEPINTVL", _PROBE_SECONDS), ("TCP_KEEPCNT", _PROBES)):
        if hasattr(socket, option):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _STALLED_SECONDS * 1000)
    for limit in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
        connection.setsockopt(socket.SOL_SOCKET, limit, struct.pack("ll", _STALLED_SECONDS, 0))
