"""The op types of datasets that call functions, or read several datasets, in threads.

Order and values are those of serial calls, unless the pipeline asks for "sloppy" order. Threads are used only for calls that wait for
the outside world (py_func, files) or take long: calls that hold Python's interpreter lock for microseconds are faster without.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import confinement, errors, jax_threads
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.data.batch_ops import batch_count, filled
from tfcompat._src.data.buffer_ops import AUTOTUNE, Buffer
from tfcompat._src.data.functions import HostFunction
from tfcompat._src.data.transform_ops import (
    CALLED,
    FUNCTION,
    check_cycle,
    ends_sequence,
    inner_start,
    interleaved,
    outer_start,
)
from tfcompat._src.data.values import DatasetValue, Element, Next, Recorder, Scope, dataset_of, dataset_op
from tfcompat._src.ops.queues.resource import invalid
from tfcompat._src.runtime.state.random_state import RandomState

if TYPE_CHECKING:
    from tfcompat._src.graph.operation import Operation

_MOST_THREADS = 64
"""Upper bound on the threads of one dataset, whatever num_parallel_calls says."""
_LONG_CALL_SECONDS = 200e-6
"""A function whose fastest trial call takes longer is called in threads."""
_TRIED_CALLS = 4
"""How many calls are timed before this is decided."""
_CPUS = os.cpu_count() or 1


def thread_count(calls: NDArray, name: str = "num_parallel_calls") -> int:
    """Returns how many calls may run at the same time: the number of CPUs for AUTOTUNE; InvalidArgumentError for less than one."""
    if int(calls) < 1 and int(calls) != AUTOTUNE:
        raise invalid(f"{name} must be greater than zero.")
    return _CPUS if int(calls) == AUTOTUNE else int(calls)


class _Turns:
    """Orders the random draws of concurrent calls: each random operation draws for the calls in the order of their elements.

    So the values are those of serial calls. `drawn` has, for each call in progress, the operations that have drawn for it.
    """

    def __init__(self, state: RandomState) -> None:
        self.state = state
        self.changed = threading.Condition()
        self.drawn: dict[int, set[Any]] = {}

    def begin(self, number: int) -> None:
        self.drawn[number] = set()

    def end(self, number: int) -> None:
        with self.changed:
            del self.drawn[number]
            self.changed.notify_all()

    def wait(self, number: int, op: Operation) -> None:
        """Waits until all earlier calls have drawn for `op` or ended."""
        # The thread waits outside of JAX, so that the exit of the interpreter need not wait for it.
        with jax_threads.Waiting(), self.changed:
            while not all(op in done for earlier, done in list(self.drawn.items()) if earlier < number):
                self.changed.wait()

    def pass_on(self, number: int, op: Operation) -> None:
        with self.changed:
            self.drawn[number].add(op)
            self.changed.notify_all()


class _TurnedRandomState(RandomState):
    """The random state that one of several concurrent calls sees: draws wait for the turn of the call."""

    def __init__(self, turns: _Turns, number: int) -> None:
        self._turns, self._number = turns, number

    def await_turn(self, ops: list[Operation]) -> None:
        for op in ops:
            self._turns.wait(self._number, op)

    def row(self, op: Operation) -> NDArray:
        """Returns the operation's counters in the shared random state; only after `await_turn`.

        It does not wait itself: the caller holds the lock of the variables here, so that waiting could deadlock.
        """
        return self._turns.state.row(op)

    def positions(self) -> dict[Operation, int]:
        return self._turns.state.positions()

    def rewind(self, ops: Iterable[Operation], positions: Mapping[Operation, int]) -> None:
        self._turns.state.rewind(ops, positions)

    def advance(self, op: Operation, steps: int) -> None:
        self._turns.state.advance(op, steps)
        self._turns.pass_on(self._number, op)

    def advanced(self, moves: Iterable[tuple[Operation, int]]) -> tuple[dict[Operation, int], dict[Operation, int]]:
        """Advances the counters at once; the maps of moves to apply later are empty."""
        for op, steps in moves:
            self.advance(op, steps)
        return {}, {}


class _Threads:
    """A pool of at most `most` daemon threads, started as calls are submitted.

    Unlike those of concurrent.futures, daemon threads do not keep the process alive when a call never returns.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._threads: list[threading.Thread] = []
        self._work: queue.SimpleQueue[tuple[Future[Any], Callable[..., Any], tuple[Any, ...]] | None] = queue.SimpleQueue()

    def submit(self, function: Callable[..., Any], *arguments: object) -> Future[Any]:
        # Threads are started one per call until there are enough; a short pipeline never starts all of them.
        future: Future[Any] = Future()
        self._work.put((future, function, arguments))
        if len(self._threads) < self._most:
            self._threads.append(threading.Thread(target=confinement.bound(_serve), args=(self._work,), daemon=True))
            self._threads[-1].start()
        return future

    def close(self) -> None:
        """Cancels the calls that wait, and joins the threads after the calls that are running."""
        with contextlib.suppress(queue.Empty):
            while True:
                if (call := self._work.get_nowait()) is not None:
                    call[0].cancel()
        self._end()
        for thread in self._threads:
            thread.join()

    def _end(self) -> None:
        # Each thread stops at the first None that it takes.
        for _ in self._threads:
            self._work.put(None)

    def __del__(self) -> None:
        self._end()


