"""Exceptions of converted code: their messages begin with the lines of the user's functions that led there."""

from __future__ import annotations

import builtins
import inspect
import linecache
import os
import traceback
import types

from tfcompat._src.autograph import source
from tfcompat._src.base import errors
from tfcompat._src.base.export import export

HERE = os.path.dirname(os.path.abspath(__file__))


@export("contrib.autograph.AutoGraphError")
class AutoGraphError(Exception):
    """The base of AutoGraph's own errors."""


class ConversionError(AutoGraphError):
    """A function cannot be converted."""


class StagingError(AutoGraphError):
    """Converted code raised an exception of a type that cannot be made from a message."""


class _KeyErrorOfLines(KeyError):
    """A KeyError whose text is shown as it is."""

    def __str__(self) -> str:
        return str(self.args[0])


_KeyErrorOfLines.__name__ = KeyError.__name__


def _frames(trace: types.TracebackType | None) -> list[tuple[types.CodeType, int]]:
    found = [(frame.f_code, line) for frame, line in traceback.walk_tb(trace)]
    first = next((i for i, (code, _) in enumerate(found) if source.is_converted(code)), len(found))
    return [(code, line) for code, line in found[first:] if not code.co_filename.startswith(HERE)]


def _text(error: Exception, frames: list[tuple[types.CodeType, int]]) -> str:
    lines, last = ["in converted code:", ""], None
    for code, line in frames:
        converted = source.is_converted(code)
        name = source.user_name(code) if converted else code.co_name
        if (code.co_filename, line, name) != last:
            lines.append(f"    {code.co_filename}:{line} {name}{'  *' if converted else ''}")
            lines.append(f"        {linecache.getline(code.co_filename, line).strip() or '<source unavailable>'}")
        last = code.co_filename, line, name
    message = getattr(error, "message", None) or str(error)
    return "\n".join([*lines, "", *(f"    {part}" for part in f"{type(error).__name__}: {message}".split("\n")), ""])


def _made_of_text(error: Exception, text: str) -> Exception:
    """An exception of the type of another one with another message."""
    kind = type(error)
    if isinstance(error, errors.OpError):
        arguments = {"node_def": error.node_def, "op": error.op, "message": text}
        if "error_code" in inspect.signature(kind).parameters:
            arguments["error_code"] = error.error_code
        return kind(**arguments)
    if kind is KeyError:
        return _KeyErrorOfLines(text)
    is_plain = kind.__module__ == builtins.__name__ and not issubclass(kind, UnicodeError)
    ours = isinstance(error, (AutoGraphError, errors.InaccessibleTensorError, errors.OperatorNotAllowedInGraphError))
    return kind(text) if is_plain or ours or kind.__init__ is Exception.__init__ else StagingError(text)


def with_lines(error: Exception) -> Exception:
    """The exception to raise in place of one that came out of converted code: itself where no converted code ran."""
    frames = _frames(error.__traceback__)
    if not frames or getattr(error, "ag_lines", False):
        return error
    found = _made_of_text(error, _text(error, frames))
    found.ag_lines = True
    return found
