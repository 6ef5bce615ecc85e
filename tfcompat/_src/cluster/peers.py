"""Point-to-point array messages between the processes of a group, over one line per ordered pair of processes.

A line carries a sequence of batches. A batch is the size of its table (uint32), the table, and the bytes of the arrays. A table entry has the
sizes, the key and the description of an array, so that a batch is received by few system calls, however many arrays it has.
"""

from __future__ import annotations

import atexit
import bisect
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
"""Metadata of a line: the name of the group, and the rank of the sender."""
_TABLE = struct.Struct("<I")
"""The size of a batch's table, in bytes."""
_ENTRY = struct.Struct("<HHQ")
"""The sizes of a key, of a description, and of an array, in bytes."""
_TOGETHER = 1 << 26
"""At most so many bytes of arrays are allocated at once for a batch, or one array if that is larger."""
_FLUSH_SECONDS = 10.0
"""How long the end of a process waits for its receivers."""
_LOOK_SECONDS = 1.0

Then: TypeAlias = Callable[["Parcel | errors.OpError"], None]
"""A callback that gets a parcel, or the error because of which none will come."""


Item: TypeAlias = tuple[str, str, NDArray]
"""The key of an array, a text that describes it, and the array, in C order."""


class Parcel(NamedTuple):
    """A received array: its key, a text that describes it, and its bytes."""

    key: str
    description: str
    data: NDArray


def batches(source: Source) -> Iterator[list[Parcel]]:
    """Yields the batches of a line until it ends.

    Raises:
      errors.DataLossError: the line ends within a batch. errors.ResourceExhaustedError: an array is too large.
      struct.error, UnicodeDecodeError: a table is malformed. TimeoutError: the rest of a batch does not come.
    """
    header, largest = bytearray(_TABLE.size), trust.largest_array()
    # Sizes come from the peer: they are checked before memory is allocated for them.
    while count := source.read_into([memoryview(header)]):
        _require(count, len(header))
        (size,) = _TABLE.unpack(header)
        trust.require_array_size(size, largest)
        table = bytearray(size)
        _require(source.read_into([memoryview(table)], has_begun=True), size)
        entries = list(_entries(table))
        trust.require_array_size(max([size for _, _, size in entries]), largest)
        found: list[Parcel] = []
        while len(found) < len(entries):
            found += _received(source, entries[len(found) :])
        yield found


def _received(source: Source, entries: Sequence[tuple[str, str, int]]) -> list[Parcel]:
    """Receives the first array of `entries`, and the following ones up to a sum of `_TOGETHER` bytes.

    A peer that announces much and sends little makes this process allocate no more than that, or one array.
    """
    sums = list(itertools.accumulate(size for _, _, size in entries))
    count = max(1, bisect.bisect_right(sums, _TOGETHER))
    # Scatter input: the bytes of several arrays go into their own buffers by one call.
    found = [Parcel(key, text, np.empty(size, np.uint8)) for key, text, size in entries[:count]]
    _require(source.read_into([parcel.data.data for parcel in found], has_begun=True), sums[count - 1])
    return found


def _entries(table: bytearray) -> Iterator[tuple[str, str, int]]:
    """Yields the key, the description and the size in bytes of each array of a batch."""
    at = 0
    # An empty table is malformed: `at == 0` has unpack_from raise.
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
    """The parcels of one peer that nobody has asked for yet, and the callbacks that wait for a parcel, by key."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._whole: dict[str, Parcel] = {}
        self._waiting: dict[str, Then] = {}
        self._error: errors.OpError | None = None

    def take(self, parcel: Parcel) -> None:
        """Passes a parcel to the callback that waits for it, or keeps it."""
        # Callbacks run outside of the lock: they may send, or expect the next parcel.
        with self._lock:
            then = self._waiting.pop(parcel.key, None)
            if then is None:
                self._whole[parcel.key] = parcel
        if then is not None:
            then(parcel)

    def expect(self, key: str, then: Then) -> None:
        """Calls `then` with the parcel of a key as soon as it comes, or with the line's error; at once if either is known."""
        # A parcel that came before the line broke is still delivered.
        with self._lock:
            found = self._whole.pop(key, None) or self._error
            if found is None:
                self._waiting[key] = then
                return
        then(found)

    def expect_no_more(self, key: str) -> None:
        """Drops the callback of a key."""
        with self._lock:
            self._waiting.pop(key, None)

    def fail(self, error: errors.OpError) -> None:
        """Passes an error to all callbacks, present and future ones. The first error wins."""
        with self._lock:
            waiting, self._waiting = self._waiting, {}
            self._error = self._error or error
        for then in waiting.values():
            then(error)


