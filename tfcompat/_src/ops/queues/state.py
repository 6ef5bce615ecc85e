"""The contents of queues, and the order in which waiting enqueues and dequeues go on.

An element is a tuple with one array or scalar per component. Attempts wait in line, one line for enqueues (and closing), one
for dequeues; the first of each goes on as far as it can whenever the queue changes. This is the order of TensorFlow 1.15.
"""

from __future__ import annotations

import heapq
import itertools
import secrets
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.run_limits import MustWait, may_wait
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.ops.queues.resource import SharedResource, cancelled, invalid
from tfcompat._src.ops.random import philox

Element = tuple
UNBOUNDED = 2**31 - 1


class _Attempt:
    """Something that is asked of a queue: `advance` does what can be done now and says whether that was anything."""

    def __init__(self) -> None:
        self.done = False
        self.error: errors.OpError | None = None
        self.changed: threading.Condition | None = None

    def finish(self, error: errors.OpError | None = None) -> bool:
        self.done, self.error = True, error
        if self.changed is not None:
            self.changed.notify()
        return True

    def is_possible(self, queue: Queue) -> bool:
        """Whether one `advance` does all of it."""
        return True

    def withdraw(self, queue: Queue) -> None:
        """Undoes what a cancelled attempt did, as far as it can be undone."""


class _Enqueue(_Attempt):
    what = "Enqueue"

    def __init__(self, elements: list[Element]) -> None:
        super().__init__()
        self.elements = elements
        self.put = 0

    def is_possible(self, queue: Queue) -> bool:
        return queue.closed or len(queue.elements) + len(self.elements) <= queue.capacity

    def advance(self, queue: Queue) -> bool:
        if queue.closed:
            return self.finish(cancelled(f"{queue.kind} '{queue.name}' is closed."))
        room = queue.capacity - len(queue.elements)
        if room <= 0:
            return False
        following = self.elements[self.put : self.put + room]
        queue.extend(following)
        self.put += len(following)
        return self.finish() if self.put == len(self.elements) else True


class _Close(_Attempt):
    what = "Close"

    def advance(self, queue: Queue) -> bool:
        if queue.closed:
            return self.finish(cancelled(f"Queue '{queue.name}' is already closed."))
        queue.closed = True
        return self.finish()


class _Dequeue(_Attempt):
    what = "Dequeue"

    def __init__(self, count: int, allow_fewer: bool) -> None:
        super().__init__()
        self.count, self.allow_fewer = count, allow_fewer
        self.taken: list[Element] = []

    def is_possible(self, queue: Queue) -> bool:
        return queue.closed or len(queue.elements) - queue.min_after_dequeue >= self.count

    def advance(self, queue: Queue) -> bool:
        size, missing = len(queue.elements), self.count - len(self.taken)
        if queue.closed and size < missing:
            queue.put_back(self.taken)
            self.taken = []
            if not self.allow_fewer or not queue.elements:
                return self.finish(_insufficient(queue, missing, size))
            self.count = missing = size = len(queue.elements)
        available = min(missing, size if queue.closed else size - queue.min_after_dequeue)
        if available <= 0:
            return False
        self.taken += queue.take(available)
        return self.finish() if len(self.taken) == self.count else True

    def withdraw(self, queue: Queue) -> None:
        queue.put_back(self.taken)


def _insufficient(queue: Queue, requested: int, size: int) -> errors.OutOfRangeError:
    return errors.OutOfRangeError(
        None, None, f"{queue.kind} '{queue.name}' is closed and has insufficient elements (requested {requested}, "
        f"current size {size})"
    )  # fmt: skip


