"""The op types of datasets that read files: TFRecords, text lines, fixed-length records, CSV, LMDB and SQLite.

An error in a file is raised once; the next element then comes from the next file.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import re
import sqlite3
import zlib
from collections.abc import Callable, Generator, Iterator
from typing import IO, Any

import numpy as np

from tfcompat._src.base import confinement, dtypes, errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.data.values import DatasetValue, Element, Next, Scope, dataset_op, text
from tfcompat._src.io import lmdb
from tfcompat._src.io.tfrecord import RecordReader
from tfcompat._src.ops.queues.resource import invalid
from tfcompat._src.ops.strings.numbers import parse_number
from tfcompat._src.platform import file_io

_COMPRESSIONS = ("", "ZLIB", "GZIP")


def _compression(value: NDArray) -> str:
    name = str(value.item().decode())
    if name not in _COMPRESSIONS:
        raise invalid(f"Unsupported compression_type: {name}.")
    return name


def file_names(filenames: NDArray) -> list[str]:
    """Returns the file names in a scalar or vector; InvalidArgumentError for an array of higher rank."""
    if filenames.ndim > 1:
        raise invalid("`filenames` must be a scalar or a vector.")
    return [name.decode() for name in filenames.reshape(-1).tolist()]


def files_in_turn(paths: list[str], read: Callable[[str], Iterator[Element]]) -> DatasetValue:
    """Returns the dataset of the elements that `read` yields for each path; after an error, it goes on with the next file.

    The end of an iteration closes the generator of the file that is being read, and with it the file.
    """

    def start(scope: Scope) -> Next:
        pending = list(reversed(paths))
        rows: Iterator[Element] = iter(())

        def stop() -> None:
            pending.clear()
            _close(rows)

        # A generator that raised is exhausted, so that the call after an error opens the next file.
        def element() -> Element:
            nonlocal rows
            while True:
                for row in rows:
                    if scope.closed:
                        _close(rows)
                    return row
                if not pending:
                    scope.forget(stop)
                    raise StopIteration
                rows = read(pending.pop())

        scope.on_end(stop)
        return element

    return DatasetValue(start)


def _close(rows: Iterator[Element]) -> None:
    """Closes a generator, unless another thread runs it: that one closes it behind its row."""
    if isinstance(rows, Generator):
        with contextlib.suppress(ValueError):  # generator already executing
            rows.close()


def contents(path: str, compression: str) -> Any:
    """Opens a file for reading bytes, decompressed; NotFoundError if it does not exist.

    Args:
      compression: "", "GZIP" (decompressed while it is read) or "ZLIB" (decompressed at once).
    """
    local = file_io.local(path)
    with file_io.tensorflow_errors(local):
        if compression == "GZIP":
            return gzip.open(local)
        file = open(local, "rb")  # noqa: SIM115
        return _Zlib(file) if compression else file


class _Zlib:
    """A file object for a zlib file, which it decompresses as a whole."""

    def __init__(self, file: IO[bytes]) -> None:
        with file:
            self._data, self._position = zlib.decompress(file.read()), 0

    def read(self, count: int = -1) -> bytes:
        """Returns the next `count` bytes, or all that are left if it is negative."""
        end = len(self._data) if count < 0 else self._position + count
        data = self._data[self._position : end]
        self._position += len(data)
        return data

    def __iter__(self) -> Iterator[bytes]:
        return iter(io.BytesIO(self._data))

    def close(self) -> None:
        self._data = b""


def _matching_files(context: HostContext, patterns: NDArray) -> DatasetValue:
    names = [pattern.decode() for pattern in patterns.reshape(-1).tolist()]

    # Matching is lazy and per pattern; a pattern whose folder does not exist is an error, one that matches no file is not if another does.
    def matches() -> Iterator[Element]:
        has_matches = False
        for pattern in names:
            folder = fixed_folder(pattern)
            if not os.path.isdir(file_io.local(folder)):
                raise errors.NotFoundError(None, None, f"{folder}; No such file or directory")
            for path in sorted(file_io.glob(pattern)):
                if not os.path.isdir(file_io.local(path)):
                    has_matches = True
                    yield (text(path.encode()),)
        if not has_matches:
            raise errors.NotFoundError(None, None, "Don't find any matched files")

    return DatasetValue(lambda scope: matches().__next__)


def fixed_folder(pattern: str) -> str:
    """Returns the folder part of a glob pattern before its first wildcard."""
    fixed = re.split(r"[*?\[\\]", pattern, maxsplit=1)[0]
    return os.path.dirname(fixed)


for _name in ("MatchingFilesDataset", "ExperimentalMatchingFilesDataset"):
    dataset_op(_name, "patterns: string", "")(_matching_files)


@dataset_op("TFRecordDataset", "filenames: string, compression_type: string, buffer_size: int64", "")
def _tf_records(context: HostContext, filenames: NDArray, compression_type: NDArray, buffer_size: NDArray) -> DatasetValue:
    compression = _compression(compression_type)
    if int(buffer_size) < 0:
        raise invalid("`buffer_size` must be >= 0 (0 == no buffering)")

    def read(path: str) -> Iterator[Element]:
        # The file is closed at its end, after an error, and when the iteration is dropped.
        reader = RecordReader(path, compression)
        try:
            while (record := reader.read()) is not None:
                yield (text(record),)
        finally:
            reader.close()

    return files_in_turn(file_names(filenames), read)


@dataset_op("TextLineDataset", "filenames: string, compression_type: string, buffer_size: int64", "")
def _text_lines(context: HostContext, filenames: NDArray, compression_type: NDArray, buffer_size: NDArray) -> DatasetValue:
    compression = _compression(compression_type)
    if int(buffer_size) < 0:
        raise invalid("`buffer_size` must be >= 0 (0 == default)")

    def read(path: str) -> Iterator[Element]:
        file = contents(path, compression)
        try:
            # Lines end with LF; the last one may have no end. As in TensorFlow each CR is dropped, also one within a line.
            for line in file:
                yield (text(line.removesuffix(b"\n").replace(b"\r", b"")),)
        finally:
            file.close()

    return files_in_turn(file_names(filenames), read)


def _fixed_length(
    context: HostContext, filenames: NDArray, header_bytes: NDArray, record_bytes: NDArray, footer_bytes: NDArray, buffer_size: NDArray, compression_type: Any = None
) -> DatasetValue:
    compression = "" if compression_type is None else _compression(compression_type)
    # Version 1 of the op type has no compression.
    header, size, footer = int(header_bytes), int(record_bytes), int(footer_bytes)
    for name, value, least in (("header_bytes", header, 0), ("record_bytes", size, 1), ("footer_bytes", footer, 0), ("buffer_size", int(buffer_size), 0)):
        if value < least:
            raise invalid(f"`{name}` must be {'>= 0' if not least else '> 0'}")

    def read(path: str) -> Iterator[Element]:
        file = contents(path, compression)
        with_body = file.read()
        file.close()
        # "Excepted" is TensorFlow's spelling of the message.
        body = len(with_body) - header - footer
        if body < 0 or body % size:
            raise invalid(
                f"Excepted body length of file {path} to be a multiple of the record length, but {len(with_body)} bytes less the header "
                f"length {header} bytes and the footer length {footer} bytes is not a multiple of {size} bytes."
            )
        for begin in range(header, header + body, size):
            yield (text(with_body[begin : begin + size]),)

    return files_in_turn(file_names(filenames), read)


_LENGTHS = "filenames: string, header_bytes: int64, record_bytes: int64, footer_bytes: int64, buffer_size: int64"
dataset_op("FixedLengthRecordDataset", _LENGTHS, "")(_fixed_length)
dataset_op("FixedLengthRecordDatasetV2", _LENGTHS + ", compression_type: string", "")(_fixed_length)


# ---- rows of databases ----


def _sql(context: HostContext, driver_name: NDArray, data_source_name: NDArray, query: NDArray) -> DatasetValue:
    driver = driver_name.item().decode()
    if driver != "sqlite":
        raise invalid(f"The database type, {driver}, is not supported by SqlDataset. The set of supported databases is: {{'sqlite'}}.")
    kinds = list(context.op.attrs["output_types"])
    source, statement = data_source_name.item().decode(), query.item().decode()

    def rows(_: str) -> Iterator[Element]:
        # The query runs when the first row is asked for; text stays bytes, as it need not be UTF-8. One thread at a time uses the connection.
        connection = _database(source)
        connection.text_factory = bytes
        try:
            cursor = connection.execute(statement)
            width = len(cursor.description or ())
            if width != len(kinds):
                raise invalid(
                    f"The number of columns in query ({width}) must match the number of elements in output_types ({len(kinds)})."
                )
            for row in cursor:
                yield tuple([_sql_value(value, kind) for value, kind in zip(row, kinds)])
        except sqlite3.Error as e:
            raise invalid(f"Failed to run the query {statement!r}: {e}") from None
        finally:
            connection.close()

    return files_in_turn([source], rows)


_MEMORY = ("", ":memory:")
_OPENS_FILES = (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_PRAGMA)


def _database(source: str) -> sqlite3.Connection:
    """Connects to the SQLite database in a file, or to one in memory."""
    # An absolute path is none of SQLite's URIs.
    connection = sqlite3.connect(source if source in _MEMORY else os.path.abspath(file_io.local(source)), check_same_thread=False)
    if confinement.current() is not None:
        # A query can open other files too: by ATTACH, by VACUUM INTO (which SQLite reports as ATTACH), and by pragmas.
        connection.set_authorizer(lambda action, *_: sqlite3.SQLITE_DENY if action in _OPENS_FILES else sqlite3.SQLITE_OK)
    return connection


def _sql_value(value: float | str | bytes | None, kind: dtypes.DType) -> NDArray:
    """Converts a column to the dtype asked for, as SQLite's column functions do: NULL is 0, "" or False; text is parsed as a number."""
    if kind == dtypes.string:
        return text(b"" if value is None else value if isinstance(value, bytes) else str(value).encode())
    if kind == dtypes.bool:
        return np.array(bool(value))
    # SQLite is dynamically typed: a column may hold text where a number is asked for.
    if isinstance(value, bytes):
        value = float(value or 0)
    number = 0 if value is None else value
    return np.array(number if kind.is_floating else int(number)).astype(kind.as_numpy_dtype)