class Outbox:
    """Sends arrays to a server over a line that the first `send` opens.

    Args:
      address: "host:port". metadata: tells the server what the line carries.
      broke: called with the reason if the line breaks before it is closed.
    """

    def __init__(self, address: str, metadata: Metadata, broke: Callable[[str], None]) -> None:
        self._open = functools.partial(open_line, address, metadata, broke)
        self._lock = threading.Lock()
        self._line: Line | None = None
        self._opening: Cancellation | None = None

    def send(self, *items: Item) -> None:
        """Sends arrays as one batch, in the caller's thread; blocks while the receiver is slower.

        The bytes must not change until the receiver has them.

        Raises:
          errors.UnavailableError: the server does not answer.
        """
        parts = framed(items)
        # The lock keeps batches whole: threads of several steps share the line.
        with self._lock:
            if self._line is None:
                # Kept where `interrupt` finds it.
                self._opening = Cancellation()
                try:
                    self._line = self._open(self._opening)
                finally:
                    self._opening = None
            self._line.send(parts)

    def has_begun(self) -> bool:
        """Whether the line was opened."""
        return self._line is not None

    def interrupt(self) -> None:
        """Ends a `send` that is blocked by a server which does not answer or accepts nothing, by breaking the line. Does not block."""
        # Without the lock, which a blocked `send` holds. A server that is about to answer gets a second.
        opening = self._opening
        if opening is not None:
            timer = threading.Timer(INTERRUPTED_SECONDS, opening.cancel)
            timer.daemon = True
            timer.start()
        elif self._line is not None:
            self._line.interrupt()

    def begin_close(self) -> None:
        """Signals the end of the line, after everything that was sent."""
        with self._lock:
            if self._line is not None:
                self._line.end()

    def wait_closed(self) -> None:
        """Waits up to 10 seconds until the peer has read everything or has gone."""
        if self._line is not None:
            self._line.wait_ended(_FLUSH_SECONDS)


def framed(items: Sequence[Item]) -> list[bytes | memoryview]:
    """Encodes arrays as one batch, in the form that `batches` reads; the array bytes are not copied."""
    # Room for the size of the table comes first, and is filled in at the end.
    table, parts = bytearray(_TABLE.size), list[bytes | memoryview]()
    for key, description, array in items:
        name, text = key.encode(), description.encode()
        table += _ENTRY.pack(len(name), len(text), array.nbytes) + name + text
        parts.append(array.reshape(-1).view(np.uint8).data)
    _TABLE.pack_into(table, 0, len(table) - _TABLE.size)
    return [bytes(table), *parts]


