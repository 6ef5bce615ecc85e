"""Collective operations over lines: all-reduce, all-gather and broadcast of NumPy arrays.

Every process calls the same operations by name; the n-th call of a name matches the n-th in the other processes. Calls return a `Pending` at
once, and complete in any order: no call waits for another one.

All-reduce sends a small array to every process, which reduces it by itself. Of a large array, process r reduces the r-th part and sends the
result to all (reduce-scatter, then all-gather): each process sends 2 (n - 1) / n of the bytes, as in the ring of Patarasuk and Yuan (2009), but
in two rounds instead of 2 (n - 1). Parts are summed in the order of TensorFlow's ring, so that results equal its bit for bit: the sum of part c
begins with process c.
"""

from __future__ import annotations

import functools
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.run_limits import is_cancelled, seconds_left
from tfcompat._src.cluster.peers import Parcel, Peers
from tfcompat._src.platform import logging

Merge: TypeAlias = Callable[[list[NDArray]], NDArray]
"""Combines the arrays of all processes, in the order of the ranks, into one. Must not change its arguments."""
SMALL_BYTES = 1 << 15
"""Arrays up to this size are sent to every process whole."""
_STALL_SECONDS = 60.0
"""A wait is logged after so many seconds, and again."""
_LOOK_SECONDS = 1.0
"""How often a wait checks the limits of its run."""


class Pending:
    """The future of an operation's result.

    Args:
      name: of the operation, for messages. waited_for: the number of arrays that have to arrive.
    """

    def __init__(self, name: str, waited_for: int) -> None:
        self._name, self._waited_for = name, waited_for
        self._lock = threading.Lock()
        self._done = threading.Event()
        # Only read once `_done` is set.
        self._result = np.zeros(0)
        self._error: errors.OpError | None = None

    def arrived(self) -> bool:
        """Counts an arrived array; returns whether it was the last one."""
        with self._lock:
            self._waited_for -= 1
            return self._waited_for == 0

    def is_done(self) -> bool:
        """Whether `result` returns or raises at once."""
        return self._done.is_set()

    def set(self, result: NDArray) -> None:
        """Completes the operation."""
        self._result = result
        self._done.set()

    def fail(self, error: errors.OpError) -> None:
        """Completes the operation with an error, unless it is complete."""
        if not self._done.is_set():
            self._error = error
        self._done.set()

    def result(self) -> NDArray:
        """Waits for the result within the limits of this thread's run.

        Raises:
          errors.CancelledError, errors.DeadlineExceededError: the run was cancelled, or its time is over.
          errors.UnavailableError: a process has ended. errors.InvalidArgumentError: the processes' arrays do not match.
        """
        # An Event cannot be cancelled: the limits of the run are checked between short waits.
        begun = time.monotonic()
        next_word = _STALL_SECONDS
        while not self._done.is_set():
            left = seconds_left()
            if is_cancelled():
                raise errors.CancelledError(None, None, "Step was cancelled")
            if left is not None and left <= 0:
                raise errors.DeadlineExceededError(None, None, "Timed out waiting for notification")
            self._done.wait(_LOOK_SECONDS if left is None else min(left, _LOOK_SECONDS))
            # A process that does not make the call would otherwise be a silent hang.
            if time.monotonic() - begun > next_word and not self._done.is_set():
                next_word += _STALL_SECONDS
                logging.warning("%r has waited for other processes for %.0f seconds", self._name, time.monotonic() - begun)
        if self._error is not None:
            raise self._error
        return self._result


