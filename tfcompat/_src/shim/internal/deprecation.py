"""`tensorflow.python.util.deprecation`: decorators for functions whose names or arguments are to go."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from tfcompat._src.platform import logging

PRINT_WARNINGS = True


def warn_once(function: Callable[..., Any], what: str) -> None:
    if PRINT_WARNINGS and what not in warn_once.said:  # type: ignore[attr-defined]
        warn_once.said.add(what)  # type: ignore[attr-defined]
        logging.warning("From %s: %s", function.__qualname__, what)


warn_once.said = set()  # type: ignore[attr-defined]


def deprecated(date: str | None, instructions: str, warn_once: bool = True) -> Callable[[Any], Any]:
    """Marks a function as one that goes after `date`; its first call logs `instructions`."""

    def mark(function: Any) -> Any:
        return announce(function, lambda args, kwargs: True, f"is deprecated: {instructions}")

    return mark


def deprecated_args(date: str | None, instructions: str, *names: Any, **options: Any) -> Callable[[Any], Any]:
    """Marks arguments of a function as ones that go after `date`; a first call that gives one logs `instructions`."""
    lacking = {each if isinstance(each, str) else each[0] for each in names}

    def mark(function: Any) -> Any:
        signature = inspect.signature(function)
        unknown = lacking - set(signature.parameters)
        if unknown:
            raise ValueError(f"{function.__name__} has no arguments {sorted(unknown)}")

        def given(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
            return bool(lacking & set(signature.bind_partial(*args, **kwargs).arguments))

        return announce(function, given, f"arguments {sorted(lacking)} are deprecated: {instructions}")

    return mark


def announce(function: Any, applies: Callable[[tuple[Any, ...], dict[str, Any]], bool], what: str) -> Any:
    @functools.wraps(function)
    def announced(*args: Any, **kwargs: Any) -> Any:
        if applies(args, kwargs):
            warn_once(function, what)
        return function(*args, **kwargs)

    return announced


def deprecated_argument_lookup(new_name: str, new_value: Any, old_name: str, old_value: Any) -> Any:
    """The value of an argument that has a new and an old name.

    Raises:
      ValueError: both are given.
    """
    if old_value is None:
        return new_value
    if new_value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'")
    return old_value


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """A block in which nothing of this is logged."""
    global PRINT_WARNINGS
    before, PRINT_WARNINGS = PRINT_WARNINGS, False
    try:
        yield
    finally:
        PRINT_WARNINGS = before