class _Sender:
    """Sends by an outbox in a thread of its own, so that callers do not wait for slow receivers or for processes that start later."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox, self._is_closing = outbox, False
        self._queue: queue.SimpleQueue[Item | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="tfcompat-sender", daemon=True)
        self._thread.start()

    def send(self, key: str, description: str, array: NDArray) -> None:
        self._queue.put((key, description, array))

    def _serve(self) -> None:
        # The receiver's process may not have started: retried until it answers.
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
    """Message passing with the other processes of a group.

    Args:
      group: the name of the group. rank: of this process. addresses: "host:port" of each process's server, by rank.
    """

    def __init__(self, group: str, rank: int, addresses: list[str]) -> None:
        self.group, self.rank, self.addresses = group, rank, addresses
        self.size = len(addresses)
        self._largest = trust.largest_array()
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
        """Queues an array in C order for a process. Its bytes must not change from now on.

        Raises:
          errors.ResourceExhaustedError: the array is larger than processes may send.
        """
        trust.require_array_size(array.nbytes, self._largest)
        # A line for each direction and pair, opened by the first array: groups whose ranks never talk need none.
        with self._lock:
            if rank not in self._senders:
                metadata = (GROUP, self.group), (RANK, str(self.rank))
                self._senders[rank] = _Sender(Outbox(self.addresses[rank], metadata, lambda why: self._lost_receiver(rank, why)))
            sender = self._senders[rank]
        sender.send(key, description, array)

    def expect(self, rank: int, key: str, then: Then) -> None:
        """Calls `then` with the parcel that a process sends under a key, or with the error because of which none will come."""
        self._inboxes[rank].expect(key, then)

    def expect_no_more(self, rank: int, key: str) -> None:
        """Drops the callback of a key of a process."""
        self._inboxes[rank].expect_no_more(key)

    def receive(self, rank: int, source: Source) -> None:
        """Receives the arrays of a process until its line ends; then callbacks that wait for it get UnavailableError."""
        # Any end of the line is final: the process does not open a second one.
        inbox = self._inboxes[rank]
        self._sending.add(rank)
        why = "it has left the group"
        try:
            for batch in batches(source):
                for parcel in batch:
                    inbox.take(parcel)
        except Exception as e:  # noqa: BLE001  (gRPC's request iterator may raise anything when a call breaks)
            why = str(e) or "its stream has broken off"
        self._broke(rank, why)

    def _lost_receiver(self, rank: int, why: str) -> None:
        """Fails the callbacks that wait for a process to which the line broke, unless it has a line to this one.

        In that case `receive` fails them at the end of that line: arrays that the process sent before its end still arrive.
        """
        # Looks again after a second, as the process's own line may be about to open.
        if rank not in self._sending:
            timer = threading.Timer(_LOOK_SECONDS, lambda: None if rank in self._sending else self._broke(rank, why))
            timer.daemon = True
            timer.start()

    def _broke(self, rank: int, why: str) -> None:
        text = f"Process {rank} of the group {self.group!r} at {self.addresses[rank]} cannot be reached any more: {why}"
        self._inboxes[rank].fail(errors.UnavailableError(None, None, text))

    def close(self) -> None:
        """Sends what is queued, and ends all lines; waits up to 10 seconds for each thread and each receiver."""
        _open.discard(self)
        # All lines end first, and are waited for afterwards: the waits overlap.
        with self._lock:
            senders = list(self._senders.values())
        for sender in senders:
            sender.begin_close()
        for sender in senders:
            sender.wait_closed()


_open: weakref.WeakSet[Peers] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Delivers queued arrays before the process exits: sender threads are daemons."""
    for peers in list(_open):
        peers.close()


class Groups:
    """The groups that this server's process has joined, by name."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._groups: dict[str, Peers] = {}

    def add(self, peers: Peers) -> None:
        """Adds a group, which admits the lines of processes that joined earlier."""
        with self._changed:
            self._groups[peers.group] = peers
            self._changed.notify_all()

    def remove(self, peers: Peers) -> None:
        """Forgets a group."""
        with self._changed:
            self._groups.pop(peers.group, None)

    def wait_for(self, name: str, is_over: Callable[[], bool]) -> Peers | None:
        """Waits until this process has joined a group, and returns it; None if `is_over` returns true first (see `wake`)."""
        # Also looks once a second, for lines that are sockets: nothing calls `wake` when they end.
        with self._changed:
            while name not in self._groups:
                if is_over():
                    return None
                self._changed.wait(_LOOK_SECONDS)
            return self._groups[name]

    def wake(self) -> None:
        """Has the waits for a group check `is_over`."""
        with self._changed:
            self._changed.notify_all()
