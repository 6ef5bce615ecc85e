"""Sequences and generators of batches, read ahead by threads or processes."""

from __future__ import annotations

import inspect
import itertools
import multiprocessing
import multiprocessing.pool
import queue
import random
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import numpy as np

from tfcompat._src.base.export import export

_SHARED_SEQUENCES: dict[int, Any] = {}
_DATA_POOLS: weakref.WeakSet[Any] = weakref.WeakSet()
_WORKERS: weakref.WeakSet[Any] = weakref.WeakSet()
_uids = itertools.count()


@export("keras.utils.Sequence")
class Sequence:
    """Batches by number: a subclass defines `__getitem__` and `__len__`."""

    def __getitem__(self, index: int) -> Any:
        """The batch with a number."""
        raise NotImplementedError(f"{type(self).__name__} defines no __getitem__.")

    def __len__(self) -> int:
        """The number of batches."""
        raise NotImplementedError(f"{type(self).__name__} defines no __len__.")

    def on_epoch_end(self) -> None:
        """Called when all batches were given."""

    def __iter__(self) -> Iterator[Any]:
        yield from (self[i] for i in range(len(self)))


def is_generator_or_sequence(x: object) -> bool:
    """Whether `x` is a generator or a Sequence."""
    return inspect.isgenerator(x) or isinstance(x, Sequence)


def iter_sequence_infinite(seq: Any) -> Iterator[Any]:
    """The elements of `seq`, again and again."""
    while True:
        yield from seq


def get_index(uid: int, i: int) -> Any:
    """Element `i` of the shared sequence with a number."""
    return _SHARED_SEQUENCES[uid][i]


def next_sample(uid: int) -> Any:
    """The next element of the shared generator with a number."""
    return next(_SHARED_SEQUENCES[uid])


def init_pool_generator(gens: dict[int, Any], random_seed: int | None = None) -> None:
    """Prepares a worker process: its shared sequences, and a seed of its own."""
    _SHARED_SEQUENCES.update(gens)
    process = multiprocessing.current_process()
    process.name = f"Keras_worker_{process.name}"
    if random_seed is not None:
        np.random.seed(random_seed + process.ident)


def _processes(workers: int, sequences: dict[int, Any], random_seed: int | None) -> Any:
    """A pool of processes that have the sequences; they are forks, so that generators need no pickling."""
    before = set(multiprocessing.active_children())
    pool = multiprocessing.get_context("fork").Pool(
        workers, initializer=init_pool_generator, initargs=(sequences, random_seed)
    )
    _DATA_POOLS.add(pool)
    for process in set(multiprocessing.active_children()) - before:
        _WORKERS.add(process)
    return pool


@export("keras.experimental.terminate_keras_multiprocessing_pools")
def terminate_keras_multiprocessing_pools(grace_period: float = 0.1, use_sigkill: bool = False) -> list[str]:
    """Ends the pools of processes that read batches, and their workers.

    Args:
      grace_period: seconds to wait for each worker.
      use_sigkill: whether to kill those that go on.

    Returns:
      what still runs, in words.
    """
    for pool in list(_DATA_POOLS):
        pool.close()
        pool.terminate()
    errors = []
    for worker in list(_WORKERS):
        for end in (worker.terminate, *((worker.kill,) if use_sigkill else ())):
            if worker.is_alive():
                end()
                worker.join(timeout=grace_period)
        if worker.is_alive():
            errors.append(f"worker still alive: {worker.name}, pid={worker.pid}, hash={hash(worker)}")
        else:
            _WORKERS.discard(worker)
    return errors


