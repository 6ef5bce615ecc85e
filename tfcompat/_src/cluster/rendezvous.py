"""Rendezvous: the table through which the parts of a step exchange tensors. A tensor is put under a key and taken once; takers may wait."""

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
from tfcompat._src.ops.strings.farmhash import hash64

_REMEMBERED = 4096
"""How many ended steps are remembered: a request for a tensor of one of them fails, instead of waiting for ever."""

_OUTSIDE = "0:0"
"""The frame and iteration in the keys of tensors outside of loops."""


class Key(NamedTuple):
    """A rendezvous key; its text is that of TensorFlow, `sender;incarnation;receiver;name;frame:iteration`."""

    send_device: str
    incarnation: int
    recv_device: str
    name: str
    frame: str = _OUTSIDE

    def __str__(self) -> str:
        return f"{self.send_device};{self.incarnation:016x};{self.recv_device};{self.name};{self.frame}"


def parse_key(text: str) -> Key:
    """Parses the text of a key.

    Raises:
      errors.InvalidArgumentError: the text is malformed.
    """
    parts = text.split(";")
    try:
        return Key(parts[0], int(parts[1], 16), *parts[2:])
    except (IndexError, TypeError, ValueError):
        raise errors.InvalidArgumentError(None, None, f"Invalid rendezvous key: {text}") from None


class Arrived(NamedTuple):
    """A tensor that was put: a value, or a dead tensor, whose branch of a conditional was not taken."""

    value: Any
    dtype: Any
    is_dead: bool = False


class Receipt(NamedTuple):
    """A tensor that was taken: its key, the tensor, and the times of request and arrival, in nanoseconds since 1970."""

    key: str
    found: Arrived
    asked: int
    came: int


class StepRendezvous:
    """The tensors of one step in one process.

    Attributes:
      fetch: called with a key that is awaited and has not come, to request the tensor from another process; or None.
      push: sends tensors to the processes that receive them, and returns those that have to be requested instead; or None.
      senders: the tasks that push their tensors, without a request. streams: the lines that have delivered tensors of the step.
      receipts: a record of each tensor that is taken, if a list; None (the default) keeps none.
    """

    def __init__(self) -> None:
        # Tensors that have come and were not taken, and all keys that were ever put: a second put is an error even after a take.
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
        """Puts tensors by key, and pushes those that other processes receive.

        Raises:
          errors.AbortedError: a key was used before.
        """
        with self._changed:
            # Checked before anything is pushed: a batch is put whole or not at all.
            twice = self._put.intersection(found)
            if twice:
                raise errors.AbortedError(None, None, f"Duplicated send: {min(twice)}")
            self._put.update(found)
        # Outside of the lock, as a send may block.
        kept = found if self.push is None else self.push(found)
        if kept:
            self.arrive(kept)

    def arrive(self, found: dict[str, Arrived]) -> None:
        """Adds tensors that are received here, by key; several wake the waiting threads once."""
        with self._changed:
            # Keys of tensors from other processes are recorded here, those of this process by `put_all` too.
            self._put.update(found)
            self._arrived.update(found)
            self._came.update(dict.fromkeys(found, time.time_ns()))
            for missing in self._awaited:
                missing.difference_update(found)
            # Wakes threads only if one of the sets that they wait for is complete.
            if not all(self._awaited):
                self._changed.notify_all()

    def has_put(self, key: str) -> bool:
        """Whether a tensor was put under a key; it may have been taken since."""
        return key in self._put

    def ask(self, keys: list[str]) -> bool:
        """Marks keys as requested; returns whether they need a request: not all were requested before, and not all were put."""
        with self._changed:
            new = not self._asked.issuperset(keys) and not self._put.issuperset(keys)
            self._asked.update(keys)
        return new

    def take(self, key: str) -> Arrived:
        """Takes a tensor; see `take_all`."""
        return self.take_all((key,))[key]

    def take_all(self, keys: Collection[str]) -> dict[str, Arrived]:
        """Waits until all keys have tensors, within the limits of this thread's run; removes and returns the tensors, by key.

        Raises:
          MustWait: this thread may not wait. errors.CancelledError, errors.DeadlineExceededError: its run was cancelled, or is out of time.
          errors.OpError: the step has failed.
        """
        # Waits for all tensors, then takes them at once: a wait that fails takes none.
        asked = time.time_ns()
        if not all([key in self._arrived for key in keys]):
            self.first_of([keys])
        with self._changed:
            found = {key: self._arrived.pop(key) for key in keys}
            # A pushed tensor may come before it is asked for: its wait took no time.
            if self.receipts is not None:
                self.receipts += [Receipt(key, one, min(asked, self._came[key]), self._came[key]) for key, one in found.items()]
            return found

    def first_of(self, sets: Sequence[Collection[str]]) -> int:
        """Waits until one of several sets of keys is complete; returns its index. Raises as `take_all` does."""
        # Requests go out before the wait, without the lock: `fetch` calls other processes.
        fetch = self.fetch
        for key in itertools.chain(*sets):
            if fetch is not None and key not in self._asked and key not in self._put:
                fetch(key)
        with self._changed:
            missing = [{key for key in keys if key not in self._arrived} for keys in sets]
            # `arrive` removes keys from these sets. They are compared by identity below, as equal ones may belong to other threads.
            self._awaited += missing
            try:
                while all(missing):
                    self._wait()
            finally:
                self._awaited = [other for other in self._awaited if not any(other is own for own in missing)]
            return next(number for number, left in enumerate(missing) if not left)

    def _wait(self) -> None:
        """Waits for the next change, or raises the reason why this thread must not wait. The order of the checks decides the error."""
        # The step's own error comes first: it says more than the cancellation that follows it.
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
        """Fails the step: all waits, present and future ones, raise an error. The first error wins."""
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()

    def wake(self) -> None:
        """Has all waits check whether their run was cancelled."""
        with self._changed:
            self._changed.notify_all()


