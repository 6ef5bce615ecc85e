"""Queues that threads fill with rows of arrays, of a pandas DataFrame, or of what a generator gives."""

from __future__ import annotations

import collections
import itertools
import random
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.estimator.inputs.feeding_queue_runner import _FeedingQueueRunner
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.ops.array.constant import placeholder
from tfcompat._src.ops.math.binary import maximum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.queues.queue import FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue
from tfcompat._src.platform import logging
from tfcompat._src.summary import summary
from tfcompat._src.train.queue_runner import add_queue_runner

try:
    import pandas as pd
except ImportError:
    pd = None
HAS_PANDAS = pd is not None


def _fill_array(arr: np.ndarray, seq: Any, fillvalue: Any = 0) -> None:
    """Copies nested sequences into the beginning of `arr`, and `fillvalue` elsewhere."""
    if arr.ndim > 1:
        for part, values in itertools.zip_longest(arr, seq, fillvalue=()):
            _fill_array(part, values, fillvalue)
        return
    length = len(seq) if hasattr(seq, "__len__") else 0
    arr[:length] = seq
    arr[length:] = fillvalue


def _pad_if_needed(batch_key_item: Sequence[np.ndarray], fillvalue: object = 0) -> Any:
    """Arrays that differ in their last dimension as one array, filled up; others as they are.

    Raises:
      ValueError: they differ in another dimension.
    """
    shapes = [array.shape[:-1] if array.ndim else -1 for array in batch_key_item]
    if any(shape != shapes[0] for shape in shapes):
        raise ValueError("Array shapes must match.")
    lengths = [array.shape[-1] if array.ndim else 0 for array in batch_key_item]
    if all(length == lengths[0] for length in lengths):
        return batch_key_item
    padded = np.zeros([len(batch_key_item), *shapes[0], max(lengths)], dtype=batch_key_item[0].dtype)
    _fill_array(padded, batch_key_item, fillvalue)
    return padded


def _get_integer_indices_for_next_batch(
    batch_indices_start: int,
    batch_size: int,
    epoch_end: int,
    array_length: int,
    current_epoch: int,
    total_epochs: int | None,
) -> tuple[list[int], int]:
    """The rows of the next batch, and how many epochs have ended then.

    Args:
      batch_indices_start: the first row. batch_size: how many, fewer at the end of the last epoch.
      epoch_end: the row with which epochs end. array_length: how many rows there are.
      current_epoch: how many epochs have ended. total_epochs: how many there are, None for no end.

    Raises:
      OutOfRangeError: all epochs have ended.
    """
    if total_epochs is not None and current_epoch >= total_epochs:
        raise errors.OutOfRangeError(None, None, f"Already emitted {current_epoch} epochs.")
    rows = [row % array_length for row in range(batch_indices_start, batch_indices_start + batch_size)]
    ends = [i for i, row in enumerate(rows) if row == epoch_end]
    current_epoch += len(ends)
    if total_epochs is None or current_epoch < total_epochs:
        return rows, current_epoch
    return rows[: ends[total_epochs - current_epoch - 1] + 1], total_epochs


class _RowFeedFn:
    """Feeds batches of rows, from a random one on or from the first.

    Args:
      placeholders: the first one is fed the rows' numbers, the others columns.
      data: the columns. batch_size: rows of a batch. num_epochs: how often all rows come, None for no end.
      random_start: whether to begin at a random row. seed: of Python's generator, which is set.

    Raises:
      ValueError: another number of placeholders, or columns of different lengths.
    """

    def __init__(
        self, placeholders: list, data: Any, batch_size: int, random_start: bool = False, seed: int | None = None,
        num_epochs: int | None = None,
    ) -> None:  # fmt: skip
        columns = self._number_of_columns(data)
        if len(placeholders) != columns + 1:
            raise ValueError(f"Expected {columns + 1} placeholders; got {len(placeholders)}.")
        self._index_placeholder, self._col_placeholders = placeholders[0], placeholders[1:]
        self._data, self._max = data, self._number_of_rows(data)
        self._batch_size, self._num_epochs, self._epoch = batch_size, num_epochs, 0
        random.seed(seed)
        self._trav = random.randrange(self._max) if random_start else 0
        self._epoch_end = (self._trav - 1) % self._max

    def _number_of_columns(self, data: Any) -> int:
        return 1

    def _number_of_rows(self, data: Any) -> int:
        return len(data)

    def _columns(self, rows: list[int]) -> tuple[Any, list]:
        """The numbers of rows, and their values by column."""
        return rows, [self._data[rows]]

    def __call__(self) -> dict:
        rows, self._epoch = _get_integer_indices_for_next_batch(
            self._trav, self._batch_size, self._epoch_end, self._max, self._epoch, self._num_epochs
        )
        self._trav = (rows[-1] + 1) % self._max
        index, columns = self._columns(rows)
        return {self._index_placeholder: index, **dict(zip(self._col_placeholders, columns))}