def _serve(work: queue.SimpleQueue[tuple[Future[Any], Callable[..., Any], tuple[Any, ...]] | None]) -> None:
    while (call := work.get()) is not None:
        future, function, arguments = call
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(function(*arguments))
            except BaseException as e:  # noqa: BLE001  (raised again where the result is asked for)
                future.set_exception(e)


class _Calls:
    """Calls a function for the elements of a dataset, up to `most` at the same time.

    Args:
      following: returns the next element. finish: wraps a bound function before it is called.
      sloppy: whether `take` returns results as they complete; otherwise it returns them in the order of the elements.
    """

    def __init__(self, following: Next, function: HostFunction, finish: Callable[..., Any], most: int, sloppy: bool, scope: Scope) -> None:
        self._following, self._function, self._finish, self._most, self._scope = following, function, finish, most, scope
        self._turns = _Turns(scope.context.random_state)
        self._threads = _Threads(min(most, scope.most_threads or _MOST_THREADS))
        self._pending: deque[Future[Any]] = deque()
        self._done: queue.SimpleQueue[Future[Any]] | None = queue.SimpleQueue() if sloppy else None
        self._number = 0
        self._is_over = False
        scope.on_end(self._close)

    def _close(self) -> None:
        self._threads.close()

    @property
    def share(self) -> float:
        """The fraction of the allowed concurrent calls that are running."""
        return sum(not future.done() for future in self._pending) / self._most

    def _begin(self, element: Element) -> None:
        self._number += 1
        self._turns.begin(self._number)
        future = self._threads.submit(self._run, self._number, element)
        self._pending.append(future)
        if self._done is not None:
            future.add_done_callback(self._done.put)

    def _run(self, number: int, element: Element) -> Any:
        # StopIteration is a result here, as a future must not raise it; `take` raises it when its turn comes.
        try:
            call = self._function.bound(self._scope, _TurnedRandomState(self._turns, number))
            return self._finish(call)(*element)
        except StopIteration as end:
            return end
        finally:
            self._turns.end(number)

    def _failed(self, error: errors.OpError) -> Future[Element]:
        future: Future[Element] = Future()
        future.set_exception(error)
        if self._done is not None:
            self._done.put(future)
        return future

    def take(self) -> Element:
        # Elements are read by the consumer's thread, and only as many as may be in flight: an error of the source has its turn too.
        while not self._is_over and len(self._pending) < self._most:
            try:
                self._begin(self._following())
            except StopIteration:
                self._is_over = True
            except errors.OpError as error:
                self._pending.append(self._failed(error))
        if not self._pending:
            raise StopIteration
        # In order: wait for the oldest call. Sloppy: wait for whichever completes first.
        if self._done is None:
            future = self._pending.popleft()
        else:
            future = self._done.get()
            self._pending.remove(future)
        # A function that raises OutOfRangeError ends the sequence; results of later elements are dropped, as a serial map never makes them.
        result: Element | StopIteration = future.result()
        if isinstance(result, StopIteration):
            self._pending.clear()
            self._is_over = True
            raise result
        return result


