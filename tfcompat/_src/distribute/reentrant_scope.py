"""Scopes that a program may keep and enter again, also while they are open."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any


class ReentrantScope(contextlib.AbstractContextManager):
    """A context manager that makes another one each time it is entered, and leaves the last of them; if that raises, it may be left again.

    Args:
      make: makes the context manager of one entry.
    """

    def __init__(self, make: Callable[[], contextlib.AbstractContextManager]) -> None:
        self._make = make
        self._open: list[contextlib.AbstractContextManager] = []

    def __enter__(self) -> Any:
        made = self._make()
        entered = made.__enter__()
        self._open.append(made)
        return entered

    def __exit__(self, *exc_info: Any) -> bool | None:
        swallows = self._open[-1].__exit__(*exc_info)
        self._open.pop()
        return swallows
