"""The text of a message, as `str` and `print` had it under TensorFlow 1.15: keys of maps are sorted, floats are written as Python does."""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf import text_encoding
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message


def text(message: Message) -> str:
    """Returns the lines of a message, without its unknown fields."""
    return "".join(f"{line}\n" for line in _lines(message))


def _lines(message: Message) -> Iterator[str]:
    for field, value in message.ListFields():
        name = f"[{field.full_name}]" if field.is_extension else field.name
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            parts = field.message_type.fields_by_name
            for key in sorted(value):
                yield f"{name} {{"
                yield from _indented(_field_lines("key", parts["key"], key))
                yield from _indented(_field_lines("value", parts["value"], value[key]))
                yield "}"
        else:
            for one in [value] if isinstance(value, (bool, int, float, str, bytes, Message)) else value:
                yield from _field_lines(name, field, one)


def _field_lines(name: str, field: FieldDescriptor, value) -> Iterator[str]:
    if isinstance(value, Message):
        yield f"{name} {{"
        yield from _indented(_lines(value))
        yield "}"
    else:
        yield f"{name}: {_scalar(field, value)}"


def _indented(lines: Iterator[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


def _scalar(field: FieldDescriptor, value: bool | int | float | str | bytes) -> str:
    if isinstance(value, (str, bytes)):
        raw = value.encode() if isinstance(value, str) else value
        return f'"{text_encoding.CEscape(raw, False)}"'
    if field.enum_type is not None and value in field.enum_type.values_by_number:
        return field.enum_type.values_by_number[value].name
    return str(value).lower() if isinstance(value, bool) else repr(value)
