"""Arrays that the processes of a group send each other: each sends to each other one over a line that stays open.

What goes over a line is one batch behind the other, as the arrays were sent: the size of a table, the table, and the bytes of the arrays. The table has
for each array its sizes, its key and a text that describes it. So a batch is received by few calls, however many arrays it has.
"""

from __future__ import annotations

import atexit
import functools
import itertools
import queue
import struct
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.cluster import trust
from tfcompat._src.cluster.cancellation import Cancellation
from tfcompat._src.cluster.lines import INTERRUPTED_SECONDS, Line, Metadata, Source, open_line

GROUP, RANK = "tfcompat-group", "tfcompat-rank"
"""Metadata of a stream: the name of the group, and the rank of the sender."""
_TABLE = struct.Struct("<I")
"""Bytes of the table of a batch."""
_ENTRY = struct.Struct("<HHQ")
"""Bytes of the key, of the description, and of the array."""
_TOGETHER = 1 << 26
"""Arrays of so many bytes in sum are received by one call."""
_FLUSH_SECONDS = 10.0
_LOOK_SECONDS = 1.0

Then: TypeAlias = Callable[["Parcel | errors.OpError"], None]
"""Is called with a parcel, or with the error that keeps it from coming."""


Item: TypeAlias = tuple[str, str, NDArray]
"""The key of an array, a text that describes it, and the array, in C order."""


class Parcel(NamedTuple):
    """An array that has come: its key, a text that describes it, and its bytes."""

    key: str
    description: str
    data: NDArray


def batches(source: Source) -> Iterator[list[Parcel]]:
    """What comes on a line, until it ends: the arrays that were sent together, together.

    Raises:
      errors.DataLossError: it ends in the midst of a batch. errors.ResourceExhaustedError: an array is too large.
      struct.error, UnicodeDecodeError: a table is malformed. TimeoutError: nothing more of a batch that has begun comes.
    """
    header = bytearray(_TABLE.size)
    while count := source.read_into([memoryview(header)]):
        _require(count, len(header))
        (size,) = _TABLE.unpack(header)
        trust.require_array_size(size)
        table = bytearray(size)
        _require(source.read_into([memoryview(table)], has_begun=True), size)
        entries = list(_entries(table))
        trust.require_array_size(max(size for _, _, size in entries))
        found: list[Parcel] = []
        while len(found) < len(entries):
            found += _received(source, entries[len(found) :])
        yield found


def _received(source: Source, entries: Sequence[tuple[str, str, int]]) -> list[Parcel]:
    """The first array, and those behind it that are `_TOGETHER` with it at most: no room is made for more than was sent by that and one array."""
    sums = itertools.accumulate(size for _, _, size in entries)
    count = max(1, sum(1 for _ in itertools.takewhile(lambda total: total <= _TOGETHER, sums)))
    found = [Parcel(key, text, np.empty(size, np.uint8)) for key, text, size in entries[:count]]
    _require(source.read_into([parcel.data.data for parcel in found], has_begun=True), sum(parcel.data.size for parcel in found))
    return found


def _entries(table: bytearray) -> Iterator[tuple[str, str, int]]:
    """The key, the description and the size of each array of a batch."""
    at = 0
    while at < len(table) or at == 0:
        key_size, text_size, size = _ENTRY.unpack_from(table, at)
        middle, end = at + _ENTRY.size + key_size, at + _ENTRY.size + key_size + text_size
        if end > len(table):
            raise struct.error("its key and its description are longer than the table")
        yield table[at + _ENTRY.size : middle].decode(), table[middle:end].decode(), size
        at = end


def _require(count: int, wanted: int) -> None:
    if count < wanted:
        raise errors.DataLossError(None, None, "it has ended in the midst of an array")


