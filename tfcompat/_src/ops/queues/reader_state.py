"""How readers turn names from a queue into records."""

from __future__ import annotations

import contextlib
import gzip
import io
import weakref
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from tfcompat._src.base import dtypes, errors
from tfcompat._src.io import lmdb
from tfcompat._src.io.tfrecord import RecordReader
from tfcompat._src.ops.queues.resource import SharedResource, invalid
from tfcompat._src.ops.queues.state import Queue
from tfcompat._src.platform import file_io
from tfcompat._src.proto import messages

Record = tuple[bytes, bytes]

_BUFFER_SIZE = 256 << 10


def open_file(work: bytes) -> Any:
    """A file opened for reading bytes, by its path."""
    return file_io.opened(work, buffering=_BUFFER_SIZE)


def strings(values: Any) -> np.ndarray:
    """A vector of bytes."""
    values = list(values)
    found = np.empty(len(values), object)
    found[:] = values
    return found


class Reader(SharedResource):
    """Takes names of work, such as file names, from a queue, and gives the records of one after the other.

    A subclass says what it does with one name: `open(work)` gives an iterator of its records, and puts a file that it reads into `_files`,
    where it is closed with the work. With `ends_with_record` the work is done with its only record.
    """

    kind = ""
    ends_with_record = False
    is_restorable = False

    def __init__(self, node_name: str) -> None:
        super().__init__()
        self.title = f"{self.kind} '{node_name}'"
        self._files = contextlib.ExitStack()
        # Not left to the iterator of the records: of a cycle of both the collector may finalize the file first.
        weakref.finalize(self, self._files.close)
        self.reset()

    def open(self, work: bytes) -> Iterator[Record]:
        raise NotImplementedError

    def cancel(self) -> None:
        """Wakes waiting threads and closes the file that is being read."""
        super().cancel()
        with self.lock:
            self._files.close()

    def reset(self) -> None:
        """Back to the start: no work begun, nothing counted."""
        self._files.close()
        self.work = b""
        self.started = self.finished = self.produced = 0
        self._records: Iterator[Record] = iter(())
        self._error: errors.OpError | None = None

    def read(self, queue: Queue) -> Record:
        """The next record; waits for work from the queue where it has none."""
        with self.lock:
            while True:
                record = self._next_record(queue)
                if record is not None:
                    return record

    def read_up_to(self, queue: Queue, count: int) -> list[Record]:
        """Up to `count` records of one piece of work, at least one."""
        with self.lock:
            found: list[Record] = []
            while len(found) < count:
                record = self._next_record(queue)
                if record is not None:
                    found.append(record)
                if found and self.started == self.finished:
                    break
            return found

    def _next_record(self, queue: Queue) -> Record | None:
        """The next record of the work in hand, or of the next one; None where it has no more."""
        if self.started == self.finished:
            self._start(queue)
        if self._error is not None:
            raise self._error
        try:
            record = next(self._records, None)
        except errors.OpError as e:
            self._error = e
            raise
        self.produced += record is not None
        if record is None or self.ends_with_record:
            self.finished = self.started
            self._files.close()
        return record

    def _start(self, queue: Queue) -> None:
        self._files.close()
        self.work = b""
        self.work = _work_from(queue)
        self._error = None
        self._records = self.open(self.work)
        self.started += 1

    # ---- state as bytes ----

    def serialized(self) -> bytes:
        """What was done so far, for `restore`; UnimplementedError where the place within work counts too."""
        if not self.is_restorable:
            raise errors.UnimplementedError(None, None, "Reader SerializeState")
        return messages.ReaderBaseState(
            work_started=self.started, work_finished=self.finished, num_records_produced=self.produced,
            current_work=self.work,
        ).SerializeToString()  # fmt: skip

    def restore(self, state: bytes) -> None:
        """Takes up a state of `serialized`; InvalidArgumentError for bytes that are none."""
        if not self.is_restorable:
            raise errors.UnimplementedError(None, None, "Reader RestoreState")
        self.reset()
        try:
            message = messages.ReaderBaseState.FromString(state)
        except DecodeError:
            raise invalid(f"Could not parse state for {self.title}: {state.decode('latin-1')}") from None
        counts = message.work_started, message.work_finished, message.num_records_produced
        if min(counts) < 0:
            raise invalid(f"Unexpected negative value when restoring in {self.title}: {message}")
        if message.work_started > message.work_finished:
            raise invalid(f"Inconsistent work started vs. finished when restoring in {self.title}: {message}")
        self.started, self.finished, self.produced = counts
        self.work = message.current_work