class Queue(SharedResource):
    """A first-in first-out queue.

    Args:
      capacity: the largest number of elements; negative for no limit.
      component_types: one DType per component.
      shapes: one sizes per component, or None where shapes are free.
    """

    kind = "FIFOQueue"
    min_after_dequeue = 0

    def __init__(self, capacity: int, component_types: list[dtypes.DType], shapes: list[tuple] | None) -> None:
        super().__init__()
        self.capacity = capacity if capacity >= 0 else UNBOUNDED
        self.component_types, self.shapes = component_types, shapes
        self.elements: Any = deque()
        self.closed = False
        self._enqueues: deque[_Attempt] = deque()
        self._dequeues: deque[_Attempt] = deque()

    # ---- the container ----

    def extend(self, elements: Iterable[Element]) -> None:
        self.elements.extend(elements)

    def take(self, count: int) -> list[Element]:
        return [self.elements.popleft() for _ in range(count)]

    def put_back(self, elements: list[Element]) -> None:
        """Returns what was taken last to where it was taken from."""
        self.elements.extendleft(reversed(elements))

    # ---- what nodes ask ----

    def enqueue(self, elements: list[Element]) -> None:
        """Adds elements; waits while the queue is full.

        Raises:
          errors.CancelledError: the queue is closed, or is closed with cancellation while this waits.
        """
        if elements:
            self._perform(_Enqueue(elements), self._enqueues)

    def dequeue(self, count: int, allow_fewer: bool = False) -> list[Element]:
        """Takes `count` elements, or with `allow_fewer` what is left in a closed queue; waits while there are not enough.

        Raises:
          errors.OutOfRangeError: the queue is closed and has not enough elements.
        """
        if not count:
            return []
        attempt = _Dequeue(count, allow_fewer)
        self._perform(attempt, self._dequeues)
        return attempt.taken

    def close(self, cancel_pending_enqueues: bool) -> None:
        """Ends enqueueing, after the enqueues that wait or, with `cancel_pending_enqueues`, by failing these."""
        if not cancel_pending_enqueues:
            self._perform(_Close(), self._enqueues)
            return
        with self.lock:
            self.closed = True
            for attempt in self._enqueues:
                attempt.finish(cancelled(f"{attempt.what} operation was cancelled"))
            self._enqueues.clear()
            self._advance()

    def _perform(self, attempt: Any, line: deque[_Attempt]) -> None:
        with self.lock:
            if not line and attempt.is_possible(self):
                attempt.advance(self)
                if self._enqueues or self._dequeues:
                    self._advance()
            elif not may_wait():
                raise MustWait
            else:
                line.append(attempt)
                self._advance()
            if not attempt.done:
                attempt.changed = threading.Condition(self.lock)
                try:
                    self.wait(lambda: attempt.done, attempt.what, attempt.changed)
                except BaseException:
                    if not attempt.done:
                        line.remove(attempt)
                        attempt.withdraw(self)
                        self._advance()
                    raise
        if attempt.error is not None:
            raise attempt.error

    def _advance(self) -> None:
        while _advance_line(self._enqueues, self) | _advance_line(self._dequeues, self):
            pass


def _advance_line(line: deque[Any], queue: Queue) -> bool:
    """Lets the attempts of one line go on, in order; whether anything was done."""
    moved = False
    while line and line[0].advance(queue):
        moved = True
        if not line[0].done:
            break
        line.popleft()
    return moved


class PaddingQueue(Queue):
    """A first-in first-out queue whose shapes may have unknown sizes; a batch is padded to its largest element."""

    kind = "PaddingFIFOQueue"


class PriorityQueue(Queue):
    """Gives the element with the lowest first component, the oldest one of equals."""

    kind = "PriorityQueue"

    def __init__(self, capacity: int, component_types: list[dtypes.DType], shapes: list[tuple] | None) -> None:
        super().__init__(capacity, [dtypes.int64, *component_types], None if shapes is None else [(), *shapes])
        self.elements = []
        self._arrivals = itertools.count()

    def extend(self, elements: Iterable[Element]) -> None:
        for element in elements:
            heapq.heappush(self.elements, (int(element[0]), next(self._arrivals), element))

    def take(self, count: int) -> list[Element]:
        return [heapq.heappop(self.elements)[-1] for _ in range(count)]

    def put_back(self, elements: list[Element]) -> None:
        for place, element in enumerate(elements):
            heapq.heappush(self.elements, (int(element[0]), place - len(elements), element))