class _ArrayFeedFn(_RowFeedFn):
    """Feeds rows of one array; arguments are those of _RowFeedFn."""


class _OrderedDictNumpyFeedFn(_RowFeedFn):
    """Feeds rows of an OrderedDict of arrays; arguments are those of _RowFeedFn."""

    def _number_of_columns(self, data: Any) -> int:
        return len(data)

    def _number_of_rows(self, data: Any) -> int:
        lengths = {len(column) for column in data.values()}
        if len(lengths) != 1:
            raise ValueError("Array lengths must match.")
        return lengths.pop()

    def _columns(self, rows: list[int]) -> tuple[Any, list]:
        return rows, [column[rows] for column in self._data.values()]


class _PandasFeedFn(_RowFeedFn):
    """Feeds rows of a DataFrame; arguments are those of _RowFeedFn."""

    def _number_of_columns(self, data: Any) -> int:
        return len(data.columns)

    def _columns(self, rows: list[int]) -> tuple[Any, list]:
        found = self._data.iloc[rows]
        return found.index.values, [found[name].values for name in found.columns]


class _GeneratorFeedFn:
    """Feeds batches of what a generator gives.

    Args:
      placeholders: one for each key, in ascending order of keys.
      generator: function that gives an iterator of dicts of arrays.
      batch_size: how many values a batch has, of all keys together, rounded up to whole dicts.
      random_start: has no meaning here. seed: of Python's generator, which is set.
      num_epochs: how often the function is called, None for no end.
      pad_value: what shorter arrays are filled up with, None for arrays of one shape.

    Raises:
      ValueError: another number of placeholders. KeyError: when called, where a dict lacks a key.
    """

    def __init__(
        self, placeholders: list, generator: Callable[[], Iterator[dict]], batch_size: int, random_start: bool = False,
        seed: int | None = None, num_epochs: int | None = None, pad_value: object = None,
    ) -> None:  # fmt: skip
        sample = next(generator())
        if len(placeholders) != len(sample):
            raise ValueError(f"Expected {len(sample)} placeholders; got {len(placeholders)}.")
        self._keys, self._col_placeholders = sorted(sample), placeholders
        self._generator_function, self._iterator = generator, generator()
        self._batch_size, self._num_epochs, self._epoch = batch_size, num_epochs, 0
        self._pad_value = pad_value
        random.seed(seed)

    def __call__(self) -> dict:
        if self._num_epochs and self._epoch >= self._num_epochs:
            raise errors.OutOfRangeError(None, None, f"Already emitted {self._epoch} epochs.")
        columns: dict[Any, list] = {column: [] for column in self._col_placeholders}
        size = 0
        while size < self._batch_size:
            row = self._next_row()
            for key, column in zip(self._keys, self._col_placeholders):
                if key not in row:
                    raise KeyError(
                        f"key mismatch between dicts emitted by GenFun Expected {self._keys} keys; got {row.keys()}"
                    )
                columns[column].append(row[key])
                size += 1
        if self._pad_value is not None:
            columns = {column: _pad_if_needed(values, self._pad_value) for column, values in columns.items()}
        return {column: np.asarray(values) for column, values in columns.items()}

    def _next_row(self) -> dict:
        """The next dict; that of a new iterator where this one has ended."""
        row = next(self._iterator, None)
        if row is not None:
            return row
        self._epoch += 1
        self._iterator = self._generator_function()
        return next(self._iterator)


def _layout(data: object) -> tuple[list, list, type]:
    """Types and shapes of the parts of an element of the queue, and the class that feeds them."""
    if isinstance(data, np.ndarray):
        return [dtypes.int64, dtypes.as_dtype(data.dtype)], [(), data.shape[1:]], _ArrayFeedFn
    if isinstance(data, collections.OrderedDict):
        columns = list(data.values())
        of_columns = [dtypes.as_dtype(column.dtype) for column in columns]
        return [dtypes.int64, *of_columns], [(), *(column.shape[1:] for column in columns)], _OrderedDictNumpyFeedFn
    if isinstance(data, types.FunctionType):
        sample = next(data())
        values = [sample[key] for key in sorted(sample)]
        return [dtypes.as_dtype(value.dtype) for value in values], [value.shape for value in values], _GeneratorFeedFn
    if HAS_PANDAS and isinstance(data, pd.DataFrame):
        of_parts = [dtypes.as_dtype(kind) for kind in (data.index.dtype, *data.dtypes)]
        return of_parts, [() for _ in of_parts], _PandasFeedFn
    raise TypeError(
        f"data must be either a numpy array or pandas DataFrame if pandas is installed; got {type(data).__name__}"
    )