def _work_from(queue: Queue) -> bytes:
    element = queue.dequeue(1)[0]
    if len(element) != 1:
        raise invalid("Expected single component queue")
    if queue.component_types[0] is not dtypes.string:
        raise invalid("Expected queue with single string component")
    value = element[0]
    if getattr(value, "size", 1) != 1:
        raise invalid("Expected to dequeue a one-element string tensor")
    return value if isinstance(value, bytes) else value.item()


class IdentityReader(Reader):
    """Gives the names themselves."""

    kind = "IdentityReader"
    ends_with_record = is_restorable = True

    def open(self, work: bytes) -> Iterator[Record]:
        return iter([(work, work)])


class WholeFileReader(Reader):
    """Gives the contents of files."""

    kind = "WholeFileReader"
    ends_with_record = is_restorable = True

    def open(self, work: bytes) -> Iterator[Record]:
        return ((name, read_file(name)) for name in (work,))


def read_file(name: bytes) -> bytes:
    """The contents of a file."""
    contents: bytes = file_io.read_file_to_string(name, binary_mode=True)
    return contents


class TextLineReader(Reader):
    """Gives the lines of files, without their ends, behind the first `skip_header_lines`."""

    kind = "TextLineReader"

    def __init__(self, node_name: str, skip_header_lines: int) -> None:
        super().__init__(node_name)
        if skip_header_lines < 0:
            raise invalid(f"skip_header_lines must be >= 0 not {skip_header_lines}")
        self._skipped = skip_header_lines

    def open(self, work: bytes) -> Iterator[Record]:
        return self._lines(work, self._files.enter_context(open_file(work)))

    def _lines(self, work: bytes, file: Any) -> Iterator[Record]:
        for number, line in enumerate(file, start=1):
            if number > self._skipped:
                yield b"%s:%d" % (work, number), line.removesuffix(b"\n").removesuffix(b"\r")


class FixedLengthRecordReader(Reader):
    """Gives records of one length, `hop_bytes` from each to the next, between a header and a footer."""

    kind = "FixedLengthRecordReader"

    def __init__(
        self, node_name: str, header_bytes: int, record_bytes: int, footer_bytes: int, hop_bytes: int,
        encoding: bytes = b"",
    ) -> None:  # fmt: skip
        super().__init__(node_name)
        sizes = {"header_bytes": header_bytes, "record_bytes": record_bytes, "footer_bytes": footer_bytes, "hop_bytes": hop_bytes}
        for label, size in sizes.items():
            if size < 0:
                raise invalid(f"{label} must be >= 0 not {size}")
        self._header, self._record, self._footer = header_bytes, record_bytes, footer_bytes
        self._hop, self._encoding = hop_bytes or record_bytes, encoding

    def open(self, work: bytes) -> Iterator[Record]:
        content = _decompressed(self._files.enter_context(open_file(work)), self._encoding)
        if len(content.read(self._header)) < self._header:
            raise errors.OutOfRangeError(None, None, "reached end of file")
        return self._pieces(work, content)

    def _pieces(self, work: bytes, content: Any) -> Iterator[Record]:
        wanted = self._record + self._footer
        piece, number = content.read(wanted), 0
        while len(piece) == wanted:
            yield b"%s:%d" % (work, number), piece[: self._record]
            ahead, passed_over = piece[self._hop :], max(self._hop - wanted, 0)
            if len(content.read(passed_over)) < passed_over:
                return
            piece, number = ahead + content.read(wanted - len(ahead)), number + 1


def _decompressed(file: Any, encoding: bytes) -> Any:
    if encoding == b"GZIP":
        return gzip.GzipFile(fileobj=file)
    return io.BytesIO(zlib.decompress(file.read())) if encoding == b"ZLIB" else file


class LMDBReader(Reader):
    """Gives the keys and values of LMDB databases."""

    kind = "LMDBReader"

    def open(self, work: bytes) -> Iterator[Record]:
        return lmdb.read(work)


class TFRecordReader(Reader):
    """Gives the records of TFRecord files; the key of each has its place in bytes."""

    kind = "TFRecordReader"

    def __init__(self, node_name: str, compression_type: bytes) -> None:
        super().__init__(node_name)
        self._compression = compression_type.decode()

    def open(self, work: bytes) -> Iterator[Record]:
        return self._with_places(work, self._files.enter_context(contextlib.closing(RecordReader(work, self._compression))))

    def _with_places(self, work: bytes, records: RecordReader) -> Iterator[Record]:
        place = 0
        for record in records:
            yield b"%s:%d" % (work, place), record
            place = records.offset
