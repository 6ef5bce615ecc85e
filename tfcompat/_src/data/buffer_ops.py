"""The op types of datasets that keep elements: prefetch buffers filled by a thread, and caches in memory and in files.

A cache in files is a checkpoint of the V2 format (a tensor bundle), with an entry for each component of each element.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

import numpy as np

from tfcompat._src.base import confinement, dtypes, errors
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
"""The size of a buffer for AUTOTUNE, which TensorFlow adjusts while the pipeline runs."""


class Buffer:
    """A bounded buffer that a thread fills with the elements of `following`.

    Errors are buffered in place of elements, and raised when their turn comes.

    Args:
      following: returns the next element. size: the most elements that are buffered.
      changed: notified of each new element; several buffers may share one condition, to wait for whichever is ready first.
      note: called when an element is taken, with the number of elements in the buffer and its size.
    """

    def __init__(
        self, following: Next, size: int, changed: threading.Condition | None = None, note: Callable[[int, int], None] | None = None
    ) -> None:
        self._note = note
        self._following, self._size = following, size
        self._buffered: deque[tuple[Element | None, BaseException | None]] = deque()
        self._changed = changed or threading.Condition()
        self._is_over = self._closed = False
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Starts the thread."""
        self._thread = threading.Thread(target=confinement.bound(self._fill), daemon=True)
        self._thread.start()

    def is_ready(self) -> bool:
        """Whether `take` would not wait."""
        return bool(self._buffered) or self._is_over or self._closed

    def take(self) -> Element:
        """Returns the next element, and waits for it; starts the thread if it does not run yet.

        Raises:
          StopIteration: there is none. errors.CancelledError: the buffer was closed.
        """
        with self._changed:
            if self._thread is None:
                self.begin()
            while not self._buffered and not self._is_over and not self._closed:
                self._changed.wait()
            if self._closed:
                raise cancelled("Iterator was cancelled.")
            if not self._buffered:
                raise StopIteration
            if self._note is not None:
                self._note(len(self._buffered), self._size)
            element, error = self._buffered.popleft()
            self._changed.notify_all()
        # The error of one element does not end the buffer: the thread has gone on with the next.
        if error is not None:
            raise error
        return element  # type: ignore[return-value]  # there is an element or an error

    def _fill(self) -> None:
        while True:
            with self._changed:
                while len(self._buffered) >= self._size and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
            # Elements are computed without the lock, so that consumers can take others meanwhile.
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
                self._buffered.append((element, error))
                self._changed.notify_all()

    def close(self) -> None:
        """Stops the thread and joins it; drops the elements in the buffer."""
        with self._changed:
            self._closed = True
            self._buffered.clear()
            self._changed.notify_all()
        # The filling thread itself may close the buffer, if an iteration ends inside it.
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

        # The thread starts with the first element that is asked for.
        buffer = Buffer(following, _AUTOTUNED_BUFFER if size == AUTOTUNE else size, note=note if record is not None else None)
        scope.on_end(buffer.close)
        return buffer.take

    made = DatasetValue(start, source.size)
    return made


# ---- caches ----


class MemoryCache(SharedResource):
    """The resource of CacheDatasetV2: the complete lists of elements, by their owner; iterations share them."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[object, list[Element]] = {}


def _cache(context: HostContext, input_dataset: NDArray, filename: NDArray, cache: MemoryCache | None = None) -> DatasetValue:
    source, path = dataset_of(input_dataset), filename.item().decode()
    kinds = list(context.op.attrs["output_types"])
    owner: object = cache or object()

    # Without a cache resource, elements are kept for the epochs of one iteration only.
    def start(scope: Scope) -> Next:
        if path:
            return _read_cache(path, len(kinds)) if file_io.exists(index_name(path)) else _write_cache(path, kinds, source.start(scope), scope)
        return _memory_cache(source, scope.kept if cache is None else cache.kept, owner, scope)

    return DatasetValue(start, source.size)


def _memory_cache(source: DatasetValue, kept: dict[object, list[Element]], owner: object, scope: Scope) -> Next:
    """Returns the cached elements of `owner`; without them, those of `source`, which become the cache when the end is reached."""
    complete = kept.get(owner)
    if complete is not None:
        elements = iter(complete)
        return lambda: next(elements)
    following = source.start(scope)
    elements_so_far: list[Element] = []

    def filling() -> Element:
        # An incomplete pass leaves nothing; of two concurrent passes, the first that completes is kept.
        try:
            element = following()
        except StopIteration:
            kept.setdefault(owner, elements_so_far)
            raise
        elements_so_far.append(element)
        return element

    return filling


def _entry(number: int, component: int) -> str:
    """Returns the bundle key of a component of an element, as TensorFlow 1.15 writes it: both numbers with 14 digits."""
    return f"{number:14d}_{component:14d}".replace(" ", "0")


def _write_cache(path: str, kinds: list[dtypes.DType], following: Next, scope: Scope) -> Next:
    """Returns the elements of `following` and writes them to the cache files; AlreadyExistsError if another iteration does so."""
    lock = path + "_0.lockfile"
    if file_io.exists(lock):
        raise errors.AlreadyExistsError(
            None, None, f"There appears to be a concurrent caching iterator running - cache lockfile already exists ('{lock}'). If you "
            "are sure no other running TF computations are using this cache prefix, delete the lockfile and re-initialize the iterator."
        )  # fmt: skip
    # A lock file, as in TensorFlow 1.15, keeps two iterations from writing the same cache.
    file_io.write_string_to_file(lock, "Created at: 0")
    writer = BundleWriter(path)
    number = 0
    is_done = False

    # An iteration that ends early leaves no cache: the bundle is complete only once its index is written.
    def done(ended: bool) -> None:
        nonlocal is_done
        if not is_done:
            is_done = True
            if ended:
                writer.finish()
            else:
                writer.abandon()
            file_io.remove(lock)

    scope.on_end(lambda: done(False))

    def written() -> Element:
        nonlocal number
        try:
            element = following()
        except StopIteration:
            done(True)
            raise
        for position, (value, kind) in enumerate(zip(element, kinds)):
            if kind == dtypes.variant:
                raise NotImplementedError(
                    f"Component {position} of the elements is a sparse tensor, a ragged tensor or a dataset. cache(filename) does not support "
                    "these; use cache() without a file name, which keeps elements in memory."
                )
            writer.add(_entry(number, position), value, kind)
        number += 1
        return element

    return written


def _read_cache(path: str, width: int) -> Next:
    """Returns the elements, of `width` components each, in the cache files."""
    reader = BundleReader(path)
    number = 0

    def element() -> Element:
        nonlocal number
        if reader.info(_entry(number, 0)) is None:
            raise StopIteration
        number += 1
        return tuple([np.asarray(reader.piece(_entry(number - 1, position), None)) for position in range(width)])

    return element


dataset_op("CacheDataset", "input_dataset: variant, filename: string")(_cache)
dataset_op("CacheDatasetV2", "input_dataset: variant, filename: string, cache: resource")(_cache)
anonymous_op("MemoryCache", "", MemoryCache)