class Iteration:
    """The tensors of a step in one iteration of a loop, or outside of all loops; methods take and return keys as nodes have them.

    TensorFlow's workers identify an iteration by a hash of the frame names of the loops around it, each after the number of the iteration
    that it runs in.
    """

    def __init__(self, step: StepRendezvous, name: str = "", number: int = 0) -> None:
        self._step, self._name, self._number = step, name, number
        self._frame = f"{int(hash64([name.encode()])[0])}:{number}" if name else _OUTSIDE

    def inside(self, frame_name: str, number: int) -> Iteration:
        """Returns an iteration of a loop that runs in this one."""
        return Iteration(self._step, f"{self._name};{self._number};{frame_name}", number)

    def _in_step(self, key: str) -> str:
        """Returns the key that the step has for a node's key in this iteration."""
        return key.removesuffix(_OUTSIDE) + self._frame if self._name else key

    def has_put(self, key: str) -> bool:
        """See `StepRendezvous`."""
        return self._step.has_put(self._in_step(key))

    def put_all(self, found: dict[str, Arrived]) -> None:
        """See `StepRendezvous`."""
        self._step.put_all({self._in_step(key): one for key, one in found.items()} if self._name else found)

    def take_all(self, keys: Collection[str]) -> dict[str, Arrived]:
        """See `StepRendezvous`."""
        if not self._name:
            return self._step.take_all(keys)
        found = self._step.take_all([self._in_step(key) for key in keys])
        return {key: found[self._in_step(key)] for key in keys}

    def first_of(self, sets: Sequence[Collection[str]]) -> int:
        """See `StepRendezvous`."""
        return self._step.first_of([[self._in_step(key) for key in keys] for keys in sets] if self._name else sets)


class Steps:
    """The rendezvous of the steps in this process, by step number."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._steps: dict[int, StepRendezvous] = {}
        self._ended: OrderedDict[int, None] = OrderedDict()

    def step(self, number: int) -> StepRendezvous:
        """Returns the rendezvous of a step; creates it on first use, as a tensor may come before the request to run.

        Raises:
          errors.AbortedError: the step has ended.
        """
        with self._lock:
            # A late request, as for a tensor of a part that has failed, would otherwise wait in a step that nobody ends.
            if number in self._ended:
                raise errors.AbortedError(None, None, f"{DERIVED}Step {number} has ended")
            if number not in self._steps:
                self._steps[number] = StepRendezvous()
            return self._steps[number]

    def put(self, number: int, found: dict[str, Arrived], stream: object) -> None:
        """Adds tensors, by key, that a line has delivered; drops them if the step has ended."""
        step = self.reached(number, stream)
        if step is not None:
            step.arrive(found)

    def reached(self, number: int, stream: object) -> StepRendezvous | None:
        """Returns the step for which a line has delivered something, and remembers the line; None if the step has ended."""
        with self._lock:
            if number in self._ended:
                return None
            step = self._steps.setdefault(number, StepRendezvous())
            step.streams.add(stream)
            return step

    def lose(self, task: str, stream: object, error: errors.OpError) -> None:
        """Handles the end of a task's line: fails the steps that await its tensors, and ends those for which the line delivered something.

        The latter may have no other end: their master may be the task that has gone.
        """
        with self._lock:
            # Steps are failed outside of the lock: waking their threads takes other locks.
            waiting = [step for step in self._steps.values() if task in step.senders]
            begun = {number: step for number, step in self._steps.items() if stream in step.streams}
        for step in (*waiting, *begun.values()):
            step.abort(error)
        for number in begun:
            self.end(number)

    def end(self, number: int) -> None:
        """Ends a step; waits for its tensors raise AbortedError."""
        with self._lock:
            # Remembered even if it never began here: the end may come before the request to run.
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
    """Returns a context in which the _Send and _Recv nodes that this thread runs use the rendezvous of a step."""
    outer, _current.step = _current.step, step
    try:
        yield
    finally:
        _current.step = outer


def current() -> StepRendezvous:
    """Returns the rendezvous that this thread has `entered`.

    Raises:
      errors.InternalError: there is none: a _Send or _Recv runs outside of a cluster's step.
    """
    if _current.step is None:
        raise errors.InternalError(None, None, "Need a non-null rendezvous: this node runs in steps of a cluster only")
    return _current.step
