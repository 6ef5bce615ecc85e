"""Streams of arrays between the processes of a group: each sends to each other one over a single call that stays open.

A message of a stream is a run of frames; a frame is a header, the key of an array, a text that describes the array, and bytes of it.
Arrays that are larger than a message are cut; small ones share a message.
"""

from __future__ import annotations

import queue
import struct
import threading
from collections.abc import Callable, Iterator
from typing import TypeAlias

import grpc
import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.cluster import channel
from tfcompat._src.proto import pool

GROUP, RANK = "tfcompat-group", "tfcompat-rank"
"""Metadata of a stream: the name of the group, and the rank of the sender."""
_MESSAGE_BYTES = 1 << 20
_HEADER = struct.Struct("<HHQQI")
"""Bytes of the key and of the description; bytes of the array, position of this part in it, bytes of this part."""
_FLUSH_SECONDS = 10.0

Then: TypeAlias = Callable[["Parcel | errors.OpError"], None]
"""Is called with a parcel, or with the error that keeps it from coming."""


class Parcel:
    """An array on its way: its key, a text that describes it, and its bytes, which arrive in parts."""

    def __init__(self, key: str, description: str, size: int) -> None:
        self.key, self.description = key, description
        self.data = np.empty(size, np.uint8)
        self._missing = size

    def add(self, position: int, part: memoryview) -> bool:
        """Takes a part in; whether all bytes are there."""
        self.data[position : position + len(part)] = np.frombuffer(part, np.uint8)
        self._missing -= len(part)
        return self._missing <= 0


class Assembler:
    """Makes parcels of the messages of a stream, and hands each over when it is whole."""

    def __init__(self, arrive: Callable[[Parcel], None]) -> None:
        self._arrive = arrive
        self._parts: dict[str, Parcel] = {}

    def take(self, message: bytes) -> None:
        """Takes a message of the stream."""
        view, at = memoryview(message), 0
        while at < len(view):
            key_size, text_size, size, position, count = _HEADER.unpack_from(view, at)
            at += _HEADER.size
            key = str(view[at : at + key_size], "utf-8")
            at += key_size
            parcel = self._parts.get(key)
            if parcel is None:
                parcel = self._parts[key] = Parcel(key, str(view[at : at + text_size], "utf-8"), size)
            at += text_size
            if parcel.add(position, view[at : at + count]):
                del self._parts[key]
                self._arrive(parcel)
            at += count