class Group:
    """Collective operations of this process with the others of a group.

    Args:
      peers: the group's lines.
    """

    def __init__(self, peers: Peers) -> None:
        self.peers = peers
        self.rank, self.size = peers.rank, peers.size
        self._lock = threading.Lock()
        self._calls: Counter[str] = Counter()

    def all_reduce(self, name: str, array: NDArray, merge: str) -> Pending:
        """Reduces the arrays of all processes, which have one shape and dtype, to their sum or product.

        Args:
          name: of the operation. array: of this process. merge: "Add" or "Mul".
        """
        what = f"{merge} of {description(array)}"
        # Small arrays: latency counts, so one round. Large ones: bandwidth counts.
        if array.nbytes <= SMALL_BYTES or self.size == 1:
            return self.merged(name, array, what, lambda found: in_parts(found, merge))
        return _ReduceScatter(self, self._key(name), array, what, _MERGE[merge]).pending

    def merged(self, name: str, array: NDArray, what: str, merge: Merge) -> Pending:
        """Applies `merge` to the arrays of all processes, in every process. `what` describes the call and must be the same in all."""
        key = self._key(name)
        pending = Pending(name, self.size)
        arrays = [array] * self.size

        # The thread that brings the last array computes the result.
        def take(rank: int, data: NDArray) -> None:
            arrays[rank] = data
            if pending.arrived():
                pending.set(merge(arrays))

        def then(rank: int, parcel: Parcel | errors.OpError) -> None:
            if isinstance(parcel, errors.OpError):
                pending.fail(parcel)
            elif parcel.description != what:
                pending.fail(mismatch(name, self.rank, what, rank, parcel.description))
            else:
                take(rank, parcel.data.view(array.dtype).reshape(array.shape))

        # The array of this process comes without a message. In a group of one it completes the operation.
        self._to_all(f"{key}/x", what, array)
        self._from_all(f"{key}/x", then)
        take(self.rank, array)
        return pending

    def all_gather(self, name: str, array: NDArray) -> Pending:
        """Concatenates the arrays of all processes along axis 0. Only the size of that axis may differ between processes."""
        key = self._key(name)
        pending = Pending(name, self.size)
        arrays = [array] * self.size
        what = description(array)

        def take(rank: int, data: NDArray) -> None:
            arrays[rank] = data
            if pending.arrived():
                pending.set(np.concatenate(arrays))

        def then(rank: int, parcel: Parcel | errors.OpError) -> None:
            if isinstance(parcel, errors.OpError):
                pending.fail(parcel)
            # The description says how many rows the other process has.
            elif (rows := rows_of(parcel.description, array)) is None:
                pending.fail(mismatch(name, self.rank, what, rank, parcel.description))
            else:
                take(rank, parcel.data.view(array.dtype).reshape((rows, *array.shape[1:])))

        self._to_all(f"{key}/x", what, array)
        self._from_all(f"{key}/x", then)
        take(self.rank, array)
        return pending

    def broadcast(self, name: str, array: NDArray, root: int) -> Pending:
        """Returns the array of the process `root` in all processes. Elsewhere `array` has its shape and dtype; its values do not matter."""
        key = self._key(name)
        pending = Pending(name, 1)
        what = description(array)

        def then(rank: int, parcel: Parcel | errors.OpError) -> None:
            if isinstance(parcel, errors.OpError):
                pending.fail(parcel)
            elif parcel.description != what:
                pending.fail(mismatch(name, self.rank, what, rank, parcel.description))
            else:
                pending.set(parcel.data.view(array.dtype).reshape(array.shape))

        if root == self.rank:
            self._to_all(f"{key}/x", what, array)
            pending.set(array)
        else:
            self.peers.expect(root, f"{key}/x", functools.partial(then, root))
        return pending

    def send_to_all(self, name: str, array: NDArray) -> Pending:
        """Broadcasts an array to processes that call `receive`; the result is the array itself."""
        pending = Pending(name, 1)
        self._to_all(f"{self._key(name)}/x", description(array), array)
        pending.set(array)
        return pending

    def receive(self, name: str, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Pending:
        """Receives the array, of this shape and dtype, that another process broadcasts by `send_to_all`."""
        key = f"{self._key(name)}/x"
        pending = Pending(name, 1)
        what = f"{dtype.name}{list(shape)}"

        def then(rank: int, parcel: Parcel | errors.OpError) -> None:
            if isinstance(parcel, errors.OpError):
                pending.fail(parcel)
                return
            # The sender is not known before: all are expected, and the others are dropped now.
            for other in self.peers.others:
                self.peers.expect_no_more(other, key)
            if parcel.description != what:
                pending.fail(mismatch(name, self.rank, what, rank, parcel.description))
            else:
                pending.set(parcel.data.view(dtype).reshape(shape))

        self._from_all(key, then)
        return pending

    def close(self) -> None:
        """Leaves the group, after sending what is queued."""
        self.peers.close()

    def _key(self, name: str) -> str:
        """Returns the key of this call of a name, which is the same in all processes."""
        with self._lock:
            self._calls[name] += 1
            return f"{name}#{self._calls[name]}"

    def _to_all(self, key: str, description: str, array: NDArray) -> None:
        data = np.array(array, order="C")  # a copy: the caller may change its array while this one is being sent
        for rank in self.peers.others:
            self.peers.send(rank, key, description, data)

    def _from_all(self, key: str, then: Callable[[int, Parcel | errors.OpError], None]) -> None:
        for rank in self.peers.others:
            self.peers.expect(rank, key, functools.partial(then, rank))


class _ReduceScatter:
    """An all-reduce in two rounds: this process reduces its own part of the array, and receives the other reduced parts.

    Keys: "/x" for parts, "/s" for reduced parts.
    """

    def __init__(self, group: Group, key: str, array: NDArray, what: str, merge: np.ufunc) -> None:
        self._group, self._key, self._what, self._merge = group, key, what, merge
        self._shape, self._dtype = array.shape, array.dtype
        # Unlike `_to_all`, no copy: every process has received its part by the time that the result is complete.
        flat = np.ascontiguousarray(array).reshape(-1)
        self._bounds = part_bounds(len(flat), group.size, flat.itemsize)
        # Placeholders of the right type; every element is replaced before use.
        self._parts, self._sums = [flat] * group.size, [flat] * group.size
        self._left = Pending(key, group.size)
        self.pending = Pending(key, group.size)
        # First round: part r of this array goes to process r. Second round ("/s"): every process sends its reduced part to all.
        peers = group.peers
        for rank in peers.others:
            peers.send(rank, f"{key}/x", what, flat[self._bounds[rank] : self._bounds[rank + 1]])
            peers.expect(rank, f"{key}/x", functools.partial(self._part, rank))
            peers.expect(rank, f"{key}/s", functools.partial(self._sum, rank))
        self._take_part(group.rank, flat[self._bounds[group.rank] : self._bounds[group.rank + 1]])

    def _part(self, rank: int, parcel: Parcel | errors.OpError) -> None:
        """First round: takes this process's part of another one's array."""
        if isinstance(parcel, errors.OpError):
            self.pending.fail(parcel)
        elif parcel.description != self._what:
            self.pending.fail(mismatch(self._key.rpartition("#")[0], self._group.rank, self._what, rank, parcel.description))
        else:
            self._take_part(rank, parcel.data.view(self._dtype))

    def _take_part(self, rank: int, part: NDArray) -> None:
        self._parts[rank] = part
        if self._left.arrived():
            # The sum of part c begins with process c, as in a ring, where that part starts its way there.
            own = self._group.rank
            total = _in_order(self._parts, own, self._merge)
            # Frees the parts while the second round runs.
            self._parts.clear()
            for other in self._group.peers.others:
                self._group.peers.send(other, f"{self._key}/s", self._what, total)
            self._take_sum(own, total)

    def _sum(self, rank: int, parcel: Parcel | errors.OpError) -> None:
        """Second round: takes the part that another process has reduced."""
        if isinstance(parcel, errors.OpError):
            self.pending.fail(parcel)
        else:
            self._take_sum(rank, parcel.data.view(self._dtype))

    def _take_sum(self, rank: int, total: NDArray) -> None:
        # No check of the description: a process sends its sum only after it has checked all parts.
        self._sums[rank] = total
        if self.pending.arrived():
            self.pending.set(np.concatenate(self._sums).reshape(self._shape))


_MERGE: dict[str, np.ufunc] = {"Add": np.add, "Mul": np.multiply}
_ALIGNMENT = 64


def part_bounds(length: int, count: int, item_size: int) -> list[int]:
    """Splits `length` items into `count` parts; returns the beginnings of the parts, and the end of the last one.

    Parts have one size, a multiple of 64 bytes; the last ones may be shorter or empty. TensorFlow 1.15's ring splits the same way, which
    decides the order of its sums.
    """
    # Both divisions round up: first to equal parts, then to whole 64-byte blocks.
    size = -(-length // count)
    whole = max(1, _ALIGNMENT // item_size)
    size = -(-size // whole) * whole
    return [min(i * size, length) for i in range(count)] + [length]


def in_parts(arrays: list[NDArray], merge: str) -> NDArray:
    """Returns the sum or product of arrays, with each part reduced in the order of a ring of processes, like `_ReduceScatter`."""
    # Of two arrays, either order gives the same bits.
    if len(arrays) <= 2:
        return _in_order(arrays, 0, _MERGE[merge])
    flat = [a.reshape(-1) for a in arrays]
    bounds = part_bounds(len(flat[0]), len(arrays), arrays[0].itemsize)
    found = [_in_order([f[bounds[c] : bounds[c + 1]] for f in flat], c, _MERGE[merge]) for c in range(len(arrays))]
    return np.concatenate(found).reshape(arrays[0].shape)


def _in_order(arrays: list[NDArray], first: int, merge: np.ufunc) -> NDArray:
    """Reduces arrays from number `first` on, cyclically."""
    total: NDArray = arrays[first]
    for step in range(1, len(arrays)):
        total = merge(total, arrays[(first + step) % len(arrays)])
    return total


def description(array: NDArray) -> str:
    """Returns an array's dtype and shape as text, e.g. "float32[2, 3]"."""
    return f"{array.dtype.name}{list(array.shape)}"


def rows_of(description: str, array: NDArray) -> int | None:
    """Returns the size of axis 0 in a description; None if such an array cannot be concatenated with `array` along that axis."""
    head, _, text = description.rstrip("]").partition("[")
    sizes = [int(size) for size in text.split(", ") if size]
    return sizes[0] if head == array.dtype.name and sizes and sizes[1:] == list(array.shape[1:]) else None


def mismatch(name: str, rank: int, own: str, other: int, theirs: str) -> errors.InvalidArgumentError:
    """Returns the error of an operation that two processes call with arrays that do not match."""
    return errors.InvalidArgumentError(
        None, None, f"The collective {name!r} has {own} in process {rank} and {theirs} in process {other}: all processes of a group must "
        "call it with the same operation, dtype and shape (only axis 0 of an all-gather may differ)."
    )  # fmt: skip
