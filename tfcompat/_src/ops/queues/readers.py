"""tf.ReaderBase and its kinds: operations that read records of files whose names come from a queue."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.base.dtypes import resource
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import EXTERNAL, HOST, NAMES_RESOURCE, WAITING, NotDifferentiable, op
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import executing_eagerly
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.io.tfrecord import TFRecordOptions
from tfcompat._src.nodes import raw
from tfcompat._src.ops.queues import reader_state as state
from tfcompat._src.ops.queues.queue_ops import MAKES_HANDLE
from tfcompat._src.ops.queues.resource import invalid, shared_resource

_add = functools.partial(op, side=HOST, gradient=NotDifferentiable("records of files have no derivative"))


# ---- making ----


def _reader_maker(reader_class: type[state.Reader], attrs: tuple[str, ...]) -> Callable:
    def kernel(context):
        node = context.op
        values = [node.attrs[a] for a in attrs if a in node.attrs]
        return shared_resource(context, "reader", lambda: reader_class(node._name, *values))

    return kernel


_SIZES = "header_bytes: int = 0, record_bytes: int, footer_bytes: int = 0, hop_bytes: int = 0, "
_SIZE_NAMES = ("header_bytes", "record_bytes", "footer_bytes", "hop_bytes", "encoding")

for _suffix, _handle, _shape in (("", "Ref(string)", lambda c: [(2,)]), ("V2", "resource", si.scalar)):
    _encoding = ', encoding: string = ""' if _suffix else ""
    for _name, _kernel, _before, _after in (
        ("IdentityReader", _reader_maker(state.IdentityReader, ()), "", ""),
        ("WholeFileReader", _reader_maker(state.WholeFileReader, ()), "", ""),
        ("TextLineReader", _reader_maker(state.TextLineReader, ("skip_header_lines",)), "skip_header_lines: int = 0, ", ""),
        ("FixedLengthRecordReader", _reader_maker(state.FixedLengthRecordReader, _SIZE_NAMES), _SIZES, _encoding),
        ("TFRecordReader", _reader_maker(state.TFRecordReader, ("compression_type",)), "", ', compression_type: string = ""'),
        ("LMDBReader", _reader_maker(state.LMDBReader, ()), "", ""),
    ):
        if _name + _suffix != "LMDBReaderV2":
            _names = 'container: string = "", shared_name: string = ""'
            _add(_name + _suffix, f"(*, {_before}{_names}{_after}) -> (reader_handle: {_handle})", shape=_shape, kernel=_kernel,
                 effects=MAKES_HANDLE, context=True, facts=NAMES_RESOURCE)  # fmt: skip


# ---- using ----


def _read(reader, queue):
    key, record = reader.read(queue)
    return np.array(key, object), np.array(record, object)


def _read_up_to(reader, queue, count):
    if count < 0:
        raise invalid(f"num_records must be positive, not {int(count)}")
    records = reader.read_up_to(queue, int(count))
    return tuple(state.strings(column) for column in (zip(*records) if records else ((), ())))


def _scalar_input(shape: object) -> Callable:
    def with_scalar(c):
        si.with_rank(c.inputs[-1], 0)
        return shape

    return with_scalar


def _restore(reader, text):
    if text.ndim:
        raise invalid(f"Reader state must be scalar, but had shape: {shape_text(text.shape)}")
    with reader.lock:
        reader.restore(text.item())
    return ()


def _reset(reader):
    with reader.lock:
        reader.reset()
    return ()


for _suffix, _handle in (("", "Ref(string)"), ("V2", "resource")):
    _reader = f"(reader_handle: {_handle}"
    _both = functools.partial(_add, effects=EXTERNAL)
    _scalars = si.scalars if _suffix else si.scalar
    _both("ReaderRead" + _suffix, f"{_reader}, queue_handle: {_handle}) -> (key: string, value: string)", shape=_scalars,
          kernel=_read, effects=WAITING)  # fmt: skip
    _both("ReaderReadUpTo" + _suffix, f"{_reader}, queue_handle: {_handle}, num_records: int64) -> (keys: string, values: string)",
          shape=_scalar_input([(None,), (None,)]), kernel=_read_up_to, effects=WAITING)  # fmt: skip
    _both("ReaderNumRecordsProduced" + _suffix, f"{_reader}) -> (records_produced: int64)", shape=_scalars,
          kernel=lambda reader: reader.produced)  # fmt: skip
    _both("ReaderNumWorkUnitsCompleted" + _suffix, f"{_reader}) -> (units_completed: int64)", shape=_scalars,
          kernel=lambda reader: reader.finished)  # fmt: skip
    _both("ReaderSerializeState" + _suffix, f"{_reader}) -> (state: string)", shape=_scalars,
          kernel=lambda reader: reader.serialized())  # fmt: skip
    _both("ReaderRestoreState" + _suffix, f"{_reader}, state: string) -> ()", shape=_scalar_input([]), kernel=_restore)
    _both("ReaderReset" + _suffix, f"{_reader}) -> ()", shape=si.no_outputs, kernel=_reset)


# ---- public classes ----


@export("ReaderBase")
class ReaderBase:
    """What all readers have: each `read` gives a key and a record, of files (work) whose names come from a queue.

    Args:
      reader_ref: the handle.
      supports_serialize: whether its state can be written and restored.
    """

    def __init__(self, reader_ref: Tensor, supports_serialize: bool = False) -> None:
        if executing_eagerly():
            raise RuntimeError(
                "Readers are not supported when eager execution is enabled. Instead, please use tf.data to get data into "
                "your model."
            )
        self._reader_ref = reader_ref
        self._supports_serialize = supports_serialize

    @property
    def reader_ref(self) -> Tensor:
        return self._reader_ref

    @property
    def supports_serialize(self) -> bool:
        return self._supports_serialize

    def _call(self, op_type: str, *inputs: Any, name: str | None) -> Any:
        version = "V2" if self._reader_ref.dtype == resource else ""
        return raw.function(op_type + version)(self._reader_ref, *inputs, name=name)

    def _queue_handle(self, queue: Any) -> Tensor:
        handle = queue if isinstance(queue, Tensor) else queue.queue_ref
        return handle if self._reader_ref.dtype == resource else raw.FakeQueue(handle)

    def read(self, queue: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
        """The next record: (key, value), string scalars; takes work from `queue` (a queue or its handle) where needed.

        In a run: OutOfRangeError where the queue is closed and empty, NotFoundError where a file is not there.
        """
        return self._call("ReaderRead", self._queue_handle(queue), name=name)

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Up to `num_records` (int64 scalar) records of one file: (keys, values), string vectors."""
        return self._call("ReaderReadUpTo", self._queue_handle(queue), num_records, name=name)

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """How many records were given, an int64 scalar."""
        return self._call("ReaderNumRecordsProduced", name=name)

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """How many files were finished, an int64 scalar."""
        return self._call("ReaderNumWorkUnitsCompleted", name=name)

    def serialize_state(self, name: str | None = None) -> Tensor:
        """The reader's state, a string scalar; UnimplementedError in a run where `supports_serialize` is false."""
        return self._call("ReaderSerializeState", name=name)

    def restore_state(self, state: object, name: str | None = None) -> Operation:
        """Takes up a state that `serialize_state` gave."""
        return self._call("ReaderRestoreState", state, name=name)

    def reset(self, name: str | None = None) -> Operation:
        """Forgets all that was read."""
        return self._call("ReaderReset", name=name)


