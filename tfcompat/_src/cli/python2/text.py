"""Text as Python 2 had it, and `print`.

A `str` of Python 2 is text here, its bytes read as UTF-8 and those that are none kept as lone surrogates; `bytes` come from files in
binary mode and from Session.run, and are text wherever a method of text is asked of them.
"""

from __future__ import annotations

import codecs
import sys
from collections.abc import Callable
from typing import Any

_OF_BYTES = frozenset({"hex", "base64", "hex_codec", "base64_codec", "zip", "zlib", "bz2", "quopri", "uu"})
"""Codecs from bytes to bytes."""
_OF_TEXT = frozenset({"rot13", "rot_13"})
"""Codecs from text to text."""
_SPELLINGS = {"string_escape": "unicode_escape"}


def as_text(value: bytes) -> str:
    """The text that bytes are."""
    return value.decode("utf-8", "surrogateescape")


def as_bytes(value: Any) -> Any:
    """The bytes of text; another value as it is."""
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value


def written(value: float) -> str:
    """`str` of a float, which has twelve digits."""
    text = f"{value:.12g}"
    if any(char in text for char in ".en"):
        return text
    if len(text.lstrip("-")) < 12:
        return text + ".0"
    mantissa, exponent = f"{value:.11e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{exponent}"


class _Short(float):
    """A float that is formatted with twelve digits where no digits are asked for."""

    __slots__ = ()

    def __str__(self) -> str:
        return written(self)

    def __repr__(self) -> str:
        return float.__repr__(self)

    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else written(self)


def shown(value: Any) -> Any:
    """A value to be formatted."""
    if type(value) is float:
        return _Short(value)
    if isinstance(value, bytes):
        return as_text(value)
    return value


def formatted(x: Any, y: Any) -> Any:
    """`x % y`."""
    if isinstance(x, bytes):
        x = as_text(x)
    if not isinstance(x, str):
        return x % y
    if type(y) is tuple:
        return x % tuple(map(shown, y))
    if type(y) is dict:
        return x % {key: shown(value) for key, value in y.items()}
    return x % shown(y)


def in_format(value: object, spec: str = "") -> str:
    """`format(value, spec)`."""
    return format(shown(value), text(spec))


def text(value: object = "", *encoding: str) -> str:
    """`str(value)`, or `unicode(value, encoding)`."""
    if encoding:
        return decode(value, *encoding)
    if type(value) is str:
        return value
    if type(value) is float:
        return written(value)
    if type(value) is complex:
        return "(%s%+.12gj)" % (written(value.real).removesuffix(".0"), value.imag) if value.real else "%.12gj" % value.imag
    if isinstance(value, bytes):
        return as_text(value)
    method = getattr(type(value), "__unicode__", None)
    return method(value) if method is not None and type(value).__str__ is object.__str__ else str(value)


def called(function: Any, *arguments: Any, **named: Any) -> Any:
    """A call of what the program names `str`, `bytes` or `unicode`."""
    if function is str:
        return text(*arguments, *named.values())
    if function is bytes and isinstance(arguments[0], (str, int, float)):
        return text(*arguments)
    return function(*arguments, **named)


def _codec(encoding: str) -> str:
    return encoding.lower().replace("-", "_").replace(" ", "_")


def _recoded(function: Callable[[Any, str], Any], value: Any, name: str) -> Any:
    """Text by a codec from text to text, or from bytes to bytes."""
    return function(value, name) if name in _OF_TEXT else as_text(function(as_bytes(value), name))


def decode(value: Any, encoding: str = "ascii", errors: str = "strict") -> Any:
    """`value.decode(encoding)` of a byte string."""
    name = _codec(encoding)
    if name in _OF_TEXT or name in _OF_BYTES:
        return _recoded(codecs.decode, value, name)
    return as_bytes(value).decode(_SPELLINGS.get(name, encoding), errors)


def encode(value: Any, encoding: str = "ascii", errors: str = "strict") -> Any:
    """`value.encode(encoding)`: a byte string, which is text here."""
    name = _codec(encoding)
    if name in _OF_TEXT or name in _OF_BYTES:
        return _recoded(codecs.encode, value, name)
    if isinstance(value, bytes):
        value = as_text(value)
    return as_text(value.encode(_SPELLINGS.get(name, encoding), errors))


# Printing


def print_item(file: Any, item: object) -> Any:
    """Writes an item of the statement `print` and returns the file: a blank that `softspace` keeps in mind comes first."""
    out = sys.stdout if file is None else file
    write_blank(out)
    written_item = text(item)
    out.write(written_item)
    _keep(out, not (isinstance(item, (str, bytes)) and written_item[-1:].isspace() and written_item[-1:] != " "))
    return file


def write_blank(file: Any) -> None:
    """Writes the blank that `softspace` keeps in mind."""
    if getattr(file, "softspace", 0):
        _keep(file, False)
        file.write(" ")


def end_print(ends_line: bool, file: Any) -> None:
    """Ends the statement `print`, whose items are written, and its line where no comma stands behind them."""
    if ends_line:
        out = sys.stdout if file is None else file
        out.write("\n")
        _keep(out, False)


def _keep(file: Any, is_pending: bool) -> None:
    try:
        file.softspace = int(is_pending)
    except AttributeError:
        pass  # a file without attributes keeps nothing in mind, as in Python 2


def end_line() -> None:
    """Ends the line that a last `print x,` left open, as Python 2 does when a program ends."""
    if getattr(sys.stdout, "softspace", 0):
        end_print(True, None)
