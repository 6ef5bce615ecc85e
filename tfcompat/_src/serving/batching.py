"""Batches of requests: runs that feed and fetch the same tensors are joined, padded to sizes that are prepared, and run as one.

Parameters, rules and texts: TensorFlow Serving's BatchingParameters and batching/batching_session.cc.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.serving.metrics import QUEUING_LATENCY

Run = Callable[[Mapping[str, NDArray], Sequence[str], float], list[NDArray]]
_FULL = "The batch scheduling queue to which this task was submitted is full"
_DEFAULTS = {"max_batch_size": 1000, "batch_timeout_micros": 0, "max_enqueued_batches": 10, "num_batch_threads": os.cpu_count() or 1}


class Batching:
    """How batches are made, and the threads that run them.

    Args:
      parameters: a BatchingParameters message.

    Raises:
      errors.InvalidArgumentError: a parameter is out of range.
    """

    def __init__(self, parameters: Any) -> None:
        values = {key: getattr(parameters, key).value if parameters.HasField(key) else known for key, known in _DEFAULTS.items()}
        self.largest, self.queued = values["max_batch_size"], values["max_enqueued_batches"]
        self.timeout = values["batch_timeout_micros"] / 1e6
        self.sizes = tuple(parameters.allowed_batch_sizes)
        self.pads_lengths = parameters.pad_variable_length_inputs
        self.name = parameters.thread_pool_name.value or "batch_threads"
        self.batch = self._largest_batch(parameters)
        for key, least in (("max_batch_size", 1), ("max_enqueued_batches", 1), ("num_batch_threads", 1), ("batch_timeout_micros", 0)):
            if values[key] < least:
                raise errors.InvalidArgumentError(None, None, f"{key} must be at least {least}; was {values[key]}")
        if list(self.sizes) != sorted(set(self.sizes)) or (self.sizes and self.sizes[0] < 1):
            raise errors.InvalidArgumentError(None, None, f"allowed_batch_sizes entries must be positive and ascending; were {self.sizes}")
        if self.sizes and self.sizes[-1] != self.batch:
            rule = "must match max_batch_size" if self.batch == self.largest else "must be equal to max_execution_batch_size"
            raise errors.InvalidArgumentError(
                None, None, f"Last entry in allowed_batch_sizes {rule}; last was {self.sizes[-1]}; expected {self.batch}"
            )
        self.threads = ThreadPoolExecutor(values["num_batch_threads"], "tfcompat-serving-batch")

    def _largest_batch(self, parameters: Any) -> int:
        """The most rows that a batch has; where large requests are split, that may be less than a request has."""
        if not parameters.HasField("max_execution_batch_size"):
            return self.largest
        size: int = parameters.max_execution_batch_size.value
        if not parameters.enable_large_batch_splitting.value:
            raise errors.InvalidArgumentError(None, None, "max_execution_batch_size is set without enable_large_batch_splitting.")
        if not 1 <= size <= self.largest:
            raise errors.InvalidArgumentError(
                None, None, f"max_execution_batch_size must be at least 1 and at most max_batch_size, {self.largest}; was {size}"
            )
        return size

    def batcher(self) -> Batcher:
        """A Batcher for a version of a model."""
        return Batcher(self)

    def stop(self, deadline: float | None = None) -> None:
        """Ends the threads when what is queued has run; after the deadline, in monotonic seconds, what runs is left alone."""
        is_over = deadline is not None and time.monotonic() >= deadline
        self.threads.shutdown(wait=not is_over, cancel_futures=is_over)


class _Task(NamedTuple):
    """A request's rows, or some of them; `deadline` is when nobody waits for its result any more, in monotonic seconds, or None."""

    feeds: Mapping[str, NDArray]
    size: int
    added: float
    deadline: float | None
    result: Future


class _Queue:
    """Tasks that can be one batch, and their sizes' sum."""

    def __init__(self) -> None:
        self.tasks: deque[_Task] = deque()
        self.size = 0
        self.grown = threading.Condition()