class RandomShuffleQueue(Queue):
    """Gives a random element, and keeps `min_after_dequeue` of them to choose from until it is closed."""

    kind = "RandomShuffleQueue"

    def __init__(
        self, capacity: int, component_types: list[dtypes.DType], shapes: list[tuple] | None,
        min_after_dequeue: int, seed: int, seed2: int,
    ) -> None:  # fmt: skip
        super().__init__(capacity, component_types, shapes)
        if min_after_dequeue < 0:
            raise invalid(f"min_after_dequeue {min_after_dequeue} must be >= 0")
        if min_after_dequeue >= self.capacity:
            raise invalid(f"min_after_dequeue {min_after_dequeue} must be < capacity {self.capacity}")
        self.min_after_dequeue, self.seeds = min_after_dequeue, (seed, seed2)
        self.elements = []
        self._numbers = _uniform_numbers(*self.seeds)

    def take(self, count: int) -> list[Element]:
        elements, size, taken = self.elements, len(self.elements), []
        for number in itertools.islice(self._numbers, count):
            place, last = number % size, size - 1
            taken.append(elements[place])
            elements[place], size = elements[last], last
        del elements[size:]
        return taken

    def put_back(self, elements: list[Element]) -> None:
        self.elements.extend(elements)


_WORDS_AT_ONCE = 256


def _uniform_numbers(seed: int, seed2: int) -> Iterator[int]:
    """The 32-bit numbers of a Philox generator with these seeds, in order."""
    if not seed and not seed2:
        seed, seed2 = secrets.randbits(63), secrets.randbits(63)
    key, counter = philox.seed_to_key_counter(seed, seed2)
    for start in itertools.count(0, _WORDS_AT_ONCE):
        index = np.arange(_WORDS_AT_ONCE, dtype=np.uint32)
        words = philox.draw(np, key, philox.advance(counter, start), index)
        yield from np.stack(words, 1).reshape(-1).tolist()


# ---- elements and batches ----


def element_of(components: tuple, queue: Queue) -> Element:
    """One element of component values, of the queue's shapes."""
    for place, (value, wanted) in enumerate(zip(components, queue.shapes or ())):
        require_shape(place, value.shape, wanted)
    return tuple(map(kept, components))


def elements_of(components: tuple, queue: Queue) -> list[Element]:
    """The elements along dimension 0 of component values."""
    for place, value in enumerate(components):
        if not value.ndim:
            raise _mismatch(place, (None, *(queue.shapes[place] if queue.shapes else ())), ())
    count = len(components[0])
    for place, value in enumerate(components):
        if queue.shapes is not None:
            require_shape(place, value.shape, (count, *queue.shapes[place]))
        elif len(value) != count:
            raise invalid(
                f"All input tensors must have the same size in the 0th dimension. Component {place} has {len(value)}, "
                f"and should have {count}"
            )
    return list(zip(*map(kept, components)))


def kept(value: Any) -> Any:
    """A value that nobody else can change."""
    if not value.ndim:
        return value[()]
    return value.copy() if value.flags.writeable else value


def require_shape(place: int, found: tuple, wanted: tuple) -> None:
    """InvalidArgumentError where the shape of a component is not the wanted one; None in it is any size."""
    if found == wanted:
        return
    if len(found) != len(wanted) or any(w is not None and f != w for f, w in zip(found, wanted)):
        raise _mismatch(place, wanted, found)


def _mismatch(place: int, wanted: tuple, found: tuple) -> errors.InvalidArgumentError:
    return invalid(f"Shape mismatch in tuple component {place}. Expected {shape_text(wanted)}, got {shape_text(found)}")


def check_batches(queue: Queue) -> None:
    """InvalidArgumentError where the queue cannot give batches."""
    if queue.shapes is None:
        raise invalid(f"{queue.kind}'s DequeueMany and DequeueUpTo require the components to have specified shapes.")


def batch_of(elements: list[Element], queue: Queue) -> tuple:
    """The components of elements stacked along a new dimension 0, each padded to the largest where sizes may differ."""
    columns = zip(*elements) if elements else itertools.repeat((), len(queue.shapes))
    return tuple(
        _stacked(column, kind, sizes) for column, kind, sizes in zip(columns, queue.component_types, queue.shapes)
    )


def _stacked(values: tuple, kind: dtypes.DType, sizes: tuple) -> np.ndarray:
    shape = (len(values), *sizes)
    if not sizes or not values:
        return np.array(values, kind.as_numpy_dtype).reshape(shape)
    if None not in sizes:
        return np.concatenate(values).reshape(shape)
    largest = tuple(max([v.shape[d] for v in values], default=0) if s is None else s for d, s in enumerate(sizes))
    batch = np.full((len(values), *largest), b"" if kind is dtypes.string else 0, kind.as_numpy_dtype)
    for place, value in enumerate(values):
        batch[(place, *map(slice, value.shape))] = value
    return batch
