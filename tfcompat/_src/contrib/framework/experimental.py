"""A decorator for functions that may change without warning."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.platform import logging

_NOTICE = "THIS FUNCTION IS EXPERIMENTAL. It may change or be removed at any time, and without warning."


@export("contrib.slim.experimental")
def experimental(func: Callable) -> Callable:
    """`func` with a warning at each call and a notice in its docstring.

    Raises:
      ValueError: `func` cannot be called.
    """
    if not callable(func):
        raise ValueError(f"{func} is not a function. If this is a property, make sure @property appears before @experimental in your source code")

    @functools.wraps(func)
    def warned(*args: Any, **kwargs: Any) -> Any:
        name = f"{func.__qualname__} (from {func.__module__})"
        logging.warning("%s is experimental and may change or be removed at any time, and without warning.", name)
        return func(*args, **kwargs)

    first, *rest = (func.__doc__ or "EXPERIMENTAL FUNCTION").splitlines()
    warned.__doc__ = "\n".join([f"{first} (experimental)", "", _NOTICE, *rest])
    return warned