class Trial:
    """Times the first calls of a function to decide whether threads pay; the shortest time counts, as first calls also compile."""

    def __init__(self) -> None:
        self.left, self._shortest = _TRIED_CALLS, float("inf")

    def call(self, function: Next) -> Element:
        """Calls `function` and records its time."""
        began = time.perf_counter()
        element = function()
        self._shortest = min(self._shortest, time.perf_counter() - began)
        self.left -= 1
        return element

    @property
    def found_long(self) -> bool:
        """Whether enough calls were timed and all of them took long."""
        return self.left <= 0 and self._shortest > _LONG_CALL_SECONDS


def tried(serial: Next, parallel: Callable[[], Next], trial: Trial) -> Next:
    """Returns a function that calls `serial`, and switches to the result of `parallel()` once the trial shows that calls take long."""
    if trial.found_long:
        return parallel()
    # The trial may be shared: an interleaving times the elements of all its inner datasets together.
    following = serial
    is_tried = False

    def trying() -> Element:
        nonlocal following, is_tried
        if not is_tried:
            if trial.left > 0:
                return trial.call(serial)
            is_tried = True
            if trial.found_long:
                following = parallel()
        return following()

    return trying


def _is_sloppy(context: HostContext, scope: Scope) -> bool:
    """Whether elements may come in any order: the node says so, or options (experimental_deterministic=False) do."""
    return bool(context.op.attrs.get("sloppy", False)) or "make_sloppy" in scope.fuses


def _timed(call: Callable[..., Element], record: Recorder, tag: str) -> Callable[..., Element]:
    """Wraps `call` so that the duration of each call, in nanoseconds, is recorded under `tag`."""

    def run(*components: object) -> Element:
        began = time.perf_counter_ns()
        try:
            return call(*components)
        finally:
            record.add(tag, time.perf_counter_ns() - began)

    return run


def _utilized(following: Next, record: Recorder | None, dataset: Callable[[], DatasetValue], share: Callable[[], float]) -> Next:
    """Wraps `following` so that the fraction of busy threads is recorded after each element, if statistics are collected."""
    if record is None:
        return following

    def noted() -> Element:
        element = following()
        record.put(f"{dataset().node_name}::thread_utilization", share())
        return element

    return noted


def parallel_mapped(
    context: HostContext, source: DatasetValue, function: HostFunction, calls: int, kind: str, made: Callable[[], DatasetValue]
) -> DatasetValue:
    """Returns a dataset that applies a function to each element, to up to `calls` of them at the same time.

    Args:
      kind: the name of the dataset in statistics. made: returns the dataset under whose node name statistics are recorded.
    """

    def start(scope: Scope) -> Next:
        following, record = source.start(scope), scope.record
        pending: list[_Calls] = []

        def finish(call: Callable[..., Any]) -> Callable[..., Any]:
            timed = call if record is None else _timed(call, record, f"{kind}::{context.op.attrs['f'].name}::execution_time")
            return ends_sequence(timed, context)

        call = finish(function.bound(scope))

        # `pending` lets the statistics see the calls, once there are any.
        def parallel() -> Next:
            pending.append(_Calls(following, function, finish, calls, _is_sloppy(context, scope), scope))
            return pending[0].take

        # A function with side effects outside the process (py_func, files) may wait for them: it gets threads at once, others after a trial.
        def run() -> Next:
            if calls > 1 and function.prepared(scope.context).is_external:
                return parallel()
            serial: Next = lambda: call(*following())  # noqa: E731
            return tried(serial, parallel, Trial()) if calls > 1 else serial

        return _utilized(run(), record, made, lambda: pending[0].share if pending else 0.0)

    return DatasetValue(start, source.size)


@dataset_op(
    "ParallelMapDataset", CALLED + ", num_parallel_calls: int32",
    FUNCTION + ", use_inter_op_parallelism: bool = True, sloppy: bool = False, preserve_cardinality: bool = False",
)  # fmt: skip
def _parallel_map(context: HostContext, input_dataset: NDArray, other_arguments: tuple[Any, ...], num_parallel_calls: NDArray) -> DatasetValue:
    function, calls = HostFunction(context, "f", other_arguments, 1), thread_count(num_parallel_calls)
    made = parallel_mapped(context, dataset_of(input_dataset), function, calls, "ParallelMap", lambda: made)
    return made


