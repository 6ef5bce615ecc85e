"""The op types of datasets that keep elements: prefetching and parallel calls in threads, caches in memory and in files."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable

import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.checkpoint.bundle_files import index_name
from tfcompat._src.checkpoint.bundle_reader import BundleReader
from tfcompat._src.checkpoint.bundle_writer import BundleWriter
from tfcompat._src.data.values import OUTPUTS, DatasetValue, Element, Next, Scope, anonymous_op, dataset_of, dataset_op
from tfcompat._src.ops.queues.resource import SharedResource, cancelled, invalid
from tfcompat._src.platform import file_io

AUTOTUNE = -1
_AUTOTUNED_BUFFER = 8


class Buffer:
    """Elements that a thread takes from `following` ahead of those who ask, `size` of them at most.

    `changed` is notified of each; several buffers may share one. `note` is told how many elements there are, of `size`, when one is taken.
    """

    def __init__(
        self, following: Next, size: int, changed: threading.Condition | None = None, note: Callable[[int, int], None] | None = None
    ) -> None:
        self._note = note
        self._following, self._size = following, size
        self._found: deque[tuple[Element | None, BaseException | None]] = deque()
        self._changed = changed or threading.Condition()
        self._is_over = self._closed = False
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Starts the thread."""
        self._thread = threading.Thread(target=self._fill, daemon=True)
        self._thread.start()

    def is_ready(self) -> bool:
        """Whether `take` would not wait."""
        return bool(self._found) or self._is_over or self._closed

    def take(self) -> Element:
        """The next element, waited for."""
        with self._changed:
            if self._thread is None:
                self.begin()
            while not self._found and not self._is_over and not self._closed:
                self._changed.wait()
            if self._closed:
                raise cancelled("Iterator was cancelled.")
            if not self._found:
                raise StopIteration
            if self._note is not None:
                self._note(len(self._found), self._size)
            element, error = self._found.popleft()
            self._changed.notify_all()
        if error is not None:
            raise error
        return element  # type: ignore[return-value]  # there is an element or an error

    def _fill(self) -> None:
        while True:
            with self._changed:
                while len(self._found) >= self._size and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
            element, error = None, None
            try:
                element = self._following()
            except StopIteration:
                with self._changed:
                    self._is_over = True
                    self._changed.notify_all()
                return
            except Exception as e:  # noqa: BLE001  (raised again where the element is asked for)
                error = e
            with self._changed:
                self._found.append((element, error))
                self._changed.notify_all()

    def close(self) -> None:
        """Ends the thread, and waits until it has."""
        with self._changed:
            self._closed = True
            self._found.clear()
            self._changed.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()


@dataset_op("PrefetchDataset", "input_dataset: variant, buffer_size: int64", f"{OUTPUTS}, slack_period: int = 0, legacy_autotune: bool = True")
def _prefetch(context: HostContext, input_dataset: NDArray, buffer_size: NDArray) -> DatasetValue:
    source, size = dataset_of(input_dataset), int(buffer_size)
    if size < 0 and size != AUTOTUNE:
        raise invalid("buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning")

    def start(scope: Scope) -> Next:
        following = source.start(scope)
        if not size:
            return following
        record = scope.record

        def note(count: int, capacity: int) -> None:
            if record is not None:
                record.add(f"{made.node_name}::buffer_utilization", count / capacity)
                record.put(f"{made.node_name}::buffer_size", count)
                record.put(f"{made.node_name}::buffer_capacity", capacity)

        buffer = Buffer(following, _AUTOTUNED_BUFFER if size == AUTOTUNE else size, note=note if record is not None else None)
        scope.on_end(buffer.close)
        return buffer.take

    made = DatasetValue(start, source.size)
    return made


# ---- caches ----


class MemoryCache(SharedResource):
    """The elements of a dataset, for all iterations: under the key of what owns them."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[object, list[Element]] = {}


def _cache(context: HostContext, input_dataset: NDArray, filename: NDArray, cache: MemoryCache | None = None) -> DatasetValue:
    source, path = dataset_of(input_dataset), filename.item().decode()
    kinds = list(context.op.attrs["output_types"])
    owner: object = cache or object()

    def start(scope: Scope) -> Next:
        if path:
            return _read_cache(path, len(kinds)) if os.path.exists(index_name(path)) else _write_cache(path, kinds, source.start(scope), scope)
        return _memory_cache(source, scope.kept if cache is None else cache.kept, owner, scope)

    return DatasetValue(start, source.size)


def _memory_cache(source: DatasetValue, kept: dict[object, list[Element]], owner: object, scope: Scope) -> Next:
    complete = kept.get(owner)
    if complete is not None:
        elements = iter(complete)
        return lambda: next(elements)
    following = source.start(scope)
    found: list[Element] = []

    def filling() -> Element:
        try:
            element = following()
        except StopIteration:
            kept.setdefault(owner, found)
            raise
        found.append(element)
        return element

    return filling


def _entry(number: int, component: int) -> str:
    return f"{number:14d}_{component:14d}".replace(" ", "0")


def _write_cache(path: str, kinds: list[dtypes.DType], following: Next, scope: Scope) -> Next:
    lock = path + "_0.lockfile"
    if os.path.exists(lock):
        raise errors.AlreadyExistsError(
            None, None, f"There appears to be a concurrent caching iterator running - cache lockfile already exists ('{lock}'). If you "
            "are sure no other running TF computations are using this cache prefix, delete the lockfile and re-initialize the iterator."
        )  # fmt: skip
    with file_io.tensorflow_errors(lock):
        with open(lock, "w") as file:
            file.write("Created at: 0")
    writer = BundleWriter(path)
    number = 0
    is_done = False

    def done(ended: bool) -> None:
        nonlocal is_done
        if not is_done:
            is_done = True
            if ended:
                writer.finish()
            else:
                writer.abandon()
            os.remove(lock)

    scope.on_end(lambda: done(False))

    def written() -> Element:
        nonlocal number
        try:
            element = following()
        except StopIteration:
            done(True)
            raise
        for place, (value, kind) in enumerate(zip(element, kinds)):
            if kind == dtypes.variant:
                raise NotImplementedError("a cache in a file of sparse tensors, ragged tensors or datasets; cache() keeps them in memory")
            writer.add(_entry(number, place), value, kind)
        number += 1
        return element

    return written


def _read_cache(path: str, width: int) -> Next:
    reader = BundleReader(path)
    number = 0

    def element() -> Element:
        nonlocal number
        if reader.info(_entry(number, 0)) is None:
            raise StopIteration
        number += 1
        return tuple([np.asarray(reader.piece(_entry(number - 1, place), None)) for place in range(width)])

    return element


dataset_op("CacheDataset", "input_dataset: variant, filename: string")(_cache)
dataset_op("CacheDatasetV2", "input_dataset: variant, filename: string, cache: resource")(_cache)
anonymous_op("MemoryCache", "", MemoryCache)
