"""Finds signs of Python's syntax in a text, over spaces and comments."""

from __future__ import annotations

import re

_BLANK = re.compile(r"(?:\s|\\\r?\n|#[^\n]*)*")


def skip(text: str, at: int) -> int:
    """The index of the first character at or behind `at` that is no space and in no comment."""
    found = _BLANK.match(text, at)
    return at if found is None else found.end()
