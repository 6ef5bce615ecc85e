"""Key and value pairs from the lines of a text file, as InitializeTableFromTextFile reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.ops.lookup.tables import StaticTable, invalid
from tfcompat._src.ops.strings.numbers import parse_number
from tfcompat._src.platform.file_io import FileIO

LINE_NUMBER = -1
WHOLE_LINE = -2


def _check_columns(table: StaticTable, key_index: int, value_index: int) -> None:
    key, value = table.key_dtype, table.value_dtype
    if key_index == LINE_NUMBER and key is not dtypes.int64:
        raise invalid(f"Key index for line number requires table key dtype of int64, got {key.name}")
    if key_index == WHOLE_LINE and not key.is_integer and key is not dtypes.string:
        raise invalid(f"Key index for whole line requires string or integer table key, got {key.name}")
    if value_index == LINE_NUMBER and value is not dtypes.int64:
        raise invalid(f"Value index for line number requires table value dtype of int64, got {value.name}")
    if value_index == WHOLE_LINE and value is not dtypes.string:
        raise invalid(f"Value index for whole line requires table value dtype of string, got {value.name}")


def _read_lines(filename: str) -> list[bytes]:
    with FileIO(filename, "rb") as f:
        lines = f.read().split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [line.rstrip(b"\r") for line in lines]


def _reader(index: int, dtype: dtypes.DType) -> Callable[[int, bytes, list[bytes]], Any]:
    """A function of line number, line and columns that gives the key or value."""
    if index == LINE_NUMBER:
        return lambda number, line, columns: number
    if dtype is dtypes.string:
        return (lambda number, line, columns: line) if index == WHOLE_LINE else lambda number, line, columns: columns[index]
    if dtype not in (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64):
        raise invalid(f"Data type {dtype.name} not supported.")
    kind = np.dtype(dtype.as_numpy_dtype)

    def number_in(number: int, line: bytes, columns: list[bytes]) -> Any:
        token = line if index == WHOLE_LINE else columns[index]
        try:
            return kind.type(parse_number(token, kind)).item()
        except ValueError:
            shown = token.decode("utf-8", "replace")
            raise invalid(f"Field {shown} in line {number} is not a valid {dtypes.cpp_name(dtype.name)}.") from None

    return number_in


def _pairs(lines: list[bytes], table: StaticTable, filename: str, key_index: int, value_index: int, delimiter: bytes) -> Iterator[tuple]:
    key_of, value_of = _reader(key_index, table.key_dtype), _reader(value_index, table.value_dtype)
    last = max(key_index, value_index)
    position = 0
    for number, line in enumerate(lines):
        position += len(line) + 1
        if not line:
            raise invalid(f"Invalid content in {filename}: empty line found at position {position}.")
        columns = line.split(delimiter) if last >= 0 else []
        if last >= 0 and last >= len(columns):
            text = line.decode("utf-8", "replace")
            raise invalid(
                f"Invalid number of columns in {filename} line {number} ({text}) : expected {last} got {len(columns)}"
            )
        yield key_of(number, line, columns), value_of(number, line, columns)


def initialize(table: StaticTable, filename: np.ndarray, key_index: int, value_index: int, vocab_size: int, delimiter: str) -> None:
    """Fills `table` from a file; does nothing where it is filled already.

    Args:
      filename: scalar string.
      key_index, value_index: column, LINE_NUMBER or WHOLE_LINE.
      vocab_size: number of lines to read, or -1 for all.
      delimiter: one character between columns.

    Raises:
      InvalidArgumentError: the file has an empty line, too few lines or columns, or a field that is not of the table's dtype.
      NotFoundError: there is no such file.
    """
    separator = delimiter.encode("latin-1")
    if len(separator) != 1:
        raise invalid("delimiter should be only 1 char")
    if filename.ndim:
        raise invalid(f"filename should be a single string, but got {list(filename.shape)}")
    path = filename.item().decode()
    if not path:
        raise invalid("filename cannot be empty.")
    _check_columns(table, key_index, value_index)
    if table.is_initialized:
        return
    lines = _read_lines(path)
    if vocab_size != -1:
        if len(lines) < vocab_size:
            raise invalid(f"Invalid vocab_size in {path}: expected {vocab_size} but got {len(lines)}")
        lines = lines[:vocab_size]
    if lines:
        table.initialize(_pairs(lines, table, path, key_index, value_index, separator), len(lines))