for _name in ("SqlDataset", "ExperimentalSqlDataset"):
    dataset_op(_name, "driver_name: string, data_source_name: string, query: string")(_sql)


# ---- CSV ----

_QUOTE = b'"'


def _csv(
    context: HostContext, filenames: NDArray, compression_type: NDArray, buffer_size: NDArray, header: NDArray, field_delim: NDArray, use_quote_delim: NDArray, na_value: NDArray,
    select_cols: NDArray, record_defaults: tuple[Any, ...],
) -> DatasetValue:  # fmt: skip
    compression, delimiter = _compression(compression_type), field_delim.item()
    if len(delimiter) != 1:
        raise invalid("field_delim should be only 1 char")
    if int(buffer_size) <= 0:
        raise invalid("buffer_size should be positive")
    # An empty select_cols selects every column.
    selected = select_cols.tolist()
    if selected and (any(b <= a for a, b in zip(selected, selected[1:])) or selected[0] < 0):
        raise invalid("select_cols should be strictly increasing indices")
    if selected and len(selected) != len(record_defaults):
        raise invalid("select_cols should match output size")
    kinds = list(context.op.attrs["output_types"])
    skips, quotes, missing = bool(header), bool(use_quote_delim), na_value.item()

    def read(path: str) -> Iterator[Element]:
        file = contents(path, compression)
        data = file.read()
        file.close()
        # The header is a record, too: a quoted name may contain a line end.
        records = csv_records(data, delimiter, quotes)
        if skips and next(records, None) is None:
            raise invalid("Can't read header of file")
        return _Rows(_csv_row(record, selected, kinds, record_defaults, missing) for record in records)

    return files_in_turn(file_names(filenames), read)


