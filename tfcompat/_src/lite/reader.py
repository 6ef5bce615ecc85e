"""Bytes of a .tflite file -> Model. Every offset is checked, so that a truncated or foreign file is a ValueError."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.lite import model as lite

_NAMES = {code: name for name, code in lite.BUILTIN_CODES.items()}
_FORMATS = {"int8": "<b", "uint8": "<B", "int32": "<i", "uint32": "<I", "float32": "<f", "bool": "<?"}


def read(data: bytes) -> lite.Model:
    """The model of a file.

    Raises:
      ValueError: it is no TensorFlow Lite file, it is cut short, or it has operators that 1.15's schema does not have.
    """
    if len(data) < 8 or data[4:8] != lite.IDENTIFIER:
        raise ValueError("Model provided has model identifier '%s', should be 'TFL3'" % data[4:8].decode("latin-1"))
    try:
        root = _Table(data, _unpack(data, "<I", 0))
        codes = [_code(t) for t in root.tables(1)]
        buffers = [t.array(0, np.uint8) for t in root.tables(4)]
        subgraphs = [_subgraph(t, codes, buffers) for t in root.tables(2)]
        if not subgraphs:
            raise ValueError("Model has no subgraphs.")
        return lite.Model(subgraphs, root.text(3))
    except (struct.error, IndexError, KeyError, UnicodeDecodeError) as error:
        raise ValueError(f"The model is damaged or cut short, or of a newer schema than TensorFlow 1.15's ({error}).") from error


def _unpack(data: bytes, fmt: str, position: int) -> Any:
    if position < 0:
        raise struct.error(f"offset {position} lies before the file")
    return struct.unpack_from(fmt, data, position)[0]


class _Table:
    """A table of a flatbuffer: fields by slot."""

    def __init__(self, data: bytes, position: int) -> None:
        self.data = data
        self.position = position
        self.vtable = position - _unpack(data, "<i", position)
        self.size = _unpack(data, "<H", self.vtable)

    def field(self, slot: int) -> int:
        """Where a field stands; 0 where it is absent."""
        entry = 4 + 2 * slot
        offset = _unpack(self.data, "<H", self.vtable + entry) if entry < self.size else 0
        return self.position + offset if offset else 0

    def number(self, slot: int, kind: str, default: object = 0) -> Any:
        at = self.field(slot)
        return _unpack(self.data, _FORMATS[kind], at) if at else default

    def _vector(self, slot: int) -> tuple[int, int]:
        """Start and length of a vector."""
        at = self.field(slot)
        if not at:
            return 0, 0
        at += _unpack(self.data, "<I", at)
        return at + 4, _unpack(self.data, "<I", at)

    def array(self, slot: int, dtype: Any) -> NDArray:
        start, length = self._vector(slot)
        if start + length * np.dtype(dtype).itemsize > len(self.data):
            raise IndexError("a vector ends behind the file")
        return np.frombuffer(self.data, dtype, length, start)

    def text(self, slot: int) -> str:
        return bytes(self.array(slot, np.uint8)).decode()

    def table(self, slot: int) -> _Table | None:
        at = self.field(slot)
        return _Table(self.data, at + _unpack(self.data, "<I", at)) if at else None

    def tables(self, slot: int) -> list[_Table]:
        start, length = self._vector(slot)
        if start + 4 * length > len(self.data):
            raise IndexError("a vector of tables ends behind the file")
        places = (start + 4 * i for i in range(length))
        return [_Table(self.data, at + _unpack(self.data, "<I", at)) for at in places]


def _code(table: _Table) -> tuple[str, str, int]:
    code = max(table.number(0, "int8"), table.number(3, "int32"))
    if code not in _NAMES:
        raise ValueError(f"The model has an operator of code {code}, which TensorFlow 1.15 does not have.")
    return _NAMES[code], table.text(1), table.number(2, "int32", 1)


def _subgraph(table: _Table, codes: list[tuple[str, str, int]], buffers: list[NDArray]) -> lite.Subgraph:
    tensors: list[Any] = [_tensor(t, buffers) for t in table.tables(0)]
    at = [*tensors, None]
    operators = [_operator(t, codes, at) for t in table.tables(3)]
    inputs, outputs = ([at[i] for i in table.array(slot, "<i4")] for slot in (1, 2))
    return lite.Subgraph(inputs, outputs, operators, table.text(4), tensors)


def _tensor(table: _Table, buffers: list[NDArray]) -> lite.Tensor:
    shape = tuple(int(s) for s in table.array(0, "<i4"))
    dtype = lite.TENSOR_TYPES[table.number(1, "int8")]
    raw = buffers[table.number(2, "uint32")]
    data = _decode(raw, shape, dtype, table.text(3)) if len(raw) or 0 in shape else None
    quantization = table.table(4)
    found = _quantization(quantization) if quantization is not None else None
    return lite.Tensor(table.text(3), shape, dtype, data, found, bool(table.number(5, "bool")))


def _decode(raw: NDArray, shape: tuple[int, ...], dtype: str, name: str) -> NDArray:
    if dtype == "STRING":
        return decode_strings(raw.tobytes(), shape)
    expected = int(np.prod(shape, dtype=np.int64)) * lite.NUMPY_TYPES[dtype].itemsize
    if len(raw) != expected:
        raise ValueError(f"Tensor '{name}' needs {expected} bytes, and its buffer has {len(raw)}.")
    return np.frombuffer(raw.tobytes(), lite.NUMPY_TYPES[dtype]).reshape(shape)


def decode_strings(raw: bytes, shape: tuple[int, ...]) -> NDArray:
    """The inverse of writer.encode_strings."""
    ends = np.frombuffer(raw, "<i4", _unpack(raw, "<i", 0) + 1, 4)
    found = np.empty(len(ends) - 1, object)
    found[:] = [raw[a:b] for a, b in zip(ends[:-1], ends[1:])]
    return found.reshape(shape)


def _quantization(table: _Table) -> lite.Quantization | None:
    scale, zero_point = table.array(2, "<f4"), table.array(3, "<i8")
    minimum, maximum = table.array(0, "<f4"), table.array(1, "<f4")
    if not (len(scale) or len(minimum)):
        return None
    bounds = [b if len(b) else None for b in (minimum, maximum)]
    return lite.Quantization(scale, zero_point, bounds[0], bounds[1], table.number(6, "int32"))


def _operator(table: _Table, codes: list[tuple[str, str, int]], tensors: list[Any]) -> lite.Operator:
    builtin, custom_code, version = codes[table.number(0, "uint32")]
    inputs, outputs = ([tensors[i] for i in table.array(slot, "<i4")] for slot in (1, 2))
    options: dict[str, Any] = {}
    kind, found = table.number(3, "uint8"), table.table(4)
    if found is not None and 0 < kind <= len(lite.OPTIONS):
        for slot, (name, field) in enumerate(lite.OPTIONS[kind - 1][1].items()):
            if field == "int32s":
                options[name] = [int(i) for i in found.array(slot, "<i4")]
            else:
                options[name] = found.number(slot, field, lite.DEFAULTS.get(name, 0))
    return lite.Operator(builtin, inputs, outputs, options, custom_code, bytes(table.array(5, np.uint8)), version)