class Batcher:
    """Joins runs of one version: there is a queue for each set of tensors that are fed and fetched, and each shape of what is fed."""

    def __init__(self, batching: Batching) -> None:
        self._batching = batching
        self._queues: dict[Any, _Queue] = {}
        self._lock = threading.Lock()

    def run(self, run: Run, feeds: Mapping[str, NDArray], fetches: Sequence[str], seconds: float) -> list[NDArray]:
        """What `run(feeds, fetches, seconds)` would give, by way of a batch.

        Raises:
          errors.InvalidArgumentError: feeds have no common first dimension, or more rows than a batch can have.
          errors.UnavailableError: too much is waiting. errors.DeadlineExceededError: `seconds` are over. What `run` raises.
        """
        size = self._rows(feeds)
        pads = self._batching.pads_lengths
        shapes = tuple((name, value.ndim if pads else value.shape[1:]) for name, value in sorted(feeds.items()))
        key = (shapes, tuple(fetches))
        with self._lock:
            queue = self._queues.setdefault(key, _Queue())
        began = time.monotonic()
        deadline = began + seconds if seconds else None
        pieces = _pieces(feeds, size, self._batching.batch)
        tasks = [_Task(piece, len(next(iter(piece.values()))), began, deadline, Future()) for piece in pieces]
        with queue.grown:
            if queue.size + size > self._batching.queued * self._batching.batch:
                raise errors.UnavailableError(None, None, _FULL)
            queue.tasks.extend(tasks)
            queue.size += size
            queue.grown.notify()
        for _ in tasks:
            self._batching.threads.submit(self._work, queue, run, tuple(fetches))
        try:
            results = [task.result.result(None if deadline is None else max(0, deadline - time.monotonic())) for task in tasks]
        except TimeoutError:
            raise errors.DeadlineExceededError(None, None, "Deadline Exceeded while the request waited for its batch") from None
        finally:
            for task in tasks:
                task.result.cancel()  # where one piece has failed, nobody waits for the others
        return [_joined(list(values), 0) for values in zip(*results, strict=True)]

    def _rows(self, feeds: Mapping[str, NDArray]) -> int:
        if any(not value.ndim for value in feeds.values()):
            raise errors.InvalidArgumentError(None, None, "Batching session Run() input tensors must have at least one dimension")
        sizes = {len(value) for value in feeds.values()}
        if len(sizes) != 1:
            raise errors.InvalidArgumentError(None, None, "Batching session Run() input tensors must have equal 0th-dimension size")
        (size,) = sizes
        if size > self._batching.largest:
            raise errors.InvalidArgumentError(
                None, None, f"Task size {size} is larger than maximum input batch size {self._batching.largest}"
            )
        return size

    def _work(self, queue: _Queue, run: Run, fetches: tuple[str, ...]) -> None:
        """Runs the next batch of a queue; nothing where another thread has taken all of it."""
        tasks = self._next(queue)
        if not tasks:
            return
        for task in tasks:
            QUEUING_LATENCY.add(self._batching.name, amount=(time.monotonic() - task.added) * 1e6)
        try:
            results = self._run_batch(run, tasks, fetches)
        except BaseException as e:  # noqa: BLE001  (whoever waits for the batch raises it)
            for task in tasks:
                task.result.set_exception(e)
            return
        for task, values in zip(tasks, results, strict=True):
            task.result.set_result(values)

    def _next(self, queue: _Queue) -> list[_Task]:
        """The tasks of the next batch, as soon as it is full or its oldest task has waited long enough."""
        with queue.grown:
            while queue.tasks and queue.size < self._batching.batch:
                left = queue.tasks[0].added + self._batching.timeout - time.monotonic()
                if left <= 0:
                    break
                queue.grown.wait(left)
            taken: list[_Task] = []
            rows = 0
            while queue.tasks and rows + queue.tasks[0].size <= self._batching.batch:
                task = queue.tasks.popleft()
                queue.size -= task.size
                if task.result.set_running_or_notify_cancel():
                    taken.append(task)
                    rows += task.size
        return taken

    def _run_batch(self, run: Run, tasks: list[_Task], fetches: tuple[str, ...]) -> list[list[NDArray]]:
        rows = sum(task.size for task in tasks)
        padded = next((size for size in self._batching.sizes if size >= rows), rows)
        feeds = {name: _joined([task.feeds[name] for task in tasks], padded - rows) for name in tasks[0].feeds}
        # The batch ends when its last request does: a run of rows that nobody waits for would hold the thread.
        deadlines = [task.deadline for task in tasks]
        latest = max((deadline for deadline in deadlines if deadline is not None), default=0.0)
        outputs = run(feeds, fetches, 0 if None in deadlines else max(1e-3, latest - time.monotonic()))
        for value in outputs:
            if not value.ndim:
                raise errors.FailedPreconditionError(None, None, "Batched output tensor has 0 dimensions")
            if len(value) != padded:
                raise errors.FailedPreconditionError(
                    None, None,
                    "Batched output tensor's 0th dimension does not equal the sum of the 0th dimension sizes of the input tensors",
                )  # fmt: skip
        ends = np.cumsum([task.size for task in tasks])
        return [[value[end - task.size : end] for value in outputs] for task, end in zip(tasks, ends.tolist(), strict=True)]


def _pieces(feeds: Mapping[str, NDArray], size: int, most: int) -> list[Mapping[str, NDArray]]:
    """The feeds cut after each `most` of their `size` rows."""
    if size <= most:
        return [feeds]
    return [{name: value[first : first + most] for name, value in feeds.items()} for first in range(0, size, most)]


def _joined(values: list[NDArray], missing: int) -> NDArray:
    """The rows of all values, and the first row `missing` times; shorter ones are padded with zeros, or empty strings."""
    longest = tuple(map(max, zip(*(value.shape[1:] for value in values), strict=True)))
    filled = [value if value.shape[1:] == longest else _lengthened(value, longest) for value in values]
    if missing:
        filled.append(np.repeat(filled[0][:1], missing, axis=0))
    return np.concatenate(filled) if len(filled) > 1 else filled[0]


def _lengthened(value: NDArray, longest: tuple[int, ...]) -> NDArray:
    found = np.full((len(value), *longest), b"" if value.dtype.kind in "OS" else 0, value.dtype)
    found[tuple(map(slice, value.shape))] = value
    return found
