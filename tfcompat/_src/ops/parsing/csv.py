"""Lines of comma-separated values into columns: DecodeCSV."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.arrays import as_array
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.strings.numbers import parse_number, parse_numbers

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


def _fields(record: bytes, delimiter: bytes, quotes: bool) -> list[bytes]:
    """The fields of a record (RFC 4180, without line breaks outside quotes)."""
    if not record:
        return []
    if b"\n" not in record and b"\r" not in record and not (quotes and b'"' in record):
        return record.split(delimiter)
    found, position = [], 0
    while position < len(record):
        if record[position : position + 1] in b"\n\r":
            position += 1
            continue
        if quotes and record[position : position + 1] == b'"':
            field, position = _quoted(record, position + 1, delimiter)
        else:
            end = record.find(delimiter, position)
            field = record[position:] if end < 0 else record[position:end]
            position += len(field) + 1
            if b"\n" in field or b"\r" in field or (quotes and b'"' in field):
                raise _invalid("Unquoted fields cannot have quotes/CRLFs inside")
        found.append(field)
    return [*found, b""] if record.endswith(delimiter) else found


def _quoted(record: bytes, position: int, delimiter: bytes) -> tuple[bytes, int]:
    """The field after an opening quote, and the position after its delimiter."""
    parts, last = [], len(record) - 1
    while position < last and record[position : position + 2] != b'"' + delimiter:
        end = record.find(b'"', position, last)
        if end < 0:
            parts.append(record[position:last])
            position = last
        elif end > position:
            parts.append(record[position:end])
            position = end
        elif record[position + 1 : position + 2] == b'"':
            parts.append(b'"')
            position += 2
        else:
            raise _invalid("Quote inside a string has to be escaped by another quote")
    closed = record[position : position + 1] == b'"' and (position == last or record[position + 1 : position + 2] == delimiter)
    if not closed:
        raise _invalid("Quoted field has to end with quote followed by delim or end")
    return b"".join(parts), position + 2


def _values(columns: list[tuple], kinds: list[np.dtype], defaults: tuple, missing: bytes, shape: tuple[int, ...]) -> list[np.ndarray]:
    """The values of all fields in the shape of the records; ValueError where one is no value.

    Numbers of one dtype are read together where none is missing: the values are parts of one array.
    """
    is_alike = kinds[0].kind != "O" and kinds.count(kinds[0]) == len(kinds)
    if is_alike and b"" not in (texts := list(itertools.chain(*columns))) and missing not in texts:
        numbers = parse_numbers(texts, kinds[0]).reshape(len(columns), *shape)
        return [numbers[i, ...] for i in range(len(columns))]
    return [_column(*column).reshape(shape) for column in zip(columns, kinds, defaults, itertools.repeat(missing))]


def _column(texts: tuple, dtype: np.dtype, default: np.ndarray, missing: bytes) -> np.ndarray:
    """The values of a field in all records; ValueError where one is no value."""
    if b"" not in texts and missing not in texts:
        return as_array(texts, dtype) if dtype.kind == "O" else parse_numbers(texts, dtype)
    if not default.size:
        raise ValueError("a value that must be there is missing")
    is_given = [text not in (b"", missing) for text in texts]
    found = np.full(len(texts), default.item(), dtype)
    given = tuple(itertools.compress(texts, is_given))
    found[is_given] = given if dtype.kind == "O" else parse_numbers(given, dtype)
    return found


def _require_value(text: bytes, dtype: np.dtype, default: np.ndarray, missing: bytes, field: int, record: int) -> None:
    """InvalidArgumentError where the text of a field is no value."""
    if not text or text == missing:
        if not default.size:
            raise _invalid(f"Field {field} is required but missing in record {record}!")
    elif dtype.kind != "O":
        try:
            parse_number(text, dtype)
        except ValueError:
            shown = text.decode("utf-8", "replace")
            name = dtypes.cpp_name(dtype.name)
            raise _invalid(f"Field {field} in record {record} is not a valid {name}: {shown}") from None


def _check(out_types: tuple, defaults: tuple, delimiter: str, columns: tuple) -> None:
    if columns and len(columns) != len(out_types):
        raise _invalid("select_cols should match output size")
    if columns and any(a >= b for a, b in zip(columns, columns[1:])):
        raise _invalid("select_cols should be strictly increasing indices")
    if columns and columns[0] < 0:
        raise _invalid("select_cols should be non-negative indices")
    if len(delimiter) != 1:
        raise _invalid("field_delim should be only 1 char")
    for i, default in enumerate(defaults):
        if default.ndim > 1:
            raise _invalid("Each record default should be at most rank 1")
        if default.size > 1:
            raise _invalid(f"There should only be 1 default per field but field {i} has {default.size}")


def _csv_shape(c):
    for sizes in c.inputs[1:]:
        si.with_rank_at_most(sizes, 1)
        if sizes and sizes[0] is not None and sizes[0] > 1:
            raise ValueError("Shape of a default must be a length-0 or length-1 vector, or a scalar.")
    return [c.inputs[0]] * len(c.op.outputs)


@op(
    "DecodeCSV",
    "(records: string, record_defaults: OUT_TYPE, *, OUT_TYPE: list({float32, float64, int32, int64, string}) >= 1, "
    'field_delim: string = ",", use_quote_delim: bool = True, na_value: string = "", select_cols: list(int) = []) -> '
    "(output: OUT_TYPE)",
    shape=_csv_shape, gradient=NotDifferentiable("text has no derivative", raises=True), side=HOST,
)  # fmt: skip
def _decode_csv(records, defaults, *, OUT_TYPE, field_delim, use_quote_delim, na_value, select_cols):
    defaults = tuple(map(as_array, defaults))
    _check(OUT_TYPE, defaults, field_delim, select_cols)
    delimiter, missing = field_delim.encode("latin-1"), na_value.encode("latin-1")
    kinds = [np.dtype(t) for t in OUT_TYPE]
    rows: list[list[bytes]] = []

    def require_values() -> None:
        for i, row in enumerate(rows):
            for f, text in enumerate(row):
                _require_value(text, kinds[f], defaults[f], missing, f, i)

    for i, record in enumerate(records.reshape(-1).tolist()):
        try:
            rows.append(_row(record, delimiter, use_quote_delim, select_cols, len(kinds), i))
        except errors.InvalidArgumentError:
            require_values()
            raise
    columns = list(zip(*rows)) if rows else [()] * len(kinds)
    try:
        return (tuple(_values(columns, kinds, defaults, missing, records.shape)),)
    except ValueError:
        require_values()
        raise


def _row(record: bytes, delimiter: bytes, quotes: bool, chosen: tuple, count: int, index: int) -> list[bytes]:
    """The wanted fields of a record, `count` of them."""
    fields = _fields(record, delimiter, quotes)
    if chosen:
        fields = [fields[c] for c in chosen if c < len(fields)]
    if len(fields) != count:
        raise _invalid(f"Expect {count} fields but have {len(fields)} in record {index}")
    return fields


@export("decode_csv", "io.decode_csv")
def decode_csv(
    records: TensorLike, record_defaults: list, field_delim: str = ",", use_quote_delim: bool = True, name: str | None = None,
    na_value: str = "", select_cols: list[int] | None = None,
) -> list[Tensor]:  # fmt: skip
    """Reads records of comma-separated values (RFC 4180), one column for each default.

    Args:
      records: string Tensor, a record in each element.
      record_defaults: for each column a tensor that has its dtype: float32, float64, int32, int64 or string. Its one value
        stands for empty fields; without value the field must be there.
      field_delim: the character between fields.
      use_quote_delim: whether fields may stand in quotes.
      name: node name.
      na_value: another text of an empty field.
      select_cols: rising numbers of the columns that are wanted; by default all.

    Returns:
      a list of Tensors of the shape of `records`.

    Raises:
      ValueError: `select_cols` are not rising, negative, or not as many as the defaults.
      InvalidArgumentError: in a run with a record that does not fit.
    """
    return decode_csv_v2(records, record_defaults, field_delim, use_quote_delim, na_value, select_cols, name)


@export("compat.v2.io.decode_csv")
def decode_csv_v2(
    records: TensorLike, record_defaults: list, field_delim: str = ",", use_quote_delim: bool = True, na_value: str = "",
    select_cols: list[int] | None = None, name: str | None = None,
) -> list[Tensor]:  # fmt: skip
    """See decode_csv."""
    if select_cols is not None:
        if any(a >= b for a, b in zip(select_cols, select_cols[1:])):
            raise ValueError("select_cols is not strictly increasing.")
        if select_cols[0] < 0:
            raise ValueError("select_cols contains negative values.")
        if len(select_cols) != len(record_defaults):
            raise ValueError("Length of select_cols and record_defaults do not match.")
    return raw.DecodeCSV(
        records, record_defaults, field_delim=field_delim, use_quote_delim=use_quote_delim, na_value=na_value,
        select_cols=select_cols or [], name=name,
    )  # fmt: skip