class _Rows:
    """An iterator of rows that goes on after a row that raises: a generator would end at the first error."""

    def __init__(self, makers: Iterator[Callable[[], Element]]) -> None:
        self._makers = makers

    def __iter__(self) -> Iterator[Element]:
        return self

    def __next__(self) -> Element:
        return next(self._makers)()


def csv_records(data: bytes, delimiter: bytes, quotes: bool) -> Iterator[list[tuple[bytes, str]]]:
    """Parses CSV text (RFC 4180, with any one-byte delimiter) and yields its records.

    A record is a list of (value, problem); the problem is a message, or "" for a valid field. As in TensorFlow 1.15, a bad field does not
    end its record, so that the caller can report it and go on with the next one.
    """
    position, end = 0, len(data)
    while position < end:
        record: list[tuple[bytes, str]] = []
        # One field per pass: quoted if it begins with a quote, otherwise up to the next delimiter or line end.
        while True:
            if quotes and data[position : position + 1] == _QUOTE:
                value, problem, position = _quoted(data, position + 1, delimiter)
            else:
                stop = position
                while stop < end and data[stop : stop + 1] not in (delimiter, b"\n", b"\r"):
                    stop += 1
                value, problem, position = data[position:stop], "", stop
                if quotes and _QUOTE in value:
                    problem = "Unquoted fields cannot have quotes inside"
            record.append((value, problem))
            if position < end and data[position : position + 1] == delimiter:
                position += 1
                continue
            break
        # A record ends with LF, CR or CRLF.
        if data[position : position + 2] == b"\r\n":
            position += 2
        else:
            position += 1
        yield record