def _warn_about_threads(shuffle: bool, num_threads: int, num_epochs: int | None) -> None:
    if num_threads <= 1:
        return
    if num_epochs is not None:
        logging.warning(
            "enqueue_data was called with num_epochs and num_threads > 1. num_epochs is applied per thread, so this "
            "will produce more epochs than you probably intend. If you want to limit epochs, use one thread."
        )
    if shuffle and num_epochs is not None:
        logging.warning(
            "enqueue_data was called with shuffle=True, num_threads > 1, and num_epochs. This will create multiple "
            "threads, all reading the array/dataframe in order adding to the same shuffling queue; the results will "
            "likely not be sufficiently shuffled."
        )
    if not shuffle:
        logging.warning(
            "enqueue_data was called with shuffle=False and num_threads > 1. This will create multiple threads, all "
            "reading the array/dataframe in order. If you want examples read in order, use one thread; if you want "
            "multiple threads, enable shuffling."
        )


def _enqueue_data(
    data: object, capacity: int, shuffle: bool = False, min_after_dequeue: float | None = None, num_threads: int = 1,
    seed: int | None = None, name: str = "enqueue_input", enqueue_size: int = 1, num_epochs: int | None = None,
    pad_value: object = None,
) -> Any:  # fmt: skip
    """A queue of rows that threads fill, with a queue runner in the graph and a summary of how full it is.

    Args:
      data: array, OrderedDict of arrays, pandas DataFrame, or function that gives an iterator of dicts of arrays.
      capacity: how many rows it holds.
      shuffle: whether rows come in random order. min_after_dequeue: how many stay in it then, by default a quarter.
      num_threads: how many threads. seed: of the order.
      name: name scope of the nodes.
      enqueue_size: how many rows are put in at once.
      num_epochs: how often all rows come, for each thread; None for no end.
      pad_value: what shorter arrays of an iterator are filled up with, None for arrays of one shape.

    Raises:
      TypeError: `data` is of another type. NotImplementedError: padding without an iterator or with shuffling.
    """
    with name_scope(name):
        parts, shapes, feed_fn_class = _layout(data)
        is_padded = pad_value is not None
        if is_padded and feed_fn_class is not _GeneratorFeedFn:
            raise NotImplementedError("padding is only available with generator usage")
        if shuffle and is_padded:
            raise NotImplementedError("padding and shuffling data at the same time is not implemented")
        _warn_about_threads(shuffle, num_threads, num_epochs)
        kept = int(capacity / 4 if min_after_dequeue is None else min_after_dequeue) if shuffle else 0
        if shuffle:
            queue: Any = RandomShuffleQueue(capacity, kept, dtypes=parts, shapes=shapes, seed=seed)
        elif is_padded:
            shapes = [(*shape[:-1], None) if len(shape) else shape for shape in shapes]
            queue = PaddingFIFOQueue(capacity, dtypes=parts, shapes=shapes)
        else:
            queue = FIFOQueue(capacity, dtypes=parts, shapes=shapes)
        enqueue_ops, feed_fns = [], []
        for i in range(num_threads):
            placeholders = [placeholder(part) for part in parts]
            enqueue_ops.append(queue.enqueue_many(placeholders))
            options = {"pad_value": pad_value} if is_padded else {}
            seed_i = None if seed is None else (i + 1) * seed
            feed_fns.append(
                feed_fn_class(
                    placeholders,
                    data,
                    enqueue_size,
                    random_start=shuffle,
                    seed=seed_i,
                    num_epochs=num_epochs,
                    **options,
                )
            )
        add_queue_runner(_FeedingQueueRunner(queue=queue, enqueue_ops=enqueue_ops, feed_fns=feed_fns))
        full = cast(maximum(0, queue.size() - kept), dtypes.float32) * (1.0 / (capacity - kept))
        summary.scalar(f"queue/{queue.name}fraction_over_{kept}_of_{capacity - kept}_full", full)
        return queue
