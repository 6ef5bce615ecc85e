"""tf.contrib.slim.parallel_reader: several readers that fill one queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfcompat._src.base import dtypes as types
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.scan import add_n
from tfcompat._src.ops.queues.queue import FIFOQueue, RandomShuffleQueue
from tfcompat._src.ops.queues.readers import ReaderBase
from tfcompat._src.platform.gfile import get_matching_files
from tfcompat._src.summary.summary import scalar
from tfcompat._src.train.input_producers import string_input_producer
from tfcompat._src.train.queue_runner import QueueRunner, add_queue_runner


@export("contrib.slim.parallel_reader.ParallelReader")
class ParallelReader(ReaderBase):
    """Readers that fill a queue at the same time.

    Args:
      reader_class: class of the readers.
      common_queue: queue of pairs of strings.
      num_readers: number of readers.
      reader_kwargs: their arguments.

    Raises:
      TypeError: the queue holds something else.
    """

    def __init__(
        self, reader_class: Any, common_queue: Any, num_readers: int = 4, reader_kwargs: dict | None = None
    ) -> None:
        pair = len(common_queue.dtypes) == 2
        if not pair or not all(dtype.is_compatible_with(types.string) for dtype in common_queue.dtypes):
            raise TypeError("common_queue.dtypes must be [tf.string, tf.string]")
        self._readers = [reader_class(**(reader_kwargs or {})) for _ in range(num_readers)]
        self._common_queue = common_queue

    @property
    def num_readers(self) -> int:
        return len(self._readers)

    @property
    def common_queue(self) -> Any:
        return self._common_queue

    def read(self, queue: object, name: str | None = None) -> list[Tensor]:
        """The next key and value; `queue` is the queue of file names."""
        self._fill_from(queue)
        return self._common_queue.dequeue(name=name)

    def read_up_to(self, queue: object, num_records: int, name: str | None = None) -> list[Tensor]:
        """Up to `num_records` keys and values."""
        self._fill_from(queue)
        return self._common_queue.dequeue_up_to(num_records, name)

    def _fill_from(self, queue: Any) -> None:
        enqueue_ops = [self._common_queue.enqueue(reader.read(queue)) for reader in self._readers]
        add_queue_runner(QueueRunner(self._common_queue, enqueue_ops))

    def num_records_produced(self, name: str | None = None) -> Tensor:
        return add_n([reader.num_records_produced() for reader in self._readers], name=name)

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        return add_n([reader.num_work_units_completed() for reader in self._readers], name=name)


@export("contrib.slim.parallel_reader.parallel_read")
def parallel_read(
    data_sources: object, reader_class: object, num_epochs: int | None = None, num_readers: int = 4,
    reader_kwargs: dict | None = None, shuffle: bool = True, dtypes: Sequence | None = None, capacity: int = 256,
    min_after_dequeue: int = 128, seed: int | None = None, scope: str | None = None,
) -> list[Tensor]:  # fmt: skip
    """Reads records of files with several readers.

    Args:
      data_sources: files, or patterns of files.
      reader_class, num_readers, reader_kwargs: as in `ParallelReader`.
      num_epochs: how often the files are read, by default for ever.
      shuffle, seed: whether files and records are shuffled, and the seed.
      dtypes: of key and value.
      capacity, min_after_dequeue: of the queue of records.
      scope: name scope, "parallel_read" by default.

    Returns:
      key and value of a record.

    Raises:
      ValueError: there are no such files.
    """
    files = get_data_files(data_sources)
    with name_scope(scope, "parallel_read"):
        names = string_input_producer(files, num_epochs=num_epochs, shuffle=shuffle, seed=seed, name="filenames")
        options = dict(capacity=capacity, dtypes=dtypes or [types.string, types.string], name="common_queue")
        if shuffle:
            queue = RandomShuffleQueue(min_after_dequeue=min_after_dequeue, seed=seed, **options)
        else:
            queue = FIFOQueue(**options)
        scalar(f"fraction_of_{capacity}_full", cast(queue.size(), types.float32) * (1.0 / capacity))
        return ParallelReader(reader_class, queue, num_readers=num_readers, reader_kwargs=reader_kwargs).read(names)


@export("contrib.slim.parallel_reader.single_pass_read")
def single_pass_read(
    data_sources: object, reader_class: Any, reader_kwargs: dict | None = None, scope: str | None = None
) -> tuple[Tensor, Tensor]:
    """Reads records of files once, in order; arguments and errors as in `parallel_read`."""
    files = get_data_files(data_sources)
    with name_scope(scope, "single_pass_read"):
        names = string_input_producer(files, num_epochs=1, shuffle=False, capacity=1, name="filenames")
        return reader_class(**(reader_kwargs or {})).read(names)


@export("contrib.slim.parallel_reader.get_data_files")
def get_data_files(data_sources: Any) -> list[str]:
    """The files that names and patterns, or lists of them, mean; ValueError where there are none."""
    if isinstance(data_sources, (list, tuple)):
        files = [name for source in data_sources for name in get_data_files(source)]
    elif any(mark in data_sources for mark in "*?["):
        files = get_matching_files(data_sources)
    else:
        files = [data_sources]
    if not files:
        raise ValueError(f"No data files found in {data_sources}")
    return files
