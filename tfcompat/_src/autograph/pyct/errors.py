"""`tensorflow.python.autograph.pyct.errors`: messages of errors in converted code, with the lines of the user's."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tfcompat._src.autograph.pyct import origin_info


class FrameInfo(NamedTuple):
    """A row of a stack trace; `converted` says whether the function was converted."""

    filename: str
    lineno: int
    function_name: str | None
    code: str | None
    converted: bool


KNOWN_STRING_CONSTRUCTOR_ERRORS = (
    AssertionError, AttributeError, NameError, NotImplementedError, RuntimeError, StopIteration, TypeError, ValueError,
)  # fmt: skip
"""Errors that a message alone makes."""


class MultilineMessageKeyError(KeyError):
    """A KeyError that prints its message with its lines, and not as the name of a key."""

    def __init__(self, message: str, original_key: object) -> None:
        super().__init__(original_key)
        self._message = message

    def __str__(self) -> str:
        return self._message


MultilineMessageKeyError.__name__ = KeyError.__name__


def _stack_trace_inside_mapped_code(tb: Sequence[Any], source_map: Mapping[Any, Any]) -> tuple[FrameInfo, ...]:
    """The rows of a stack trace, the innermost first, up to the first that converted code gave, in the user's lines."""
    found = []
    for filename, lineno, function, text in reversed(tb):
        origin = source_map.get(origin_info.LineLocation(filename, lineno))
        if origin is not None:
            found.append(FrameInfo(origin.loc.filename, origin.loc.lineno, origin.function_name, origin.source_code_line, True))
            break
        found.append(FrameInfo(filename, lineno, function, text, False))
    return tuple(found)


class ErrorMetadataBase:
    """What is known of an error in converted code.

    Args:
      callsite_tb: the rows of the stack trace where it was caught.
      cause_metadata: what was known where it was caught before, further inside; None.
      cause_message: its message, where nothing was known before.
      source_map: lines of converted code to their origins.
    """

    def __init__(self, callsite_tb: Sequence[Any], cause_metadata: ErrorMetadataBase | None, cause_message: str, source_map: Mapping) -> None:
        stack = _stack_trace_inside_mapped_code(callsite_tb, source_map)
        self.translated_stack: tuple[FrameInfo, ...] = stack
        self.cause_message = cause_message
        if cause_metadata is not None:
            self.translated_stack = (*cause_metadata.translated_stack, stack[-1])
            self.cause_message = cause_metadata.cause_message

    def get_message(self) -> str:
        """The message with the stack trace in the user's lines; those of converted functions are marked."""
        paths = [frame.filename for frame in self.translated_stack]
        folder = os.path.dirname(os.path.commonprefix(paths)) if len(paths) > 1 else ""
        folder = "" if folder == os.path.sep else folder
        lines = ["in converted code:", *([f"    relative to {folder}:"] if folder else []), ""]
        for frame in reversed(self.translated_stack):
            name = frame.filename[len(folder) + 1 :] if folder else frame.filename
            lines.append(f"    {name}:{frame.lineno} {frame.function_name}{'  *' if frame.converted else ''}")
            lines.append(f"        {'<source unavailable>' if frame.code is None else frame.code.strip()}")
        return "\n".join([*lines, "", *(f"    {line}" for line in self.cause_message.split("\n")), ""])

    def create_exception(self, source_error: BaseException) -> BaseException | None:
        """An error of the same class with this message; None where the class is not made by a message."""
        kind = type(source_error)
        if kind is KeyError:
            return MultilineMessageKeyError(self.get_message(), self.cause_message)
        if kind.__init__ is Exception.__init__ or kind in KNOWN_STRING_CONSTRUCTOR_ERRORS:
            return kind(self.get_message())
        return None

    def to_exception(self, source_error: BaseException) -> Any:
        """The error that `create_exception` makes, which tells of this metadata and of no error before it."""
        made: Any = self.create_exception(source_error)
        made.__suppress_context__ = True
        made.ag_error_metadata = self
        return made