class _Inbox:
    """What one peer sends: parcels that nobody has asked for yet, and those who wait for one, by key."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._whole: dict[str, Parcel] = {}
        self._waiting: dict[str, Then] = {}
        self._error: errors.OpError | None = None

    def take(self, parcel: Parcel) -> None:
        """Keeps a parcel, or gives it to who waits for it."""
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
    """A line of arrays to a server, which begins with the first one.

    Args:
      address: "host:port". metadata: what it is for.
      broke: is called with the reason when it breaks before it is closed.
    """

    def __init__(self, address: str, metadata: Metadata, broke: Callable[[str], None]) -> None:
        self._open = functools.partial(open_line, address, metadata, broke)
        self._lock = threading.Lock()
        self._line: Line | None = None
        self._opening: Cancellation | None = None

    def send(self, *items: Item) -> None:
        """Sends arrays, whose bytes must stay as they are until then; may wait for the receiver to take in those before.

        Raises:
          errors.UnavailableError: the server does not answer.
        """
        parts = framed(items)
        with self._lock:
            if self._line is None:
                self._opening = Cancellation()
                try:
                    self._line = self._open(self._opening)
                finally:
                    self._opening = None
            self._line.send(parts)

    def has_begun(self) -> bool:
        """Whether something was sent."""
        return self._line is not None

    def interrupt(self) -> None:
        """Has `send` wait no more for a server that does not answer, or takes nothing: the line breaks. It does not wait itself."""
        opening = self._opening
        if opening is not None:
            timer = threading.Timer(INTERRUPTED_SECONDS, opening.cancel)
            timer.daemon = True
            timer.start()
        elif self._line is not None:
            self._line.interrupt()

    def begin_close(self) -> None:
        """Ends the line behind what was sent."""
        with self._lock:
            if self._line is not None:
                self._line.end()

    def wait_closed(self) -> None:
        """Waits until the peer has all, or has gone."""
        if self._line is not None:
            self._line.wait_ended(_FLUSH_SECONDS)


def framed(items: Sequence[Item]) -> list[bytes | memoryview]:
    """A batch as `batches` reads it."""
    table, parts = bytearray(_TABLE.size), list[bytes | memoryview]()
    for key, description, array in items:
        name, text = key.encode(), description.encode()
        table += _ENTRY.pack(len(name), len(text), array.nbytes) + name + text
        parts.append(array.reshape(-1).view(np.uint8).data)
    _TABLE.pack_into(table, 0, len(table) - _TABLE.size)
    return [bytes(table), *parts]


class _Sender:
    """Sends by an outbox in a thread of its own, so that nobody waits for a receiver, or for its process to begin."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox, self._is_closing = outbox, False
        self._queue: queue.SimpleQueue[Item | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="tfcompat-sender", daemon=True)
        self._thread.start()

    def send(self, key: str, description: str, array: NDArray) -> None:
        self._queue.put((key, description, array))

    def _serve(self) -> None:
        while (item := self._queue.get()) is not None:
            while not self._has_sent(item) and not self._is_closing:
                continue
        self._outbox.begin_close()

    def _has_sent(self, item: Item) -> bool:
        try:
            self._outbox.send(item)
        except errors.UnavailableError:
            return False
        return True

    def begin_close(self) -> None:
        self._is_closing = True
        self._queue.put(None)

    def wait_closed(self) -> None:
        self._thread.join(_FLUSH_SECONDS)
        self._outbox.wait_closed()


class Peers:
    """The other processes of a group, by rank.

    Args:
      group: the name of the group. rank: of this process. addresses: "host:port" of each process's server.
    """

    def __init__(self, group: str, rank: int, addresses: list[str]) -> None:
        self.group, self.rank, self.addresses = group, rank, addresses
        self.size = len(addresses)
        self._inboxes = {other: _Inbox() for other in self.others}
        self._senders: dict[int, _Sender] = {}
        self._lock = threading.Lock()
        self._sending: set[int] = set()
        _open.add(self)

    @property
    def others(self) -> list[int]:
        """The ranks of the other processes."""
        return [rank for rank in range(self.size) if rank != self.rank]

    def send(self, rank: int, key: str, description: str, array: NDArray) -> None:
        """Sends an array of C order, whose bytes must stay as they are from now on.

        Raises:
          errors.ResourceExhaustedError: it is too large.
        """
        trust.require_array_size(array.nbytes)
        with self._lock:
            if rank not in self._senders:
                metadata = (GROUP, self.group), (RANK, str(self.rank))
                self._senders[rank] = _Sender(Outbox(self.addresses[rank], metadata, lambda why: self._lost_receiver(rank, why)))
            sender = self._senders[rank]
        sender.send(key, description, array)

    def expect(self, rank: int, key: str, then: Then) -> None:
        """Calls `then` with the parcel that a process sends under a key, or with the error that keeps it from coming."""
        self._inboxes[rank].expect(key, then)

    def expect_no_more(self, rank: int, key: str) -> None:
        """Forgets who waits for a key of a process."""
        self._inboxes[rank].expect_no_more(key)

    def receive(self, rank: int, source: Source) -> None:
        """Takes the arrays of a process, until it ends its line."""
        inbox = self._inboxes[rank]
        self._sending.add(rank)
        why = "it has left the group"
        try:
            for batch in batches(source):
                for parcel in batch:
                    inbox.take(parcel)
        except Exception as e:  # noqa: BLE001  (a stream that breaks off raises what gRPC likes)
            why = str(e) or "its stream has broken off"
        self._broke(rank, why)

    def _lost_receiver(self, rank: int, why: str) -> None:
        """Fails who waits for a process that takes nothing more, unless it sends: what it has sent before its end is still on its way."""
        if rank not in self._sending:
            timer = threading.Timer(_LOOK_SECONDS, lambda: None if rank in self._sending else self._broke(rank, why))
            timer.daemon = True
            timer.start()

    def _broke(self, rank: int, why: str) -> None:
        text = f"Process {rank} of the group {self.group!r} at {self.addresses[rank]} cannot be reached any more: {why}"
        self._inboxes[rank].fail(errors.UnavailableError(None, None, text))

    def close(self) -> None:
        """Sends what is to be sent, and ends all lines."""
        _open.discard(self)
        with self._lock:
            senders = list(self._senders.values())
        for sender in senders:
            sender.begin_close()
        for sender in senders:
            sender.wait_closed()


_open: weakref.WeakSet[Peers] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Has others get what this process has sent, although it ends."""
    for peers in list(_open):
        peers.close()


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
                self._changed.wait(_LOOK_SECONDS)
            return self._groups[name]

    def wake(self) -> None:
        """Has those who wait for a group look again whether they are to."""
        with self._changed:
            self._changed.notify_all()