def _map_and_batch(context: HostContext, input_dataset: NDArray, other_arguments: tuple[Any, ...], batch_size: NDArray, calls: NDArray, drop_remainder: NDArray) -> DatasetValue:
    source, function = dataset_of(input_dataset), HostFunction(context, "f", other_arguments, 1)
    count, drops = int(batch_size), bool(drop_remainder)
    if count <= 0:
        raise invalid("batch_size must be greater than zero.")
    mapped = parallel_mapped(context, source, function, thread_count(calls), "MapAndBatch", lambda: made)

    def start(scope: Scope) -> Next:
        following = mapped.start(scope)
        return lambda: filled(following, count, drops)

    made = DatasetValue(start, batch_count(source.size, count, drops))
    return made


for _prefix in ("", "Experimental"):
    dataset_op(
        _prefix + "MapAndBatchDataset", CALLED + ", batch_size: int64, num_parallel_calls: int64, drop_remainder: bool",
        FUNCTION + ", preserve_cardinality: bool = False",
    )(_map_and_batch)  # fmt: skip


# ---- several datasets in turn ----


class _Inner:
    """Starts the inner datasets of an interleaving, some of them ahead of their use, with a thread each where that pays.

    Args:
      outer: returns the next element of the outer dataset. begin: starts the inner dataset of an element.
      ahead: how many inner datasets are started before they are taken. size: the number of elements that a thread buffers.
      threads: whether each inner dataset has a thread; otherwise only those whose elements take long.
      keeps_errors: whether an error of `outer` or `begin` becomes an inner dataset that raises it once; otherwise it is raised at once.
    """

    def __init__(
        self, outer: Next, begin: Callable[[tuple[Any, ...]], Next], ahead: int, size: int, threads: bool, keeps_errors: bool, scope: Scope
    ) -> None:
        self._outer, self._begin, self._ahead, self._size, self._threads, self._scope = outer, begin, ahead, size, threads, scope
        self._keeps_errors = keeps_errors
        self._started: deque[Any] = deque()
        self._is_over = False
        self._trial = Trial()
        self.changed = threading.Condition(threading.RLock())
        self._buffers: weakref.WeakSet[Buffer] = weakref.WeakSet()
        scope.on_end(self._close)

    def _close(self) -> None:
        for buffer in list(self._buffers):
            buffer.close()

    def take(self) -> Any:
        """Returns the next inner dataset: a function that returns its elements, or a Buffer if `threads`; StopIteration at the end."""
        while not self._is_over and len(self._started) <= self._ahead:
            try:
                self._started.append(self._start())
            except StopIteration:
                self._is_over = True
        if not self._started:
            raise StopIteration
        return self._started.popleft()

    def _start(self) -> Any:
        # StopIteration here is the end of the outer dataset.
        try:
            following = self._begin(self._outer())
        except StopIteration:
            raise
        except Exception as e:  # noqa: BLE001  (raised again where the element is asked for)
            if not self._keeps_errors:
                raise
            following = _raises_once(e)
        # Sloppy order needs to know which dataset is ready, so each has a thread from the start.
        if self._threads:
            return self._buffered(following)
        return tried(following, lambda: self._in_thread(following), self._trial)

    def _buffered(self, following: Next) -> Buffer:
        # Weak references: a buffer whose dataset has ended is not kept until the iteration ends.
        buffer = Buffer(following, self._size, self.changed if self._threads else None)
        self._buffers.add(buffer)
        buffer.begin()
        return buffer

    def _in_thread(self, following: Next) -> Next:
        """Moves `following` to a thread, unless the iteration draws random numbers: those are drawn in serial order."""
        return following if self._scope.context.random_state.positions() else self._buffered(following).take


def _raises_once(error: Exception) -> Next:
    """Returns a dataset without elements that first raises `error`."""
    pending = [error]

    def following() -> Element:
        if pending:
            raise pending.pop()
        raise StopIteration

    return following