@export("WholeFileReader")
class WholeFileReader(ReaderBase):
    """Gives the contents of each file; the key is its name."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(raw.WholeFileReaderV2(name=name), supports_serialize=True)


@export("TextLineReader")
class TextLineReader(ReaderBase):
    """Gives the lines of each file without their ends, behind the first `skip_header_lines`; the key is file:line."""

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        super().__init__(raw.TextLineReaderV2(skip_header_lines=skip_header_lines, name=name))


@export("FixedLengthRecordReader")
class FixedLengthRecordReader(ReaderBase):
    """Gives records of `record_bytes` bytes; the key is file:number.

    Args:
      record_bytes: of each record.
      header_bytes, footer_bytes: at the start and end of a file, left out.
      hop_bytes: from the start of one record to the next; `record_bytes` by default.
      name: node name.
      encoding: "", "GZIP" or "ZLIB".
    """

    def __init__(
        self, record_bytes: int, header_bytes: int | None = None, footer_bytes: int | None = None,
        hop_bytes: int | None = None, name: str | None = None, encoding: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            raw.FixedLengthRecordReaderV2(
                record_bytes=record_bytes, header_bytes=header_bytes, footer_bytes=footer_bytes, hop_bytes=hop_bytes,
                encoding=encoding, name=name,
            )
        )  # fmt: skip


@export("TFRecordReader")
class TFRecordReader(ReaderBase):
    """Gives the records of TFRecord files, compressed as `options` (TFRecordOptions) say; the key is file:offset."""

    def __init__(self, name: str | None = None, options: object = None) -> None:
        compression = TFRecordOptions.get_compression_type_string(options)
        super().__init__(raw.TFRecordReaderV2(name=name, compression_type=compression))


@export("LMDBReader")
class LMDBReader(ReaderBase):
    """Gives the keys and values of LMDB databases: files, or folders with a data.mdb. `options` have no effect in 1.15."""

    def __init__(self, name: str | None = None, options: object = None) -> None:
        super().__init__(raw.LMDBReader(name=name))


@export("IdentityReader")
class IdentityReader(ReaderBase):
    """Gives the work itself as key and value."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(raw.IdentityReaderV2(name=name), supports_serialize=True)
