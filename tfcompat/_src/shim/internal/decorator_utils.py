"""`tensorflow.python.util.decorator_utils`: helpers of decorators that check functions and change their docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def get_qualified_name(function: Callable[..., Any]) -> str:
    """Returns the name of a function, with the classes around it."""
    return function.__qualname__


def _normalize_docstring(docstring: str | None) -> str:
    return inspect.cleandoc(docstring).rstrip() if docstring else ""


def add_notice_to_docstring(
    doc: str | None, instructions: str | None, no_doc_str: str, suffix_str: str, notice: list[str]
) -> str:
    """Inserts a warning below the first line of a docstring.

    Args:
      doc: the docstring, or None.
      instructions: the last line of the warning, or None.
      no_doc_str: the first line if there is no docstring.
      suffix_str: is appended to the first line of the docstring.
      notice: the lines of the warning.

    Raises:
      ValueError: `notice` is empty.
    """
    if not notice:
        raise ValueError("The `notice` arg must not be empty.")
    # The layout of 1.15, which its tests compare: first line, blank line, warning, and the rest of the docstring.
    first, *body = _normalize_docstring(doc).splitlines() if doc else [no_doc_str]
    if doc:
        first += " " + suffix_str
    warning = ["", "Warning: " + notice[0], *notice[1:]]
    if instructions:
        warning.append(instructions)
    if body and body[0].strip():
        warning.append("")
    return "\n".join([first, *warning, *body])


def validate_callable(func: object, decorator_name: str) -> None:
    """Raises ValueError if the argument of a decorator is not callable, e.g. a property."""
    if not callable(func):
        raise ValueError(
            f"{func} is not a function. If this is a property, make sure @property appears before @{decorator_name} "
            f"in your source code:\n\n@property\n@{decorator_name}\ndef method(...)"
        )


class classproperty:  # noqa: N801
    """Decorator: makes a function of a class a read-only property of the class itself."""

    def __init__(self, func: Callable[[type], Any]) -> None:
        self._func = func

    def __get__(self, owner_self: object, owner_cls: type) -> Any:
        return self._func(owner_cls)