class _Inbox:
    """What one peer sends: parcels that nobody has asked for yet, and those who wait for one, by key."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._whole: dict[str, Parcel] = {}
        self._waiting: dict[str, Then] = {}
        self._error: errors.OpError | None = None
        self.take = Assembler(self._arrive).take

    def _arrive(self, parcel: Parcel) -> None:
        with self._lock:
            then = self._waiting.pop(parcel.key, None)
            if then is None:
                self._whole[parcel.key] = parcel
        if then is not None:
            then(parcel)

    def expect(self, key: str, then: Then) -> None:
        """Calls `then` with the parcel of a key, when it is there, or with the error of the stream."""
        with self._lock:
            found = self._whole.pop(key, None) or self._error
            if found is None:
                self._waiting[key] = then
                return
        then(found)

    def expect_no_more(self, key: str) -> None:
        """Forgets who waits for a key."""
        with self._lock:
            self._waiting.pop(key, None)

    def fail(self, error: errors.OpError) -> None:
        """Has all who wait, now and later, get an error."""
        with self._lock:
            waiting, self._waiting = self._waiting, {}
            self._error = self._error or error
        for then in waiting.values():
            then(error)


class Outbox:
    """A stream to a server; `broke` is called with the reason when it ends before it is closed."""

    def __init__(self, address: str, metadata: tuple[tuple[str, str], ...], broke: Callable[[str], None]) -> None:
        self._queue: queue.SimpleQueue[tuple[str, str, NDArray] | None] = queue.SimpleQueue()
        self._is_closed = False
        self._broke = broke
        path = pool.service(channel.TRANSFER)["Push"].path
        self._call = channel.channel_to(address).stream_unary(path).future(self._messages(), metadata=metadata, wait_for_ready=True)
        self._call.add_done_callback(self._ended)

    def send(self, key: str, description: str, array: NDArray) -> None:
        """Sends an array, whose bytes must stay as they are until then."""
        self._queue.put((key, description, array.reshape(-1).view(np.uint8)))

    def _messages(self) -> Iterator[bytes]:
        parts: list[bytes | memoryview] = []
        room = _MESSAGE_BYTES
        while (item := self._queue.get()) is not None:
            size = item[2].nbytes
            for position in range(0, max(size, 1), _MESSAGE_BYTES):
                count = min(size - position, _MESSAGE_BYTES)
                if count > room:
                    yield b"".join(parts)
                    parts, room = [], _MESSAGE_BYTES
                parts += _frame(*item, position, count)
                room -= count
            if self._queue.empty():
                yield b"".join(parts)
                parts, room = [], _MESSAGE_BYTES
        if parts:
            yield b"".join(parts)

    def _ended(self, call: grpc.Future) -> None:
        if not self._is_closed:
            self._broke("its stream was cancelled" if call.cancelled() else call.details() or "its stream has ended")

    def begin_close(self) -> None:
        """Ends the stream behind what is to be sent."""
        self._is_closed = True
        self._queue.put(None)

    def wait_closed(self) -> None:
        """Waits until the peer has all, or has gone."""
        try:
            self._call.result(_FLUSH_SECONDS)
        except grpc.FutureTimeoutError:
            self._call.cancel()
        except (grpc.RpcError, grpc.FutureCancelledError):
            return  # it has ended before this process: what it did not take it does not need


def _frame(key: str, description: str, data: NDArray, position: int, count: int) -> list[bytes | memoryview]:
    name, text = key.encode(), description.encode() if position == 0 else b""
    return [_HEADER.pack(len(name), len(text), data.nbytes, position, count), name, text, data[position : position + count].data]


class Peers:
    """The other processes of a group, by rank.

    Args:
      group: the name of the group. rank: of this process. addresses: "host:port" of each process's server.
    """

    def __init__(self, group: str, rank: int, addresses: list[str]) -> None:
        self.group, self.rank, self.addresses = group, rank, addresses
        self.size = len(addresses)
        self._inboxes = {other: _Inbox() for other in self.others}
        self._outboxes: dict[int, Outbox] = {}
        self._lock = threading.Lock()

    @property
    def others(self) -> list[int]:
        """The ranks of the other processes."""
        return [rank for rank in range(self.size) if rank != self.rank]

    def send(self, rank: int, key: str, description: str, array: NDArray) -> None:
        """Sends an array of C order, whose bytes must stay as they are from now on."""
        with self._lock:
            if rank not in self._outboxes:
                metadata = (GROUP, self.group), (RANK, str(self.rank))
                self._outboxes[rank] = Outbox(self.addresses[rank], metadata, lambda why: self._broke(rank, why))
            outbox = self._outboxes[rank]
        outbox.send(key, description, array)

    def expect(self, rank: int, key: str, then: Then) -> None:
        """Calls `then` with the parcel that a process sends under a key, or with the error that keeps it from coming."""
        self._inboxes[rank].expect(key, then)

    def expect_no_more(self, rank: int, key: str) -> None:
        """Forgets who waits for a key of a process."""
        self._inboxes[rank].expect_no_more(key)

    def receive(self, rank: int, messages: Iterator[bytes]) -> None:
        """Takes the messages of a process, until it ends its stream."""
        inbox = self._inboxes[rank]
        why = "it has left the group"
        try:
            for message in messages:
                inbox.take(message)
        except Exception as e:  # noqa: BLE001  (a stream that breaks off raises what gRPC likes)
            why = str(e) or "its stream has broken off"
        self._broke(rank, why)

    def _broke(self, rank: int, why: str) -> None:
        text = f"Process {rank} of the group {self.group!r} at {self.addresses[rank]} cannot be reached any more: {why}"
        self._inboxes[rank].fail(errors.UnavailableError(None, None, text))

    def close(self) -> None:
        """Sends what is to be sent, and ends all streams."""
        with self._lock:
            outboxes = list(self._outboxes.values())
        for outbox in outboxes:
            outbox.begin_close()
        for outbox in outboxes:
            outbox.wait_closed()


class Groups:
    """The groups that a server's process is in, by name."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._groups: dict[str, Peers] = {}

    def add(self, peers: Peers) -> None:
        """Adds a group: processes that wait to send to it may do so."""
        with self._changed:
            self._groups[peers.group] = peers
            self._changed.notify_all()

    def remove(self, peers: Peers) -> None:
        """Forgets a group."""
        with self._changed:
            self._groups.pop(peers.group, None)

    def wait_for(self, name: str, is_over: Callable[[], bool]) -> Peers | None:
        """The group of a name, once this process is in it; None where `is_over` is true before, which `wake` has it look at."""
        with self._changed:
            while name not in self._groups:
                if is_over():
                    return None
                self._changed.wait()
            return self._groups[name]

    def wake(self) -> None:
        """Has those who wait for a group look again whether they are to."""
        with self._changed:
            self._changed.notify_all()