@export("keras.utils.SequenceEnqueuer")
class SequenceEnqueuer:
    """Reads batches ahead, into a queue: a subclass says in which order.

    Args:
      sequence: a Sequence or generator.
      use_multiprocessing: whether processes read, instead of threads.
    """

    def __init__(self, sequence: Any, use_multiprocessing: bool = False) -> None:
        self.sequence, self.use_multiprocessing = sequence, use_multiprocessing
        self.uid = next(_uids)
        self.workers = 0
        self.executor_fn: Callable | None = None
        self.queue: Any = None
        self.run_thread: threading.Thread | None = None
        self.stop_signal: threading.Event | None = None

    def is_running(self) -> bool:
        """Whether it was started and not stopped."""
        return self.stop_signal is not None and not self.stop_signal.is_set()

    def start(self, workers: int = 1, max_queue_size: int = 10) -> None:
        """Starts to read, by a number of workers, into a queue of limited length."""
        if self.use_multiprocessing:
            self.executor_fn = self._get_executor_init(workers)
        else:
            self.executor_fn = lambda _: multiprocessing.pool.ThreadPool(workers)
        self.workers = workers
        self.queue = queue.Queue(max_queue_size)
        self.stop_signal = threading.Event()
        self.run_thread = threading.Thread(target=self._run, daemon=True)
        self.run_thread.start()

    def stop(self, timeout: float | None = None) -> None:
        """Stops reading, and waits for the thread for `timeout` seconds."""
        self.stop_signal.set()
        with self.queue.mutex:
            self.queue.queue.clear()
            self.queue.unfinished_tasks = 0
            self.queue.not_full.notify_all()
            self.queue.all_tasks_done.notify_all()
        self.run_thread.join(timeout)
        _SHARED_SEQUENCES[self.uid] = None

    def __del__(self) -> None:
        if self.is_running():
            self.stop()

    def get(self) -> Iterator[Any]:
        """The batches."""
        raise NotImplementedError(f"{type(self).__name__} defines no get.")

    def _run(self) -> None:
        raise NotImplementedError(f"{type(self).__name__} defines no _run.")

    def _get_executor_init(self, workers: int) -> Callable:
        """A function of the shared sequences that makes a pool of processes."""
        return lambda sequences: _processes(workers, sequences, getattr(self, "random_seed", None))

    def _send_sequence(self) -> None:
        _SHARED_SEQUENCES[self.uid] = self.sequence

    def _taken(self) -> Iterator[Any]:
        while self.is_running():
            inputs = self.queue.get(block=True).get()
            self.queue.task_done()
            if inputs is not None:
                yield inputs


@export("keras.utils.OrderedEnqueuer")
class OrderedEnqueuer(SequenceEnqueuer):
    """Gives the batches of a Sequence in order, epoch after epoch.

    Args:
      sequence: a Sequence.
      use_multiprocessing: whether processes read, instead of threads.
      shuffle: whether each epoch has another order.
    """

    def __init__(self, sequence: object, use_multiprocessing: bool = False, shuffle: bool = False) -> None:
        super().__init__(sequence, use_multiprocessing)
        self.shuffle = shuffle

    def _wait_queue(self) -> None:
        with self.queue.all_tasks_done:
            self.queue.all_tasks_done.wait_for(lambda: not self.queue.unfinished_tasks or self.stop_signal.is_set())

    def _run(self) -> None:
        order = list(range(len(self.sequence)))
        self._send_sequence()
        while True:
            if self.shuffle:
                random.shuffle(order)
            with closing(self.executor_fn(_SHARED_SEQUENCES)) as executor:
                for i in order:
                    if self.stop_signal.is_set():
                        return
                    self.queue.put(executor.apply_async(get_index, (self.uid, i)), block=True)
                self._wait_queue()
                if self.stop_signal.is_set():
                    return
            self.sequence.on_epoch_end()
            self._send_sequence()

    def get(self) -> Iterator[Any]:
        """The batches; an error of the Sequence is raised here, and stops it."""
        try:
            yield from self._taken()
        except Exception:
            self.stop()
            raise


@export("keras.utils.GeneratorEnqueuer")
class GeneratorEnqueuer(SequenceEnqueuer):
    """Gives what a generator gives.

    Args:
      sequence: a generator.
      use_multiprocessing: whether processes run it, instead of threads.
      random_seed: seed of NumPy in the processes, to which each adds its number.
    """

    def __init__(self, sequence: object, use_multiprocessing: bool = False, random_seed: int | None = None) -> None:
        super().__init__(sequence, use_multiprocessing)
        self.random_seed = random_seed

    def _run(self) -> None:
        self._send_sequence()
        with closing(self.executor_fn(_SHARED_SEQUENCES)) as executor:
            while not self.stop_signal.is_set():
                self.queue.put(executor.apply_async(next_sample, (self.uid,)), block=True)

    def get(self) -> Iterator[Any]:
        """What the generator gives, until it ends.

        Raises:
          RuntimeError: several threads run a generator that is not made for it.
        """
        try:
            yield from self._elements()
        except Exception as e:
            self.stop()
            if "generator already executing" in str(e):
                raise RuntimeError(
                    "Your generator is NOT thread-safe. Keras requires a thread-safe generator when "
                    "`use_multiprocessing=False, workers > 1`. "
                ) from e
            raise

    def _elements(self) -> Iterator[Any]:
        while self.is_running():
            try:
                inputs = self.queue.get(block=True).get()
            except StopIteration:
                yield from self._rest()
                return
            self.queue.task_done()
            if inputs is not None:
                yield inputs

    def _rest(self) -> Iterator[Any]:
        """What was read before the generator ended and is not given yet."""
        while self.queue.qsize() > 0:
            result = self.queue.get(block=True)
            result.wait()
            if result.successful():
                inputs = result.get()
                if inputs is not None:
                    yield inputs
