"""`tensorflow.python.util.protobuf.compare`: whether two protocol messages are equal, with a difference that can be read."""

from __future__ import annotations

import collections.abc
import copy
import difflib
from typing import Any

from google.protobuf import descriptor, descriptor_pool, message, text_format

_DIGITS = {descriptor.FieldDescriptor.CPPTYPE_FLOAT: 6, descriptor.FieldDescriptor.CPPTYPE_DOUBLE: 7}
_SHOWN_WHOLE = 1 << 16
"""Characters of a message up to which the two texts are compared line by line in the failure."""


def assertProtoEqual(self: Any, a: Any, b: Any, check_initialized: bool = True, normalize_numbers: bool = False, msg: str | None = None) -> None:  # noqa: N802
    """Fails where two messages of one type are not equal.

    Args:
      self: the test case. a, b: messages; `a` may be a text message. check_initialized: whether both must have all required fields.
      normalize_numbers: whether numbers are rounded first. msg: of the failure.
    """
    pool = descriptor_pool.Default()
    if isinstance(a, str):
        a = text_format.Merge(a, b.__class__(), descriptor_pool=pool)
    for name, pb in (("a", a), ("b", b)):
        if check_initialized:
            missing = pb.FindInitializationErrors()
            if missing:
                self.fail(f"Initialization errors: {missing}\n{name}:\n{pb}")
    if normalize_numbers:
        a, b = NormalizeNumberFields(copy.deepcopy(a)), NormalizeNumberFields(copy.deepcopy(b))
    texts = [text_format.MessageToString(pb, descriptor_pool=pool) for pb in (a, b)]
    if all(len(text) < _SHOWN_WHOLE for text in texts):
        self.assertMultiLineEqual(*texts, msg=msg)
    elif texts[0] != texts[1]:
        lines = difflib.unified_diff(*(text.splitlines(keepends=True) for text in texts))
        self.fail(f"{msg} : \n{''.join(lines)}")


def NormalizeNumberFields(pb: Any) -> Any:  # noqa: N802
    """Rounds the floats of a message, and of those in it, to 6 digits after the point and doubles to 7; gives it back."""
    for field, value in pb.ListFields():
        is_repeated = isinstance(value, collections.abc.Sequence | collections.abc.Mapping) and not isinstance(value, str | bytes)
        if field.cpp_type in _DIGITS:
            rounded = [round(x, _DIGITS[field.cpp_type]) for x in (value if is_repeated else [value])]
            if is_repeated:
                value[:] = rounded
            else:
                setattr(pb, field.name, rounded[0])
        elif field.cpp_type == descriptor.FieldDescriptor.CPPTYPE_MESSAGE:
            for each in _messages(value, is_repeated):
                NormalizeNumberFields(each)
    return pb


def _messages(value: Any, is_repeated: bool) -> list[Any]:
    """The messages in a field: one, a list, or the values of a map."""
    if not is_repeated:
        return [value]
    held = value.values() if isinstance(value, collections.abc.Mapping) else value
    return [each for each in held if isinstance(each, message.Message)]


def ProtoEq(a: object, b: object) -> bool:  # noqa: N802
    """Whether two messages, maps, lists or values of fields are equal, whatever their types are called."""
    parts = [_parts(each) for each in (a, b)]
    if not all(isinstance(each, dict) for each in parts):
        return bool(parts[0] == parts[1])
    return parts[0].keys() == parts[1].keys() and all(ProtoEq(value, parts[1][key]) for key, value in parts[0].items())


def _parts(value: object) -> Any:
    """What a message has by the numbers of its fields, a map by its keys, a list by places; any other value itself."""
    if isinstance(value, message.Message):
        return {field.number: each for field, each in value.ListFields()}
    if isinstance(value, collections.abc.Mapping):
        return dict(value.items())
    if isinstance(value, collections.abc.Iterable) and not isinstance(value, str | bytes):
        return dict(enumerate(value))
    return value


class ProtoAssertions:
    """What a test case inherits to have `assertProtoEqual`."""

    def assertProtoEqual(self, *args: Any, **kwargs: Any) -> None:  # noqa: N802
        """As the function."""
        assertProtoEqual(self, *args, **kwargs)