def _as_they_come(inner: _Inner, cycle: int, block: int) -> Next:
    """Interleaves up to `cycle` datasets in sloppy order: `block` elements of one, then of the next that has an element ready."""
    slots: list[Buffer | None] = [None] * cycle
    slot_index = taken = 0

    # Empty slots take the next inner datasets before each element.
    def fill() -> None:
        for i, slot in enumerate(slots):
            if slot is None:
                try:
                    slots[i] = inner.take()
                except StopIteration:
                    return

    # All buffers notify one condition, so that this waits for whichever is ready first, beginning with the current slot.
    def ready_slot() -> int:
        with inner.changed:
            while True:
                for i in range(slot_index, slot_index + cycle):
                    slot = slots[i % cycle]
                    if slot is not None and slot.is_ready():
                        return i % cycle
                inner.changed.wait()

    def following() -> Element:
        nonlocal slot_index, taken
        while True:
            fill()
            if all(slot is None for slot in slots):
                raise StopIteration
            # Passing over a slot begins a new block at the one that is ready.
            ready = ready_slot()
            if ready != slot_index:
                slot_index, taken = ready, 0
            try:
                element = slots[slot_index].take()  # type: ignore[union-attr]  # a ready slot has one
            except StopIteration:
                slots[slot_index] = None
                slot_index, taken = (slot_index + 1) % cycle, 0
                continue
            taken += 1
            if taken == block:
                slot_index, taken = (slot_index + 1) % cycle, 0
            return element

    return following


def _interleaved_in_threads(
    context: HostContext, source: DatasetValue, function: HostFunction, cycle: int, block: int, ahead: int, size: int, sloppy: Callable[[Scope], bool], keeps_errors: bool
) -> DatasetValue:
    """Returns a dataset that interleaves the results of `function`; see `_Inner` for `ahead`, `size` and `keeps_errors`."""

    def start(scope: Scope) -> Next:
        is_sloppy = sloppy(scope)
        begin = inner_start(function.bound(scope), scope)
        inner = _Inner(outer_start(context, source, scope), begin, ahead, size, is_sloppy, keeps_errors, scope)
        if is_sloppy:
            following = _as_they_come(inner, cycle, block)
        else:
            following = interleaved(inner.take, lambda started: started, cycle, block, keeps_errors)
        return _utilized(following, scope.record, lambda: made, lambda: 0.0)

    made = DatasetValue(start)
    return made


@dataset_op(
    "ParallelInterleaveDatasetV2", CALLED + ", cycle_length: int64, block_length: int64, num_parallel_calls: int64",
    FUNCTION + ", sloppy: bool = False",
)  # fmt: skip
def _interleave(context: HostContext, input_dataset: NDArray, other_arguments: tuple[Any, ...], cycle_length: NDArray, block_length: NDArray, calls: NDArray) -> DatasetValue:
    source, function = dataset_of(input_dataset), HostFunction(context, "f", other_arguments, 1)
    # The buffer of each dataset has room for two blocks: one is read while the next is computed.
    cycle, block = int(cycle_length), int(block_length)
    check_cycle(cycle, block)
    if thread_count(calls) > cycle and int(calls) != AUTOTUNE:
        raise invalid(f"num_parallel_calls must less than or equal to cycle_length.")  # noqa: F541
    return _interleaved_in_threads(context, source, function, cycle, block, 0, 2 * block, lambda scope: _is_sloppy(context, scope), False)


# The older op of tf.data.experimental.parallel_interleave: sloppy is an input, and errors take the place of an element.
def _buffered_interleave(
    context: HostContext, input_dataset: NDArray, other_arguments: tuple[Any, ...], cycle_length: NDArray, block_length: NDArray, sloppy: NDArray, buffer_output_elements: NDArray,
    prefetch_input_elements: NDArray,
) -> DatasetValue:  # fmt: skip
    source, function = dataset_of(input_dataset), HostFunction(context, "f", other_arguments, 1)
    cycle, block, size, ahead = int(cycle_length), int(block_length), int(buffer_output_elements), int(prefetch_input_elements)
    check_cycle(cycle, block)
    if size <= 0:
        raise invalid("`buffer_output_elements` must be > 0")
    if ahead < 0:
        raise invalid("`prefetch_input_elements` must be >= 0")
    return _interleaved_in_threads(context, source, function, cycle, block, ahead, size, lambda scope: bool(sloppy), True)


_BUFFERED = ", cycle_length: int64, block_length: int64, sloppy: bool, buffer_output_elements: int64, prefetch_input_elements: int64"
for _prefix in ("", "Experimental"):
    dataset_op(_prefix + "ParallelInterleaveDataset", CALLED + _BUFFERED, FUNCTION)(_buffered_interleave)
