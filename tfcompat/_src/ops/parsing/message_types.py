"""What the proto ops know of message types: where descriptors come from, and how fields of each type stand on the wire."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError

from tfcompat._src.base import errors
from tfcompat._src.platform import file_io
from tfcompat._src.proto import definitions, pool

VARINT, FIXED64, BYTES, START_GROUP, END_GROUP, FIXED32 = range(6)
"""The wire types."""

MASK32, MASK64 = 2**32 - 1, 2**64 - 1


def _unsigned(bits: int) -> Callable[[int], int]:
    return lambda number: number & (1 << bits) - 1


def _signed(bits: int) -> Callable[[int], int]:
    top = 1 << bits - 1
    return lambda number: (number & 2 * top - 1 ^ top) - top


def _from_zigzag(bits: int) -> Callable[[int], int]:
    return lambda number: (number & (1 << bits) - 1) >> 1 ^ -(number & 1)


def _to_zigzag(bits: int) -> Callable[[int], int]:
    return lambda number: (_signed(bits)(number) << 1 ^ _signed(bits)(number) >> bits - 1) & (1 << bits) - 1


@dataclass(frozen=True)
class FieldKind:
    """How the fields of one type are written.

    Args:
      name: the type's name.
      dtypes: those of tensors that may hold it.
      wire: its wire type.
      decode, encode: from the varint to the number and back.
      layout: the NumPy dtype of fixed-size numbers.
    """

    name: str
    dtypes: tuple[str, ...]
    wire: int
    decode: Callable[[int], Any] | None = None
    encode: Callable[[int], int] | None = None
    layout: str = ""


def _as_it_is(number: int) -> int:
    return number & MASK64


def _varint(name: str, dtypes: str, decode: Callable[[int], Any], encode: Callable[[int], int] = _as_it_is) -> FieldKind:
    return FieldKind(name, tuple(dtypes.split()), VARINT, decode, encode)


def _fixed(name: str, dtypes: str, layout: str) -> FieldKind:
    return FieldKind(name, tuple(dtypes.split()), FIXED32 if layout[-1] == "4" else FIXED64, layout=layout)


def _sign_extended(number: int) -> int:
    return _as_it_is(_signed(32)(number))


_F = FieldDescriptor
KINDS = {
    _F.TYPE_DOUBLE: _fixed("double", "float64", "<f8"),
    _F.TYPE_FLOAT: _fixed("float", "float32 float64", "<f4"),
    _F.TYPE_INT64: _varint("int64", "int64", _signed(64)),
    _F.TYPE_UINT64: _varint("uint64", "uint64", _as_it_is),
    _F.TYPE_INT32: _varint("int32", "int32 int64", _signed(32), _sign_extended),
    _F.TYPE_FIXED64: _fixed("fixed64", "uint64", "<u8"),
    _F.TYPE_FIXED32: _fixed("fixed32", "uint32 uint64", "<u4"),
    _F.TYPE_BOOL: _varint("bool", "bool", bool, int),
    _F.TYPE_STRING: FieldKind("string", ("object",), BYTES),
    _F.TYPE_GROUP: FieldKind("group", ("object",), START_GROUP),
    _F.TYPE_MESSAGE: FieldKind("message", ("object",), BYTES),
    _F.TYPE_BYTES: FieldKind("bytes", ("object",), BYTES),
    _F.TYPE_UINT32: _varint("uint32", "uint32 uint64", _unsigned(32), _unsigned(32)),
    _F.TYPE_ENUM: _varint("enum", "int32", _signed(32), _sign_extended),
    _F.TYPE_SFIXED32: _fixed("sfixed32", "int32 int64", "<i4"),
    _F.TYPE_SFIXED64: _fixed("sfixed64", "int64", "<i8"),
    _F.TYPE_SINT32: _varint("sint32", "int32 int64", _from_zigzag(32), _to_zigzag(32)),
    _F.TYPE_SINT64: _varint("sint64", "int64", _from_zigzag(64), _to_zigzag(64)),
}


def invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


# ---- descriptors ----

_LOCAL = ("", "local://")
_BYTES = b"bytes://"


def message_descriptor(source: bytes, message_type: str) -> Any:
    """The descriptor of a message type.

    Args:
      source: "local://" for TensorFlow's own messages, the path of a serialized FileDescriptorSet, or "bytes://" and
        such a set itself.
      message_type: the full name.

    Raises:
      InvalidArgumentError: the source is none of these, or has no such message.
    """
    try:
        if source.decode("latin-1") in _LOCAL:
            if definitions.symbols()[message_type].kind != "message":
                raise KeyError(message_type)
            return pool.message(message_type).DESCRIPTOR
        return _pool(_descriptor_set(source)).FindMessageTypeByName(message_type)
    except KeyError:
        raise invalid(f"No descriptor found for message type {message_type}") from None


def _descriptor_set(source: bytes) -> bytes:
    if source.startswith(_BYTES):
        return source[len(_BYTES) :]
    if b"://" not in source and file_io.exists(os.fsdecode(source)):
        contents: bytes = file_io.read_file_to_string(os.fsdecode(source), binary_mode=True)
        return contents
    raise invalid("Source does not represent serialized file descriptor set proto.")


@functools.lru_cache(maxsize=32)
def _pool(serialized: bytes) -> descriptor_pool.DescriptorPool:
    files = descriptor_pb2.FileDescriptorSet()
    try:
        files.ParseFromString(serialized)
    except DecodeError:
        raise invalid("Source does not represent serialized file descriptor set proto.") from None
    found = descriptor_pool.DescriptorPool()
    for file in files.file:
        try:
            found.AddSerializedFile(file.SerializeToString())
        except TypeError as e:
            raise invalid(f"Failed to load FileDescriptorProto: {e}") from None
    return found


def field_descriptor(message: Any, name: str) -> Any:
    """A field of a message by its name, or an extension of it by its full name; InvalidArgumentError where there is none."""
    found = message.fields_by_name.get(name)
    if found is None:
        extensions = message.file.pool.FindAllExtensions(message)
        found = next((e for e in extensions if e.full_name == name), None)
    if found is None:
        raise invalid(f"Unknown field: {name} in message type {message.full_name}")
    return found


def is_packed(field: Any) -> bool:
    """Whether a field asks for the packed form itself, not by the default of its syntax."""
    return field.GetOptions().packed


def default_value(field: Any) -> Any:
    """What stands where a message lacks the field; as in 1.15, unsigned numbers keep their last 8 bits, texts end at a zero byte."""
    if KINDS[field.type].dtypes == ("object",):
        if field.type in (_F.TYPE_MESSAGE, _F.TYPE_GROUP) or field.is_repeated:
            return b""
        text = field.default_value
        return (text.encode() if isinstance(text, str) else text).split(b"\0")[0]
    value = 0 if field.is_repeated else field.default_value
    return value & 0xFF if KINDS[field.type].dtypes[-1] == "uint64" else value
