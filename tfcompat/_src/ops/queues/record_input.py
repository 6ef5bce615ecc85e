"""RecordInput: batches of shuffled records of TFRecord files, without end."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Iterator
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.graph.op_spec import EXTERNAL, HOST, op
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.io.tfrecord import RecordReader, TFRecordCompressionType, TFRecordOptions
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.join import split
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.ops.queues.queue_ops import NO_GRADIENT
from tfcompat._src.ops.queues.reader_state import strings
from tfcompat._src.platform import file_io


class _Records:
    """An endless stream of records; the order of files and of records is random, every record comes once per epoch."""

    def __init__(self, attrs: dict[str, Any]) -> None:
        self._pattern = attrs["file_pattern"].decode()
        self._compression = attrs["compression_type"].decode()
        self._shift = attrs["file_shuffle_shift_ratio"]
        self._room = attrs["file_buffer_size"]
        self._random = random.Random(attrs["file_random_seed"])
        self._lock = threading.Lock()
        self._stream = self._shuffled()

    def take(self, count: int) -> list[bytes]:
        with self._lock:
            try:
                return [next(self._stream) for _ in range(count)]
            except errors.OpError:
                self._stream = self._shuffled()
                raise

    def _epoch(self) -> Iterator[bytes]:
        names = [name for pattern in self._pattern.split(",") for name in file_io.glob(pattern)]
        if not names:
            raise errors.NotFoundError(None, None, f"Found no files at {self._pattern}")
        self._random.shuffle(names)
        start = int(self._shift * len(names)) if 0 <= self._shift < 1 else 0
        for name in names[start:] + names[:start]:
            with contextlib.closing(RecordReader(name, self._compression)) as records:
                yield from records

    def _shuffled(self) -> Iterator[bytes]:
        while True:
            waiting: list[bytes] = []
            is_empty = True
            for record in self._epoch():
                is_empty = False
                waiting.append(record)
                if len(waiting) >= self._room:
                    yield self._drawn(waiting)
            if is_empty:
                raise errors.NotFoundError(None, None, f"Found no records in the files at {self._pattern}")
            while waiting:
                yield self._drawn(waiting)

    def _drawn(self, waiting: list[bytes]) -> bytes:
        place = self._random.randrange(len(waiting))
        waiting[place], waiting[-1] = waiting[-1], waiting[place]
        return waiting.pop()


@op(
    "RecordInput",
    "(*, file_pattern: string, file_random_seed: int = 301, file_shuffle_shift_ratio: float = 0, file_buffer_size: int = "
    '10000, file_parallelism: int = 16, batch_size: int = 32, compression_type: string = "") -> (records: string)',
    shape=lambda c: [(c.attr("batch_size") if c.attr("batch_size") > 0 else None,)], gradient=NO_GRADIENT, effects=EXTERNAL, side=HOST, context=True,
)  # fmt: skip
def _record_input(context):
    attrs = context.op.attrs
    if attrs["batch_size"] < 1:
        raise errors.InvalidArgumentError(None, None, f"batch_size must be positive, not {attrs['batch_size']}")
    records = context.run.resources.setdefault(f"record input/{context.op._name}", _Records(attrs))
    return strings(records.take(attrs["batch_size"]))


class RecordInput:
    """Reads TFRecord files in random order, without end.

    Args:
      file_pattern: glob pattern, or several separated by commas.
      batch_size: records per batch.
      buffer_size: how many records there are to choose from.
      parallelism: how many threads read in 1.15; here records are read where they are asked for.
      shift_ratio: by what part of the list of files each epoch starts further on.
      seed: of the order.
      name: node name.
      batches: None, or into how many batches a run's records are divided.
      compression_type: a TFRecordCompressionType or its name.
    """

    def __init__(
        self, file_pattern: str, batch_size: int = 1, buffer_size: int = 1, parallelism: int = 1, shift_ratio: float = 0,
        seed: int = 0, name: str | None = None, batches: int | None = None, compression_type: object = None,
    ) -> None:  # fmt: skip
        self._batches, self._name = batches, name
        compression = TFRecordCompressionType.NONE if compression_type is None else compression_type
        self._attrs = {
            "file_pattern": file_pattern, "file_buffer_size": buffer_size, "file_parallelism": parallelism,
            "file_shuffle_shift_ratio": shift_ratio, "file_random_seed": seed,
            "batch_size": batch_size if batches is None else batch_size * batches,
            "compression_type": TFRecordOptions.get_compression_type_string(TFRecordOptions(compression)),
        }  # fmt: skip

    def get_yield_op(self) -> Tensor | list[list[Tensor]]:
        """A string vector of records, others in each run; with `batches`, a list of lists of string scalars."""
        records = raw.RecordInput(**self._attrs, name=self._name)
        if self._batches is None:
            return records
        with name_scope(self._name):
            found: list[list[Tensor]] = [[] for _ in range(self._batches)]
            for place, record in enumerate(split(records, self._attrs["batch_size"], 0)):
                found[place % self._batches].append(reshape(record, []))
            return found
