"""Where the parts of a step meet: a tensor is put under a key, and taken once, maybe by one who waits for it since before."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

from tfcompat._src.base import errors
from tfcompat._src.base.run_limits import MustWait, is_cancelled, may_wait, seconds_left
from tfcompat._src.cluster.wire import DERIVED

_REMEMBERED = 4096
"""So many steps that have ended are known, so that who comes too late for one does not wait for ever."""


class Key(NamedTuple):
    """The parts of a key, as text `sender;incarnation;receiver;name;frame:iteration`."""

    send_device: str
    incarnation: int
    recv_device: str
    name: str
    frame: str = "0:0"

    def __str__(self) -> str:
        return f"{self.send_device};{self.incarnation:016x};{self.recv_device};{self.name};{self.frame}"


def parse_key(text: str) -> Key:
    """The parts of a key; errors.InvalidArgumentError where it is malformed."""
    parts = text.split(";")
    try:
        return Key(parts[0], int(parts[1], 16), *parts[2:])
    except (IndexError, TypeError, ValueError):
        raise errors.InvalidArgumentError(None, None, f"Invalid rendezvous key: {text}") from None


class Arrived(NamedTuple):
    """What was put: a value, or none where the tensor is on a side of a conditional that was not taken."""

    value: Any
    dtype: Any
    is_dead: bool = False


class Receipt(NamedTuple):
    """A tensor that was taken: its key, what it is, and when it was asked for and came, in nanoseconds since 1970."""

    key: str
    found: Arrived
    asked: int
    came: int


class StepRendezvous:
    """The tensors of one step in one process.

    Attributes: `receipts`: of what is taken, where it is a list; by default none are kept.

    `fetch`, where set, is told of a key that is asked for and has not come: it gets it from another process. `push`, where set, sends
    tensors to the processes that they are for, and gives back those that have to be asked for. `senders` are the tasks whose tensors come without being asked for.
    `streams` are those that have brought something for the step.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._arrived: dict[str, Arrived] = {}
        self._put: set[str] = set()
        self._error: errors.OpError | None = None
        self._asked: set[str] = set()
        self._awaited: list[set[str]] = []
        self.fetch: Callable[[str], None] | None = None
        self.push: Callable[[dict[str, Arrived]], dict[str, Arrived]] | None = None
        self.senders: set[str] = set()
        self.streams: set[object] = set()
        self._came: dict[str, int] = {}
        self.receipts: list[Receipt] | None = None

    def put(self, key: str, found: Arrived) -> None:
        """Puts a tensor; see `put_all`."""
        self.put_all({key: found})

    def put_all(self, found: dict[str, Arrived]) -> None:
        """Puts tensors, by key.

        Raises:
          errors.AbortedError: one was put under its key before.
        """
        with self._changed:
            twice = self._put.intersection(found)
            if twice:
                raise errors.AbortedError(None, None, f"Duplicated send: {min(twice)}")
            self._put.update(found)
        kept = found if self.push is None else self.push(found)
        if kept:
            self.arrive(kept)

    def arrive(self, found: dict[str, Arrived]) -> None:
        """Takes in tensors of this process, or those that another has sent together, by key."""
        with self._changed:
            self._put.update(found)
            self._arrived.update(found)
            self._came.update(dict.fromkeys(found, time.time_ns()))
            for missing in self._awaited:
                missing.difference_update(found)
            if not all(self._awaited):
                self._changed.notify_all()

    def has_put(self, key: str) -> bool:
        """Whether a tensor was put under a key, taken or not."""
        return key in self._put

    def ask(self, keys: list[str]) -> bool:
        """Notes that tensors are asked for; whether they were not before, nor have come."""
        with self._changed:
            new = not self._asked.issuperset(keys) and not self._put.issuperset(keys)
            self._asked.update(keys)
        return new

    def take(self, key: str) -> Arrived:
        """Takes a tensor out; see `take_all`."""
        return self.take_all((key,))[key]

    def take_all(self, keys: Collection[str]) -> dict[str, Arrived]:
        """Takes tensors out when all have come, within the limits of this thread's run; they, by key.

        Raises:
          MustWait: it may not wait. errors.CancelledError, errors.DeadlineExceededError: it is to wait no more.
          errors.OpError: the step has failed.
        """
        asked = time.time_ns()
        self.first_of([keys])
        with self._changed:
            found = {key: self._arrived.pop(key) for key in keys}
            if self.receipts is not None:
                self.receipts += [Receipt(key, one, min(asked, self._came[key]), self._came[key]) for key, one in found.items()]
            return found

    def first_of(self, sets: Sequence[Collection[str]]) -> int:
        """Waits until all tensors of one of several sets of keys have come; the number of the set. Raises as `take_all` does."""
        fetch = self.fetch
        for key in itertools.chain(*sets):
            if fetch is not None and key not in self._asked and key not in self._put:
                fetch(key)
        with self._changed:
            missing = [{key for key in keys if key not in self._arrived} for keys in sets]
            self._awaited += missing
            try:
                while all(missing):
                    self._wait()
            finally:
                self._awaited = [other for other in self._awaited if not any(other is own for own in missing)]
            return next(number for number, left in enumerate(missing) if not left)

    def _wait(self) -> None:
        """Waits until something has changed, if it may."""
        left = seconds_left()
        if self._error is not None:
            raise self._error
        if is_cancelled():
            raise errors.CancelledError(None, None, "Step was cancelled")
        if left is not None and left <= 0:
            raise errors.DeadlineExceededError(None, None, "Timed out waiting for notification")
        if not may_wait():
            raise MustWait
        self._changed.wait(left)

    def abort(self, error: errors.OpError) -> None:
        """Has all who wait, now and later, raise an error; the first one counts."""
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()

    def wake(self) -> None:
        """Has all who wait look again whether they are to."""
        with self._changed:
            self._changed.notify_all()


