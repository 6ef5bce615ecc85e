"""`tensorflow.python.util.keyword_args`: a decorator for functions that accept keyword arguments only."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tfcompat._src.shim.internal.decorator_utils import validate_callable


def keyword_args_only(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: makes a function raise ValueError if it is called with positional arguments.

    Raises:
      ValueError: `func` is not callable.
    """
    validate_callable(func, "keyword_args_only")

    @functools.wraps(func)
    def named_only(*args: Any, **kwargs: Any) -> Any:
        if args:
            raise ValueError(f"Must use keyword args to call {func.__name__}.")
        return func(**kwargs)

    return named_only