def _quoted(data: bytes, position: int, delimiter: bytes) -> tuple[bytes, str, int]:
    """Parses a quoted field whose opening quote is before `position`; returns its value, its problem or "", and where it ends."""
    parts: list[bytes] = []
    while True:
        stop = data.find(_QUOTE, position)
        if stop < 0:
            return b"".join([*parts, data[position:]]), "Reached end of file without closing quoted field in record", len(data)
        parts.append(data[position:stop])
        # A doubled quote is one quote of the value.
        if data[stop + 1 : stop + 2] == _QUOTE:
            parts.append(_QUOTE)
            position = stop + 2
            continue
        if data[stop + 1 : stop + 2] in (delimiter, b"\n", b"\r", b""):
            return b"".join(parts), "", stop + 1
        # After a stray quote, parsing goes on at the next delimiter or line end.
        following = min((i for i in (data.find(c, stop) for c in (delimiter, b"\n")) if i >= 0), default=len(data))
        return b"".join(parts), "Quote inside a string has to be escaped by another quote", following


def _csv_row(record: list[Any], selected: list[int], kinds: list[dtypes.DType], defaults: tuple[Any, ...], missing: bytes) -> Callable[[], Element]:
    """Returns a function that converts a record to an element, or raises InvalidArgumentError for its first problem."""

    def make() -> Element:
        # A problem of any field fails the record, also of a field that is not selected.
        for _, problem in record:
            if problem:
                raise invalid(problem)
        if selected:
            if len(record) <= selected[-1]:
                raise invalid(f"Expect {len(selected)} fields but have {sum(i < len(record) for i in selected)} in record")
            fields = [record[i][0] for i in selected]
        else:
            fields = [value for value, _ in record]
            if len(fields) != len(kinds):
                raise invalid(f"Expect {len(kinds)} fields but have {'more' if len(fields) > len(kinds) else len(fields)} in record")
        return tuple([_csv_value(i, *each, missing) for i, each in enumerate(zip(fields, kinds, defaults))])

    return make


def _csv_value(position: int, field: bytes, kind: dtypes.DType, default: NDArray, missing: bytes) -> NDArray:
    """Converts a field to its dtype, or returns the default of a missing one; an empty default means that the field is required."""
    if not field or field == missing:
        if default.size != 1:
            raise invalid(f"Field {position} is required but missing in record!")
        return default.reshape(())
    if kind == dtypes.string:
        return text(field)
    try:
        return np.array(parse_number(field, np.dtype(kind.as_numpy_dtype)), kind.as_numpy_dtype)
    except ValueError:
        raise invalid(f"Field {position} in record is not a valid {dtypes.cpp_name(kind.name)}: {field.decode('latin-1')}") from None


_CSV = (
    "filenames: string, compression_type: string, buffer_size: int64, header: bool, field_delim: string, use_quote_delim: bool, "
    "na_value: string, select_cols: int64, record_defaults: output_types"
)
_CSV_TYPES = "output_types: list({float32, float64, int32, int64, string}) >= 1, output_shapes: list(shape) >= 1"
for _name in ("CSVDataset", "ExperimentalCSVDataset"):
    dataset_op(_name, _CSV, _CSV_TYPES)(_csv)


def _lmdb(context: HostContext, filenames: NDArray) -> DatasetValue:
    return files_in_turn(file_names(filenames), lambda path: ((text(key), text(value)) for key, value in lmdb.read(path)))


for _prefix in ("", "Experimental"):
    dataset_op(_prefix + "LMDBDataset", "filenames: string")(_lmdb)