class Steps:
    """The steps that a process knows by number."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._steps: dict[int, StepRendezvous] = {}
        self._ended: OrderedDict[int, None] = OrderedDict()

    def step(self, number: int) -> StepRendezvous:
        """A step, begun with the first who asks for it.

        Raises:
          errors.AbortedError: it has ended.
        """
        with self._lock:
            if number in self._ended:
                raise errors.AbortedError(None, None, f"{DERIVED}Step {number} has ended")
            if number not in self._steps:
                self._steps[number] = StepRendezvous()
            return self._steps[number]

    def put(self, number: int, found: dict[str, Arrived], stream: object) -> None:
        """Takes in tensors, by key, that another process has sent by a stream for a step, if that has not ended."""
        step = self.reached(number, stream)
        if step is not None:
            step.arrive(found)

    def reached(self, number: int, stream: object) -> StepRendezvous | None:
        """The step that a stream has brought something for, None where it has ended."""
        with self._lock:
            if number in self._ended:
                return None
            step = self._steps.setdefault(number, StepRendezvous())
            step.streams.add(stream)
            return step

    def lose(self, task: str, stream: object, error: errors.OpError) -> None:
        """Fails the steps that a task sends tensors to, and ends those that its stream has brought something for: maybe nobody else does."""
        with self._lock:
            waiting = [step for step in self._steps.values() if task in step.senders]
            begun = {number: step for number, step in self._steps.items() if stream in step.streams}
        for step in (*waiting, *begun.values()):
            step.abort(error)
        for number in begun:
            self.end(number)

    def end(self, number: int) -> None:
        """Ends a step; whoever waits for a tensor of it raises AbortedError."""
        with self._lock:
            found = self._steps.pop(number, None)
            self._ended[number] = None
            if len(self._ended) > _REMEMBERED:
                self._ended.popitem(last=False)
        if found is not None:
            found.abort(errors.AbortedError(None, None, f"{DERIVED}Step {number} has ended"))


class _Current(threading.local):
    step: StepRendezvous | None = None


_current = _Current()


@contextlib.contextmanager
def entered(step: StepRendezvous) -> Iterator[None]:
    """A block in which the operations of this thread meet others in a step."""
    outer, _current.step = _current.step, step
    try:
        yield
    finally:
        _current.step = outer


def current() -> StepRendezvous:
    """The step of this thread.

    Raises:
      errors.InternalError: there is none: a node that sends or receives runs outside of a cluster's step.
    """
    if _current.step is None:
        raise errors.InternalError(None, None, "Need a non-null rendezvous: this node runs in steps of a cluster only")
    return _current.step
